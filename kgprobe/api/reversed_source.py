"""A graph as the source of its reversal: entities as they are, relations and facts from object to subject.

Entities are read by their numbers, a thousand at a time, so that the streams have one order and bounded memory.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import ReversedRelation
from kgprobe.records import Entity, Fact, Placed
from kgprobe.verbalize.templates.backwards import backwards
from kgprobe.verbalize.templates.examples import relations_of

# Entities that are looked up in one statement.
NUMBERS_AT_ONCE = 1_000


@dataclass(slots=True)
class ReversedSource:
    """A graph from object to subject; see :class:`kgprobe.sources.contract.Source`.

    Left out are literals, which are no subject of anything, and entities that were named and never loaded: these stand
    in the reversed graph, too, where they are types.

    Attributes:
        graph: that is reversed.
        fingerprint: of its state and of the relations.
        relation_ids: whose facts are turned round.
        numbers: that its entities have, see :func:`count_numbers`.
    """

    graph: Graph
    fingerprint: str
    relation_ids: Sequence[str]
    numbers: int
    name: str = "reversed graph"
    partial: bool = False
    total: int = field(init=False)
    done: int = 0

    def __post_init__(self) -> None:
        # Both entities and facts are read by the entities' numbers.
        self.total = 2 * self.numbers

    def relations(self) -> Iterator[Placed]:
        """The relations with their templates turned round."""
        wanted = set(self.relation_ids)
        found = (relation for relation in relations_of(self.graph) if relation.id in wanted)
        return (Placed(place, backwards(relation)) for place, relation in enumerate(found, start=1))

    def entities(self) -> Iterator[Placed]:
        """The entities, by their numbers."""
        rows = self._rows("reverse/entities", 0)
        return (Placed(place, _entity(row)) for place, row in enumerate(rows, start=1))

    def facts(self) -> Iterator[Placed]:
        """The facts, by the numbers of the entities that become their subjects."""
        rows = self._rows("reverse/facts", self.numbers, relations=list(self.relation_ids))
        return (Placed(place, _fact(row)) for place, row in enumerate(rows, start=1))

    def _rows(self, query: str, done_before: int, **parameters: object) -> Iterator[Row]:
        for first, last in number_ranges(self.numbers):
            yield from self.graph.stream(query, first=first, last=last, **parameters)
            self.done = done_before + last + 1


def count_numbers(graph: Graph) -> int:
    """How many numbers the entities of a graph have been given: 0 to one less."""
    return int(graph.read("reverse/numbers")[0]["numbers"])


def number_ranges(numbers: int) -> Iterator[tuple[int, int]]:
    """First and last number of the entities that are read together."""
    return ((first, min(first + NUMBERS_AT_ONCE, numbers) - 1) for first in range(0, numbers, NUMBERS_AT_ONCE))


def count_subjects(graph: Graph, max_subjects: float) -> list[ReversedRelation]:
    """How single each relation is backwards, by id.

    Cost: a walk through all facts. Memory: the relations.

    Args:
        max_subjects: of an object, on average, in a relation that is kept.
    """
    rows = itertools.chain.from_iterable(
        graph.read("reverse/subjects_an_object", first=first, last=last)
        for first, last in number_ranges(count_numbers(graph))
    )
    counts: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        before = counts.get(row["relation"], (0, 0, 0))
        its = (row["facts"], row["lasting"], row["objects"])
        counts[row["relation"]] = (before[0] + its[0], before[1] + its[1], before[2] + its[2])
    labels = {relation.id: relation.label for relation in relations_of(graph)}
    counted = (ReversedRelation(id_, labels.get(id_, ""), *its, kept=False) for id_, its in sorted(counts.items()))
    return [
        ReversedRelation(one.id, one.label, one.facts, one.lasting, one.objects, one.subjects_an_object <= max_subjects)
        for one in counted
    ]


def _entity(row: Row) -> Entity:
    return Entity(
        id=row["id"],
        label=row["label"],
        aliases=tuple(row["aliases"]),
        description=row["description"],
        types=tuple(row["types"]),
        popularity=row["popularity"],
    )


def _fact(row: Row) -> Fact:
    return Fact(
        id=row["fact"],
        subject=row["object"],
        relation=row["relation"],
        object=row["subject"],
        rank=row["rank"],
        start=row["start"],
        end=row["end"],
    )
