"""The graph's relations with their templates, and some facts of each to fill them with."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.records import Relation

# Objects of a relation from which examples are taken: enough to see what they have in common.
OBJECTS = 200


@dataclass(frozen=True, slots=True)
class Example:
    """A fact with the names of both ends.

    Attributes:
        fact: its id.
        subject, object: their labels.
        degree: how many facts the subject has.
        start, end: ISO 8601 in the source's own precision; None is unbounded.
        holding: how many objects the subject has in this relation at the reference date.
    """

    fact: str
    subject: str
    object: str
    degree: int
    start: str | None
    end: str | None
    holding: int


def relations_of(graph: Graph, named: Sequence[str] = ()) -> list[Relation]:
    """The relations of the graph with their templates, by id.

    Args:
        named: the only ones, each by its id or a name; none means all.

    Raises:
        UnknownNameError: one of them is not in the graph.
    """
    ids = relation_ids(graph, named)
    rows = {row["id"]: row for row in graph.read("sample/relations")}
    return [msgspec.convert(rows[identifier], Relation) for identifier in ids or rows]


def examples_of(graph: Graph, relation: str, as_of: int) -> list[Example]:
    """Facts of a relation, three at most for each of up to ``OBJECTS`` objects, those of the busiest subjects first.

    Cost: a walk from these objects.
    """
    rows = graph.read("templates/examples", relation=relation, as_of=as_of, objects=OBJECTS)
    examples = [
        Example(
            fact=row["fact"],
            subject=row["subject_label"],
            object=row["object_label"],
            degree=row["degree"],
            start=row["start"],
            end=row["end"],
            holding=row["holding"],
        )
        for row in rows
    ]
    return sorted(examples, key=lambda example: (-example.degree, example.fact))
