"""Uniform draws from a pool of entities that pass a test.

Numbers are drawn here and tested in the graph. They come from the lists of the pool, which are read once and cached;
for a large pool they come from all entities, and the test rejects the others. A draw costs at most some 150 look-ups
for each requested entity; it never scans the graph.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey

# A pool is listed if it has at most this many members, or at most this share of all entities.
LISTED_MEMBERS = 200_000
LISTED_SHARE = 0.01

# A listed pool is shuffled if it has at most this many members; from a larger one, members are drawn.
SHUFFLED_MEMBERS = 10_000

# Number of listed members that are cached between calls, 8 bytes each.
CACHED_MEMBERS = 10_000_000

# Maximum average number of draws from a large pool per requested entity.
PATIENCE = 100

T = TypeVar("T")

# A list of members: its query, and the id of the type or relation.
Members = tuple[str, str]

# Facts, each with the tried numbers.
Tried: TypeAlias = Sequence[tuple[FactKey, Sequence[int]]]

# Test: returns the accepted entities of each fact, by number.
Test = Callable[[Tried], Sequence[Mapping[int, T]]]


def tried_rows(tried: Tried) -> list[Row]:
    """Return facts and their tried numbers as rows for a query."""
    return [{**key._asdict(), "numbers": list(numbers)} for key, numbers in tried]


def by_number(tried: Tried, accepted: Iterable[tuple[str, int, T]]) -> list[dict[int, T]]:
    """Return the accepted entities (fact, number, entity) of each fact by number, in the order of the tried numbers."""
    entities = {(fact, number): entity for fact, number, entity in accepted}
    ordered: list[dict[int, T]] = []
    for key, numbers in tried:
        ordered.append({})
        for number in numbers:
            if (key.fact, number) in entities:
                ordered[-1][number] = entities[key.fact, number]
    return ordered


@dataclass(frozen=True, slots=True)
class ObjectPool:
    """The pool of a fact: a union of lists of members.

    Attributes:
        lists: of members.
        size: total length of the lists; members of two lists count twice.
        total: number of numbers of entities.
    """

    lists: tuple[Members, ...]
    size: int
    total: int

    @property
    def is_listed(self) -> bool:
        """True if the pool is small enough to be listed."""
        return self.size <= max(LISTED_MEMBERS, LISTED_SHARE * self.total)


def object_pool(row: Row) -> ObjectPool:
    """Return the pool of a row of ``sample/pools``: entities of the object's types, or objects of its relation."""
    return _pool_of_types(row) if row["types"] else objects_pool(row)


def objects_pool(row: Row) -> ObjectPool:
    """Return the pool of the objects of a fact's relation, from a row of ``sample/pools``."""
    return ObjectPool((("sample/objects", row["relation"]["id"]),), row["relation"]["size"], row["total"])


def subject_pool(row: Row) -> ObjectPool:
    """Return the pool of a row of ``sample/subject_pools``: entities of the types, or subjects of the relation."""
    return _pool_of_types(row) if row["types"] else relation_pool(row)


def relation_pool(row: Row) -> ObjectPool:
    """Return the pool of the subjects of a fact's relation, from a row of ``sample/subject_pools``."""
    # Their number is unknown without listing them: a size of 0 lists all.
    return ObjectPool((("sample/subjects", row["relation"]),), 0, row["total"])


def _pool_of_types(row: Row) -> ObjectPool:
    lists = tuple(("sample/members", type_["id"]) for type_ in row["types"])
    return ObjectPool(lists, sum(map(itemgetter("size"), row["types"])), row["total"])


@dataclass(slots=True)
class PoolDraw(Generic[T]):
    """The state of the draws for a fact.

    Attributes:
        shuffled: all members of a small pool in random order, each tried once; else None.
        listed: all members of a listed pool; None if numbers below ``total`` are drawn.
        share: probability that a drawn number is in the pool.
        first: preferred members in random order, which are tried before all others.
        accepted: accepted entities by number.
        tried: number of tried numbers.
    """

    key: FactKey
    generator: np.random.Generator
    shuffled: NDArray[np.int64] | None
    listed: NDArray[np.int64] | None
    total: int
    share: float
    first: list[int] = field(default_factory=list)
    accepted: dict[int, T] = field(default_factory=dict)
    tried: int = 0

    @classmethod
    def of_members(cls, key: FactKey, members: NDArray[Any], seed: Sequence[int]) -> "PoolDraw[T]":
        """Return draws from a list of distinct members."""
        draw = cls(key, generator_of(key, seed), None, members, len(members), 1.0)
        if len(members) <= SHUFFLED_MEMBERS:
            draw.shuffled = draw.generator.permutation(members)
        return draw

    def numbers(self, count: int) -> list[int]:
        """Return the next numbers to try: more than are missing, since some will be rejected."""
        missing = count - len(self.accepted)
        size = missing + missing // 4 + 4
        if self.first:
            preferred, self.first = self.first[:size], self.first[size:]
            return preferred
        if self.shuffled is not None:
            chosen = self.shuffled[self.tried : self.tried + size]
        elif self.listed is not None:
            chosen = self.listed[self.generator.integers(len(self.listed), size=size)]
        else:
            # Two standard deviations more than are missing, so one draw is nearly always enough.
            hits = missing + 2 * missing**0.5 + 2
            chosen = self.generator.integers(self.total, size=int(hits / self.share))
        self.tried += len(chosen)
        return list(dict.fromkeys(chosen.tolist()))

    def is_open(self, count: int) -> bool:
        """Return True if entities are missing and more can be tried."""
        is_exhausted = self.shuffled is None and self.tried >= PATIENCE * count / self.share
        return len(self.accepted) < count and (bool(self.first) or not is_exhausted)


