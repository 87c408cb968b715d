"""Schema of a property graph: labels and relationship types with counts, and misfits of a mapping."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from kgprobe.base.errors import KgprobeError

from .mapping import Facts, Mapping, NodeFacts, PropertyFacts, RelationshipFacts, RelationshipSide

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph

# Label of the entities that neo4j-graphrag and the LLM Graph Builder extract from texts.
EXTRACTED = "__Entity__"
# Label of all nodes that neosemantics made of RDF, and of the node with its configuration.
RESOURCE = "Resource"
_CONFIGURATION = "_GraphConfig"
# Labels for their own use, such as __Entity__, __KGBuilder__ and __Community__.
_INTERNAL = re.compile(r"__\w+__")

# Maximum numbers of names, and of characters of a name, in a message.
_LISTED = 12
_LONGEST = 60
# Nodes that are read to list their properties.
_SAMPLED = 1_000


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes with exactly these labels, sorted."""

    labels: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Relationships:
    """Relationships of a type between nodes with exactly these labels."""

    type: str
    tails: tuple[str, ...]
    heads: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Schema:
    """Counts of all nodes and relationships of a graph, sorted: the same for the same graph."""

    nodes: Sequence[Nodes]
    relationships: Sequence[Relationships]

    def labels(self) -> Counter[str]:
        """Return the number of nodes per label."""
        counts: Counter[str] = Counter()
        for nodes in self.nodes:
            for label in nodes.labels:
                counts[label] += nodes.count
        return counts

    def types(self) -> Counter[str]:
        """Return the number of relationships per type."""
        counts: Counter[str] = Counter()
        for each in self.relationships:
            counts[each.type] += each.count
        return counts

    def nodes_with(self, labels: Iterable[str]) -> int:
        """Return the number of nodes with at least one of the labels."""
        selected = set(labels)
        return sum(nodes.count for nodes in self.nodes if selected.intersection(nodes.labels))

    def relationships_between(self, type_: str, tails: Iterable[str], heads: Iterable[str]) -> int:
        """Return the number of relationships of a type from nodes with a tail label to nodes with a head label."""
        from_, to = set(tails), set(heads)
        count = 0
        for each in self.relationships:
            if each.type == type_ and from_.intersection(each.tails) and to.intersection(each.heads):
                count += each.count
        return count


def read_schema(graph: "Graph") -> Schema:
    """Count all nodes and relationships of a graph."""
    nodes = [Nodes(tuple(sorted(row["labels"])), row["nodes"]) for row in graph.read("own/nodes")]
    relationships = []
    for row in graph.read("own/relationships"):
        tails, heads = tuple(sorted(row["from_labels"])), tuple(sorted(row["to_labels"]))
        relationships.append(Relationships(row["type"], tails, heads, row["relationships"]))
    nodes.sort(key=attrgetter("labels"))
    relationships.sort(key=attrgetter("type", "tails", "heads"))
    return Schema(nodes, relationships)


def properties_of(graph: "Graph", label: str) -> list[str]:
    """Return the names of the properties that some nodes of a label have, the first of them sorted by name."""
    names: set[str] = set()
    for row in graph.read("own/node_sample", label=label, limit=_SAMPLED):
        names.update(row["properties"])
    return sorted(names)[:_LISTED]


def marker_of(schema: Schema) -> str | None:
    """Return the label that a tool gives to all entities: neo4j-graphrag, the LLM Graph Builder or neosemantics."""
    labels = schema.labels()
    if EXTRACTED in labels:
        return EXTRACTED
    return RESOURCE if _CONFIGURATION in labels and RESOURCE in labels else None


def marked_entities(schema: Schema, marker: str) -> Schema:
    """Return the part of a schema between entities with a marker, without the tool's other nodes, and their types.

    The label of an entity without a type is the marker.
    """
    nodes: Counter[tuple[str, ...]] = Counter()
    for each in schema.nodes:
        if marker in each.labels:
            nodes[types_in(each.labels, marker)] += each.count
    relationships: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for link in schema.relationships:
        if marker in link.tails and marker in link.heads:
            relationships[link.type, types_in(link.tails, marker), types_in(link.heads, marker)] += link.count
    return Schema(
        [Nodes(labels, count) for labels, count in sorted(nodes.items())],
        [Relationships(*ends, count) for ends, count in sorted(relationships.items())],
    )


def types_in(labels: Sequence[str], marker: str | None = EXTRACTED) -> tuple[str, ...]:
    """Return the labels that are types: without a tool's internal ones, unless there are no others."""
    if marker is None or marker not in labels:
        return tuple(labels)
    return tuple(label for label in labels if label != marker and not _INTERNAL.fullmatch(label)) or (marker,)


