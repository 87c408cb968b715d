"""Questions about edits, as a sample shows them, and a model's answers to them.

docs/methods/edits.md.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kgprobe.edits import CONDITION, GENERATION, SCORES
from kgprobe.edits.asking import EditEvidence, right_of
from kgprobe.edits.questions import FILE as QUESTIONS
from kgprobe.edits.questions import EditQuestion, counted_edits, read_questions, write_questions
from kgprobe.errors import KgprobeError
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.results.result import Result
from kgprobe.running.measurement import MEASUREMENT, Progress
from kgprobe.running.settings import read_config
from kgprobe.running.store import FILE, Outcomes
from kgprobe.sanitize import counted
from kgprobe.stats.clustered import clustered_share
from kgprobe.stats.proportions import Share
from kgprobe.tables import Heading, ResultRow, Table, more_note, row_table

# Questions in a table for people; programs and files get all.
_SHOWN = 40
_SHOWN_NAMES = 2


@dataclass(frozen=True, slots=True, repr=False)
class EditSample(Result):
    """Questions about edits; one row for each question. Notes are skipped lines and kinds that could not be made.

    Attributes:
        questions: in the order of the edits.
    """

    questions: Sequence[EditQuestion]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return EditQuestion.__struct_fields__

    def rows(self) -> list[dict[str, Any]]:
        """Return the questions; JSON-compatible."""
        return [
            {name: msgspec.to_builtins(getattr(question, name)) for name in self.columns} for question in self.questions
        ]

    def tables(self) -> list[Table]:
        """Return the first questions."""
        rows = []
        for question in self.questions[:_SHOWN]:
            row = {
                "edit": question.about,
                "kind": question.kind,
                "question": question.prompt if question.form != "text" else f"{question.prompt} …",
                "expected": _labels(question.expected),
                "wrong": _labels(question.wrong),
            }
            rows.append(row)
        return [Table("questions", "", rows, more_note(len(self.questions), rows), groups_by="edit")]

    def summary(self) -> str:
        """Return the numbers of questions by group."""
        groups = Counter(question.group for question in self.questions)
        listed = ", ".join(f"{count:,} {group}" for group, count in groups.items())
        return f"{counted_edits(self.questions)}: {listed}."

    def to_dict(self) -> dict[str, Any]:
        """Return the questions."""
        return {"questions": self.rows(), "notes": list(self.notes)}

    def write(self, path: Path | str) -> Path:
        """Write a file of questions, which :func:`kgprobe.probe_edits` asks.

        Raises:
            KgprobeError: the file cannot be written.
        """
        write_questions(Path(path), self.questions)
        return Path(path)


def _labels(answers: "Sequence[Any]") -> str:
    shown = ", ".join(answer.names[0] for answer in answers[:_SHOWN_NAMES])
    return f"{shown}, …" if len(answers) > _SHOWN_NAMES else shown


@dataclass(frozen=True, slots=True)
class KindAnswers(ResultRow):
    """A model's answers to the questions of one kind; None where it was not asked by a way."""

    group: Annotated[str, Heading("group")]
    kind: Annotated[str, Heading("kind")]
    questions: Annotated[int, Heading("questions")]
    generated: Annotated[Share | None, Heading("right, by text")]
    scored: Annotated[Share | None, Heading("right, by scores")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class EditAnswers(Result):
    """A model's answers to questions about edits; one row for each kind. Stored in a folder.

    Attributes:
        folder: folder of the answers.
        config: settings that the answers depend on.
        questions: by id, in order.
        outcomes: by the question's id.
        progress: None if the answers were opened and not asked now.
    """

    folder: Path
    config: Mapping[str, Any]
    questions: Mapping[str, EditQuestion]
    outcomes: Mapping[str, Outcome]
    progress: Progress | None = None

    row = KindAnswers

    @property
    def model(self) -> str:
        """Spec of the model."""
        return str(self.config["described"]["model"])

    @property
    def unanswered(self) -> int:
        """Number of questions without an answer, or not asked yet."""
        silent = sum(outcome.verdict is Verdict.UNANSWERED for outcome in self.outcomes.values())
        return silent + len(self.questions) - len(self.outcomes)

    def evidence(self, question: str) -> EditEvidence | None:
        """Return the answers to a question; None if it was not asked."""
        outcome = self.outcomes.get(question)
        return outcome.evidence if outcome is not None and isinstance(outcome.evidence, EditEvidence) else None

    def records(self) -> list[KindAnswers]:
        """Return the kinds, without conditions."""
        kinds: dict[tuple[str, str], list[EditQuestion]] = {}
        for question in self.questions.values():
            if question.group != CONDITION:
                kinds.setdefault((question.group, question.kind), []).append(question)
        rows = []
        for (group, kind), own in kinds.items():
            shares = [self._share(own, way) for way in (GENERATION, SCORES)]
            rows.append(KindAnswers(group, kind, len(own), *shares))
        return rows

    def _share(self, questions: Sequence[EditQuestion], way: str) -> Share | None:
        right, edits = [], []
        for question in questions:
            answer = right_of(question, self.evidence(question.id), way)
            if answer is not None:
                right.append(answer)
                edits.append(question.edit)
        return clustered_share(right, edits) if right else None

    def tables(self) -> list[Table]:
        """Return the kinds."""
        note = "Intervals take questions about one edit as dependent."
        return [row_table("kinds", "Right answers by kind of question", self.records(), [note])]

    def summary(self) -> str:
        """Return the numbers of answers, and the folder."""
        silent = f" {counted(self.unanswered, 'question')} without an answer." if self.unanswered else ""
        return f"{self.model}: {counted_edits(self.questions.values())}.{silent} Stored as {self.folder.name}."

    def to_dict(self) -> dict[str, Any]:
        """Return the kinds, with stable keys."""
        return {
            "model": self.model,
            "folder": str(self.folder),
            "questions": len(self.questions),
            "unanswered": self.unanswered,
            "kinds": self.rows(),
        }


def read_edit_answers(folder: Path, progress: Progress | None = None) -> EditAnswers:
    """Return the stored answers of a folder. Memory: all questions and answers.

    Raises:
        KgprobeError: the folder holds none, or a file is damaged.
    """
    config = read_config(folder, MEASUREMENT)
    if config.get("probe") != "edits":
        raise KgprobeError(f"{folder} holds no answers about edits; `kgprobe probe edits` makes them.")
    questions = {question.id: question for question in read_questions(folder / QUESTIONS)}
    path = folder / FILE
    outcomes: dict[str, Outcome] = {}
    if path.exists():
        outcomes = {outcome.fact.fact: outcome for outcome in Outcomes(path, EditEvidence)}
    return EditAnswers(folder=folder, config=config, questions=questions, outcomes=outcomes, progress=progress)
