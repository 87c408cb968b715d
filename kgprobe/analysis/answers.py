"""What the answers to questions were: by kind of question, and which mistakes, with examples.

docs/methods.md, 2.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kgprobe.analysis.rates import Share, share

# Of each class of mistakes.
SHOWN_EXAMPLES = 3


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
class Mistake:
    """A wrong answer."""

    question: str
    answer: str
    right: str


@dataclass(frozen=True, slots=True)
class MistakeClass:
    """Wrong answers of one kind.

    Attributes:
        share: of all mistakes.
        examples: the first ones.
    """

    name: str
    count: int
    share: float
    examples: Sequence[Mistake]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether a judge and the names say the same of answers to wh-questions.

    Attributes:
        judged: how many answers both spoke of.
        agreed: how many of these they agree on.
    """

    judged: int
    agreed: int


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers to questions, of a run or another measurement."""

    kinds: Sequence[KindOfQuestion]
    mistakes: Sequence[MistakeClass]
    agreement: Agreement

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
            "mistakes": [
                {
                    "class": mistake.name,
                    "count": mistake.count,
                    "share": mistake.share,
                    "examples": [asdict(example) for example in mistake.examples],
                }
                for mistake in self.mistakes
            ],
            "judge_agreement": asdict(self.agreement),
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
    examples: dict[str, list[Mistake]] = {}
    judged = agreed = 0
    for outcome in outcomes:
        evidence, verdict = outcome["evidence"], outcome["verdict"]
        if "kind" not in evidence or verdict in ("unaskable", "unanswered"):
            continue
        tally = tallies.setdefault(evidence["kind"], _Tally())
        tally.verdicts[verdict] += 1
        if evidence.get("chance") is not None:
            tally.chances.append(evidence["chance"])
        if evidence.get("judged") is not None:
            judged += 1
            agreed += evidence["judged"] == bool(evidence["named"])
        if "error" in evidence:
            classes[evidence["error"]] += 1
            shown = examples.setdefault(evidence["error"], [])
            if len(shown) < SHOWN_EXAMPLES:
                shown.append(_mistake(evidence))
    kinds = [_kind(name, tally) for name, tally in sorted(tallies.items())]
    total = classes.total()
    mistakes = [MistakeClass(name, count, count / total, examples[name]) for name, count in classes.most_common()]
    return Answers(kinds, mistakes, Agreement(judged, agreed))


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


def _mistake(evidence: Mapping[str, Any]) -> Mistake:
    if "expected" in evidence:
        right = "yes" if evidence["expected"] else "no"
    else:
        right = ", ".join(one["names"][0] for one in evidence["right"])
    return Mistake(evidence["question"], evidence["answer"] or "", right)
