"""Assessment of questions and verdicts by people: sheets for annotators, and the table of their majority votes.

Table 4 and section 8.3 of the parameterized-graph paper; docs/methods/questions.md. Annotators say of each question if
it can be understood, and of each answer if it is right, by the right answers of the sheet alone. They do not see the
verdict. The majority of the annotators decides.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import numpy as np

from kgprobe.answers.store import Outcomes
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import replacing
from kgprobe.base.intervals import Share
from kgprobe.base.sanitize import counted, spreadsheet_cell
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence, names_of
from kgprobe.results.answers import Stored
from kgprobe.results.result import Listing, Result
from kgprobe.stats.proportions import share

UNDERSTOOD, CORRECT = "understood", "correct"
COLUMNS = ("id", "kind", "question", "right_answers", "answer", UNDERSTOOD, CORRECT)
KINDS = ("wh", "yes/no")
# Parts of the table: question generation (QG) and verification of answers (QAV). As in the paper, verdicts on yes/no
# questions need no people: they are a row of their own, and right in the last row.
_QUESTIONS, _VERDICTS, _FIRST_WORDS, _BOTH = (
    "questions (QG)",
    "verdicts, wh (QAV)",
    "verdicts, yes/no",
    "both (QG+QAV)",
)
_PARTS = (_QUESTIONS, *(f"questions, {kind}" for kind in KINDS), _VERDICTS, _FIRST_WORDS, _BOTH)
_VOTES = {"yes": True, "y": True, "1": True, "no": False, "n": False, "0": False}


@dataclass(frozen=True, slots=True)
class AssessedShare(ResultRow):
    """Share of the assessed questions of one result.

    Attributes:
        of: the assessed part: questions (QG), of one kind or all; verdicts, those on wh-questions (QAV) or on yes/no
            questions; both (QG+QAV), where yes/no questions count by the question alone.
        assessed: number of questions with a majority.
        good: share of those that people understand, whose verdict is theirs, or both; None without a majority.
    """

    result: Annotated[str, Heading("result")]
    of: Annotated[str, Heading("assessed")]
    assessed: Annotated[int, Heading("questions")]
    good: Annotated[Share | None, Heading("good")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Assessment(Result):
    """Assessment of questions and verdicts; six rows for each result.

    Attributes:
        annotators: number of sheets.
        undecided: number of votes without a majority, which are left out.
    """

    shares: Annotated[
        Sequence[AssessedShare],
        Listing("Questions and verdicts by people", "{majority}"),
    ]
    annotators: int
    undecided: int

    @property
    def majority(self) -> str:
        """The number of annotators, and of the votes that are left out."""
        annotators = counted(self.annotators, "annotator")
        return f"Majority of {annotators}; {self.undecided:,} votes without one left out."


def write_sheet(path: Path, results: Mapping[str, Iterable[Outcome]], per_kind: int, seed: int) -> int:
    """Write a sheet with questions of each kind, in random order, for annotators to fill in a copy each.

    Memory: a row of the sheet for each answered question.

    Args:
        results: outcomes of each result, by its name.
        per_kind: maximum number of questions of each kind and result.

    Returns:
        The number of questions.

    Raises:
        KgprobeError: no result has an answered question, or the file cannot be written.
    """
    generator = np.random.default_rng(seed)
    rows: list[dict[str, str]] = []
    for name, outcomes in results.items():
        answered: dict[str, list[dict[str, str]]] = {kind: [] for kind in KINDS}
        for key, _, evidence in _answered(name, outcomes):
            answered[evidence.kind].append(_sheet_row(key, evidence))
        for of_kind in answered.values():
            drawn = generator.permutation(len(of_kind))[:per_kind]
            rows.extend(map(of_kind.__getitem__, drawn))
    if not rows:
        raise KgprobeError("No answered question to assess; `kgprobe probe questions` asks some.")
    with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows[place] for place in generator.permutation(len(rows)))
    return len(rows)


def _answered(name: str, outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Outcome, QuestionEvidence]]:
    """Yield the id in a sheet, the outcome and the evidence of each question with a verdict."""
    for place, outcome in enumerate(outcomes):
        if outcome.verdict.counts and isinstance(outcome.evidence, QuestionEvidence):
            yield f"{name}:{place}", outcome, outcome.evidence


def _sheet_row(key: str, evidence: QuestionEvidence) -> dict[str, str]:
    right = evidence.right_answer if evidence.kind == "yes/no" else "; ".join(names_of(evidence.right))
    values = (key, evidence.kind, evidence.question, right, evidence.answer or "")
    return {name: _cell(value) for name, value in zip(COLUMNS[:5], values, strict=True)}


def _cell(text: str) -> str:
    return str(spreadsheet_cell(text))


def read_sheets(paths: Sequence[Path]) -> tuple[dict[str, dict[str, bool]], int]:
    """Return the majority of the votes by id of a question, and the number of votes without a majority."""
    votes: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {UNDERSTOOD: [], CORRECT: []})
    for path in paths:
        for line, row in _sheet_rows(path):
            for column in (UNDERSTOOD, CORRECT):
                text = (row[column] or "").strip().lower()
                if text and text not in _VOTES:
                    raise KgprobeError(f"{path}, line {line}: {column} is {text!r}; expected yes, no or nothing.")
                if text:
                    votes[row["id"]][column].append(_VOTES[text])
    majorities: dict[str, dict[str, bool]] = {}
    undecided = 0
    for key, columns in votes.items():
        majorities[key] = {}
        for column, own in columns.items():
            if own and 2 * sum(own) != len(own):
                majorities[key][column] = 2 * sum(own) > len(own)
            else:
                undecided += bool(own)
    return majorities, undecided


def _sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a sheet with their lines."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            lacking = {"id", UNDERSTOOD, CORRECT} - set(reader.fieldnames or ())
            if lacking:
                raise KgprobeError(
                    f"{path} lacks the columns {', '.join(sorted(lacking))}; fill in a sheet of kgprobe."
                )
            for row in reader:
                yield reader.line_num, row
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise KgprobeError(f"{path} is not a CSV file in UTF-8 ({error}).") from error


def assess(results: Mapping[str, Iterable[Outcome]], paths: Sequence[Path]) -> Assessment:
    """Return the shares of understood questions, of verdicts that agree with people, and of both."""
    majorities, undecided = read_sheets(paths)
    shares: list[AssessedShare] = []
    for name, outcomes in results.items():
        parts: dict[str, list[bool]] = {part: [] for part in _PARTS}
        for key, outcome, evidence in _answered(name, outcomes):
            majority = majorities.get(_cell(key), {})
            for part, good in _judged(_is_right(outcome, evidence), evidence.kind, majority):
                parts[part].append(good)
        for part, judged in parts.items():
            rate = share(sum(judged), len(judged)) if judged else None
            shares.append(AssessedShare(name, part, len(judged), rate))
    if not sum(map(attrgetter("assessed"), shares)):
        raise KgprobeError(
            "The sheets have no votes on these questions; fill them in, and give the results they were made of."
        )
    return Assessment(shares=shares, annotators=len(paths), undecided=undecided)


def _is_right(outcome: Outcome, evidence: QuestionEvidence) -> bool | None:
    """Return the verdict by the right answers of the sheet, where any right object counts; None if it is open."""
    if evidence.kind == "wh" and len(evidence.right) > 1:
        return evidence.credited_any
    return outcome.verdict is Verdict.RIGHT


def _judged(is_right: bool | None, kind: str, majority: Mapping[str, bool]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a table that a question counts for, and if it is good there.

    Args:
        is_right: the verdict; None if it is open.
        majority: votes of the majority by column; empty if people did not vote.
    """
    if UNDERSTOOD in majority:
        yield _QUESTIONS, majority[UNDERSTOOD]
        yield f"questions, {kind}", majority[UNDERSTOOD]
    agrees = None if CORRECT not in majority or is_right is None else majority[CORRECT] == is_right
    if agrees is not None:
        yield _VERDICTS if kind == "wh" else _FIRST_WORDS, agrees
    needed = agrees if kind == "wh" else True
    if UNDERSTOOD in majority and needed is not None:
        yield _BOTH, needed and majority[UNDERSTOOD]


def outcomes_by_name(results: Sequence[Stored]) -> dict[str, Outcomes]:
    """Return the outcomes of results, read from disk, by the names that identify them in a sheet.

    Raises:
        ArgumentError: two results have one name.
    """
    outcomes: dict[str, Outcomes] = {}
    for result in results:
        name = result.about.name
        if name in outcomes:
            raise ArgumentError("results", f"has two results named {name}; make a sheet for each of them.")
        outcomes[name] = result.outcomes
    return outcomes
