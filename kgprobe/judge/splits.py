"""Which labelled statements a judge learns from, and which tell how good it is.

A hidden state is as much about the names in a statement as about its truth. Statements of one entity, or of one
relation, on both sides would let a judge pass by what it remembers of them; so sides are drawn by entity and by
relation, not by statement.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Splits:
    """Places of labelled statements, ascending; each in one of them at most.

    Attributes:
        train: learned from.
        other_entities: statements of the relations learned from, with no entity that is learned from.
        other_relations: statements of relations that are not learned from; their entities may be.
        between: statements with one entity on either side, which neither side can have.
    """

    train: Integers
    other_entities: Integers
    other_relations: Integers
    between: Integers

    def kept(self, places: Integers) -> "Splits":
        """The same sides of those statements that are kept, by their places among these, ascending."""
        return Splits(
            *(
                np.flatnonzero(np.isin(places, side))
                for side in (self.train, self.other_entities, self.other_relations, self.between)
            )
        )


def split_statements(
    heads: Sequence[str], relations: Sequence[str], tails: Sequence[str], *, share: float, seed: int
) -> Splits:
    """Sides of statements: about a share of them of other relations, and of the rest the same share of other entities.

    Relations are drawn until they have the share; the one that takes too many is left out. Entities are gone through
    from the most frequent on, and each goes where most of its neighbours are, if these have been placed; so that few
    statements come to lie between.

    Args:
        heads, relations, tails: of the statements as they stand, ids.
        share: in (0, 1).
        seed: what is random follows from it.
    """
    random = np.random.default_rng([seed, len(heads)])
    apart = _drawn_relations(relations, share, random)
    others = np.array([relation in apart for relation in relations], dtype=bool)
    rest = np.flatnonzero(~others)
    pairs = [(heads[place], tails[place]) for place in rest.tolist()]
    held_out = _drawn_entities(pairs, share, random)
    sides = np.array([(head in held_out) + (tail in held_out) for head, tail in pairs], dtype=np.int64)
    return Splits(rest[sides == 0], rest[sides == 2], np.flatnonzero(others), rest[sides == 1])


def _drawn_relations(relations: Sequence[str], share: float, random: np.random.Generator) -> set[str]:
    names, counts = np.unique(np.array(relations, dtype=object).astype(str), return_counts=True)
    room = share * len(relations)
    drawn: set[str] = set()
    for place in random.permutation(len(names)):
        if counts[place] <= room and len(drawn) < len(names) - 1:
            drawn.add(str(names[place]))
            room -= counts[place]
    return drawn


def _drawn_entities(pairs: Sequence[tuple[str, str]], share: float, random: np.random.Generator) -> set[str]:
    """The entities of one side, such that about the share of the statements have both of theirs there."""
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
        # Without neighbours to follow, where there is too little yet.
        out = placed[1] < share * (sum(placed) + 1) if balance == 0 else balance > 0
        side[entity] = out
        placed[out] += len(neighbours[entity])
    return {entity for entity, out in side.items() if out}
