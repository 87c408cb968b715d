"""``kgprobe.export_closed_book``: what a model knows without retrieval, for each question of a data set."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgprobe.api.writing_back import find_labels
from kgprobe.errors import ArgumentError
from kgprobe.exports.closed_book import with_closed_book
from kgprobe.files import replacing
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
    labels: LabelTable | Run | str | Path, questions: str | Path, file: str | Path, *, scheme: str | None = None
) -> ClosedBook:
    """Add to the questions of a data set what a model knows without retrieval, and write them into a file.

    With these columns the accuracy of a RAG system can be split: questions that the model answers anyway, and those
    that retrieval has to answer. See :func:`kgprobe.exports.closed_book.with_closed_book` for the columns.

    Args:
        labels: a label table, its name or folder; or a run, for its beliefs.
        questions: JSONL; each question names a ``fact`` (id), or ``subject``, ``relation`` and ``object``, or
            ``entity`` or ``entities``, by ids or names. Other keys are kept.
        file: JSONL, replaced if it exists.
        scheme: classes to write: ``slick``, ``profile`` or ``belief``; None is ``slick``, for a run ``belief``.

    Raises:
        ArgumentError: the questions cannot be read, or a line is not a JSON object.
        KgprobeError: there is no such table, or the file cannot be written.
    """
    answered, missing = with_closed_book(find_labels(labels), _read_questions(Path(questions)), scheme)
    path = Path(file)
    with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(question, ensure_ascii=False) + "\n" for question in answered)
    return ClosedBook(path, len(answered), dict(missing))


def _read_questions(path: Path) -> list[dict[str, Any]]:
    questions = []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    questions.append(_question(line, f"{path}, line {number}"))
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError("questions", f"cannot be read: {error}.") from error
    return questions


def _question(line: str, place: str) -> dict[str, Any]:
    try:
        question = json.loads(line)
    except ValueError as error:
        raise ArgumentError("questions", f"{place}: not JSON: {error}.") from error
    if not isinstance(question, dict):
        raise ArgumentError("questions", f"{place}: expected an object, found {line.strip()[:40]!r}.")
    return question
