"""Random distractors: uniform over the entities that could stand in the object's place and are wrong there.

Section 3 of the distractor paper; docs/methods.md, 1: a distractor of a fact shares a type with its object (where the
object has no type: it is an object of the same relation), shares no name with it, and is no object of the fact's
subject and relation at ``as_of``.

Numbers are drawn here and tested in the graph (``cypher/sample/distractors.cypher``), so that every distractor is
equally probable. For a small pool, numbers come from the list of its members, read once; for a large one from all
entities, and the graph turns most of them down. A draw costs its batch and the number of distractors, some 200 look-ups
each at most; never the graph.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import FactKey

# A pool is listed if it has at most this many members, or at most this share of all entities.
LISTED_MEMBERS = 10_000
LISTED_SHARE = 0.01

# How many listed members are remembered between calls, 8 bytes each.
REMEMBERED_MEMBERS = 10_000_000


@dataclass(frozen=True, slots=True)
class Distractor:
    """An entity in place of a fact's object."""

    id: str
    label: str
    aliases: tuple[str, ...]


@dataclass(slots=True)
class _Draw:
    """The numbers still to be tried for one fact, and what was found."""

    key: FactKey
    generator: np.random.Generator
    pool: NDArray[np.int64] | None
    total: int
    share: float
    found: dict[int, Distractor] = field(default_factory=dict)
    tried: int = 0

    def numbers(self, count: int) -> list[int]:
        """The next numbers to try: more than are missing, since some will be turned down."""
        missing = count - len(self.found)
        if self.pool is not None:
            chosen = self.pool[self.tried : self.tried + 2 * missing + 4]
            self.tried += len(chosen)
            return [int(number) for number in chosen]
        wanted = int(2 * missing / self.share) + 4
        self.tried += wanted
        return list(dict.fromkeys(self.generator.integers(self.total, size=wanted).tolist()))


class RandomDistractors:
    """Draws random distractors from one graph; remembers the members of small types."""

    def __init__(self, graph: Graph, as_of: int) -> None:
        """Draw from this graph, with what is true at ``as_of`` (``yyyymmdd``) left out."""
        self._graph = graph
        self._as_of = as_of
        self._members: dict[tuple[str, str], NDArray[np.int64]] = {}

    def draw(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Distinct random distractors for each fact.

        Args:
            keys: facts of the graph.
            count: how many are wanted for each.
            seed: the same seed gives a fact the same distractors, whatever stands beside it.

        Returns:
            One list a fact, in random order; shorter than ``count`` where the graph has no more.
        """
        draws = self._begin(keys, seed)
        pending = draws
        while pending:
            rows = [(draw, draw.numbers(count)) for draw in pending]
            rows = [(draw, numbers) for draw, numbers in rows if numbers]
            self._test(rows)
            # A large pool runs dry only if nearly all its members are turned down, by name or because they are true.
            pending = [
                draw
                for draw, _ in rows
                if len(draw.found) < count and (draw.pool is not None or draw.tried < 100 * count / draw.share)
            ]
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
        draws = []
        for key in keys:
            generator = np.random.default_rng([*seed, zlib.crc32(key.fact.encode())])
            pool = None
            if key.fact in listed:
                members = [self._members[group] for group in listed[key.fact]]
                pool = generator.permutation(np.unique(np.concatenate(members)))
            row = pools[key.fact]
            draws.append(_Draw(key, generator, pool, row["total"], row["share"]))
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

    def _test(self, rows: Sequence[tuple[_Draw, list[int]]]) -> None:
        asked = [{**draw.key._asdict(), "numbers": numbers} for draw, numbers in rows]
        found: dict[str, dict[int, Distractor]] = {draw.key.fact: {} for draw, _ in rows}
        for row in self._graph.read("sample/distractors", rows=asked, as_of=self._as_of):
            found[row["fact"]][row["number"]] = Distractor(row["id"], row["label"], tuple(row["aliases"]))
        for draw, numbers in rows:
            draw.found |= {number: found[draw.key.fact][number] for number in numbers if number in found[draw.key.fact]}
