"""``kgprobe.export_closed_book``: what a model knows without retrieval, for each question of a data set."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kgprobe.api.writing_back import find_labels
from kgprobe.errors import ArgumentError
from kgprobe.exports.closed_book import KEYS, PREFIX, with_closed_book
from kgprobe.files import replacing
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entities_called
from kgprobe.labelling.table import LabelTable
from kgprobe.results.measurement import Run


@dataclass(frozen=True, slots=True)
class ClosedBook:
    """A written file of questions with closed-book knowledge.

    Attributes:
        path: the file.
        questions: number of questions.
        missing: numbers of questions without labels, by reason.
    """

    path: Path
    questions: int
    missing: Mapping[str, int]

    def __str__(self) -> str:
        """Return the numbers, a line each."""
        labelled = self.questions - sum(self.missing.values())
        reasons = [f"{count:,} without: {reason}." for reason, count in self.missing.items()]
        return "\n".join([f"{self.path}: {labelled:,} of {self.questions:,} questions have labels.", *reasons])


def export_closed_book(
    labels: LabelTable | Run | str | Path,
    questions: str | Path,
    file: str | Path,
    *,
    scheme: str | None = None,
    graph: Graph | Callable[[], Graph] | None = None,
) -> ClosedBook:
    """Add to the questions of a data set what a model knows without retrieval, and write them into a file.

    With these columns the accuracy of a RAG system can be split: questions that the model answers anyway, and those
    that retrieval has to answer. See :func:`kgprobe.exports.closed_book.with_closed_book` for the columns.

    Args:
        labels: a label table, its name or folder; or a run, for its beliefs.
        questions: JSONL; each question names a ``fact`` (id), or ``subject``, ``relation`` and ``object``, or
            ``entity`` or ``entities``, by ids or names. Other keys are kept.
        file: JSONL, replaced if it exists; not that of the questions.
        scheme: classes to write: ``slick``, ``profile`` or ``belief``; None is ``slick``, for a run ``belief``.
        graph: graph, or a function that opens it, to tell unknown names from entities without labels; None is that of
            the run, for a table none.

    Raises:
        ArgumentError: the questions cannot be read, there are none, a line is not a JSON object or has a key that is
            added, or ``file`` is that of the questions.
        KgprobeError: there is no such table, or the file cannot be written.
    """
    path = Path(file)
    if path.resolve() == Path(questions).resolve():
        raise ArgumentError("file", f"is {path}, the file of the questions. Name another.")
    if graph is None and isinstance(labels, Run):
        graph = labels.graph
    unknown = None if graph is None else partial(_unknown_names, graph)
    answered, missing = with_closed_book(find_labels(labels), _read_questions(Path(questions)), scheme, unknown)
    with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(question, ensure_ascii=False) + "\n" for question in answered)
    return ClosedBook(path, len(answered), dict(missing))


def _unknown_names(graph: Graph | Callable[[], Graph], names: Collection[str]) -> set[str]:
    opened = graph if isinstance(graph, Graph) else graph()
    known: dict[str, list[str]] = {}
    for ids_by_name in entities_called(opened, set(names)):
        known = ids_by_name
    return {name for name in names if not known.get(name)}


def _read_questions(path: Path) -> list[dict[str, Any]]:
    questions = []
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    questions.append(_question(line, f"{path}, line {number}"))
    except OSError as error:
        raise ArgumentError("questions", f"is {path}, which cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ArgumentError("questions", f"is {path}, which is not UTF-8: {error}.") from error
    if not questions:
        raise ArgumentError("questions", f"is {path}, which has no questions.")
    return questions


def _question(line: str, place: str) -> dict[str, Any]:
    try:
        question = json.loads(line)
    except ValueError as error:
        raise ArgumentError("questions", f"{place}: not JSON: {error}.") from error
    if not isinstance(question, dict):
        raise ArgumentError("questions", f"{place}: expected an object, found {line.strip()[:40]!r}.")
    taken = [f"{PREFIX}{name}" for name in KEYS if f"{PREFIX}{name}" in question]
    if taken:
        raise ArgumentError("questions", f"{place}: has {', '.join(taken)} already. Remove or rename it.")
    return question
