"""What the answers to questions were: by kind of question, and which errors, with examples.

docs/methods/questions.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.stats.proportions import Share, mean_of_shares, share
from kgprobe.tables import Table

# Of each error class.
SHOWN_EXAMPLES = 3
# Why questions are not in a writer's words.
SHOWN_REASONS = 5


@dataclass(frozen=True, slots=True)
class Side:
    """The yes/no questions with the same right answer.

    Attributes:
        answers: how many got an answer.
        right: the share of them; None where there is none.
        said_yes, said_no, said_neither: what the answers were; neither are refusals, too.
    """

    right_answer: str
    answers: int
    right: Share | None
    said_yes: int
    said_no: int
    said_neither: int


@dataclass(frozen=True, slots=True)
class Sides:
    """How a model did on yes/no questions, by what was right: one that always says no is right in half of them.

    Attributes:
        yes, no: the questions to which yes is right, and those to which no is.
        balanced_accuracy: the mean of what was right of the two; None where one of them has no answer.
        says_yes: the share of yes among the answers that were yes or no; None where none was.
    """

    yes: Side
    no: Side
    balanced_accuracy: Share | None
    says_yes: Share | None


@dataclass(frozen=True, slots=True)
class KindOfQuestion:
    """How a model did on one kind of question.

    Attributes:
        asked: how many questions got an answer.
        right: the share of them.
        refused, off_format: how many of them were no answers; they count as wrong.
        chance: how often guessing is right, on average.
        sides: of yes/no questions; None of others.
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
        share: of all errors.
        examples: the first ones.
    """

    name: str
    count: int
    share: float
    examples: Sequence[WrongAnswer]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether a grader and the names say the same of answers to wh-questions.

    Attributes:
        graded: how many answers both spoke of.
        agreed: how many of these they agree on.
        unread: how many replies of the grader said neither yes nor no, so that names decided alone.
    """

    graded: int
    agreed: int
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Writing:
    """How many questions were asked in a writer's words, and why the others were not.

    Attributes:
        questions: how many a writer was to word.
        written: how many are in its words; the others are in those of templates.
        reasons: how many of the others it speaks against, the most frequent first; one may have several.
    """

    questions: int
    written: int
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        told = f"{self.written:,} of {self.questions:,} questions are in the writer's words"
        if not self.reasons:
            return f"{told}."
        reasons = [f"{reason} ({count:,})" for reason, count in list(self.reasons.items())[:SHOWN_REASONS]]
        more = ["…"] if len(self.reasons) > SHOWN_REASONS else []
        return f"{told}. What it wrote instead of the others: {'; '.join([*reasons, *more])}."


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers to questions, of a run or another measurement.

    Attributes:
        writing: None where all questions are in the words of templates.
    """

    kinds: Sequence[KindOfQuestion]
    errors: Sequence[ErrorCount]
    agreement: Agreement
    writing: Writing | None = None


@dataclass(slots=True)
class _Tally:
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    chances: list[float] = field(default_factory=list)
    # By whether yes is right, and what was said.
    said: Counter[tuple[bool, bool | None]] = field(default_factory=Counter)


def count_answers(outcomes: Iterable[Outcome]) -> Answers:
    """Count the answers to questions; those of other probes count nowhere. Memory: the counts and the examples."""
    tallies: dict[str, _Tally] = {}
    classes: Counter[str] = Counter()
    examples: dict[str, list[WrongAnswer]] = {}
    graded = agreed = unread = 0
    wordings: Counter[bool] = Counter()
    objections: Counter[str] = Counter()
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, QuestionEvidence) or not outcome.verdict.counts:
            continue
        tally = tallies.setdefault(evidence.kind, _Tally())
        tally.verdicts[outcome.verdict] += 1
        tally.chances.append(evidence.chance)
        if evidence.expected is not None:
            tally.said[evidence.expected, evidence.says] += 1
        unread += evidence.grade_unread
        if evidence.graded is not None:
            graded += 1
            agreed += evidence.graded == bool(evidence.named)
        if evidence.written is not None:
            wordings[evidence.written] += 1
            # What a reason means in this question stands behind the colon.
            objections.update({reason.partition(":")[0] for reason in evidence.fell_back})
        if evidence.error is not None:
            classes[evidence.error] += 1
            shown = examples.setdefault(evidence.error, [])
            if len(shown) < SHOWN_EXAMPLES:
                shown.append(WrongAnswer(evidence.question, evidence.answer or "", evidence.right_answer))
    kinds = [_kind(name, tally) for name, tally in sorted(tallies.items())]
    total = classes.total()
    errors = [ErrorCount(name, count, count / total, examples[name]) for name, count in classes.most_common()]
    writing = Writing(wordings.total(), wordings[True], dict(objections.most_common())) if wordings else None
    return Answers(kinds, errors, Agreement(graded, agreed, unread), writing)


def _sides(said: Counter[tuple[bool, bool | None]]) -> Sides:
    yes, no = _side(True, said), _side(False, said)
    says_yes, says_no = yes.said_yes + no.said_yes, yes.said_no + no.said_no
    return Sides(
        yes,
        no,
        balanced_accuracy=mean_of_shares(yes.right, no.right) if yes.right and no.right else None,
        says_yes=share(says_yes, says_yes + says_no) if says_yes + says_no else None,
    )


def _side(expected: bool, said: Counter[tuple[bool, bool | None]]) -> Side:
    yes, no, neither = (said[expected, says] for says in (True, False, None))
    answers = yes + no + neither
    right = share(said[expected, expected], answers) if answers else None
    return Side("yes" if expected else "no", answers, right, yes, no, neither)


def _kind(name: str, tally: _Tally) -> KindOfQuestion:
    asked = tally.verdicts.total()
    return KindOfQuestion(
        name,
        asked,
        share(tally.verdicts[Verdict.RIGHT], asked),
        tally.verdicts[Verdict.REFUSED],
        tally.verdicts[Verdict.OFF_FORMAT],
        sum(tally.chances) / asked,
        _sides(tally.said) if tally.said else None,
    )


def answer_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """Answers by kind of question, those to yes/no questions by what was right, and mistakes by class with examples.

    Tables that would be empty are left out.
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
        mistakes = [
            {
                "class": error.name,
                "answers": error.count,
                "share": error.share,
                "question": example.question,
                "what it said": example.answer or None,
                "right": example.right,
            }
            for error in answers.errors
            for example in error.examples
        ]
        tables.append(Table("errors", "Errors", mistakes, groups_by="class"))
    return tables


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
        yield f"It says yes in {sides.says_yes} of what it says; yes is right to {due:.0%} of the questions."
    if sides.balanced_accuracy:
        yield f"Balanced accuracy, the mean of the two: {sides.balanced_accuracy}; 50% by guessing, or by one word."
    else:
        missing = sides.no if sides.yes.answers else sides.yes
        yield f"No question has {missing.right_answer} for its right answer: balanced accuracy cannot be told."


def _notes(answers: Answers) -> Iterator[str]:
    agreement = answers.agreement
    if agreement.graded:
        yield f"Grader and names say the same of {agreement.agreed:,} of {agreement.graded:,} wh-answers."
    if agreement.unread:
        yield f"{agreement.unread:,} replies of the grader could not be read: names decided alone."
    if answers.writing:
        yield str(answers.writing)
