"""Evidence of the probe `questions`: the answer, its reading, its error class, and the tables of many answers.

docs/methods/questions.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any

import msgspec

from kgprobe.probes.outcome import Alternatives, Evidence, Outcome, ProbeResults, Verdict, answered, shortened
from kgprobe.stats.proportions import Share, mean_of_shares, share
from kgprobe.tables import Heading, ResultRow, Table, row_table
from kgprobe.verbalize.answers import sentences

# The error class of answers that were right before.
OBSOLETE = "obsolete"
# Number of examples per error class, and of listed objections to a writer's questions.
SHOWN_EXAMPLES = 3
SHOWN_REASONS = 5


class RightAnswer(msgspec.Struct, frozen=True):
    """A right answer with its names, the label first."""

    id: str
    names: tuple[str, ...]


def names_of(answers: Iterable[RightAnswer]) -> list[str]:
    """Return all names of some answers."""
    return list(chain.from_iterable(answer.names for answer in answers))


class FollowUp(msgspec.Struct, frozen=True):
    """A follow-up question after a mistake; the answer is None if the model gave none."""

    question: str
    answer: str | None
    verdict: str


class QuestionEvidence(Evidence, frozen=True, tag="questions"):
    """One question and its answer.

    Attributes:
        kind: ``yes/no`` or ``wh``.
        text: the question.
        answer: None if the model gave none.
        chance: chance level.
        expected: for a yes/no question, True if yes is right.
        negative: for a yes/no question, the id of the wrong object in place of the fact's.
        right: for a wh-question, all right answers, the fact's own object first.
        says: for a yes/no question, True for yes and False for no in the first word; None for neither.
        named: for a wh-question, the names of the fact's own object in the answer.
        named_beside: for a wh-question, the names of further right objects in the answer.
        graded: for a wh-question, the grader's verdict; None without a grader or with an unreadable reply.
        grade_unread: True if the grader's reply is unreadable.
        written: True if the text is a writer's, False if a template replaced it; None without a writer.
        fell_back: objections to the writer's text, if a template replaced it.
        error: the error class; None if the answer is not wrong.
        follow_ups: the follow-up questions after a mistake.
    """

    kind: str
    text: str
    answer: str | None
    chance: float
    expected: bool | None = None
    negative: str | None = None
    right: tuple[RightAnswer, ...] = ()
    says: bool | None = None
    named: tuple[str, ...] = ()
    named_beside: tuple[str, ...] = ()
    graded: bool | None = None
    grade_unread: bool = False
    written: bool | None = None
    fell_back: tuple[str, ...] = ()
    error: str | None = None
    follow_ups: tuple[FollowUp, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The answer; for an obsolete answer, also the text that names the former object: answer or yes/no question."""
        former = self.answer if self.expected is None else self.text
        return Alternatives(text=self.answer, former=former if self.error == OBSOLETE else None)

    @property
    def question(self) -> str:
        """The question."""
        return self.text

    @property
    def right_answer(self) -> str:
        """Yes or no, or the fact's own object with the further right ones."""
        if self.expected is not None:
            return "yes" if self.expected else "no"
        own, *others = (answer.names[0] for answer in self.right)
        return f"{own} (also right: {'; '.join(others)})" if others else own

    @property
    def prediction(self) -> str | None:
        """The first sentence of a wrong answer; None for a right one."""
        if self.error is None:
            return None
        return shortened((sentences(self.answer or "") or [""])[0])

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:  # noqa: ARG003
        """Return the answers by kind of question, to yes/no questions by the right answer, and the mistakes by class.

        Empty tables are left out. Memory: the counts and the examples.
        """
        counts = _Counts()
        for outcome, evidence in answered(outcomes, cls):
            counts.add(outcome.verdict, evidence)
        return ProbeResults(list(_tables(counts)))


