"""Tables of facts that were answered by choice: accuracy and confidence.

docs/methods/choices.md, and section 2 of the latent-knowledge paper.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kgprobe.probes.confidence import accuracy_at
from kgprobe.stats.proportions import share
from kgprobe.tables import Table

# Label of the row over all relations.
ALL = "all"


class _OfRelation(Protocol):
    """A result with the relation of its fact."""

    @property
    def relation(self) -> str: ...


Result = TypeVar("Result", bound=_OfRelation)


@dataclass(frozen=True, slots=True)
class ScoredChoice:
    """Result of one fact that was answered by choice.

    Attributes:
        relation: id of the relation.
        is_right: True if the right answer has the best score.
        choices: number of compared answers.
        probability: probability of the right answer, normalized over the choices.
        confidence: probability of the best answer, normalized over the choices.
    """

    relation: str
    is_right: bool
    choices: int
    probability: float
    confidence: float


def by_relation(results: Sequence[Result]) -> list[tuple[str, Sequence[Result]]]:
    """Return the results of each relation, sorted by id, and over all relations if there are several."""
    grouped: dict[str, list[Result]] = {}
    for result in results:
        grouped.setdefault(result.relation, []).append(result)
    groups: list[tuple[str, Sequence[Result]]] = sorted(grouped.items())
    return [*groups, (ALL, results)] if len(groups) > 1 else groups


def mean_of(values: Iterable[float]) -> float:
    """Return the mean of at least one value."""
    listed = list(values)
    return sum(listed) / len(listed)


def relations_table(choices: Sequence[ScoredChoice], notes: Sequence[str] = ()) -> Table:
    """Return the accuracy and the mean confidence in the best and in the right answer, by relation and over all.

    Args:
        choices: at least one.
    """
    rows = [
        {
            "relation": relation,
            "facts": len(group),
            "most choices": max(choice.choices for choice in group),
            "accuracy": share(sum(choice.is_right for choice in group), len(group)),
            "by guessing": mean_of(1 / choice.choices for choice in group),
            "confidence in the best": mean_of(choice.confidence for choice in group),
            "in the right one": mean_of(choice.probability for choice in group),
        }
        for relation, group in by_relation(choices)
    ]
    note = (
        "Confidence is the share that an answer has of the probability of all that were compared (softmax of their"
        " scores); its mean."
    )
    return Table("relations", "Accuracy by relation", rows, [note, *notes])


def confidence_table(choices: Sequence[ScoredChoice]) -> Table:
    """Return accuracy@K: accuracy over the facts whose best answer has a confidence of at least K."""
    levels = accuracy_at([choice.confidence for choice in choices], [choice.is_right for choice in choices])
    rows = [
        {"confidence": f"{level.threshold:g} or more", "facts": level.facts, "accuracy": level.accuracy}
        for level in levels
    ]
    return Table("confidence", "Accuracy where the model is confident (accuracy@K)", rows)
