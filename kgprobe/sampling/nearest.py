"""The entities of a group that are most like one entity, exactly, without looking at all of them.

Each feature of the entity has a list of those that share it, in the order of their divisors. What is found first in the
list of one feature shares none of those whose lists were read before; so its likeness is at most the weight of this and
the remaining features over its divisor, which only falls along the list. With the rarest, that is weightiest, features
first, a list ends as soon as this bound is below the last of the best, and most lists of common features are never
begun. (MaxScore and impact-ordered lists, as known from search engines.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgprobe.sampling.features import SCALE, Bools, FeatureIndex, Floats, Int32s, Int64s

# A list is read in pieces, the first of this length, each twice as long as the one before.
FIRST_PIECE = 512


@dataclass(slots=True)
class _Best:
    """The best entities so far: those of the greatest likeness; of equals, first by divisor, then by number."""

    count: int
    divisors: Floats
    entities: Int32s = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, entities: Int32s, shared: Int64s) -> None:
        """Take entities in, with the weight of what they share."""
        scores = np.concatenate([self.scores, shared / self.divisors[entities]])
        entities = np.concatenate([self.entities, entities])
        if len(scores) > self.count:
            last = np.partition(scores, len(scores) - self.count)[len(scores) - self.count]
            entities, scores = entities[scores >= last], scores[scores >= last]
        order = np.lexsort((entities, self.divisors[entities], -scores))[: self.count]
        self.entities, self.scores = entities[order], scores[order]

    def reach(self, entities: Int32s, bound: int) -> int:
        """How many of these, by divisor and number, could come in, if they share features of that weight at most."""
        if len(self.entities) < self.count:
            return len(entities)
        last, score = self.entities[-1], self.scores[-1]
        divisors = self.divisors[entities]
        bounds = bound / divisors
        earlier = (divisors < self.divisors[last]) | ((divisors == self.divisors[last]) & (entities < last))
        return int(np.count_nonzero((bounds > score) | ((bounds == score) & earlier)))


class Search:
    """Finds the entities nearest to one, in one index. Holds a byte an entity and 8 bytes a feature and a group."""

    def __init__(self, index: FeatureIndex) -> None:
        """Prepare to search in this index."""
        self._index = index
        # All zero between two searches.
        self._seen: Bools = np.zeros(len(index.divisors), dtype=np.bool_)
        self._weights: Int64s = np.zeros(len(index.weights), dtype=np.int64)
        self._wanted: Int64s = np.zeros(len(index.group_ids), dtype=np.int64)

    def nearest(self, entity: int, groups: Sequence[int], count: int) -> tuple[Int32s, Floats]:
        """The best of the groups' entities, without the entity itself.

        Args:
            entity: its number.
            groups: their places in the index; an entity in several of them counts once.
            count: how many are wanted.

        Returns:
            numbers, greatest likeness first; of equals, first by divisor, then by number. And for each the weight of
            what it shares with the entity over its own divisor. Shorter than ``count`` only if the groups have no more;
            those that share nothing come last, with 0.

        Cost: what the lists of the entity's rare features hold; at most that of looking at twice the groups' members.
        """
        features = self._index.features[entity]
        best = _Best(count, self._index.divisors)
        touched = [np.array([entity])]
        self._weights[features] = self._index.weights[features]
        self._wanted[list(groups)] = 1
        self._seen[entity] = True
        for piece in self._pieces(best, features, [self._index.members[group] for group in groups]):
            new = piece[~self._seen[piece]]
            self._seen[new] = True
            touched.append(new)
            new = new[self._index.groups.sums(new, self._wanted) > 0]
            if len(new):
                best.add(new, self._index.features.sums(new, self._weights))
        self._weights[features] = 0
        self._wanted[list(groups)] = 0
        self._seen[np.concatenate(touched)] = False
        return best.entities, best.scores / SCALE

    def _pieces(self, best: _Best, features: Int32s, members: Sequence[Int32s]) -> Iterator[Int32s]:
        """Whom to look at, until nobody else could be among the best; in a piece, everybody stands once."""
        weights = self._index.weights[features]
        rarest = np.argsort(-weights, kind="stable")
        remaining = np.append(np.cumsum(weights[rarest][::-1])[::-1], 0)
        # From there on it is cheaper to look at the groups.
        limit = sum(map(len, members))
        first = np.array([group[0] for group in members if len(group)], dtype=np.int32)
        waiting: list[Int32s] = []
        read, done = 0, 0
        while done < len(features) and read <= limit and best.reach(first, int(remaining[done])):
            found = self._index.found[features[rarest[done]]]
            for piece in _within_reach(best, found, int(remaining[done])):
                read += len(piece)
                waiting.append(piece)
                # Most lists of rare features are short: several make a piece.
                if sum(map(len, waiting)) >= FIRST_PIECE:
                    yield np.unique(np.concatenate(waiting))
                    waiting.clear()
                if read > limit:
                    break
            else:
                done += 1
        if waiting:
            yield np.unique(np.concatenate(waiting))
        for group in members:
            yield from _within_reach(best, group, int(remaining[done]))


def _within_reach(best: _Best, entities: Int32s, bound: int) -> Iterator[Int32s]:
    """A list in pieces, as far as it can matter; all of it shares features of this weight at most."""
    place, size = 0, FIRST_PIECE
    while place < len(entities):
        piece = entities[place : place + size]
        near = best.reach(piece, bound)
        if near:
            yield piece[:near]
        if near < len(piece):
            return
        place, size = place + size, 2 * size
