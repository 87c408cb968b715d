"""A first mapping, made of what a graph has: a person looks through it before anything is loaded.

1. A label is a kind of entities where a property names its nodes (:mod:`.properties`). A label whose nodes all have a
   larger one as well is none of its own.
2. A label without a name, whose nodes are tied to entities in exactly two ways, is a fact between these two.
3. All relationships between entities are facts, and years and dates of entities where a sentence can be made of them.

The same graph has the same proposal, whatever order the engine counts in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.sources.values import tidy

from .mapping import EntityKind, NodeFacts, PropertyFacts, RelationshipFacts, Side, relation_id
from .properties import SAMPLE, Properties, properties_of
from .schema import Schema, describe, read_schema
from .sentences import Sentences, sentences_of, sentences_of_date, words_of
from .writing import Proposed, written

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph


_LONGEST_ID = 200


def propose(graph: "Graph", name: str) -> str:
    """A first mapping of a graph, as the text of a file.

    Args:
        name: what the user calls the graph.

    Raises:
        KgprobeError: nothing in it could be an entity, or nothing a fact.

    Cost: all nodes and relationships are counted once, and up to ``SAMPLE`` of each kind are looked at.
    """
    schema = read_schema(graph)
    labels = _own_labels(schema)
    counts = schema.labels()
    properties = {
        label: properties_of(
            (row["properties"] for row in graph.stream("own/node_sample", label=label, limit=SAMPLE)), counts[label]
        )
        for label in labels
    }
    entities = {label: kind for label in labels if (kind := _entity(label, properties[label])) is not None}
    between = {
        label: sides
        for label in labels
        if label not in entities and (sides := _sides(label, schema, list(entities))) is not None
    }
    if not entities:
        raise KgprobeError(
            f"Nothing in {name} could be an entity: no label has a property that looks like a name. {describe(schema)}"
            " Write a mapping by hand; docs/guides/your-own-graph.md has one."
        )
    proposed = [
        Proposed(kind, [f"{counts[label]:,} nodes", *_remarks(kind, properties[label])])
        for label, kind in entities.items()
    ]
    facts: list[Proposed[Any]] = [
        *_relationship_facts(graph, schema, entities),
        *_node_facts(schema, between, properties),
        *_property_facts(entities, properties, counts),
    ]
    if not facts:
        raise KgprobeError(
            f"Nothing in {name} could be a fact: there are no relationships between its entities"
            f" ({', '.join(entities)}). {describe(schema)}"
        )
    left_out = [label for label in labels if label not in entities and label not in between]
    return written(name, proposed, _distinct(facts), {label: counts[label] for label in left_out})


def _own_labels(schema: Schema) -> list[str]:
    """The labels that are no part of another, the most frequent first."""
    counts = schema.labels()
    sets: dict[str, set[str]] = {}
    for nodes in schema.nodes:
        for label in nodes.labels:
            sets[label] = sets[label] & set(nodes.labels) if label in sets else set(nodes.labels)
    order = sorted(counts, key=lambda label: (-counts[label], label))
    return [label for place, label in enumerate(order) if not sets[label] & set(order[:place])]


def _entity(label: str, properties: Properties) -> EntityKind | None:
    name = properties.name(label)
    if name is None:
        return None
    return EntityKind(
        label=label,
        name=name,
        id=properties.id(label, name),
        aliases=tuple(alias for alias in properties.aliases() if alias != name),
        description=properties.description(),
        popularity=properties.popularity(),
    )


def _remarks(kind: EntityKind, properties: Properties) -> list[str]:
    """What was seen of a kind of entities."""
    sample = "of all" if properties.whole else f"of the first {properties.size:,}"
    name = properties.of[kind.name]
    remarks = [f"{sample}, {name.there / properties.size:.0%} have {kind.name!r}, {name.distinct:.0%} of these differ"]
    if kind.id is None:
        remarks.append("no property tells them apart: ids are the graph's own, which are others in a copy of it")
    others = [other for other in sorted(properties.of) if other not in (kind.name, kind.id)]
    if others:
        remarks.append(f"other properties: {', '.join(others)}")
    return remarks


@dataclass(frozen=True, slots=True)
class _Between:
    """The two sides of an intermediate node, and what its facts are called after; None for the node itself."""

    subject: Side
    object: Side
    named: str | None


def _sides(label: str, schema: Schema, entities: Sequence[str]) -> _Between | None:
    ways: dict[tuple[str, str], set[str]] = {}
    for each in schema.relationships:
        if label in each.tails:
            ways.setdefault((each.type, "out"), set()).update(each.heads)
        if label in each.heads:
            ways.setdefault((each.type, "in"), set()).update(each.tails)
    known = {
        way: tuple(entity for entity in entities if entity in others)
        for way, others in ways.items()
        if others.intersection(entities)
    }
    if len(known) != 2:
        return None
    # Who leads to the node is who did something: (customer)-[:PURCHASED]->(order)-[:ORDERS]->(product).
    (first, its), (second, others) = sorted(known.items())
    sides = [Side(first[0], "in" if first[1] == "in" else "out", its)]
    sides.append(Side(second[0], "in" if second[1] == "in" else "out", others))
    if {side.arrow for side in sides} == {"in", "out"}:
        sides.sort(key=lambda side: side.arrow)
        return _Between(sides[0], sides[1], sides[0].type)
    return _Between(sides[0], sides[1], None)


def _relationship_facts(
    graph: "Graph", schema: Schema, entities: dict[str, EntityKind]
) -> list[Proposed[RelationshipFacts]]:
    facts = []
    for type_, count in sorted(schema.types().items()):
        ends = [
            (
                next((label for label in entities if label in each.tails), None),
                next((label for label in entities if label in each.heads), None),
            )
            for each in schema.relationships
            if each.type == type_
        ]
        pairs = [(tail, head) for tail, head in ends if tail is not None and head is not None]
        if not pairs:
            continue
        tails = tuple(label for label in entities if label in {tail for tail, _ in pairs})
        heads = tuple(label for label in entities if label in {head for _, head in pairs})
        seen = properties_of(
            (row["properties"] for row in graph.stream("own/relationship_sample", type=type_, limit=SAMPLE)), count
        )
        start, end = seen.interval()
        asked = sentences_of(type_, _noun(tails), _noun(heads))
        others = [name for name in sorted(seen.of) if name not in (start, end)]
        facts.append(
            Proposed(
                RelationshipFacts(
                    type=type_, from_=tails, to=heads, start=start, end=end, label=words_of(type_), **_asked(asked)
                ),
                [f"{count:,} relationships", *([f"other properties: {', '.join(others)}"] if others else [])],
            )
        )
    return facts


def _node_facts(
    schema: Schema, between: dict[str, _Between], properties: dict[str, Properties]
) -> list[Proposed[NodeFacts]]:
    facts = []
    for label, sides in between.items():
        start, end = properties[label].interval(label)
        named = sides.named or label
        asked = sentences_of(named, _noun(sides.subject.labels), _noun(sides.object.labels))
        others = [name for name in sorted(properties[label].of) if name not in (start, end)]
        facts.append(
            Proposed(
                NodeFacts(
                    node=label,
                    subject=sides.subject,
                    object=sides.object,
                    id=named,
                    start=start,
                    end=end,
                    label=words_of(named),
                    **_asked(asked),
                ),
                [
                    f"{schema.labels()[label]:,} nodes, each between two entities",
                    *([f"other properties: {', '.join(others)}"] if others else []),
                ],
            )
        )
    return facts


def _property_facts(
    entities: dict[str, EntityKind], properties: dict[str, Properties], counts: dict[str, int]
) -> list[Proposed[PropertyFacts]]:
    """Years and dates, where a sentence says what they are: *[X] was released in [Y]*."""
    of: dict[str, list[str]] = {}
    for label in entities:
        for name in properties[label].dated():
            of.setdefault(name, []).append(label)
    facts = []
    for name, labels in sorted(of.items()):
        asked = sentences_of_date(name)
        if asked is None:
            continue
        there = sum(counts[label] for label in labels)
        facts.append(
            Proposed(
                PropertyFacts(property=name, from_=tuple(labels), values="date", label=words_of(name), **_asked(asked)),
                [f"a year or a date, of up to {there:,} nodes"],
            )
        )
    return facts


def _asked(sentences: Sentences | None) -> dict[str, Any]:
    """The templates by what a mapping calls them."""
    if sentences is None:
        return {}
    return {
        f"{kind}s": (text,)
        for kind in ("cloze", "past_cloze", "statement", "yes_no_question", "wh_question", "reverse_wh_question")
        if (text := getattr(sentences, kind)) is not None
    }


def _noun(labels: Sequence[str]) -> str | None:
    """What the nodes at an end are called in a question."""
    if len(labels) != 1:
        return None
    words = words_of(labels[0])
    return words if words and all(word.isalpha() for word in words.split()) else None


def _distinct(facts: Sequence[Proposed[Any]]) -> list[Proposed[Any]]:
    """The same facts, each with an id that a relation can have and no other has."""
    taken: set[str] = set()
    kept = []
    for proposed in facts:
        # What a type is called may be no id: it may hold line breaks, or be too long.
        own = tidy(relation_id(proposed.what))[:_LONGEST_ID].strip() or "fact"
        id_, number = own, 2
        while id_ in taken:
            id_ = f"{own} {number}"
            number += 1
        taken.add(id_)
        if id_ != relation_id(proposed.what):
            proposed = Proposed(msgspec.structs.replace(proposed.what, id=id_), proposed.remarks)
        kept.append(proposed)
    return kept
