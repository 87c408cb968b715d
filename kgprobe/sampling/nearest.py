"""Exact search for the most similar entities of a group, without scoring all of them.

Each feature of the query entity has a list of the entities that share it, sorted by their divisors. An entity that is
first found in the list of a feature shares none of the features read before. So its similarity is at most the weight
of this and the remaining features over its divisor, and this bound decreases along the list. Features are read from the
rarest (largest weight) on. A list ends when the bound falls below the worst of the best results; most lists of common
features are never read. (MaxScore and impact-ordered lists of search engines.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgprobe.sampling.features import SCALE, Bools, FeatureIndex, Floats, Int32s, Int64s

# Length of the first piece of a list; each piece is twice as long as the one before.
FIRST_PIECE = 512


@dataclass(slots=True)
class _Best:
    """The best entities so far, by similarity; ties by divisor, then by number."""

    count: int
    divisors: Floats
    entities: Int32s = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, entities: Int32s, shared: Int64s) -> None:
        """Add entities with the weights of their shared features."""
        scores = np.concatenate([self.scores, shared / self.divisors[entities]])
        entities = np.concatenate([self.entities, entities])
        if len(scores) > self.count:
            last = np.partition(scores, len(scores) - self.count)[len(scores) - self.count]
            entities, scores = entities[scores >= last], scores[scores >= last]
        order = np.lexsort((entities, self.divisors[entities], -scores))[: self.count]
        self.entities, self.scores = entities[order], scores[order]

    def reach(self, entities: Int32s, bound: int) -> int:
        """Return how many entities of a sorted list could enter, if they share features of that weight at most."""
        if len(self.entities) < self.count:
            return len(entities)
        last, score = self.entities[-1], self.scores[-1]
        divisors = self.divisors[entities]
        bounds = bound / divisors
        earlier = (divisors < self.divisors[last]) | ((divisors == self.divisors[last]) & (entities < last))
        return int(np.count_nonzero((bounds > score) | ((bounds == score) & earlier)))


class Search:
    """Search for similar entities in an index. Memory: a byte per entity, and 8 bytes per feature and group."""

    def __init__(self, index: FeatureIndex) -> None:
        """Prepare a search in this index."""
        self._index = index
        # All zero between searches.
        self._seen: Bools = np.zeros(len(index.divisors), dtype=np.bool_)
        self._weights: Int64s = np.zeros(len(index.weights), dtype=np.int64)
        self._is_group: Int64s = np.zeros(len(index.group_ids), dtype=np.int64)

    def nearest(self, entity: int, groups: Sequence[int], count: int) -> tuple[Int32s, Floats]:
        """Return the most similar entities of the groups, without the entity itself.

        Args:
            entity: number of the query entity.
            groups: places in the index; an entity in several of them counts once.
            count: number of results.

        Returns:
            Numbers by decreasing similarity (ties by divisor, then by number), and for each the weight of its shared
            features over its divisor. Shorter than ``count`` only if the groups have fewer; entities without a shared
            feature are last, with 0.

        Cost: linear in the lists of the entity's rare features; at most twice the groups' members.
        """
        features = self._index.features[entity]
        best = _Best(count, self._index.divisors)
        touched = [np.array([entity])]
        self._weights[features] = self._index.weights[features]
        self._is_group[list(groups)] = 1
        self._seen[entity] = True
        for piece in self._pieces(best, features, [self._index.members[group] for group in groups]):
            new = piece[~self._seen[piece]]
            self._seen[new] = True
            touched.append(new)
            new = new[self._index.groups.sums(new, self._is_group) > 0]
            if len(new):
                best.add(new, self._index.features.sums(new, self._weights))
        self._weights[features] = 0
        self._is_group[list(groups)] = 0
        self._seen[np.concatenate(touched)] = False
        return best.entities, best.scores / SCALE

    def _pieces(self, best: _Best, features: Int32s, members: Sequence[Int32s]) -> Iterator[Int32s]:
        """Yield candidates in pieces of distinct entities, until no other entity can be among the best."""
        weights = self._index.weights[features]
        rarest = np.argsort(-weights, kind="stable")
        remaining = np.append(np.cumsum(weights[rarest][::-1])[::-1], 0)
        # Beyond this number it is cheaper to read the groups.
        limit = sum(map(len, members))
        first = np.array([group[0] for group in members if len(group)], dtype=np.int32)
        waiting: list[Int32s] = []
        read, done = 0, 0
        while done < len(features) and read <= limit and best.reach(first, int(remaining[done])):
            entities = self._index.found[features[rarest[done]]]
            for piece in _within_reach(best, entities, int(remaining[done])):
                read += len(piece)
                waiting.append(piece)
                # Lists of rare features are short: several are joined to a piece.
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
    """Yield the part of a list that can be among the best, in pieces; ``bound`` is the weight of shared features."""
    place, size = 0, FIRST_PIECE
    while place < len(entities):
        piece = entities[place : place + size]
        near = best.reach(piece, bound)
        if near:
            yield piece[:near]
        if near < len(piece):
            return
        place, size = place + size, 2 * size
