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
        *("Entity", "Literal", "Type", "Relation", "Run", "Belief", "Effect", "Sweep", "Load", "Counter", "Copy"),
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

    Labels of other types, from an earlier call, are removed first. Instances that are loaded later get their label at
    the next call. Copies of the graph do not have the labels.

    Args:
        graph: a graph on Neo4j 5.24 or later.
        count: number of types.
        on_progress: called with the number of labelled instances, and of all.

    Raises:
        KgprobeError: the graph is on the embedded engine.

    Cost: a walk through the instances; in transactions of bounded size.
    """
    if graph.is_embedded:
        raise KgprobeError(
            "Labels of types need a graph on Neo4j; `kgprobe graph copy --to FOLDER` copies this one to Neo4j."
        )
    new = dict(_names(graph.read("labels/largest", limit=count)))
    remove_type_labels(graph, keep=new)
    rows = graph.read("labels/largest", limit=count)
    total, done = sum(row["size"] for row in rows), 0
    for row in rows:
        label = new[row["type"]]
        graph.write("labels/begin", type=row["type"], label=label)

        def report(more: int) -> None:
            nonlocal done
            done += more
            on_progress(done, max(done, total))

        _for_instances(graph, "labels/add", row["type"], label, report)
    return type_labels(graph)


def type_labels(graph: Graph) -> list[TypeLabel]:
    """Return the labels of types that instances have, the largest type first. Cost: a scan of the types."""
    return [TypeLabel(row["label"], row["type"], row["name"], row["size"]) for row in graph.read("labels/names")]


def remove_type_labels(graph: Graph, *, keep: dict[str, str] | None = None) -> int:
    """Remove the labels of types from entities; return the number of types.

    Args:
        keep: labels by type that are not removed; None removes all.

    Cost: a walk through the labelled instances; in transactions of bounded size.
    """
    removed = 0
    for row in graph.read("labels/names"):
        if keep is None or keep.get(row["type"]) != row["label"]:
            _for_instances(graph, "labels/remove", row["type"], row["label"], lambda more: None)
            graph.write("labels/end", type=row["type"])
            removed += 1
    return removed


def _for_instances(graph: Graph, query: str, type_: str, label: str, on_written: Callable[[int], None]) -> None:
    ids = (row["id"] for row in graph.stream("labels/instances", type=type_))
    while batch := list(islice(ids, _AT_ONCE)):
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
    return f"{label}OfEntity" if label in _RESERVED else label
