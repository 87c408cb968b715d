"""Counts of answers by kind of question, and of errors by class, with examples.

docs/methods/questions.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.stats.proportions import Share, mean_of_shares, share
from kgprobe.tables import Table

# Number of examples per error class.
SHOWN_EXAMPLES = 3
# Number of listed objections to a writer's questions.
SHOWN_REASONS = 5


@dataclass(frozen=True, slots=True)
class YesNoCounts:
    """Counts of the yes/no questions with the same right answer.

    Attributes:
        answers: number of answered questions.
        right: share of right answers; None without answers.
        said_yes, said_no, said_neither: numbers of answers; refusals count as neither.
    """

    right_answer: str
    answers: int
    right: Share | None
    said_yes: int
    said_no: int
    said_neither: int


@dataclass(frozen=True, slots=True)
class Sides:
    """Results on yes/no questions by the right answer: a model that always says no gets half of them right.

    Attributes:
        yes, no: the questions with the right answer yes, and no.
        balanced_accuracy: mean of the two accuracies; None if one has no answers.
        says_yes: share of yes among the answers yes and no; None without these.
    """

    yes: YesNoCounts
    no: YesNoCounts
    balanced_accuracy: Share | None
    says_yes: Share | None


@dataclass(frozen=True, slots=True)
class KindOfQuestion:
    """Results on one kind of question.

    Attributes:
        asked: number of answered questions.
        right: share of right answers.
        refused, off_format: numbers of refusals and unreadable answers, which count as wrong.
        chance: mean chance level.
        sides: results by the right answer, of yes/no questions; None for others.
    """

    name: str
    asked: int
    right: Share
    refused: int
    off_format: int
    chance: float
    sides: Sides | None


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A wrong answer."""

    question: str
    answer: str
    right: str


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Wrong answers of one kind.

    Attributes:
        share: share of all errors.
        examples: the first errors.
    """

    name: str
    count: int
    share: float
    examples: Sequence[WrongAnswer]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the grader with the names in answers to wh-questions.

    Attributes:
        graded: number of graded answers.
        agreed: number of these on which grader and names agree.
        unread: number of the grader's unreadable replies, where names decided alone.
    """

    graded: int
    agreed: int
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Writing:
    """Counts of the questions that a writer worded, and of the objections to the rest.

    Attributes:
        questions: number of questions for the writer.
        written: number of questions in its words; templates word the others.
        reasons: number of questions by objection, the most frequent first; a question may have several.
    """

    questions: int
    written: int
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        text = f"{self.written:,} of {self.questions:,} questions are in the writer's words"
        if not self.reasons:
            return f"{text}."
        reasons = [f"{reason} ({count:,})" for reason, count in list(self.reasons.items())[:SHOWN_REASONS]]
        more = ["…"] if len(self.reasons) > SHOWN_REASONS else []
        return f"{text}. Objections to the others: {'; '.join([*reasons, *more])}."


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """Counts of all answers of a run or a measurement.

    Attributes:
        writing: None without a writer.
    """

    kinds: Sequence[KindOfQuestion]
    errors: Sequence[ErrorCount]
    agreement: Agreement
    writing: Writing | None = None


@dataclass(slots=True)
class _Tally:
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    chances: list[float] = field(default_factory=list)
    # By the right answer (True for yes) and the given one.
    given: Counter[tuple[bool, bool | None]] = field(default_factory=Counter)


@dataclass(slots=True)
class _Totals:
    """Running counts over all kinds of questions."""

    tallies: dict[str, _Tally] = field(default_factory=dict)
    classes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[WrongAnswer]] = field(default_factory=dict)
    graded: int = 0
    agreed: int = 0
    unread: int = 0
    wordings: Counter[bool] = field(default_factory=Counter)
    objections: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, evidence: QuestionEvidence) -> None:
        tally = self.tallies.setdefault(evidence.kind, _Tally())
        tally.verdicts[verdict] += 1
        tally.chances.append(evidence.chance)
        if evidence.expected is not None:
            tally.given[evidence.expected, evidence.says] += 1
        self.unread += evidence.grade_unread
        if evidence.graded is not None:
            self.graded += 1
            self.agreed += evidence.graded == bool(evidence.named)
        if evidence.written is not None:
            self.wordings[evidence.written] += 1
            # An objection's details in this question follow the colon.
            self.objections.update({reason.partition(":")[0] for reason in evidence.fell_back})
        if evidence.error is not None:
            self.classes[evidence.error] += 1
            shown = self.examples.setdefault(evidence.error, [])
            if len(shown) < SHOWN_EXAMPLES:
                shown.append(WrongAnswer(evidence.question, evidence.answer or "", evidence.right_answer))


