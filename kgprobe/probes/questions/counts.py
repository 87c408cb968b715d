"""What the answers to questions were: by kind of question, and which errors, with examples.

docs/methods.md, 2.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kgprobe.estimates import Share, share
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.tables import Table

# Of each error class.
SHOWN_EXAMPLES = 3
# Why questions are not in a writer's words.
SHOWN_REASONS = 5


@dataclass(frozen=True, slots=True)
class KindOfQuestion:
    """How a model did on one kind of question.

    Attributes:
        asked: how many questions got an answer.
        right: the share of them.
        refused, off_format: how many of them were no answers; they count as wrong.
        chance: how often guessing is right, on average.
    """

    name: str
    asked: int
    right: Share
    refused: int
    off_format: int
    chance: float


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


def _kind(name: str, tally: _Tally) -> KindOfQuestion:
    asked = tally.verdicts.total()
    return KindOfQuestion(
        name,
        asked,
        share(tally.verdicts[Verdict.RIGHT], asked),
        tally.verdicts[Verdict.REFUSED],
        tally.verdicts[Verdict.OFF_FORMAT],
        sum(tally.chances) / asked,
    )


def answer_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """Answers by kind of question, and mistakes by class with examples; without tables that would be empty."""
    answers = count_answers(outcomes)
    tables = []
    if answers.kinds:
        rows = [
            {
                "kind": kind.name,
                "answers": kind.asked,
                "right": kind.right,
                "refused": kind.refused,
                "off the format": kind.off_format,
                "by guessing": kind.chance,
            }
            for kind in answers.kinds
        ]
        tables.append(Table("kinds", "By kind of question", rows, list(_notes(answers))))
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


def _notes(answers: Answers) -> Iterator[str]:
    agreement = answers.agreement
    if agreement.graded:
        yield f"Grader and names say the same of {agreement.agreed:,} of {agreement.graded:,} wh-answers."
    if agreement.unread:
        yield f"{agreement.unread:,} replies of the grader could not be read: names decided alone."
    if answers.writing:
        yield str(answers.writing)
