"""Walks through the facts of entities, bounded at entities with many facts.

An entity with more than ``max_degree`` facts is a hub: its facts are not read, except those of which it is the subject,
if there are at most ``max_degree`` of these.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey, key_rows

T = TypeVar("T")

# Entities of a query.
_AT_ONCE = 500


class NeighbourFact(NamedTuple):
    """A fact with its relation and its ends, and the popularity or degree of the ends; None where unknown."""

    subject: str
    fact: str
    relation: str
    object: str
    literal: bool
    of_subject: float | None = None
    of_object: float | None = None

    @property
    def key(self) -> FactKey:
        """Key of the fact."""
        return FactKey(self.subject, self.fact)

    @property
    def entities(self) -> tuple[str, ...]:
        """The ends, without a literal."""
        return (self.subject,) if self.literal else (self.subject, self.object)


class Step(NamedTuple):
    """A fact of an entity, with the entity at its other end.

    Attributes:
        other: id of the other end; None for a literal.
        through: True if the other end is an entity and not a hub.
    """

    entity: str
    other: str | None
    through: bool
    askable: bool
    ends: NeighbourFact


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The facts around entities of a graph.

    Attributes:
        by: ``degree`` or ``popularity``, the popularity of the ends.
        max_degree: number of facts above which an entity is a hub.
    """

    graph: Graph
    relations: Sequence[str]
    as_of: int
    by: str
    max_degree: int

    def ends_of(self, keys: Iterable[FactKey]) -> Iterator[NeighbourFact]:
        """Yield the ends of facts. Cost: a look-up from each subject."""
        for block in blocks(keys, _AT_ONCE):
            for row in self.graph.read("sample/fact_ends", rows=key_rows(block), by=self.by):
                yield NeighbourFact(**row)

    def facts_around(self, entities: Iterable[str]) -> Iterator[Step]:
        """Yield the facts of entities in both directions, at most ``max_degree`` each; none of hubs and of literals."""
        for block in blocks(entities, _AT_ONCE):
            for row in self._stream("sample/facts_around", block):
                entity, other, askable = row["entity"], row["other"], row["askable"]
                yield Step(entity, other, other is not None and row["through"], askable, _ends(row))

    def hubs_among(self, entities: Iterable[str]) -> dict[str, str]:
        """Return the labels of the hubs among entities by id, those with most facts first. Cost: a look-up each."""
        rows: list[Row] = []
        for block in blocks(entities, _AT_ONCE):
            rows += self.graph.read("sample/choices", ids=block)
        rows.sort(key=lambda row: (-row["facts"], row["id"]))
        return {row["id"]: row["label"] or row["id"] for row in rows if row["facts"] > self.max_degree}

    def facts_from(self, entities: Iterable[str]) -> tuple[list[NeighbourFact], list[str]]:
        """Return the askable facts of hubs as subjects, and the hubs that have too many of them.

        Cost: at most ``max_degree`` + 1 facts for each hub.
        """
        of_hub: defaultdict[str, list[Row]] = defaultdict(list)
        for block in blocks(entities, _AT_ONCE):
            for row in self._stream("sample/facts_from", block):
                of_hub[row["subject"]].append(row)
        facts = []
        for rows in of_hub.values():
            if len(rows) <= self.max_degree:
                facts += [_ends(row) for row in rows if row["askable"]]
        return facts, sorted(hub for hub, rows in of_hub.items() if len(rows) > self.max_degree)

    def all_askable(self) -> Iterator[NeighbourFact]:
        """Yield all facts that may be asked. Cost: one scan of the graph's facts, streamed."""
        rows = self.graph.stream("sample/askable_triples", relations=list(self.relations), as_of=self.as_of, by=self.by)
        return map(_ends, rows)

    def _stream(self, query: str, entities: Sequence[str]) -> Iterator[Row]:
        return self.graph.stream(
            query,
            relations=list(self.relations),
            as_of=self.as_of,
            by=self.by,
            max_degree=self.max_degree,
            ids=list(entities),
        )


def blocks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most a size."""
    rest = iter(items)
    while block := list(islice(rest, size)):
        yield block


def _ends(row: Row) -> NeighbourFact:
    return NeighbourFact(*(row[name] for name in NeighbourFact._fields))