def count_answers(outcomes: Iterable[Outcome]) -> AnswerCounts:
    """Count the answers to questions; outcomes of other probes are ignored. Memory: the counts and the examples."""
    totals = _Totals()
    for outcome in outcomes:
        if isinstance(outcome.evidence, QuestionEvidence) and outcome.verdict.counts:
            totals.add(outcome.verdict, outcome.evidence)
    kinds = [_kind(name, tally) for name, tally in sorted(totals.tallies.items())]
    errors = []
    for name, count in totals.classes.most_common():
        errors.append(ErrorCount(name, count, count / totals.classes.total(), totals.examples[name]))
    writing = None
    if totals.wordings:
        reasons = dict(totals.objections.most_common())
        writing = Writing(totals.wordings.total(), totals.wordings[True], reasons)
    return AnswerCounts(kinds, errors, Agreement(totals.graded, totals.agreed, totals.unread), writing)


def _sides(said: Counter[tuple[bool, bool | None]]) -> Sides:
    yes, no = _side(True, said), _side(False, said)
    says_yes, says_no = yes.said_yes + no.said_yes, yes.said_no + no.said_no
    return Sides(
        yes,
        no,
        balanced_accuracy=mean_of_shares(yes.right, no.right) if yes.right and no.right else None,
        says_yes=share(says_yes, says_yes + says_no) if says_yes + says_no else None,
    )


def _side(expected: bool, said: Counter[tuple[bool, bool | None]]) -> YesNoCounts:
    yes, no, neither = (said[expected, says] for says in (True, False, None))
    answers = yes + no + neither
    right = share(said[expected, expected], answers) if answers else None
    return YesNoCounts("yes" if expected else "no", answers, right, yes, no, neither)


def _kind(name: str, tally: _Tally) -> KindOfQuestion:
    asked = tally.verdicts.total()
    return KindOfQuestion(
        name,
        asked,
        share(tally.verdicts[Verdict.RIGHT], asked),
        tally.verdicts[Verdict.REFUSED],
        tally.verdicts[Verdict.OFF_FORMAT],
        sum(tally.chances) / asked,
        _sides(tally.given) if tally.given else None,
    )


def answer_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """Return the answers by kind of question, to yes/no questions by the right answer, and the mistakes by class.

    Empty tables are left out.
    """
    answers = count_answers(outcomes)
    tables = []
    if answers.kinds:
        rows = [
            {
                "kind": kind.name,
                "answers": kind.asked,
                "right": kind.right,
                "balanced accuracy": kind.sides.balanced_accuracy if kind.sides else None,
                "says yes": kind.sides.says_yes if kind.sides else None,
                "refused": kind.refused,
                "off the format": kind.off_format,
                "by guessing": kind.chance,
            }
            for kind in answers.kinds
        ]
        tables.append(Table("kinds", "By kind of question", rows, list(_notes(answers))))
    tables += [_sides_table(kind.sides) for kind in answers.kinds if kind.sides]
    if answers.errors:
        tables.append(_errors_table(answers.errors))
    return tables


def _errors_table(errors: Sequence[ErrorCount]) -> Table:
    rows = []
    for error in errors:
        for example in error.examples:
            row = {"class": error.name, "answers": error.count, "share": error.share}
            row |= {"question": example.question, "what it said": example.answer or None, "right": example.right}
            rows.append(row)
    return Table("errors", "Errors", rows, groups_by="class")


def _sides_table(sides: Sides) -> Table:
    rows = [
        {
            "right answer": side.right_answer,
            "answers": side.answers,
            "right": side.right,
            "said yes": side.said_yes,
            "said no": side.said_no,
            "said neither": side.said_neither,
        }
        for side in (sides.yes, sides.no)
    ]
    return Table("sides", "Yes/no questions by their right answer", rows, list(_side_notes(sides)))


def _side_notes(sides: Sides) -> Iterator[str]:
    if sides.says_yes:
        due = sides.yes.answers / (sides.yes.answers + sides.no.answers)
        yield f"It says yes in {sides.says_yes} of its answers; yes is right for {due:.0%} of the questions."
    if sides.balanced_accuracy:
        yield f"Balanced accuracy, the mean of the two: {sides.balanced_accuracy}; 50% by guessing, or by one word."
    else:
        missing = sides.no if sides.yes.answers else sides.yes
        yield f"No question has the right answer {missing.right_answer}: balanced accuracy is undefined."


def _notes(answers: AnswerCounts) -> Iterator[str]:
    agreement = answers.agreement
    if agreement.graded:
        yield f"Grader and names say the same of {agreement.agreed:,} of {agreement.graded:,} wh-answers."
    if agreement.unread:
        yield f"{agreement.unread:,} replies of the grader could not be read: names decided alone."
    if answers.writing:
        yield str(answers.writing)
