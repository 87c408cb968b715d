"""Mapping of a property graph to entities and facts: a TOML file that users read and edit.

TOML quotes all texts (``[X]`` and ``NO`` have other meanings in YAML) and has comments, which a proposal needs. Unknown
keys are refused.
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.records import Rejected, Relation
from kgprobe.sources.lines import validation_message
from kgprobe.sources.values import check_id
from kgprobe.verbalize.templates.file import RelationLine, checked_relation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class EntityKind(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes of a label, as entities.

    Attributes:
        label: label of the nodes. A node with labels of several kinds belongs to the first in the file.
        name: property with the entity's name.
        id: property that is unique among the kind; None is the node's element id, which differs in a copy of the graph.
        prefix: prefix of the id, which keeps ids of different kinds apart; None is the label and a colon.
        aliases: properties with other names, each a text or a list of texts.
        description, popularity: properties.
        language: preferred language of names, aliases and descriptions with language tags, such as *Berlin@de*, which
            neosemantics writes (``keepLangTag``): tags are removed. None reads such texts as they are.
        name_from_iri: True to call nodes without a name by the last part of their id, an IRI.
        type_property: property with the entity's types, in addition to its node's labels.
        type_relationship: type of the relationships to entities that are its types.
    """

    label: str
    name: str
    id: str | None = None
    prefix: str | None = None
    aliases: tuple[str, ...] = ()
    description: str | None = None
    popularity: str | None = None
    language: str | None = None
    name_from_iri: bool = False
    type_property: str | None = None
    type_relationship: str | None = None


