"""Relations of the graph with their templates, and example facts to fill the templates."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import msgspec

from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.records import Relation

# Objects per relation from which examples are taken.
OBJECTS = 200


@dataclass(frozen=True, slots=True)
class Example:
    """A fact with the labels of both ends.

    Attributes:
        fact: id of the fact.
        subject, object: labels.
        degree: number of facts of the subject.
        start, end: ISO 8601 in the source's own precision; None is unbounded.
        holding: number of objects of the subject in this relation at the reference date.
    """

    fact: str
    subject: str
    object: str
    degree: int
    start: str | None
    end: str | None
    holding: int


def relations_of(graph: Graph, names: Sequence[str] = ()) -> list[Relation]:
    """Return the relations of the graph with their templates, by id.

    Args:
        names: ids or names of the relations; empty for all.

    Raises:
        UnknownNameError: A relation is not in the graph.
    """
    ids = relation_ids(graph, names)
    rows = {row["id"]: row for row in graph.read("sample/relations")}
    return [msgspec.convert(rows[identifier], Relation) for identifier in ids or rows]


def examples_of(graph: Graph, relation: str, as_of: int) -> list[Example]:
    """Return facts of a relation, at most three for each of up to ``OBJECTS`` objects, by descending degree.

    Cost: a walk from these objects.
    """
    rows = graph.read("templates/examples", relation=relation, as_of=as_of, objects=OBJECTS)
    columns = itemgetter("fact", "subject_label", "object_label", "degree", "start", "end", "holding")
    examples = [Example(*columns(row)) for row in rows]
    return sorted(examples, key=lambda example: (-example.degree, example.fact))