@dataclass(slots=True)
class _KindCounts:
    """Running counts of one kind of questions.

    Attributes:
        chance: sum of the chance levels.
        said: yes/no questions by the right answer (True for yes) and the given one (None for neither).
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    chance: float = 0.0
    said: Counter[tuple[bool, bool | None]] = field(default_factory=Counter)


@dataclass(slots=True)
class _Counts:
    """Running counts of all answers.

    Attributes:
        graded, agreed, unread: numbers of answers that the grader read, on which it agrees with the names, and of its
            unreadable replies.
        wordings: questions for a writer, True for those in its words; templates word the others.
        objections: questions by objection to the writer's text; a question may have several.
    """

    kinds: dict[str, _KindCounts] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[QuestionEvidence]] = field(default_factory=dict)
    graded: int = 0
    agreed: int = 0
    unread: int = 0
    wordings: Counter[bool] = field(default_factory=Counter)
    objections: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, evidence: QuestionEvidence) -> None:
        kind = self.kinds.setdefault(evidence.kind, _KindCounts())
        kind.verdicts[verdict] += 1
        kind.chance += evidence.chance
        if evidence.expected is not None:
            kind.said[evidence.expected, evidence.says] += 1
        self.unread += evidence.grade_unread
        if evidence.graded is not None:
            self.graded += 1
            self.agreed += evidence.graded == bool(evidence.named)
        if evidence.written is not None:
            self.wordings[evidence.written] += 1
            # An objection's details in this question follow the colon.
            self.objections.update({reason.partition(":")[0] for reason in evidence.fell_back})
        if evidence.error is not None:
            self.errors[evidence.error] += 1
            shown = self.examples.setdefault(evidence.error, [])
            if len(shown) < SHOWN_EXAMPLES:
                shown.append(evidence)


@dataclass(frozen=True, slots=True)
class _Side(ResultRow):
    """Counts of the yes/no questions with the same right answer; refusals count as neither."""

    right_answer: Annotated[str, Heading("right answer")]
    answers: Annotated[int, Heading("answers")]
    right: Annotated[Share | None, Heading("right")]
    said_yes: Annotated[int, Heading("said yes")]
    said_no: Annotated[int, Heading("said no")]
    said_neither: Annotated[int, Heading("said neither")]

    @classmethod
    def of(cls, expected: bool, said: Counter[tuple[bool, bool | None]]) -> "_Side":
        yes, no, neither = said[expected, True], said[expected, False], said[expected, None]
        answers = yes + no + neither
        right = share(said[expected, expected], answers) if answers else None
        return cls("yes" if expected else "no", answers, right, yes, no, neither)


@dataclass(frozen=True, slots=True)
class _Sides:
    """Results on yes/no questions by the right answer: a model that always says no gets half of them right.

    Attributes:
        balanced_accuracy: mean of the two accuracies; None if one has no answers.
        says_yes: share of yes among the answers yes and no; None without these.
    """

    yes: _Side
    no: _Side
    balanced_accuracy: Share | None
    says_yes: Share | None

    @classmethod
    def of(cls, said: Counter[tuple[bool, bool | None]]) -> "_Sides":
        yes, no = _Side.of(True, said), _Side.of(False, said)
        balanced = mean_of_shares(yes.right, no.right) if yes.right and no.right else None
        said_yes = yes.said_yes + no.said_yes
        readable = said_yes + yes.said_no + no.said_no
        return cls(yes, no, balanced, share(said_yes, readable) if readable else None)

    def notes(self) -> Iterator[str]:
        if self.says_yes:
            due = self.yes.answers / (self.yes.answers + self.no.answers)
            yield f"It says yes in {self.says_yes} of its answers; yes is right for {due:.0%} of the questions."
        if self.balanced_accuracy:
            yield f"Balanced accuracy, the mean of the two: {self.balanced_accuracy}; 50% by guessing, or by one word."
        else:
            missing = self.no if self.yes.answers else self.yes
            yield f"No question has the right answer {missing.right_answer}: balanced accuracy is undefined."


def _tables(counts: _Counts) -> Iterator[Table]:
    rows = []
    all_sides = []
    for name, kind in sorted(counts.kinds.items()):
        asked = kind.verdicts.total()
        sides = _Sides.of(kind.said)
        row = {
            "kind": name,
            "answers": asked,
            "right": share(kind.verdicts[Verdict.RIGHT], asked),
            "balanced accuracy": sides.balanced_accuracy,
            "says yes": sides.says_yes,
            "refused": kind.verdicts[Verdict.REFUSED],
            "off the format": kind.verdicts[Verdict.OFF_FORMAT],
            "by guessing": kind.chance / asked,
        }
        rows.append(row)
        if kind.said:
            all_sides.append(sides)
    if rows:
        yield Table("kinds", "By kind of question", rows, list(_notes(counts)))
    for sides in all_sides:
        sides_rows = [sides.yes, sides.no]
        yield row_table("sides", "Yes/no questions by their right answer", sides_rows, list(sides.notes()))
    if counts.errors:
        yield _errors_table(counts)


def _errors_table(counts: _Counts) -> Table:
    rows: list[dict[str, Any]] = []
    for name, count in counts.errors.most_common():
        error = {"class": name, "answers": count, "share": count / counts.errors.total()}
        for example in counts.examples[name]:
            texts = {"question": example.text, "what it said": example.answer or None, "right": example.right_answer}
            rows.append(error | texts)
    return Table("errors", "Errors", rows, groups_by="class")


def _notes(counts: _Counts) -> Iterator[str]:
    if counts.graded:
        yield f"Grader and names say the same of {counts.agreed:,} of {counts.graded:,} wh-answers."
    if counts.unread:
        yield f"{counts.unread:,} replies of the grader could not be read: names decided alone."
    if counts.wordings:
        text = f"{counts.wordings[True]:,} of {counts.wordings.total():,} questions are in the writer's words."
        reasons = [f"{reason} ({count:,})" for reason, count in counts.objections.most_common(SHOWN_REASONS)]
        if len(counts.objections) > SHOWN_REASONS:
            reasons.append("…")
        yield f"{text} Objections to the others: {'; '.join(reasons)}." if reasons else text
