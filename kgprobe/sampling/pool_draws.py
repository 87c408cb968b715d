"""Uniform draws from a pool of entities that pass a test.

Numbers are drawn here and tested. They come from the lists of the pool, which are read once and cached; for a large
pool they come from all entities, and the test rejects the others. Drawn entities are read once and cached, too
(:class:`PoolEntities`). A draw costs at most some 150 look-ups for each requested entity; it never scans the graph.
"""

import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import AskedFact, EntityType
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lists import places_among
from kgprobe.sources.values import name_key

# A pool is listed if it has at most this many members, or at most this share of all entities.
LISTED_MEMBERS = 200_000
LISTED_SHARE = 0.01

# A listed pool is shuffled if it has at most this many members; from a larger one, members are drawn.
SHUFFLED_MEMBERS = 10_000

# Number of listed members that are cached between calls, 8 bytes each.
CACHED_MEMBERS = 10_000_000

# Size of the entities that are cached between calls, in bytes.
CACHED_BYTES = 200_000_000

# Number of right objects that are cached between calls, at most some 400 bytes each.
CACHED_OBJECTS = 100_000

# Size of an entity without its texts, in bytes.
_ENTITY_BYTES = 500

# Maximum average number of draws from a large pool per requested entity.
PATIENCE = 100

T = TypeVar("T")

# A list of members: its query, and the id of the type or relation.
Members = tuple[str, str]

# Places of facts, each with the tried numbers.
Tried: TypeAlias = Sequence[tuple[int, Sequence[int]]]

# Test: returns the accepted entities of each fact, by number.
Test = Callable[[Tried], Sequence[Mapping[int, T]]]


def by_number(tried: Tried, accepted: Mapping[tuple[int, int], T]) -> list[dict[int, T]]:
    """Return the accepted entities, given by place and number, of each fact in the order of the tried numbers."""
    ordered = []
    for place, numbers in tried:
        ordered.append({number: accepted[place, number] for number in numbers if (place, number) in accepted})
    return ordered


@dataclass(frozen=True, slots=True)
class ObjectPool:
    """The pool of a fact: a union of lists of members; in its size, members of two lists count twice."""

    lists: tuple[Members, ...]
    size: int
    total: int

    @property
    def is_listed(self) -> bool:
        """True if the pool is small enough to be listed."""
        return self.size <= max(LISTED_MEMBERS, LISTED_SHARE * self.total)

    @property
    def types(self) -> frozenset[str]:
        """Types of which an entity of the pool has one; empty for a pool by relation."""
        return frozenset(id_ for query, id_ in self.lists if query == "sample/members")

    @property
    def relation(self) -> str | None:
        """Relation of which an entity of the pool is an object; None for other pools."""
        query, id_ = self.lists[0]
        return id_ if query == "sample/objects" else None


def object_pool(fact: AskedFact) -> ObjectPool:
    """Return the pool of a fact's object: entities of its types, or without a type the objects of the relation."""
    return _pool_of_types(fact.object_types, fact.total) or objects_pool(fact)


def objects_pool(fact: AskedFact) -> ObjectPool:
    """Return the pool of the objects of a fact's relation."""
    return ObjectPool((("sample/objects", fact.relation),), fact.relation_size, fact.total)


def subject_pool(fact: AskedFact) -> ObjectPool:
    """Return the pool of a fact's subject: entities of its types, or without a type the subjects of the relation."""
    return _pool_of_types(fact.subject_types, fact.total) or relation_pool(fact)


def relation_pool(fact: AskedFact) -> ObjectPool:
    """Return the pool of the subjects of a fact's relation."""
    # Their number is unknown without listing them: a size of 0 lists all.
    return ObjectPool((("sample/subjects", fact.relation),), 0, fact.total)


def _pool_of_types(types: Sequence[EntityType], total: int) -> ObjectPool | None:
    lists = tuple(("sample/members", type_.id) for type_ in types)
    return ObjectPool(lists, sum(map(attrgetter("size"), types)), total) if lists else None


