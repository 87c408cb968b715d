"""Distractors: the entities that could stand in the object's place and are wrong there; drawn at random.

Section 3 of the distractor paper; docs/methods.md, 1: a distractor of a fact shares a type with its object (where the
object has no type: it is an object of the same relation), shares no name with it, and is no object of the fact's
subject and relation at ``as_of``. These are the fact's Ω(f), of which every strategy of retrieval takes its own.

For random ones, numbers are drawn here and tested in the graph (``cypher/sample/distractors.cypher``), so that every
distractor is equally probable. They come from the list of the members, read once; of a large pool they come from all
entities, and the graph turns down those that are not of it. A draw costs its batch and the number of distractors, some
150 look-ups each at most; never the graph.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import FactKey

# A pool is listed if it has at most this many members, or at most this share of all entities.
LISTED_MEMBERS = 200_000
LISTED_SHARE = 0.01

# A listed pool is gone through in random order if it has at most this many members; of a larger one, some are drawn.
SHUFFLED_MEMBERS = 10_000

# How many listed members are remembered between calls, 8 bytes each.
REMEMBERED_MEMBERS = 10_000_000


@dataclass(frozen=True, slots=True)
class Distractor:
    """An entity in place of a fact's object.

    Attributes:
        number: the entity's in the graph, by which strategies name it.
        reason: why it qualifies, a phrase for people.
        former: whether it is a temporal distractor: right in the past.
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    number: int
    reason: str
    former: bool = False


class Retriever(Protocol):
    """A strategy of retrieval: which of a fact's distractors stand beside it, and in which order."""

    @property
    def name(self) -> str:
        """The strategy, as it is named on the command line."""
        ...

    def describe(self) -> dict[str, Any]:
        """The strategy with its options: what a result has to say of it."""
        ...

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Distinct distractors of each fact, best first.

        Args:
            keys: facts of the graph.
            count: how many are wanted for each.
            seed: what random choices follow from; whatever stands beside a fact has no say.

        Returns:
            One list a fact, in the order of the keys; shorter than ``count`` where the graph has no more.
        """
        ...


def admissible(graph: Graph, rows: Sequence[tuple[FactKey, Sequence[int]]], as_of: int) -> list[dict[int, Distractor]]:
    """Which of the entities with these numbers are distractors of a fact: those in its Ω(f).

    Args:
        rows: facts, each with numbers of entities.
        as_of: what is true at this date (``yyyymmdd``) is no distractor.

    Returns:
        One dictionary a row, from numbers, in their order in the row, to distractors.

    Cost: a look-up for each number, and one for each type that is shared.
    """
    asked = [{**key._asdict(), "numbers": list(numbers)} for key, numbers in rows]
    found = graph.read("sample/distractors", rows=asked, as_of=as_of)
    types = sorted({type_ for row in found for type_ in row["shared"]})
    labels = {row["id"]: row["label"] for row in graph.read("sample/labels", ids=types)} if types else {}
    by_fact: dict[str, dict[int, Distractor]] = {key.fact: {} for key, _ in rows}
    for row in found:
        shared = ", ".join(labels.get(type_, type_) for type_ in row["shared"])
        reason = f"{shared}, like {row['object']}" if shared else f"object of {row['relation']}"
        distractor = Distractor(row["id"], row["label"], tuple(row["aliases"]), row["number"], reason)
        by_fact[row["fact"]][row["number"]] = distractor
    return [
        {number: by_fact[key.fact][number] for number in numbers if number in by_fact[key.fact]}
        for key, numbers in rows
    ]


@dataclass(slots=True)
class _Draw:
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
    found: dict[int, Distractor] = field(default_factory=dict)
    tried: int = 0

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
        return len(self.found) < count and (self.shuffled is not None or self.tried < 100 * count / self.share)


class RandomDistractors:
    """Draws random distractors from one graph; remembers the members of small types."""

    name = "random"

    def __init__(self, graph: Graph, as_of: int) -> None:
        """Draw from this graph, with what is true at ``as_of`` (``yyyymmdd``) left out."""
        self._graph = graph
        self._as_of = as_of
        self._members: dict[tuple[str, str], NDArray[np.int64]] = {}

    def describe(self) -> dict[str, Any]:
        """The strategy; see :class:`Retriever`."""
        return {"strategy": self.name}

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Distinct random distractors of each fact, uniform over its Ω(f), in random order; see :class:`Retriever`."""
        draws = self._begin(keys, seed)
        pending = draws
        while pending:
            rows = [(draw, draw.numbers(count)) for draw in pending]
            rows = [(draw, numbers) for draw, numbers in rows if numbers]
            tested = admissible(self._graph, [(draw.key, numbers) for draw, numbers in rows], self._as_of)
            for (draw, _), found in zip(rows, tested, strict=True):
                draw.found |= found
            pending = [draw for draw, _ in rows if draw.goes_on(count)]
        return [list(draw.found.values())[:count] for draw in draws]

    def _begin(self, keys: Sequence[FactKey], seed: Sequence[int]) -> list[_Draw]:
        pools = {row["fact"]: row for row in self._graph.read("sample/pools", rows=[key._asdict() for key in keys])}
        listed: dict[str, list[tuple[str, str]]] = {}
        for fact, row in pools.items():
            groups = [("members", type_["id"]) for type_ in row["types"]] or [("objects", row["relation"]["id"])]
            size = sum(type_["size"] for type_ in row["types"]) if row["types"] else row["relation"]["size"]
            if size <= max(LISTED_MEMBERS, LISTED_SHARE * row["total"]):
                listed[fact] = groups
            row["share"] = min(1.0, size / max(1, row["total"]))
        self._remember({group for groups in listed.values() for group in groups})
        unions: dict[tuple[tuple[str, str], ...], NDArray[np.int64]] = {}
        draws = []
        for key in keys:
            generator = np.random.default_rng([*seed, zlib.crc32(key.fact.encode())])
            row = pools[key.fact]
            if key.fact not in listed:
                draws.append(_Draw(key, generator, None, None, row["total"], row["share"]))
                continue
            union = tuple(listed[key.fact])
            if union not in unions:
                unions[union] = np.unique(np.concatenate([self._members[group] for group in union]))
            pool = unions[union]
            if len(pool) <= SHUFFLED_MEMBERS:
                draws.append(_Draw(key, generator, generator.permutation(pool), None, len(pool), 1.0))
            else:
                draws.append(_Draw(key, generator, None, pool, len(pool), 1.0))
        return draws

    def _remember(self, groups: set[tuple[str, str]]) -> None:
        missing = sorted(groups - self._members.keys())
        if sum(map(len, self._members.values())) > REMEMBERED_MEMBERS:
            self._members = {group: self._members[group] for group in groups if group in self._members}
        for kind in ("members", "objects"):
            ids = [id_ for kind_, id_ in missing if kind_ == kind]
            for id_ in ids:
                self._members[kind, id_] = np.empty(0, dtype=np.int64)
            if ids:
                for row in self._graph.stream(f"sample/{kind}", ids=ids):
                    self._members[kind, row["id"]] = np.array(row["numbers"], dtype=np.int64)