class _Asked(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A relation and its templates; as in a file of relations (:mod:`kgprobe.verbalize.templates.file`).

    Attributes:
        id: id of the relation; None takes the type, label or property of its facts.
    """

    id: str | None = None
    label: str | None = None
    aliases: tuple[str, ...] = ()
    description: str | None = None
    active: bool = True
    clozes: tuple[str, ...] = ()
    past_clozes: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    yes_no_questions: tuple[str, ...] = ()
    wh_questions: tuple[str, ...] = ()
    reverse_clozes: tuple[str, ...] = ()
    reverse_past_clozes: tuple[str, ...] = ()
    reverse_wh_questions: tuple[str, ...] = ()


class _Dated(_Asked, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Properties of the relationship or node of a fact.

    Attributes:
        start, end: begin and end of the fact.
        rank: ``preferred``, ``normal`` or ``deprecated``; facts of the last are left out.
        fact_id: unique id of the fact; None makes one from subject, relation, object and start.
    """

    start: str | None = None
    end: str | None = None
    rank: str | None = None
    fact_id: str | None = None


class RelationshipFacts(_Dated, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Relationships of a type, as facts.

    Attributes:
        from_, to: labels of entities at the arrow's tail and head; none means all.
        backwards: True if the head is the subject.
    """

    type: str
    from_: tuple[str, ...] = field(name="from", default=())
    to: tuple[str, ...] = ()
    backwards: bool = False


class RelationshipSide(Struct, frozen=True, forbid_unknown_fields=True):
    """Relationship between an intermediate node and a subject or object.

    Attributes:
        type: type of the relationship.
        arrow: ``out`` from the node to the entity, ``in`` from the entity to the node.
        labels: labels of the entity; none means all.
    """

    type: str
    arrow: Literal["out", "in"] = "out"
    labels: tuple[str, ...] = ()


class NodeFacts(_Dated, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Intermediate nodes of a label, as facts between their two sides."""

    node: str
    subject: RelationshipSide
    object: RelationshipSide


class PropertyFacts(_Asked, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A property of entities, as facts whose objects are its values.

    Attributes:
        from_: labels of entities; none means all.
        values: kind of the values; ``date`` reads a whole number as a year; None decides by the value.
    """

    property: str
    from_: tuple[str, ...] = field(name="from", default=())
    values: Literal["date", "number", "text"] | None = None


Facts: TypeAlias = RelationshipFacts | NodeFacts | PropertyFacts


class Mapping(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole mapping."""

    entities: tuple[EntityKind, ...]
    relationship_facts: tuple[RelationshipFacts, ...] = ()
    node_facts: tuple[NodeFacts, ...] = ()
    property_facts: tuple[PropertyFacts, ...] = ()

    @property
    def facts(self) -> Sequence[Facts]:
        """All kinds of facts, in reading order."""
        return (*self.relationship_facts, *self.node_facts, *self.property_facts)

    @property
    def labels(self) -> list[str]:
        """Labels of the entities."""
        return [kind.label for kind in self.entities]


def found_as(facts: Facts) -> str:
    """Return the type, label or property of the facts in the graph."""
    if isinstance(facts, RelationshipFacts):
        return facts.type
    return facts.node if isinstance(facts, NodeFacts) else facts.property


def relation_id(facts: Facts) -> str:
    """Return the id of the relation."""
    return facts.id or found_as(facts)


def relation_records(facts: Facts) -> Iterator[Relation | Rejected]:
    """Yield the unusable templates of a relation, then the relation.

    Raises:
        ValueError: its id is invalid.
    """
    values = msgspec.structs.asdict(facts) | {"id": relation_id(facts)}
    return checked_relation(msgspec.convert(values, RelationLine))


def read_mapping(path: Path) -> Mapping:
    """Read a mapping from a file."""
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UnknownNameError(
            f"The mapping {path} does not exist. `kgprobe load graph --propose` writes one to review."
        ) from error
    except UnicodeDecodeError as error:
        raise KgprobeError(f"{path} is not UTF-8: {error.reason} at byte {error.start + 1}.") from error
    except OSError as error:
        raise KgprobeError(f"The mapping {path} cannot be read: {error.strerror}.") from error
    try:
        mapping = msgspec.convert(tomllib.loads(content), Mapping)
    except tomllib.TOMLDecodeError as error:
        raise KgprobeError(f"{path} is not TOML: {error}.") from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise KgprobeError(f"{path}: {validation_message(error)}.") from error
    for problem in _problems(mapping):
        raise ArgumentError("mapping", f"is {path}: {problem}.")
    return mapping


def _problems(mapping: Mapping) -> Iterator[str]:
    """Yield the errors of a well-formed mapping."""
    if not mapping.entities:
        yield "it has no `entities`; each is a label and the property that names its nodes"
    if not mapping.facts:
        yield "it has no facts: `relationship_facts`, `node_facts` or `property_facts`"
    yield from _repeated("entities", "label", mapping.entities, lambda kind: kind.label)
    known = mapping.labels
    for name in ("relationship_facts", "node_facts", "property_facts"):
        for number, facts in enumerate(getattr(mapping, name)):
            for where, labels in _ends(facts).items():
                for label in itertools.filterfalse(known.__contains__, labels):
                    yield (
                        f"`{name}[{number}].{where}` has {label!r}, which is not an entity label of the mapping;"
                        f" there are {', '.join(known)}"
                    )
    yield from _repeated("facts", "relation", mapping.facts, relation_id)
    for facts in mapping.facts:
        identifier = relation_id(facts)
        try:
            check_id(identifier, "id of a relation")
        except ValueError as error:
            yield f"{error}; `id` gives it another"


def _ends(facts: Facts) -> dict[str, Sequence[str]]:
    if isinstance(facts, NodeFacts):
        return {"subject.labels": facts.subject.labels, "object.labels": facts.object.labels}
    if isinstance(facts, RelationshipFacts):
        return {"from": facts.from_, "to": facts.to}
    return {"from": facts.from_}


def _repeated(name: str, what: str, structs: Sequence[Struct], key: Callable[..., str]) -> Iterator[str]:
    seen: set[str] = set()
    for value in map(key, structs):
        if value in seen:
            yield f"two of the {name} have the {what} {value!r}; each is there once"
        seen.add(value)