@dataclass(slots=True)
class PoolDraw(Generic[T]):
    """The state of the draws for a fact.

    Attributes:
        shuffled: all members of a small pool in random order, each tried once; else None.
        listed: all members of a listed pool; None if numbers below ``total`` are drawn.
        share: probability that a drawn number is in the pool.
        first: preferred members in random order, which are tried before all others.
    """

    place: int
    generator: np.random.Generator
    shuffled: NDArray[np.int64] | None
    listed: NDArray[np.int64] | None
    total: int
    share: float
    first: list[int] = field(default_factory=list)
    accepted: dict[int, T] = field(default_factory=dict)
    tried: int = 0

    @classmethod
    def of_members(cls, place: int, members: NDArray[Any], generator: np.random.Generator) -> "PoolDraw[T]":
        """Return draws from a list of distinct members."""
        draw = cls(place, generator, None, members, len(members), 1.0)
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
        accepted = test([(draw.place, numbers) for draw, numbers in rows])
        for (draw, _), entities in zip(rows, accepted, strict=True):
            draw.accepted |= entities
        pending = [draw for draw, _ in rows if draw.is_open(count)]


@dataclass(frozen=True, slots=True)
class PoolEntity:
    """An entity of a pool; ``keys`` are its names without case (:func:`.values.name_key`)."""

    number: int
    id: str
    label: str
    aliases: tuple[str, ...]
    datatype: str
    types: frozenset[str]
    keys: tuple[str, ...]


