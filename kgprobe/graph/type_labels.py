"""Labels of entities by type, such as ``:Country``: for colours in Neo4j Browser, and for shorter Cypher.

The type keeps the label as ``node_label``, from before the first instance gets it until after the last one has lost it,
so that an interrupted call is completed by the next one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row
from kgprobe.progress import OnProgress, no_progress

# Labels that kgprobe writes.
_RESERVED = frozenset(
    {
        *("Entity", "Literal", "Type", "Relation", "Run", "Belief"),
        *("MostlyKnown", "HalfKnown", "MostlyUnknown"),
    }
)
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class TypeLabel:
    """A label of the instances of a type.

    Attributes:
        type: id of the type.
        name: its name.
        instances: their number.
    """

    label: str
    type: str
    name: str
    instances: int


def label_by_type(graph: Graph, count: int = 12, on_progress: OnProgress = no_progress) -> list[TypeLabel]:
    """Label the instances of the largest types by the types' names; return the labels, the largest type first.

    >>> kgprobe.label_by_type(graph)
    Traceback (most recent call last):
    kgprobe.errors.KgprobeError: Labels of types need a graph on Neo4j; ...

    The labels of an earlier call are removed first. Instances that are loaded later get their label at the next call.
    Copies of the graph do not have the labels.

    Args:
        graph: a graph on Neo4j 5.26 or later.
        count: number of types.
        on_progress: called with the number of labelled instances, and of all.

    Raises:
        KgprobeError: the graph is on the embedded engine.

    Cost: a walk through the instances; in transactions of bounded size.
    """
    if graph.is_embedded:
        raise KgprobeError(
            "Labels of types need a graph on Neo4j; `kgprobe graph copy --output FOLDER` copies this one to Neo4j."
        )
    remove_type_labels(graph)
    rows = graph.read("types/largest", limit=count)
    total, done = sum(row["size"] for row in rows), 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        on_progress(done, max(done, total))

    for type_, label in _names(rows):
        graph.write("types/begin", type=type_, label=label)
        _write(graph, "types/add", label, graph.stream("types/instances", type=type_), report)
    return type_labels(graph)


def type_labels(graph: Graph) -> list[TypeLabel]:
    """Return the labels of types that instances have, the largest type first. Cost: a scan of the types."""
    return [TypeLabel(row["label"], row["type"], row["name"], row["size"]) for row in graph.read("types/names")]


def remove_type_labels(graph: Graph) -> int:
    """Remove the labels of types from entities; return the number of types.

    Cost: a walk through the labelled instances; in transactions of bounded size.
    """
    rows = graph.read("types/names")
    for row in rows:
        # By the label: an entity may no longer be an instance of the type.
        _write(graph, "types/remove", row["label"], graph.stream("types/labelled", label=row["label"]))
        graph.write("types/end", type=row["type"])
    return len(rows)


def _write(
    graph: Graph, query: str, label: str, entities: Iterator[Row], on_written: Callable[[int], None] = lambda more: None
) -> None:
    """Add or remove a label in transactions of bounded size."""
    while batch := [row["id"] for row in islice(entities, _AT_ONCE)]:
        graph.write(query, ids=batch, label=label)
        on_written(len(batch))


def _names(rows: list[Row]) -> Iterator[tuple[str, str]]:
    """Yield types with their labels: distinct, and none of kgprobe's own."""
    used: set[str] = set()
    for row in rows:
        label = label_of(row["name"])
        if label in used:
            label = f"{label}_{label_of(row['type'])}"
        used.add(label)
        yield row["type"], label


def label_of(name: str) -> str:
    """Return a name as a label.

    >>> label_of("sovereign state"), label_of("3D film"), label_of("type")
    ('SovereignState', 'T3DFilm', 'TypeOfEntity')
    """
    words = re.findall(r"[^\W_]+", name)
    label = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    if not label or label[0].isdigit():
        label = f"T{label}"
    return f"{label}OfEntity" if label in _RESERVED or label.startswith("Kgprobe") else label
