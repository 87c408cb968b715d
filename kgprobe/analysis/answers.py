"""What the answers to questions were: by kind of question, and which errors, with examples.

docs/methods.md, 2.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kgprobe.analysis.rates import Share, share

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
        chance: how often guessing is right, on average; None where nothing says so.
    """

    name: str
    asked: int
    right: Share
    refused: int
    off_format: int
    chance: float | None


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
    """Whether a judge and the names say the same of answers to wh-questions.

    Attributes:
        judged: how many answers both spoke of.
        agreed: how many of these they agree on.
        unread: how many replies of the judge said neither yes nor no, so that names decided alone.
    """

    judged: int
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

    def as_json(self) -> dict[str, Any]:
        """One object with stable keys."""
        return {
            "kinds": [
                {
                    "kind": kind.name,
                    "answers": kind.asked,
                    "right": kind.right.value,
                    "right_interval": [kind.right.low, kind.right.high],
                    "refused": kind.refused,
                    "off_format": kind.off_format,
                    "chance": kind.chance,
                }
                for kind in self.kinds
            ],
            "errors": [
                {
                    "class": error.name,
                    "count": error.count,
                    "share": error.share,
                    "examples": [asdict(example) for example in error.examples],
                }
                for error in self.errors
            ],
            "judge_agreement": asdict(self.agreement),
            "writing": asdict(self.writing) if self.writing else None,
        }


@dataclass(slots=True)
class _Tally:
    verdicts: Counter[str] = field(default_factory=Counter)
    chances: list[float] = field(default_factory=list)


def count_answers(outcomes: Iterable[Mapping[str, Any]]) -> Answers:
    """Count the answers to questions. Memory: the counts and the examples.

    Args:
        outcomes: as a run's audit trail or a measurement has them; those of other probes count nowhere.
    """
    tallies: dict[str, _Tally] = {}
    classes: Counter[str] = Counter()
    examples: dict[str, list[WrongAnswer]] = {}
    judged = agreed = unread = 0
    wordings: Counter[bool] = Counter()
    objections: Counter[str] = Counter()
    for outcome in outcomes:
        evidence, verdict = outcome["evidence"], outcome["verdict"]
        if "kind" not in evidence or verdict in ("unaskable", "unanswered"):
            continue
        tally = tallies.setdefault(evidence["kind"], _Tally())
        tally.verdicts[verdict] += 1
        if evidence.get("chance") is not None:
            tally.chances.append(evidence["chance"])
        unread += bool(evidence.get("judge_unread"))
        if evidence.get("judged") is not None:
            judged += 1
            agreed += evidence["judged"] == bool(evidence["named"])
        if "written" in evidence:
            wordings[evidence["written"]] += 1
            # What a reason means in this question stands behind the colon.
            objections.update({reason.partition(":")[0] for reason in evidence["fell_back"]})
        if "error" in evidence:
            classes[evidence["error"]] += 1
            shown = examples.setdefault(evidence["error"], [])
            if len(shown) < SHOWN_EXAMPLES:
                shown.append(_wrong_answer(evidence))
    kinds = [_kind(name, tally) for name, tally in sorted(tallies.items())]
    total = classes.total()
    errors = [ErrorCount(name, count, count / total, examples[name]) for name, count in classes.most_common()]
    writing = Writing(wordings.total(), wordings[True], dict(objections.most_common())) if wordings else None
    return Answers(kinds, errors, Agreement(judged, agreed, unread), writing)


def _kind(name: str, tally: _Tally) -> KindOfQuestion:
    asked = tally.verdicts.total()
    chance = sum(tally.chances) / len(tally.chances) if tally.chances else None
    return KindOfQuestion(
        name,
        asked,
        share(tally.verdicts["right"], asked),
        tally.verdicts["refused"],
        tally.verdicts["off-format"],
        chance,
    )


def _wrong_answer(evidence: Mapping[str, Any]) -> WrongAnswer:
    if "expected" in evidence:
        right = "yes" if evidence["expected"] else "no"
    else:
        right = ", ".join(one["names"][0] for one in evidence["right"])
    return WrongAnswer(evidence["question"], evidence["answer"] or "", right)