class PoolEntities:
    """Members of pools and right objects of facts, each read once from one graph and cached.

    Memory: 8 bytes for each of :data:`CACHED_MEMBERS` listed members, :data:`CACHED_BYTES` of entities,
    :data:`CACHED_OBJECTS` right objects. A cache beyond its limit is emptied before the next call, which may exceed it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._lists: dict[Members, NDArray[np.int64]] = {}
        # None for a number without an entity.
        self._entities: dict[int, PoolEntity | None] = {}
        self._bytes = 0
        # Equal sets of types are one object.
        self._types: dict[frozenset[str], frozenset[str]] = {}
        self._ends: dict[tuple[str, str], dict[int, int]] = {}
        self._objects = 0

    def members(self, groups: set[Members]) -> Mapping[Members, NDArray[np.int64]]:
        """Return the numbers of lists of members, ascending."""
        missing = sorted(groups - self._lists.keys())
        if sum(map(len, self._lists.values())) > CACHED_MEMBERS:
            self._lists = {group: self._lists[group] for group in groups if group in self._lists}
        lists = dict.fromkeys(missing, np.empty(0, dtype=np.int64))
        for query, of_query in groupby(missing, itemgetter(0)):
            for row in self.graph.stream(query, ids=[id_ for _, id_ in of_query]):
                lists[query, row["id"]] = np.unique(np.array(row["numbers"], dtype=np.int64))
        self._lists |= lists
        return self._lists

    def in_pools(self, tried: Tried, pools: Sequence[ObjectPool | None]) -> list[list[PoolEntity]]:
        """Return the entities that are in the pool of each fact, in the order of their numbers.

        Args:
            tried: places of facts, each with numbers of entities.
            pools: of the facts; None for all entities. Those with a list of subjects are not checked.

        Cost: a look-up for each number that was not read before.
        """
        if self._bytes > CACHED_BYTES:
            self._entities, self._types, self._bytes = {}, {}, 0
        objects = self._read(tried, pools)
        in_pools = []
        for place, numbers in tried:
            pool = pools[place]
            entities = [entity for entity in map(self._entities.get, numbers) if entity is not None]
            if pool is not None and pool.types:
                types = pool.types
                entities = [entity for entity in entities if not types.isdisjoint(entity.types)]
            elif pool is not None and pool.lists[0] in self._lists:
                listed = places_among(self._lists[pool.lists[0]], np.array([entity.number for entity in entities]))
                entities = [entity for entity, place in zip(entities, listed.tolist(), strict=True) if place >= 0]
            elif pool is not None and pool.relation is not None:
                entities = [entity for entity in entities if (pool.relation, entity.number) in objects]
            in_pools.append(entities)
        return in_pools

    def _read(self, tried: Tried, pools: Sequence[ObjectPool | None]) -> set[tuple[str, int]]:
        """Read missing entities; return numbers of objects of relations, in pools whose list is not cached.

        From a pool without a list, only members are read: most of its numbers are drawn outside.
        """
        requests: defaultdict[tuple[frozenset[str], str | None], set[int]] = defaultdict(set)
        for place, numbers in tried:
            pool = pools[place]
            if pool is None or (pool.is_listed and (pool.types or pool.lists[0] in self._lists)):
                requests[frozenset(), None] |= set(numbers) - self._entities.keys()
            elif pool.types:
                requests[pool.types, None] |= set(numbers) - self._entities.keys()
            else:
                requests[frozenset(), pool.relation] |= set(numbers)
        rows = []
        for (types, relation), missing in requests.items():
            if missing:
                rows.append({"types": sorted(types), "of": relation, "numbers": sorted(missing)})
        objects = set()
        for row in self.graph.read("sample/entities", rows=rows) if rows else ():
            objects.add((row["of"], row["number"]))
            if row["number"] not in self._entities:
                self._keep(row)
        without = requests[frozenset(), None] - self._entities.keys()
        self._entities |= dict.fromkeys(without)
        self._bytes += _ENTITY_BYTES * len(without)
        return objects

    def _keep(self, row: Row) -> None:
        label, aliases = row["label"], tuple(row["aliases"])
        names = tuple(filter(None, (label, *aliases)))
        types = frozenset(row["types"])
        types = self._types.setdefault(types, types)
        keys = tuple(map(name_key, names))
        number = row["number"]
        self._entities[number] = PoolEntity(number, row["id"], label, aliases, row["datatype"], types, keys)
        self._bytes += _ENTITY_BYTES + sum(map(sys.getsizeof, (row["id"], *names, *keys)))

    def objects_of(self, facts: Sequence[AskedFact]) -> list[Mapping[int, int]]:
        """Return the objects of each fact's subject and relation at any time, by number, each with its last day.

        The day is ``yyyymmdd``, 99991231 if it is not known. Cost: a walk from each subject that was not read before.
        """
        if self._objects > CACHED_OBJECTS:
            self._ends, self._objects = {}, 0
        pairs = [(fact.key.subject, fact.relation) for fact in facts]
        ends: dict[tuple[str, str], dict[int, int]] = {pair: {} for pair in pairs if pair not in self._ends}
        rows = [{"subject": subject, "relation": relation} for subject, relation in ends]
        for row in self.graph.read("sample/last_ends", rows=rows) if rows else ():
            ends[row["subject"], row["relation"]][row["number"]] = row["until"]
        self._ends |= ends
        self._objects += len(ends) + sum(map(len, ends.values()))
        return list(map(self._ends.__getitem__, pairs))


class PoolDraws:
    """Draws from the pools of one graph; ``entities`` caches the members of small ones, and drawn entities."""

    def __init__(self, graph: Graph) -> None:
        self.entities = PoolEntities(graph)

    def draw(
        self,
        keys: Sequence[FactKey],
        pools: Sequence[ObjectPool],
        count: int,
        seed: Sequence[int],
        test: Test[T],
        first: Mapping[int, NDArray[np.int64]] | None = None,
    ) -> list[list[T]]:
        """Draw distinct entities of each fact's pool uniformly among those that pass the test, in random order.

        Draws do not depend on the other facts. ``first`` are numbers of members that are drawn before all others, by
        the facts' places. A list is shorter than ``count`` if the pool has fewer.
        """
        draws: list[PoolDraw[T]] = self.begin(keys, pools, seed)
        for draw in draws:
            preferred = (first or {}).get(draw.place)
            if preferred is not None:
                draw.first = draw.generator.permutation(preferred).tolist()
        go_through(draws, count, test)
        return [list(draw.accepted.values())[:count] for draw in draws]

    def begin(self, keys: Sequence[FactKey], pools: Sequence[ObjectPool], seed: Sequence[int]) -> list[PoolDraw[T]]:
        """Return the state before the first draw for each fact; see :meth:`draw`."""
        listed = (pool.lists for pool in pools if pool.is_listed)
        members = self.entities.members(set(chain.from_iterable(listed)))
        unions: dict[tuple[Members, ...], NDArray[np.int64]] = {}
        draws: list[PoolDraw[T]] = []
        for place, (key, pool) in enumerate(zip(keys, pools, strict=True)):
            generator = generator_of(key, seed)
            if not pool.is_listed:
                share = min(1.0, pool.size / max(1, pool.total))
                draws.append(PoolDraw(place, generator, None, None, pool.total, share))
                continue
            if pool.lists not in unions:
                unions[pool.lists] = np.unique(np.concatenate([members[group] for group in pool.lists]))
            draws.append(PoolDraw.of_members(place, unions[pool.lists], generator))
        return draws
