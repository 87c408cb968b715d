"""What is told of facts that were answered by comparison of given answers: accuracy, and how sure the model was.

docs/methods/choices.md, and section 2 of the latent-knowledge paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.probes.confidence import accuracy_at
from kgprobe.stats.proportions import share
from kgprobe.tables import Table

# The row of all relations together.
ALL = "all"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One fact with what won.

    Attributes:
        relation: its id.
        is_right: whether the right answer won.
        choices: how many were compared.
        probability: the right answer's, normalised over the choices.
        confidence: the best answer's, normalised over the choices.
    """

    relation: str
    is_right: bool
    choices: int
    probability: float
    confidence: float


def relations_table(chosen: Sequence[Chosen], notes: Sequence[str] = ()) -> Table:
    """Accuracy, and the mean confidence in the best and in the right answer, by relation and over all.

    Args:
        chosen: at least one.
    """
    by_relation: dict[str, list[Chosen]] = {}
    for one in chosen:
        by_relation.setdefault(one.relation, []).append(one)
    named: list[tuple[str, Sequence[Chosen]]] = sorted(by_relation.items())
    rows = [
        {
            "relation": relation,
            "facts": len(its),
            "most choices": max(one.choices for one in its),
            "accuracy": share(sum(one.is_right for one in its), len(its)),
            "by guessing": sum(1 / one.choices for one in its) / len(its),
            "confidence in the best": sum(one.confidence for one in its) / len(its),
            "in the right one": sum(one.probability for one in its) / len(its),
        }
        for relation, its in [*named, *([(ALL, chosen)] if len(named) > 1 else [])]
    ]
    note = (
        "Confidence is the share that an answer has of the probability of all that were compared (softmax of their"
        " scores); its mean."
    )
    return Table("relations", "Accuracy by relation", rows, [note, *notes])


def confidence_table(chosen: Sequence[Chosen]) -> Table:
    """Accuracy@K: accuracy over the facts whose best answer has a confidence of at least K."""
    rows = [
        {"confidence": f"{at.threshold:g} or more", "facts": at.facts, "accuracy": at.accuracy}
        for at in accuracy_at([one.confidence for one in chosen], [one.is_right for one in chosen])
    ]
    return Table("confidence", "Accuracy where the model is confident (accuracy@K)", rows)
