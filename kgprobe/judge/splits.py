"""Splits of labelled statements for training and evaluation of a judge.

A hidden state depends on the names in a statement as much as on its truth. If an entity or a relation were on both
sides, a judge could succeed by remembering it. So sides are drawn by entity and by relation, not by statement.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Splits:
    """Places of labelled statements, ascending; each in at most one of them.

    Attributes:
        train: training statements.
        other_entities: statements of training relations, without training entities.
        other_relations: statements of other relations; their entities may be training entities.
        between: statements with one entity on either side, which neither side may use.
    """

    train: Integers
    other_entities: Integers
    other_relations: Integers
    between: Integers

    def kept(self, places: Integers) -> "Splits":
        """Return the splits of a subset of statements, given by ascending places, in places of the subset."""
        sides = (self.train, self.other_entities, self.other_relations, self.between)
        return Splits(*(np.flatnonzero(np.isin(places, side)) for side in sides))


def split_statements(
    heads: Sequence[str], relations: Sequence[str], tails: Sequence[str], *, share: float, seed: int
) -> Splits:
    """Split statements: about a share with other relations, and the same share of the rest with other entities.

    Relations are drawn until they reach the share; one that would exceed it is left out. Entities are placed from the
    most frequent on, each on the side of most of its neighbours, so that few statements fall between.

    Args:
        heads, relations, tails: ids of the statements' parts.
        share: in (0, 1).
        seed: random seed.
    """
    random = np.random.default_rng([seed, len(heads)])
    apart = _draw_relations(relations, share, random)
    others = np.array([relation in apart for relation in relations], dtype=bool)
    rest = np.flatnonzero(~others)
    pairs = [(heads[place], tails[place]) for place in rest.tolist()]
    held_out = _draw_entities(pairs, share, random)
    sides = np.array([(head in held_out) + (tail in held_out) for head, tail in pairs], dtype=np.int64)
    return Splits(rest[sides == 0], rest[sides == 2], np.flatnonzero(others), rest[sides == 1])


def _draw_relations(relations: Sequence[str], share: float, random: np.random.Generator) -> set[str]:
    names, counts = np.unique(np.array(relations, dtype=object).astype(str), return_counts=True)
    room = share * len(relations)
    drawn: set[str] = set()
    for place in random.permutation(len(names)):
        if counts[place] <= room and len(drawn) < len(names) - 1:
            drawn.add(str(names[place]))
            room -= counts[place]
    return drawn


def _draw_entities(pairs: Sequence[tuple[str, str]], share: float, random: np.random.Generator) -> set[str]:
    """Return the held-out entities, such that about the share of the statements have both of theirs there."""
    neighbours: defaultdict[str, list[str]] = defaultdict(list)
    for head, tail in pairs:
        neighbours[head].append(tail)
        neighbours[tail].append(head)
    shuffled = [sorted(neighbours)[place] for place in random.permutation(len(neighbours))]
    side: dict[str, bool] = {}
    placed = [0, 0]
    for entity in sorted(shuffled, key=lambda entity: -len(neighbours[entity])):
        near = [side[other] for other in neighbours[entity] if other in side]
        balance = 2 * sum(near) - len(near)
        # On a tie, fill the share first.
        out = placed[1] < share * (sum(placed) + 1) if balance == 0 else balance > 0
        side[entity] = out
        placed[out] += len(neighbours[entity])
    return {entity for entity, out in side.items() if out}
