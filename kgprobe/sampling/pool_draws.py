"""Random entities of a pool that pass a test, each as probable as any other.

Numbers are drawn here and tested in the graph. They come from the lists that make up the pool, read once and
remembered; of a large pool they come from all entities, and the test turns down those that are not of it. A draw costs
its batch and the number of entities that are wanted, some 150 look-ups each at most; never the graph.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph
from kgprobe.sampling.keys import FactKey

# A pool is listed if it has at most this many members, or at most this share of all entities.
LISTED_MEMBERS = 200_000
LISTED_SHARE = 0.01

# A listed pool is gone through in random order if it has at most this many members; of a larger one, some are drawn.
SHUFFLED_MEMBERS = 10_000

# How many listed members are remembered between calls, 8 bytes each.
REMEMBERED_MEMBERS = 10_000_000

# Of a large pool, so many members are drawn at most, on average, for each that is wanted.
PATIENCE = 100

T = TypeVar("T")

# A list of members: the query that gives it, and the id of the type or relation.
Members = tuple[str, str]

# Which of the entities with these numbers pass for a fact, by number.
Test = Callable[[Sequence[tuple[FactKey, Sequence[int]]]], Sequence[Mapping[int, T]]]


def by_number(rows: Sequence[tuple[FactKey, Sequence[int]]], found: Iterable[tuple[str, int, T]]) -> list[dict[int, T]]:
    """What was found of each fact, by number, in the order in which the numbers were tried.

    Args:
        rows: facts, each with the numbers tried.
        found: fact, number, and what stands for it.
    """
    its: dict[str, dict[int, T]] = {key.fact: {} for key, _ in rows}
    for fact, number, one in found:
        its[fact][number] = one
    return [{number: its[key.fact][number] for number in numbers if number in its[key.fact]} for key, numbers in rows]


@dataclass(frozen=True, slots=True)
class Pool:
    """What is drawn from for one fact.

    Attributes:
        lists: the lists of members that it is the union of.
        size: how many members they have, those of two lists counted twice.
        total: how many numbers entities have got.
    """

    lists: tuple[Members, ...]
    size: int
    total: int

    @property
    def is_listed(self) -> bool:
        """Whether it is small enough to be listed."""
        return self.size <= max(LISTED_MEMBERS, LISTED_SHARE * self.total)


@dataclass(slots=True)
class Draw(Generic[T]):
    """The numbers still to be tried for one fact, and what was found.

    Attributes:
        shuffled: all members of the pool in random order, each to be tried once.
        listed: all members of a pool to draw from, if neither that nor all numbers below ``total``.
        share: of what is drawn from, the part that is of the pool.
    """

    key: FactKey
    generator: np.random.Generator
    shuffled: NDArray[np.int64] | None
    listed: NDArray[np.int64] | None
    total: int
    share: float
    found: dict[int, T] = field(default_factory=dict)
    tried: int = 0

    @classmethod
    def of_members(cls, key: FactKey, members: NDArray[Any], seed: Sequence[int]) -> "Draw[T]":
        """From a list of members, each of which stands there once."""
        generator = generator_of(key, seed)
        if len(members) <= SHUFFLED_MEMBERS:
            return cls(key, generator, generator.permutation(members), None, len(members), 1.0)
        return cls(key, generator, None, members, len(members), 1.0)

    def numbers(self, count: int) -> list[int]:
        """The next numbers to try: more than are missing, since some will be turned down."""
        missing = count - len(self.found)
        some = missing + missing // 4 + 4
        if self.shuffled is not None:
            chosen = self.shuffled[self.tried : self.tried + some]
        elif self.listed is not None:
            chosen = self.listed[self.generator.integers(len(self.listed), size=some)]
        else:
            # Two standard deviations more than are missing, so that one draw nearly always is enough.
            hits = missing + 2 * missing**0.5 + 2
            chosen = self.generator.integers(self.total, size=int(hits / self.share))
        self.tried += len(chosen)
        return list(dict.fromkeys(chosen.tolist()))

    def goes_on(self, count: int) -> bool:
        """Whether there may be more; a large pool runs dry only if nearly all its members are turned down."""
        return len(self.found) < count and (self.shuffled is not None or self.tried < PATIENCE * count / self.share)


def generator_of(key: FactKey, seed: Sequence[int]) -> np.random.Generator:
    """What is random about one fact: it follows from the seed and the fact's id, whatever stands beside it."""
    return np.random.default_rng([*seed, zlib.crc32(key.fact.encode())])


def go_through(draws: Sequence[Draw[T]], count: int, test: Test[T]) -> None:
    """Draw until so many are found for each fact, or until there are no more."""
    pending = [draw for draw in draws if draw.goes_on(count)]
    while pending:
        rows = [(draw, draw.numbers(count)) for draw in pending]
        rows = [(draw, numbers) for draw, numbers in rows if numbers]
        for (draw, _), found in zip(rows, test([(draw.key, numbers) for draw, numbers in rows]), strict=True):
            draw.found |= found
        pending = [draw for draw, _ in rows if draw.goes_on(count)]


class PoolDraws:
    """Draws from the pools of one graph; remembers the members of small ones."""

    def __init__(self, graph: Graph) -> None:
        """Draw from this graph."""
        self._graph = graph
        self._members: dict[Members, NDArray[np.int64]] = {}

    def draw(
        self, keys: Sequence[FactKey], pools: Mapping[str, Pool], count: int, seed: Sequence[int], test: Test[T]
    ) -> list[list[T]]:
        """Distinct entities of each fact's pool that pass the test, uniform over these, in random order.

        Args:
            keys: facts.
            pools: by the facts' ids.
            count: how many are wanted for each.
            seed: what the draws follow from, together with a fact's id; whatever stands beside it has no say.

        Returns:
            one list a fact, in the order of the keys; shorter than ``count`` where the pool has no more.
        """
        draws: list[Draw[T]] = self._begin(keys, pools, seed)
        go_through(draws, count, test)
        return [list(draw.found.values())[:count] for draw in draws]

    def _begin(self, keys: Sequence[FactKey], pools: Mapping[str, Pool], seed: Sequence[int]) -> list[Draw[T]]:
        self._remember({group for pool in pools.values() if pool.is_listed for group in pool.lists})
        unions: dict[tuple[Members, ...], NDArray[np.int64]] = {}
        draws: list[Draw[T]] = []
        for key in keys:
            pool = pools[key.fact]
            if not pool.is_listed:
                share = min(1.0, pool.size / max(1, pool.total))
                draws.append(Draw(key, generator_of(key, seed), None, None, pool.total, share))
                continue
            if pool.lists not in unions:
                unions[pool.lists] = np.unique(np.concatenate([self._members[group] for group in pool.lists]))
            draws.append(Draw.of_members(key, unions[pool.lists], seed))
        return draws

    def _remember(self, groups: set[Members]) -> None:
        missing = sorted(groups - self._members.keys())
        if sum(map(len, self._members.values())) > REMEMBERED_MEMBERS:
            self._members = {group: self._members[group] for group in groups if group in self._members}
        for query in dict.fromkeys(query for query, _ in missing):
            ids = [id_ for query_, id_ in missing if query_ == query]
            for id_ in ids:
                self._members[query, id_] = np.empty(0, dtype=np.int64)
            for row in self._graph.stream(query, ids=ids):
                self._members[query, row["id"]] = np.array(row["numbers"], dtype=np.int64)