def rows_of(facts: Facts, schema: Schema, mapping: Mapping) -> int:
    """Return the number of relationships or nodes of a kind of facts; an upper bound for properties."""
    every = mapping.labels
    if isinstance(facts, RelationshipFacts):
        return schema.relationships_between(facts.type, facts.from_ or every, facts.to or every)
    if isinstance(facts, NodeFacts):
        for side in (facts.subject, facts.object):
            if not schema.relationships_between(side.type, *_tails_and_heads(facts.node, side, mapping)):
                return 0
        return schema.nodes_with([facts.node])
    return schema.nodes_with(facts.from_ or every)


def _tails_and_heads(node: str, side: RelationshipSide, mapping: Mapping) -> tuple[Sequence[str], Sequence[str]]:
    """Return the labels at the two ends of the relationships of an intermediate node."""
    others = side.labels or mapping.labels
    return ([node], others) if side.arrow == "out" else (others, [node])


def check_fit(mapping: Mapping, schema: Schema, name: str, graph: str) -> list[str]:
    """Return the parts of a mapping that match nothing in the graph, as sentences."""
    entities = schema.nodes_with(mapping.labels)
    facts = sum(rows_of(kind, schema, mapping) for kind in mapping.facts)
    misfits = list(_misfits(mapping, schema))
    if entities and facts:
        return [f"{name}: {misfit}" for misfit in misfits]
    reached = "no fact" if entities else "no entity"
    raise KgprobeError(f"{name} reaches {reached} of {graph}. {' '.join(misfits)} {describe(schema)}")


def _misfits(mapping: Mapping, schema: Schema) -> Iterator[str]:
    labels = schema.labels()
    for kind in mapping.entities:
        if not labels[kind.label]:
            yield f"It looks for nodes {_quoted(kind.label)} as entities; {_none(kind.label, labels)}."
    for facts in mapping.facts:
        if rows_of(facts, schema, mapping):
            continue
        if isinstance(facts, RelationshipFacts):
            yield _misfit_of_type(facts.type, facts.from_ or mapping.labels, facts.to or mapping.labels, schema)
        elif isinstance(facts, NodeFacts):
            yield from _misfits_of_nodes(facts, mapping, schema)
        elif isinstance(facts, PropertyFacts):
            nodes = ", ".join(map(_quoted, facts.from_ or mapping.labels))
            yield f"It looks for the property {_quoted(facts.property)} of nodes {nodes}; there are none."


def _misfits_of_nodes(facts: NodeFacts, mapping: Mapping, schema: Schema) -> Iterator[str]:
    """Yield the misfits of intermediate nodes: no such node, or no such relationship at a side."""
    labels, types = schema.labels(), schema.types()
    if not labels[facts.node]:
        yield f"It looks for nodes {_quoted(facts.node)} between others; {_none(facts.node, labels)}."
        return
    for side in (facts.subject, facts.object):
        tails, heads = _tails_and_heads(facts.node, side, mapping)
        if not types[side.type] or not schema.relationships_between(side.type, tails, heads):
            yield _misfit_of_type(side.type, tails, heads, schema)


def _misfit_of_type(type_: str, tails: Sequence[str], heads: Sequence[str], schema: Schema) -> str:
    types = schema.types()
    looked = f"It looks for relationships {_quoted(type_)} from {_either(tails)} to {_either(heads)}"
    if not types[type_]:
        return f"{looked}; {_none(type_, types)}."
    existing = [each for each in schema.relationships if each.type == type_]
    existing.sort(key=attrgetter("count"), reverse=True)
    shown = [f"{each.count:,} from {_together(each.tails)} to {_together(each.heads)}" for each in existing[:_LISTED]]
    return f"{looked}; the graph has {', '.join(shown)}."


def describe(schema: Schema) -> str:
    """Return the counts of a graph, in two sentences."""
    labels, types = schema.labels(), schema.types()
    if not schema.nodes:
        return "The graph has no nodes; KGPROBE_FROM_DATABASE selects another database of the server."
    nodes, relationships = "The graph has nodes without labels alone.", "It has no relationships."
    if labels:
        nodes = f"The graph has nodes {_counts(labels)}."
    if types:
        relationships = f"Its relationships are {_counts(types)}."
    return f"{nodes} {relationships}"


def _none(name: str, existing: Counter[str]) -> str:
    close = difflib.get_close_matches(name, existing, n=1, cutoff=0.5)
    # Other names with the same letters; the last one is meant.
    folded = name.lower().replace("_", "")
    close += [other for other in sorted(existing, reverse=True) if other.lower().replace("_", "") == folded]
    return f"there are none (did you mean {_quoted(close[0])}?)" if close else "there are none"


def _counts(counts: Counter[str]) -> str:
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_LISTED]
    more = f" and {len(counts) - len(first):,} more" if len(counts) > len(first) else ""
    return ", ".join(f"{_quoted(name)} ({count:,})" for name, count in first) + more


def _quoted(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def _either(labels: Sequence[str]) -> str:
    return " or ".join(map(_quoted, labels))


def _together(labels: Sequence[str]) -> str:
    return ":".join(map(_quoted, labels)) or "nodes without a label"
