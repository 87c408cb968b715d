"""A property graph of any schema as a source: read over Bolt by a mapping, never written to.

Streams are in the engine's order, which is the same for an unchanged graph; sorting by id would need memory for all of
them. So an interrupted load continues correctly if the graph is unchanged. The fingerprint has the numbers of nodes and
relationships; if they change, the load starts again.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Placed, Rejected
from kgprobe.graph.located_facts import Element, LocatedFacts
from kgprobe.sources.values import ID_LIMIT, check_id, check_interval, fact_id, tidy, tidy_all

from ..rdf.vocabulary import Vocabulary
from .mapping import (
    EntityKind,
    Facts,
    Mapping,
    NodeFacts,
    PropertyFacts,
    RelationshipFacts,
    found_as,
    relation_id,
    relation_records,
)
from .schema import RESOURCE, Schema, describe, marker_of, properties_of, rows_of, types_in
from .sentences import words_of
from .values import (
    bound_of,
    given,
    in_language,
    key_of,
    listed,
    literal_of,
    name_of,
    popularity_of,
    rank_of,
    shown,
    text_of,
    texts_of,
)

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph, Row


_QUERIES: dict[type[Facts], str] = {
    RelationshipFacts: "own/relationship_facts",
    NodeFacts: "own/node_facts",
    PropertyFacts: "own/property_facts",
}


@dataclass(slots=True)
class OwnGraph:
    """A property graph as a source; see :class:`kgprobe.sources.contract.Source`.

    Attributes:
        mapping_name: name of the mapping in messages.
    """

    name: str
    graph: "Graph"
    mapping: Mapping
    mapping_name: str
    schema: Schema
    partial: bool = False
    _read: dict[str, int] = field(default_factory=dict)
    _shared: frozenset[int] | None = None

    @property
    def fingerprint(self) -> str:
        """Digest of the address, the mapping, and the numbers of its nodes and relationships."""
        labels = set(self.mapping.labels)
        types = {kind.type_relationship for kind in self.mapping.entities}
        types.update(facts.type for facts in self.mapping.relationship_facts)
        for facts in self.mapping.node_facts:
            labels.add(facts.node)
            types |= {facts.subject.type, facts.object.type}
        nodes = [each for each in self.schema.nodes if labels.intersection(each.labels)]
        relationships = [each for each in self.schema.relationships if each.type in types]
        content = [self.name, self.mapping, nodes, relationships]
        return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()

    @property
    def total(self) -> int:
        """Number of relations, nodes and relationships to read; those of several kinds count for each."""
        entities = sum(self.schema.nodes_with([kind.label]) for kind in self.mapping.entities)
        # The values of properties are read twice: as literals and as objects of facts.
        read = (*self.mapping.property_facts, *self.mapping.facts)
        return len(self.mapping.facts) + entities + sum(rows_of(facts, self.schema, self.mapping) for facts in read)

    @property
    def places(self) -> int:
        """Number of relationships and nodes of facts; see :class:`kgprobe.graph.located_facts.LocatesFacts`."""
        return sum(rows_of(facts, self.schema, self.mapping) for facts in self.mapping.facts)

    @property
    def done(self) -> int:
        """Number of ``total`` read so far."""
        return min(sum(self._read.values()), self.total)

    def reads(self, address: str, database: str | None) -> bool:
        """Return True if this is the source's graph; see :class:`kgprobe.sources.contract.ReadsGraph`."""
        from kgprobe.graph.endpoint import same_database

        return same_database(self.graph.endpoint, address, database)

    def relations(self) -> Iterator[Placed]:
        """Yield the relations of the mapping."""
        for number, facts in enumerate(self.mapping.facts, start=1):
            self._read["relations"] = number
            for record in relation_records(facts):
                yield Placed(number, record, self.mapping_name, "relation")

    def entities(self) -> Iterator[Placed]:
        """Yield the labels as types, the nodes of each kind, and the literals of property facts."""
        number = 0
        mapped = set(self.mapping.labels)
        labels: set[str] = set()
        for nodes in self.schema.nodes:
            if mapped.intersection(nodes.labels):
                labels.update(self._types_in(nodes.labels))
        for label in sorted(labels):
            number += 1
            yield Placed(number, Entity(_type_id(label), words_of(label)), self.name, "label")
        for kind, row in self._rows_of_entities():
            number += 1
            try:
                record: Entity | Rejected = self._entity(kind, row)
            except ValueError as error:
                record = Rejected(f"{_place(row)}: {error}")
            yield Placed(number, record, self._file(kind.label), "node")
        known: set[bytes] = set()
        for facts in self.mapping.property_facts:
            for row in self._counted("values", "own/property_facts", facts):
                number += 1
                for value in listed(row["value"]):
                    try:
                        literal = literal_of(value, facts.property, facts.values)
                    except ValueError:
                        # Reported with its fact.
                        continue
                    digest = hashlib.blake2b(literal.id.encode(errors="replace"), digest_size=8).digest()
                    if digest not in known:
                        known.add(digest)
                        yield Placed(number, literal, self._file(facts.property), "node")

    def facts(self) -> Iterator[Placed]:
        """Yield the facts of each kind."""
        number, good = 0, 0
        first: Rejected | None = None
        for facts in self.mapping.facts:
            unit = "relationship" if isinstance(facts, RelationshipFacts) else "node"
            for row in self._rows_of_facts(facts):
                number += 1
                for record in self._facts_of(facts, row):
                    if isinstance(record, Rejected):
                        first = first or record
                    else:
                        good += 1
                    yield Placed(number, record, self._file(found_as(facts)), unit)
        if not good:
            why = f" The first of {number:,}: {first.reason}." if first else ""
            raise KgprobeError(f"{self.mapping_name} reaches no fact of {self.name}.{why} {describe(self.schema)}")

    def locate(self, properties: Sequence[str]) -> Iterator[LocatedFacts]:
        """Yield the relationships and nodes of the facts; see :class:`kgprobe.graph.located_facts.LocatesFacts`."""
        for facts in self.mapping.facts:
            for row in self._rows_of_facts(facts, properties):
                yield self._located(facts, row)

    def describe_ids(self) -> str:
        """Return the properties that identify entities; see :class:`kgprobe.graph.located_facts.LocatesFacts`."""
        kinds = []
        for kind in self.mapping.entities:
            existing = ", ".join(properties_of(self.graph, kind.label)) or "none"
            kinds.append(f"nodes {kind.label[:60]} by {shown(kind.id or 'element id')} (their properties: {existing})")
        return f"{self.mapping_name} identifies {'; '.join(kinds)}. {describe(self.schema)}"

    def _located(self, facts: Facts, row: "Row") -> LocatedFacts:
        element = Element(_place(row))
        if isinstance(facts, RelationshipFacts):
            element = Element(row["element"], row["subject"]["element"], row["object"]["element"])
        usable: list[Fact] = []
        for record in self._facts_of(facts, row):
            if isinstance(record, Rejected):
                return LocatedFacts(element, (), row.get("stored", ()), fault=record.reason)
            usable.append(record)
        obstacle = None
        if isinstance(facts, PropertyFacts):
            obstacle = "the fact is a property of a node"
        elif len(usable) > 1:
            obstacle = "one node stands for several facts"
        elif any(self._is_shared(fact) for fact in usable):
            obstacle = "several nodes have the id of its subject or object"
        return LocatedFacts(element, tuple(usable), row.get("stored", ()), obstacle)

    def _is_shared(self, fact: Fact) -> bool:
        shared = self._shared_ids()
        return self._digest(fact.subject) in shared or self._digest(fact.object) in shared

    def _file(self, what: str) -> str:
        return f"{self.name}, {what[:60]}"

    def _types_in(self, labels: Sequence[str]) -> Sequence[str]:
        marker = marker_of(self.schema)
        # All nodes of RDF are resources, also those without a type.
        return [label for label in types_in(labels, marker) if label != marker or marker != RESOURCE]

    def _keys(self) -> list[str]:
        return [kind.id or "" for kind in self.mapping.entities]

    def _rows_of_entities(self) -> Iterator[tuple[EntityKind, "Row"]]:
        self._read["entities"] = 0
        for place, kind in enumerate(self.mapping.entities):
            given: dict[str, Any] = {
                "label": kind.label,
                "before": self.mapping.labels[:place],
                "id": kind.id,
                "name": kind.name,
                "description": kind.description,
                "popularity": kind.popularity,
                "type_property": kind.type_property,
                "aliases": list(kind.aliases),
            }
            query = "own/entities"
            if kind.type_relationship is not None:
                query = "own/typed_entities"
                given |= {
                    "type_relationship": kind.type_relationship,
                    "labels": self.mapping.labels,
                    "keys": self._keys(),
                }
            for row in self.graph.stream(query, **given):
                self._read["entities"] += 1
                yield kind, row

    def _rows_of_facts(self, facts: Facts, stored: Sequence[str] = ()) -> Iterator["Row"]:
        if facts is self.mapping.facts[0]:
            self._read["facts"] = 0
        further = {} if isinstance(facts, PropertyFacts) else {"stored": list(stored)}
        return self._counted("facts", _QUERIES[type(facts)], facts, **further)

    def _counted(self, stream: str, query: str, facts: Facts, **further: Any) -> Iterator["Row"]:
        if isinstance(facts, PropertyFacts) and stream == "values" and facts is self.mapping.property_facts[0]:
            self._read[stream] = 0
        for row in self.graph.stream(query, keys=self._keys(), **_parameters(facts, self.mapping), **further):
            self._read[stream] = self._read.get(stream, 0) + 1
            yield row

    def _entity(self, kind: EntityKind, row: "Row") -> Entity:
        identifier = _identifier(kind, row["id"], row["element"])
        if self._digest(identifier) in self._shared_ids():
            raise ValueError(
                f"another node has the id {shown(identifier)}, too; choose a unique property for 'id', or leave it out"
            )
        texts = {name: in_language(row[name], kind.language) for name in ("name", "description")}
        other_names = [in_language(alias, kind.language) for alias in row["aliases"]]
        label = Vocabulary().label(identifier, "") if kind.name_from_iri and not given(texts["name"]) else ""
        label = label or name_of(texts["name"], kind.name)
        types = [*map(_type_id, self._types_in(sorted(row["labels"])))]
        types += [check_id(text, "type") for text in texts_of([row["type"]], (kind.type_property or "",))]
        types += sorted(map(self._end, row["types"]))
        return Entity(
            id=identifier,
            label=label,
            aliases=tidy_all(texts_of([texts["name"], *other_names], (kind.name, *kind.aliases)), without=label),
            description=text_of(texts["description"], kind.description or ""),
            types=tuple(dict.fromkeys(types)),
            popularity=popularity_of(row["popularity"], kind.popularity or ""),
        )

    def _facts_of(self, facts: Facts, row: "Row") -> Iterator[Fact | Rejected]:
        """Yield the facts of a row, or its error."""
        try:
            if not isinstance(facts, PropertyFacts):
                yield from self._dated_facts(facts, row)
                return
            relation, subject = relation_id(facts), self._end(row["subject"])
            for value in listed(row["value"]):
                object_ = literal_of(value, facts.property, facts.values).id
                yield Fact(fact_id(subject, relation, object_, None), subject, relation, object_)
        except ValueError as error:
            yield Rejected(f"{_place(row)}: {error}")

    def _dated_facts(self, facts: RelationshipFacts | NodeFacts, row: "Row") -> Iterator[Fact]:
        relation = relation_id(facts)
        start, end = bound_of(row["start"], facts.start or ""), bound_of(row["end"], facts.end or "")
        check_interval(start, end)
        rank = rank_of(row["rank"], facts.rank or "")
        if rank == "deprecated":
            return
        key = None if facts.fact_id is None else check_id(key_of(row["fact_id"], facts.fact_id))
        ends = _pairs(facts, row)
        for ends_of_fact in ends:
            subject, object_ = map(self._end, ends_of_fact)
            id_ = fact_id(subject, relation, object_, start)
            if key is not None:
                id_ = check_id(f"{relation} {key} {id_}" if len(ends) > 1 else f"{relation} {key}")
            yield Fact(id_, subject, relation, object_, rank, start, end)

    def _end(self, end: "Row") -> str:
        """Return the entity id of an end of a fact."""
        for kind, value in zip(self.mapping.entities, end["values"], strict=True):
            if kind.label in end["labels"]:
                try:
                    return _identifier(kind, value, end["element"])
                except ValueError as error:
                    raise ValueError(f"of {kind.label[:60]} {end['element']}: {error}") from error
        raise ValueError(f"{end['element']} is not an entity of the mapping")

    def _digest(self, identifier: str) -> int:
        digest = hashlib.blake2b(identifier.encode(errors="replace"), digest_size=8).digest()
        return int.from_bytes(digest, "little")

    def _shared_ids(self) -> frozenset[int]:
        """Return digests of the ids shared by several nodes; needs 8 bytes per node.

        Such nodes are rejected: their facts could not be assigned.
        """
        if self._shared is None:
            digests = array("Q")
            for place, kind in enumerate(self.mapping.entities):
                if kind.id is None:
                    continue
                before = self.mapping.labels[:place]
                for row in self.graph.stream("own/keys", label=kind.label, before=before, id=kind.id):
                    # Invalid ids are reported with their entity.
                    with suppress(ValueError):
                        digests.append(self._digest(_identifier(kind, row["value"], "")))
            values, counts = np.unique(np.array(digests, dtype=np.uint64), return_counts=True)
            self._shared = frozenset(values[counts > 1].tolist())
        return self._shared


