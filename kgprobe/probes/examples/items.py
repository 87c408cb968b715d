"""Facts with their choices."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.question_negatives import Negative, Negatives

# Sets these random choices apart from all others that follow from the same seed.
ORDER = 9
# Of other objects, so many more are drawn, since of several with one label one is taken.
_NAMESAKES = 10


@dataclass(frozen=True, slots=True)
class ChoiceItem:
    """A fact with its choices.

    Attributes:
        others: what stands beside the object, no two with the same label.
    """

    fact: AskedFact
    others: Sequence[Negative]

    @property
    def labels(self) -> list[str]:
        """What the choices are called, the object first."""
        return [self.fact.object_label, *(other.label for other in self.others)]

    def order(self, seed: Sequence[int]) -> list[int]:
        """The places of the choices in random order, from a stream of the fact's own."""
        generator = np.random.default_rng([*seed, ORDER, zlib.crc32(self.fact.key.fact.encode())])
        return [int(place) for place in generator.permutation(len(self.others) + 1)]


def draw_choices(
    negatives: Negatives, facts: Sequence[AskedFact], others: int, seed: Sequence[int]
) -> list[ChoiceItem]:
    """Facts with so many other objects of their relation beside each, or as many as there are, drawn at random.

    Args:
        seed: what the draws follow from.
    """
    drawn = negatives.draw([fact.key for fact in facts], others + _NAMESAKES, seed)
    return [ChoiceItem(fact, _distinct(fact, its, others)) for fact, its in zip(facts, drawn, strict=True)]


def _distinct(fact: AskedFact, others: Sequence[Negative], count: int) -> list[Negative]:
    """The first of others whose labels can be told apart, also from the object's."""
    labels = {fact.object_label}
    told_apart: list[Negative] = []
    for other in others:
        if other.label.strip() and other.label not in labels and len(told_apart) < count:
            labels.add(other.label)
            told_apart.append(other)
    return told_apart
