"""A graph as the source of its inverse: the same entities, relations and facts from object to subject.

Entities are read by number, a thousand at a time: a fixed order, and bounded memory.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import ReversedRelation
from kgprobe.records import Entity, Fact, Placed
from kgprobe.verbalize.templates.backwards import backwards
from kgprobe.verbalize.templates.examples import relations_of

# Entities in one query.
NUMBERS_AT_ONCE = 1_000


@dataclass(slots=True)
class ReversedSource:
    """Source of an inverse graph; see :class:`kgprobe.sources.contract.Source`.

    Literals are left out, as they cannot be subjects, and so are entities that were referenced and never loaded, unless
    they are types.

    Attributes:
        graph: the original graph.
        fingerprint: fingerprint of its state and of the relations.
        relation_ids: relations to invert.
        numbers: number of its entities' numbers, see :func:`count_numbers`.
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
        """Yield the relations with inverse templates."""
        chosen = set(self.relation_ids)
        relations = (relation for relation in relations_of(self.graph) if relation.id in chosen)
        return (Placed(place, backwards(relation)) for place, relation in enumerate(relations, start=1))

    def entities(self) -> Iterator[Placed]:
        """Yield the entities, by number."""
        rows = self._rows("reverse/entities", 0)
        return (Placed(place, _entity(row)) for place, row in enumerate(rows, start=1))

    def facts(self) -> Iterator[Placed]:
        """Yield the facts, by the number of their new subjects."""
        rows = self._rows("reverse/facts", self.numbers, relations=list(self.relation_ids))
        return (Placed(place, _fact(row)) for place, row in enumerate(rows, start=1))

    def _rows(self, query: str, done_before: int, **parameters: object) -> Iterator[Row]:
        for first, last in number_ranges(self.numbers):
            yield from self.graph.stream(query, first=first, last=last, **parameters)
            self.done = done_before + last + 1


def count_numbers(graph: Graph) -> int:
    """Return the count of numbers given to entities: they are 0 to count - 1."""
    return int(graph.read("reverse/numbers")[0]["numbers"])


def number_ranges(numbers: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each batch of entities."""
    return ((first, min(first + NUMBERS_AT_ONCE, numbers) - 1) for first in range(0, numbers, NUMBERS_AT_ONCE))


def count_subjects(graph: Graph, max_subjects: float) -> list[ReversedRelation]:
    """Return the mean number of subjects per object of each relation, by id.

    Cost: one pass over all facts. Memory: the relations.

    Args:
        max_subjects: maximum mean number of subjects per object of a kept relation.
    """
    rows = itertools.chain.from_iterable(
        graph.read("reverse/subjects_an_object", first=first, last=last)
        for first, last in number_ranges(count_numbers(graph))
    )
    counts: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        before = counts.get(row["relation"], (0, 0, 0))
        own = (row["facts"], row["lasting"], row["objects"])
        counts[row["relation"]] = (before[0] + own[0], before[1] + own[1], before[2] + own[2])
    labels = {relation.id: relation.label for relation in relations_of(graph)}
    counted = (ReversedRelation(id_, labels.get(id_, ""), *own, kept=False) for id_, own in sorted(counts.items()))
    return [
        ReversedRelation(
            relation.id,
            relation.label,
            relation.facts,
            relation.lasting,
            relation.objects,
            relation.subjects_an_object <= max_subjects,
        )
        for relation in counted
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