def _type_id(label: str) -> str:
    # Labels may be longer than ids.
    return tidy(label)[:ID_LIMIT].strip() or "node"


def _identifier(kind: EntityKind, value: Any, element: str) -> str:
    key = element if kind.id is None else key_of(value, kind.id)
    prefix = f"{tidy(kind.label)}:" if kind.prefix is None else kind.prefix
    return check_id(f"{prefix}{key}")


def _parameters(facts: Facts, mapping: Mapping) -> dict[str, Any]:
    every = mapping.labels
    if isinstance(facts, PropertyFacts):
        return {"property": facts.property, "from": list(facts.from_ or every)}
    dated = {"start": facts.start, "end": facts.end, "rank": facts.rank, "fact_id": facts.fact_id}
    if isinstance(facts, RelationshipFacts):
        return {**dated, "type": facts.type, "from": list(facts.from_ or every), "to": list(facts.to or every)}
    return {
        **dated,
        "label": facts.node,
        "subject_type": facts.subject.type,
        "subject_out": facts.subject.arrow == "out",
        "subjects": list(facts.subject.labels or every),
        "object_type": facts.object.type,
        "object_out": facts.object.arrow == "out",
        "objects": list(facts.object.labels or every),
    }


def _pairs(facts: RelationshipFacts | NodeFacts, row: "Row") -> list[tuple["Row", "Row"]]:
    """Return the rows of subjects and objects of a row's facts."""
    if isinstance(facts, RelationshipFacts):
        tail, head = row["subject"], row["object"]
        return [(head, tail) if facts.backwards else (tail, head)]
    for name, side in (("subject", facts.subject), ("object", facts.object)):
        if not row[f"{name}s"]:
            arrow = f"-[:{side.type[:60]}]->" if side.arrow == "out" else f"<-[:{side.type[:60]}]-"
            raise ValueError(f"it has no {name}: there is no {arrow} to {' or '.join(side.labels) or 'an entity'}")
    by_element = itemgetter("element")
    return list(product(sorted(row["subjects"], key=by_element), sorted(row["objects"], key=by_element)))


def _place(row: "Row") -> str:
    """Return the element id of a row's node or relationship, for messages."""
    return str(row["element"] if "element" in row else row["subject"]["element"])