def generator_of(key: FactKey, seed: Sequence[int]) -> np.random.Generator:
    """Return a generator that depends only on the seed and the fact's id."""
    return np.random.default_rng([*seed, zlib.crc32(key.fact.encode())])


def go_through(draws: Sequence[PoolDraw[T]], count: int, test: Test[T]) -> None:
    """Draw until ``count`` entities are accepted for each fact, or the pool is exhausted."""
    pending = [draw for draw in draws if draw.is_open(count)]
    while pending:
        rows = [(draw, draw.numbers(count)) for draw in pending]
        rows = [(draw, numbers) for draw, numbers in rows if numbers]
        accepted = test([(draw.key, numbers) for draw, numbers in rows])
        for (draw, _), entities in zip(rows, accepted, strict=True):
            draw.accepted |= entities
        pending = [draw for draw, _ in rows if draw.is_open(count)]


class PoolDraws:
    """Draws from the pools of one graph; the members of small ones are cached."""

    def __init__(self, graph: Graph) -> None:
        """Draw from this graph."""
        self._graph = graph
        self._members: dict[Members, NDArray[np.int64]] = {}

    def draw(
        self,
        keys: Sequence[FactKey],
        pools: Mapping[str, ObjectPool],
        count: int,
        seed: Sequence[int],
        test: Test[T],
        first: Mapping[str, NDArray[np.int64]] | None = None,
    ) -> list[list[T]]:
        """Draw distinct entities of each fact's pool uniformly among those that pass the test, in random order.

        Args:
            keys: facts.
            pools: by the facts' ids.
            count: number of entities per fact.
            seed: of the draws, together with a fact's id; they do not depend on the other facts.
            first: numbers of members that are drawn before all others, by the facts' ids.

        Returns:
            One list per fact, in the order of the keys; shorter than ``count`` if the pool has fewer.
        """
        draws: list[PoolDraw[T]] = self.begin(keys, pools, seed)
        for draw in draws:
            preferred = (first or {}).get(draw.key.fact)
            if preferred is not None:
                draw.first = draw.generator.permutation(preferred).tolist()
        go_through(draws, count, test)
        return [list(draw.accepted.values())[:count] for draw in draws]

    def begin(self, keys: Sequence[FactKey], pools: Mapping[str, ObjectPool], seed: Sequence[int]) -> list[PoolDraw[T]]:
        """Return the state before the first draw for each fact; see :meth:`draw`."""
        listed = (pool.lists for pool in pools.values() if pool.is_listed)
        self._read_members(set(chain.from_iterable(listed)))
        unions: dict[tuple[Members, ...], NDArray[np.int64]] = {}
        draws: list[PoolDraw[T]] = []
        for key in keys:
            pool = pools[key.fact]
            if not pool.is_listed:
                share = min(1.0, pool.size / max(1, pool.total))
                draws.append(PoolDraw(key, generator_of(key, seed), None, None, pool.total, share))
                continue
            if pool.lists not in unions:
                unions[pool.lists] = np.unique(np.concatenate([self._members[group] for group in pool.lists]))
            draws.append(PoolDraw.of_members(key, unions[pool.lists], seed))
        return draws

    def _read_members(self, groups: set[Members]) -> None:
        """Read the missing lists of members into the cache."""
        missing = sorted(groups - self._members.keys())
        if sum(map(len, self._members.values())) > CACHED_MEMBERS:
            self._members = {group: self._members[group] for group in groups if group in self._members}
        self._members |= dict.fromkeys(missing, np.empty(0, dtype=np.int64))
        for query, of_query in groupby(missing, itemgetter(0)):
            for row in self._graph.stream(query, ids=[id_ for _, id_ in of_query]):
                self._members[query, row["id"]] = np.array(row["numbers"], dtype=np.int64)
