"""Facts in a user's own property graph: the relationships and nodes that represent them, and properties written there.

A loader that reads such a graph locates the facts by its mapping; docs/guides/write-back.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Fact
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.driver import batches, encoded_bytes

# Relationships or nodes written in one transaction.
AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Element:
    """A relationship or a node.

    Attributes:
        tail, head: element ids of the ends of a relationship; None for a node.
    """

    id: str
    tail: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class LocatedFacts:
    """A relationship or node that represents facts.

    Attributes:
        element: where properties can be written.
        facts: its facts; none if it is unusable or deprecated.
        stored: current values of the requested properties, in their order.
        obstacle: reason why nothing can be written there; None if it can.
        fault: fault of an unusable relationship or node; None otherwise.
    """

    element: Element
    facts: tuple[Fact, ...]
    stored: Sequence[Any] = ()
    obstacle: str | None = None
    fault: str | None = None


@runtime_checkable
class LocatesFacts(Protocol):
    """A source that is a property graph of the user."""

    @property
    def graph(self) -> Graph:
        """Connection to the graph."""
        ...

    @property
    def places(self) -> int:
        """Number of relationships and nodes to locate; an upper bound for properties."""
        ...

    def locate(self, properties: Sequence[str]) -> Iterator[LocatedFacts]:
        """Yield the relationships and nodes of the mapping, with the current values of these properties."""
        ...

    def describe_ids(self) -> str:
        """Return the identifying properties of the mapping and those that the graph has, in sentences."""
        ...


def refuse_loaded(graph: Graph, argument: str) -> None:
    """Raise KgprobeError if a graph was loaded by kgprobe: labels belong into the user's own graph."""
    if graph.read("own/loads")[0]["loads"]:
        raise KgprobeError(
            f"`{argument}` is {graph.endpoint.address}, a graph that kgprobe has loaded. Labels are written into the"
            " graph that facts came from; in kgprobe's graph, `kgprobe beliefs apply RUN` writes beliefs."
        )


@dataclass(frozen=True, slots=True)
class Change:
    """New properties of a relationship or node.

    Attributes:
        before, after: values of the properties, in the order of their names; None for no property.
    """

    element: Element
    before: Sequence[Any]
    after: Sequence[Any]


def write_properties(graph: Graph, names: Sequence[str], changes: Iterable[Change]) -> Iterator[tuple[int, int]]:
    """Set properties of relationships and nodes that still have the values before; None removes a property.

    Each batch is one transaction. Elements are locked before their values are compared, so that writes of other
    clients are never overwritten.

    Yields:
        The number of elements of a batch, and of those that were written.
    """
    for batch in batches(changes, _bytes, AT_ONCE):
        written = 0
        relationships, nodes = [], []
        for change in batch:
            element, after = change.element, dict(zip(names, change.after, strict=True))
            row: Row = {"element": element.id, "before": change.before, "properties": after}
            if element.tail is None:
                nodes.append(row)
            else:
                relationships.append({**row, "tail": element.tail, "head": element.head})
        for query, rows in (("own/label_relationships", relationships), ("own/label_nodes", nodes)):
            if rows:
                written += graph.write(query, names=names, rows=rows)[0]["written"]
        yield len(batch), written


def elements_with(graph: Graph, names: Sequence[str]) -> Iterator[tuple[Element, list[Any]]]:
    """Yield the relationships and nodes with one of some properties, and their values. Cost: a scan of all of them."""
    for row in graph.stream("own/labelled_relationships", names=names):
        yield Element(row["element"], row["tail"]["element"], row["head"]["element"]), row["stored"]
    for row in graph.stream("own/labelled_nodes", names=names):
        yield Element(row["element"]), row["stored"]


def _bytes(change: Change) -> int:
    element = change.element
    return encoded_bytes([element.id, element.tail, element.head, change.before, change.after])
