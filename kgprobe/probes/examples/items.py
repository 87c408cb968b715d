"""Facts with their choices."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.question_negatives import Negative, Negatives

# Key of this random stream, different from all other streams of the same seed.
ORDER = 9
# Number of further objects to draw, since objects with equal labels count once.
_NAMESAKES = 10


@dataclass(frozen=True, slots=True)
class ChoiceItem:
    """A fact with its choices.

    Attributes:
        others: the other choices, with distinct labels.
    """

    fact: AskedFact
    others: Sequence[Negative]

    @property
    def labels(self) -> list[str]:
        """Labels of the choices, the object's first."""
        return [self.fact.object_label, *(other.label for other in self.others)]

    def order(self, seed: Sequence[int]) -> list[int]:
        """Return the positions of the choices in random order, from the fact's own random stream."""
        generator = np.random.default_rng([*seed, ORDER, zlib.crc32(self.fact.key.fact.encode())])
        return [int(place) for place in generator.permutation(len(self.others) + 1)]


def draw_choices(
    negatives: Negatives, facts: Sequence[AskedFact], others: int, seed: Sequence[int]
) -> list[ChoiceItem]:
    """Draw up to ``others`` other objects of the relation as choices for each fact.

    Args:
        others: number of other objects; fewer if the relation has no more.
    """
    drawn = negatives.draw([fact.key for fact in facts], others + _NAMESAKES, seed)
    return [ChoiceItem(fact, _distinct(fact, objects, others)) for fact, objects in zip(facts, drawn, strict=True)]


def _distinct(fact: AskedFact, others: Sequence[Negative], count: int) -> list[Negative]:
    """Return the first objects with distinct labels that also differ from the right object's label."""
    labels = {fact.object_label}
    distinct: list[Negative] = []
    for other in others:
        if other.label.strip() and other.label not in labels and len(distinct) < count:
            labels.add(other.label)
            distinct.append(other)
    return distinct
