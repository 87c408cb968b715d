"""Proposal of a mapping from the schema and samples of a graph, for review by the user.

1. A label is a kind of entities if a property names its nodes. Labels whose nodes all have a more
   frequent label are omitted.
2. A label without a name, whose nodes have exactly two kinds of relationships to entities, is a fact between these.
3. All relationships between entities are facts; so are years and dates of entities that a sentence can express.
4. Everything else is named, with the reason why it is left out.

The same graph gives the same proposal, independently of the engine's order.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import visible
from kgprobe.sources.values import tidy

from .mapping import EntityKind, Facts, NodeFacts, PropertyFacts, RelationshipFacts, RelationshipSide, relation_id
from .schema import EXTRACTED, RESOURCE, Schema, describe, marked_entities, marker_of, read_schema
from .sentences import Sentences, sentences_of, sentences_of_date, without_namespace, words_of
from .values import bound_of, given, language_of, listed

# Maximum sample size per kind.
SAMPLE = 10_000

_LONGEST_NAME = 200
_MOSTLY = 0.9
_YEARS = range(1000, 2101)

_NAMES = ["name", "title", "label", "fullname", "displayname", "preflabel", "heading", "term"]
_IDS = ["id", "uid", "uuid", "guid", "identifier", "qid", "key", "code", "slug", "iri", "uri", "isbn"]
# Endings of further names of ids, less preferred than a unique name: they may refer to other nodes.
_ID_ENDINGS = ("id", "key", "code", "iri", "uri")
_ALIASES = [
    "aliases",
    "alias",
    "altlabel",
    "alternatename",
    "aka",
    "alsoknownas",
    "alternativename",
    "alternativenames",
    "nickname",
    "nicknames",
    "synonym",
    "synonyms",
]
_DESCRIPTIONS = ["description", "summary", "abstract", "tagline", "bio", "biography", "comment"]
_POPULARITIES = ["popularity", "pageviews", "views", "viewcount", "sitelinks", "followers", "followercount", "pagerank"]
# Relationships of RDF and its ontologies in a graph of neosemantics, with prefixes (SHORTEN), as IRIs (KEEP) or bare
# (IGNORE).
_TYPES = ("rdf__type", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "type")
_ONTOLOGY = re.compile(
    r"(?:rdfs?|owl)__.*|http://www\.w3\.org/(?:1999/02/22-rdf-syntax-ns|2000/01/rdf-schema|2002/07/owl)#.*"
    "|type|subClassOf|subPropertyOf|domain|range|sameAs|equivalentClass|inverseOf"
)
_STARTS = [
    "start",
    "startdate",
    "starttime",
    "startyear",
    "from",
    "since",
    "begin",
    "began",
    "validfrom",
    "fromdate",
    "fromyear",
]
_POINTS = ["date", "year", "on", "at", "when", "timestamp"]
_ENDS = [
    "end",
    "enddate",
    "endtime",
    "endyear",
    "until",
    "till",
    "to",
    "finish",
    "finished",
    "validto",
    "validuntil",
    "todate",
    "toyear",
]


@dataclass(slots=True)
class Property:
    """A property in a sample.

    Attributes:
        there: number of nodes or relationships with the property.
        texts, dates: numbers of texts, and of years, dates or points in time among its values.
        numbers, keys: numbers of non-negative numbers, and of texts or whole numbers.
        short: number of texts short enough for a name.
        values: digests of its values.
        tagged: number of texts with a language tag (*Berlin@de*).
        languages: numbers of texts by tag; all texts of a list count.
    """

    name: str
    there: int = 0
    texts: int = 0
    dates: int = 0
    numbers: int = 0
    keys: int = 0
    short: int = 0
    values: set[int] = field(default_factory=set)
    tagged: int = 0
    languages: Counter[str] = field(default_factory=Counter)

    def add(self, value: Any) -> None:
        """Count a value; of a list the first, as for a name. NaN is no value."""
        value = given(value)
        languages = [language_of(text) for text in listed(value) if isinstance(text, str)]
        self.languages.update(filter(None, languages))
        self.tagged += bool(languages) and languages[0] is not None
        is_list = isinstance(value, list)
        value = value[0] if is_list else value
        if value is None:
            return
        self.there += 1
        self.values.add(hash(repr(value)))
        if isinstance(value, str):
            self.texts += 1
            self.short += len(value) <= _LONGEST_NAME
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        self.numbers += number and value >= 0
        self.keys += not is_list and (isinstance(value, str) or (number and isinstance(value, int)))
        # Only years count as dates among numbers.
        self.dates += not is_list and _is_date(value) and (not number or value in _YEARS)

    @property
    def distinct(self) -> float:
        """Share of distinct values."""
        return len(self.values) / self.there

    @property
    def language(self) -> str | None:
        """The language to prefer if almost all texts have a language tag: English, or the most frequent one."""
        if not self.languages or self.tagged < _MOSTLY * self.texts:
            return None
        return "en" if self.languages["en"] else min(self.languages, key=lambda tag: (-self.languages[tag], tag))


@dataclass(frozen=True, slots=True)
class Properties:
    """All properties of a sample, by name.

    Attributes:
        whole: True if the sample is the whole kind.
    """

    size: int
    whole: bool
    of: Mapping[str, Property]

    def name(self, label: str, first: Sequence[str] = (), last: Sequence[str] = ()) -> str | None:
        """Return the property for names: a text that most nodes have, with mostly distinct values."""
        own = _bare(label)
        preferred = [*first, *_NAMES, f"{own}name", f"{own}title", f"{own}label", *last]

        def fits(property_: Property) -> bool:
            listed = _bare(property_.name) in preferred
            alike = _bare(property_.name).endswith(("name", "title")) and property_.distinct >= _MOSTLY
            return (
                2 * property_.short >= property_.texts > 0
                and property_.texts >= _MOSTLY * property_.there
                and property_.there >= self.size / 2
                and (property_.distinct >= 0.5 or self.size < 3)
                and (listed or alike)
            )

        return self._first([property_ for property_ in self.of.values() if fits(property_)], preferred)

    def id(self, label: str, name: str) -> str | None:
        """Return the property for ids: present in all nodes and unique."""
        own = _bare(label)
        own_ids = [f"{own}{each}" for each in _IDS]
        others = sorted(bare for bare in map(_bare, self.unique()) if bare.endswith(_ID_ENDINGS))
        preferred = [*_IDS, *own_ids, _bare(name), *others]
        return self._first([self.of[each] for each in self.unique()], preferred, only=True)

    def unique(self) -> list[str]:
        """Return the properties that all nodes have, each with another value, sorted by name."""
        return sorted(
            each.name for each in self.of.values() if each.there == each.keys == len(each.values) == self.size
        )

    def aliases(self) -> list[str]:
        """Return the properties with other names."""
        return [name for name in sorted(self.of) if _bare(name) in _ALIASES]

    def description(self) -> str | None:
        """Return the property with a description."""
        texts = [property_ for property_ in self.of.values() if property_.texts == property_.there]
        return self._first(texts, _DESCRIPTIONS, only=True)

    def popularity(self) -> str | None:
        """Return the property with a popularity, such as page views."""
        numbers = [property_ for property_ in self.of.values() if property_.numbers == property_.there]
        return self._first(numbers, _POPULARITIES, only=True)

    def interval(self, label: str = "") -> tuple[str | None, str | None]:
        """Return the properties for start and end."""
        dates = {name: self.of[name] for name in self.dated()}
        own = _bare(label)
        own_points = [f"{own}{each}" for each in _POINTS]
        start = self._first(dates.values(), [*_STARTS, *_POINTS, *own_points], only=True)
        if start is not None:
            del dates[start]
        return start, self._first(dates.values(), _ENDS, only=True)

    def dated(self) -> list[str]:
        """Return the properties with years or dates, sorted by name."""
        return sorted(property_.name for property_ in self.of.values() if property_.dates >= _MOSTLY * property_.there)

    def _first(self, fitting: Iterable[Property], preferred: Sequence[str], only: bool = False) -> str | None:
        """Return the first property in the order of preferred names, then of frequency and distinct values."""
        ranked = []
        for property_ in fitting:
            bare = _bare(property_.name)
            place = preferred.index(bare) if bare in preferred else len(preferred)
            if place < len(preferred) or not only:
                ranked.append((place, -property_.there, -len(property_.values), property_.name))
        return min(ranked)[-1] if ranked else None


def properties_of(rows: Iterable[Mapping[str, Any]], count: int) -> Properties:
    """Return the properties of a sample."""
    of: dict[str, Property] = {}
    size = 0
    for row in rows:
        size += 1
        for name, value in row.items():
            of.setdefault(name, Property(name)).add(value)
    return Properties(size, size >= count, {name: each for name, each in of.items() if each.there})


def _bare(name: str) -> str:
    """Return a name in lower case, without signs and a namespace of neosemantics: ``rdfs__label`` is *label*."""
    return re.sub(r"[\W_]", "", (without_namespace(name).rpartition("__")[2] or name).lower())


def _is_date(value: Any) -> bool:
    try:
        return bound_of(value, "") is not None
    except ValueError:
        return False


T = TypeVar("T", bound=EntityKind | Facts)

# JSON leaves these as they are, and TOML forbids some of them; the others would be unseen or turn a line round.
_HIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONGEST_REMARK = 300

_TABLES: dict[type[Facts], str] = {
    RelationshipFacts: "relationship_facts",
    NodeFacts: "node_facts",
    PropertyFacts: "property_facts",
}

_HEAD = """\
# What `kgprobe load graph` reads of {name}.
# Proposed of what the graph has. Look through it:
# - Are these the entities, and are they called by the right property? An id tells all nodes of a label apart.
# - Is each of these a fact that one could be asked? Take out the others.
# - Do the sentences say what the graph means? [X] is the subject, [Y] the object; a cloze ends in [Y].
# docs/guides/mapping.md tells of all keys.
"""


@dataclass(frozen=True, slots=True)
class Proposed(Generic[T]):
    """A part of a mapping, with remarks for the lines above it."""

    what: T
    remarks: Sequence[str]


def written(
    name: str, entities: Sequence[Proposed[Any]], facts: Sequence[Proposed[Any]], left_out: Sequence[str]
) -> str:
    """Return a mapping's text.

    Args:
        left_out: nodes and relationships without a proposal, each with its number and the reason.
    """
    parts = [_HEAD.format(name=_remark(name))]
    parts += [_part("entities", kind) for kind in entities]
    if left_out:
        parts.append("".join(f"# Left out: {_remark(part)}\n" for part in left_out))
    parts += [_part(_TABLES[type(proposed.what)], proposed) for proposed in facts]
    return "\n".join(parts)


def _part(table: str, proposed: Proposed[Any]) -> str:
    lines = [f"# {_remark(remark)}" for remark in proposed.remarks]
    lines.append(f"[[{table}]]")
    lines += map(" = ".join, _pairs(proposed.what))
    if table != "entities" and not proposed.what.clozes:
        lines.append("# No sentence could be made of its name. Its facts are not asked without one:")
        lines.append('# clozes = ["[X] … [Y]"]')
    return "\n".join(lines) + "\n"


def _pairs(what: Any) -> Iterator[tuple[str, str]]:
    """Return the values that differ from the defaults as TOML, the identifying ones first."""
    order = ("from", "to", "id")
    fields = list(msgspec.structs.fields(what))
    fields.sort(key=lambda each: (not each.required, each.encode_name not in order))
    for each in fields:
        value = getattr(what, each.name)
        if each.required or value != each.default:
            yield each.encode_name, _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, RelationshipSide):
        return f"{{ {', '.join(map(' = '.join, _pairs(value)))} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    # A TOML text is a JSON text, except for hidden characters.
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(str(value), ensure_ascii=False))


def _remark(text: str) -> str:
    shown = visible(tidy(text))
    return shown if len(shown) <= _LONGEST_REMARK else f"{shown[:_LONGEST_REMARK]}…"


if TYPE_CHECKING:
    from kgprobe.graph.client import Graph


_LONGEST_ID = 200
# Largest share of nodes with several subjects and several objects among those of facts.
_MOST_SHARED = 0.1


def propose(graph: "Graph", name: str) -> str:
    """Return a proposed mapping of a graph, as the text of a file.

    Cost: counts all nodes and relationships once, and reads up to ``SAMPLE`` of each kind.
    """
    whole = read_schema(graph)
    marker = marker_of(whole)
    schema = whole if marker is None else marked_entities(whole, marker)
    counts, labels = schema.labels(), _own_labels(schema, marker)
    properties: dict[str, Properties] = {}
    for label in labels:
        rows = graph.stream("own/node_sample", label=label, limit=SAMPLE)
        properties[label] = properties_of((row["properties"] for row in rows), counts[label])
    entities = _entities(properties, marker)
    ontology = set(filter(_ONTOLOGY.fullmatch, schema.types())) if marker == RESOURCE else set()
    if marker == RESOURCE:
        entities = _resources(entities, schema)
    if not entities:
        raise KgprobeError(
            f"{name} has no possible entities: no label has a property that looks like a name. {describe(schema)}"
            " Write a mapping by hand; docs/guides/your-own-graph.md has one."
        )
    others = [label for label in labels if label not in entities]
    sides = {label: _sides(label, schema, list(entities)) for label in others}
    sides = {
        label: _counted(graph, label, each) if isinstance(each, _Between) else each for label, each in sides.items()
    }
    between = {label: each for label, each in sides.items() if isinstance(each, _Between)}
    facts: list[Proposed[Any]] = [
        *_relationship_facts(graph, schema, entities, ontology),
        *_node_facts(schema, between, properties),
        *_property_facts(entities, properties, counts, every=marker == RESOURCE),
    ]
    if not facts:
        raise KgprobeError(
            f"{name} has no possible facts: its entities have no relationships to each other"
            f" ({', '.join(entities)}). {describe(schema)}"
        )
    proposed = []
    parts = [each.what for each in facts]
    for label, kind in entities.items():
        own = {each.property for each in parts if isinstance(each, PropertyFacts) and label in each.from_}
        proposed.append(Proposed(kind, [f"{counts[label]:,} nodes", *_remarks(kind, properties[label], own)]))
    left_out = [
        *_left_out_nodes(graph, whole, schema, {label: why for label, why in sides.items() if isinstance(why, str)}),
        *_left_out_relationships(graph, schema, parts, ontology),
    ]
    return written(name, proposed, _distinct(facts), left_out)


def _left_out_nodes(graph: "Graph", whole: Schema, schema: Schema, reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield the labels that give no facts, those that an extraction added, and nodes without labels."""
    counts = schema.labels()
    for label, reason in reasons.items():
        having = _having(graph.stream("own/node_sample", label=label, limit=SAMPLE))
        yield f"{label} ({counts[label]:,} nodes{having}): no property looks like a name, and {reason}"
    for label, count in sorted(whole.labels().items()):
        if label not in counts:
            having = _having(graph.stream("own/node_sample", label=label, limit=SAMPLE))
            yield f"{label} ({count:,} nodes{having}): not among the entities, which have the label {marker_of(whole)}"
    unlabelled = sum(nodes.count for nodes in whole.nodes if not nodes.labels)
    if unlabelled:
        yield f"nodes without a label ({unlabelled:,} nodes): a mapping refers to nodes by their labels"


def _having(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the names of the properties in a sample, to follow a number of nodes; empty without properties."""
    names = sorted({name for row in rows for name in row["properties"]})
    return f" with {', '.join(names)}" if names else ""


def _left_out_relationships(
    graph: "Graph", schema: Schema, facts: Sequence[Facts], ontology: Collection[str]
) -> Iterator[str]:
    """Yield the relationship types that are in no kind of facts."""
    used = {each.type for each in facts if isinstance(each, RelationshipFacts)}
    for each in facts:
        if isinstance(each, NodeFacts):
            used |= {each.subject.type, each.object.type}
    for type_, count in sorted(schema.types().items()):
        if type_ not in used:
            having = _having(graph.stream("own/relationship_sample", type=type_, limit=SAMPLE))
            reason = "types and statements of the ontology" if type_ in ontology else "no entities at both of its ends"
            yield f"{type_} ({count:,} relationships{having}): {reason}"


def _own_labels(schema: Schema, last: str | None) -> list[str]:
    """Return the labels that are not part of a more frequent one, most frequent first."""
    counts = schema.labels()
    # The labels that all nodes with a label have.
    shared: dict[str, set[str]] = {}
    for nodes in schema.nodes:
        for label in nodes.labels:
            shared.setdefault(label, set(nodes.labels)).intersection_update(nodes.labels)
    # A label that begins with underscores, and Resource, is for nodes without others.
    order = sorted(counts, key=lambda label: (label.startswith("__") or label == last, -counts[label], label))
    return [label for place, label in enumerate(order) if shared[label].isdisjoint(order[:place])]


def _entities(properties_of_label: dict[str, Properties], marker: str | None) -> dict[str, EntityKind]:
    """Return the labels whose nodes have a name, as kinds of entities."""
    entities = {}
    # In RDF, a label comes before a name; the LLM Graph Builder stores names as ids.
    first = ("label", "preflabel") if marker == RESOURCE else ()
    last = ("id",) if marker == EXTRACTED else ()
    for label, properties in properties_of_label.items():
        name = properties.name(label, first, last)
        if name is not None:
            entities[label] = EntityKind(
                label=label,
                name=name,
                id=properties.id(label, name),
                aliases=tuple(alias for alias in properties.aliases() if alias != name),
                description=properties.description(),
                popularity=properties.popularity(),
                language=properties.of[name].language,
            )
    return entities


def _resources(entities: Mapping[str, EntityKind], schema: Schema) -> dict[str, EntityKind]:
    """Return the kinds of entities of RDF: IRIs are their ids, and ``rdf:type`` may be a relationship."""
    types = [type_ for type_ in schema.types() if type_ in _TYPES]
    return {
        label: msgspec.structs.replace(
            kind, id="uri", prefix="", name_from_iri=True, type_relationship=next(iter(types), None)
        )
        for label, kind in entities.items()
    }


def _remarks(kind: EntityKind, properties: Properties, facts: Collection[str]) -> list[str]:
    """Return remarks about a kind of entities; ``facts`` are the properties that are facts."""
    sample = "of all" if properties.whole else f"of the first {properties.size:,}"
    name = properties.of[kind.name]
    remarks = [f"{sample}, {name.there / properties.size:.0%} have {kind.name!r}, {name.distinct:.0%} of these differ"]
    if kind.language is not None:
        tags = ", ".join(sorted(properties.of[kind.name].languages))
        remarks.append(f"texts end in language tags ({tags}), which are removed; names in other languages are aliases")
    if kind.id is None:
        unique = ", ".join(properties.unique())
        reason = f"unique, but not like ids by their names, are {unique}" if unique else "no property is unique"
        remarks.append(f"{reason}: ids are the graph's own, and differ in a copy")
    elif not properties.whole:
        remarks.append(f"{kind.id!r} is unique {sample}")
    used = (kind.name, kind.id, *kind.aliases, kind.description, kind.popularity)
    dates = [each for each in properties.dated() if each not in used and each not in facts]
    if dates:
        remarks.append(f"left out: {', '.join(dates)}: dates, without a sentence for them")
    return [*remarks, *_other_properties(properties, "no date", *used, *facts, *dates)]


@dataclass(frozen=True, slots=True)
class _Between:
    """The two sides of an intermediate node.

    Attributes:
        type: relationship type that names the facts; None for the node's label.
        remark: number of the nodes that are between two entities.
    """

    subject: RelationshipSide
    object: RelationshipSide
    type: str | None
    remark: str = ""


def _sides(label: str, schema: Schema, entities: Sequence[str]) -> "_Between | str":
    """Return the two sides of an intermediate node, or the reason why it does not connect exactly two kinds."""
    sides = []
    ways: dict[tuple[str, Literal["out", "in"]], set[str]] = defaultdict(set)
    for each in schema.relationships:
        if label in each.tails:
            ways[each.type, "out"].update(each.heads)
        if label in each.heads:
            ways[each.type, "in"].update(each.tails)
    for (type_, arrow), others in sorted(ways.items()):
        if not others.isdisjoint(entities):
            sides.append(RelationshipSide(type_, arrow, tuple(filter(others.__contains__, entities))))
    if not sides:
        return "no relationship connects it to an entity"
    if len(sides) != 2:
        kinds = "kind" if len(sides) == 1 else "kinds"
        types = ", ".join(side.type for side in sides)
        return f"{len(sides)} {kinds} of relationships connect it to entities, not two ({types})"
    # The side that leads to the node is the subject: (customer)-[:PURCHASED]->(order)-[:ORDERS]->(product).
    if {side.arrow for side in sides} == {"in", "out"}:
        sides.sort(key=lambda side: side.arrow)
        return _Between(sides[0], sides[1], sides[0].type)
    return _Between(sides[0], sides[1], None)


def _counted(graph: "Graph", label: str, sides: _Between) -> "_Between | str":
    """Return the sides with the number of nodes that have both, or the reason why the nodes are not facts."""
    rows = graph.read(
        "own/node_sides",
        label=label,
        subject_type=sides.subject.type,
        subject_out=sides.subject.arrow == "out",
        subjects=list(sides.subject.labels),
        object_type=sides.object.type,
        object_out=sides.object.arrow == "out",
        objects=list(sides.object.labels),
        limit=SAMPLE,
    )
    counts = Counter({(row["subjects"], row["objects"]): row["nodes"] for row in rows})
    both = sum(count for (subjects, objects), count in counts.items() if subjects and objects)
    shared = sum(count for (subjects, objects), count in counts.items() if subjects > 1 and objects > 1)
    if not both:
        return f"none of its nodes has both {sides.subject.type} and {sides.object.type} to entities"
    if shared > _MOST_SHARED * both:
        # An address of several people and companies says nothing about any two of them.
        return f"{shared:,} of its nodes have several {sides.subject.type} and several {sides.object.type}: no facts"
    several = both - counts[1, 1]
    remark = f"{both:,} of {counts.total():,} between two entities"
    if both < counts.total():
        remark += "; the others give no fact"
    if several:
        remark += f"; {several:,} with several on one side, which give a fact for each"
    return replace(sides, remark=remark)


def _relationship_facts(
    graph: "Graph", schema: Schema, entities: dict[str, EntityKind], ontology: Collection[str]
) -> list[Proposed[RelationshipFacts]]:
    facts = []
    for type_, count in sorted(schema.types().items()):
        tails, heads = _entity_ends(type_, schema, entities)
        if not tails or type_ in ontology:
            continue
        rows = graph.stream("own/relationship_sample", type=type_, limit=SAMPLE)
        properties = properties_of((row["properties"] for row in rows), count)
        start, end = properties.interval()
        templates = _templates(sentences_of(type_, _noun(tails), _noun(heads)))
        relationship = RelationshipFacts(
            type=type_, from_=tails, to=heads, start=start, end=end, label=words_of(type_), **templates
        )
        between = schema.relationships_between(type_, tails, heads)
        remarks = [f"{between:,} relationships"]
        if between < count:
            remarks.append(f"left out: {count - between:,} others of this type, without entities at both ends")
        others = _other_properties(properties, "neither a start nor an end", start, end)
        facts.append(Proposed(relationship, [*remarks, *others]))
    return facts


def _entity_ends(
    type_: str, schema: Schema, entities: dict[str, EntityKind]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the entity labels at the tails and heads of a relationship type; empty if there are none at both ends."""
    tails, heads = set(), set()
    for each in schema.relationships:
        tail, head = _first_in(each.tails, entities), _first_in(each.heads, entities)
        if each.type == type_ and tail is not None and head is not None:
            tails.add(tail)
            heads.add(head)
    return tuple(filter(tails.__contains__, entities)), tuple(filter(heads.__contains__, entities))


def _first_in(labels: Collection[str], entities: Iterable[str]) -> str | None:
    return next(filter(labels.__contains__, entities), None)


def _other_properties(properties: Properties, reason: str, *used: str | None) -> list[str]:
    """Return a remark on the properties other than the used ones; empty if there are none."""
    others = [name for name in sorted(properties.of) if name not in used]
    return [f"left out: {', '.join(others)}: {reason}"] if others else []


def _node_facts(
    schema: Schema, between: dict[str, _Between], properties: dict[str, Properties]
) -> list[Proposed[NodeFacts]]:
    facts = []
    for label, sides in between.items():
        start, end = properties[label].interval(label)
        name = sides.type or label
        node = NodeFacts(
            node=label,
            subject=sides.subject,
            object=sides.object,
            id=name,
            start=start,
            end=end,
            label=words_of(name),
            **_templates(sentences_of(name, _noun(sides.subject.labels), _noun(sides.object.labels))),
        )
        remarks = [f"{schema.labels()[label]:,} nodes", sides.remark]
        others = _other_properties(properties[label], "neither a start nor an end", start, end)
        facts.append(Proposed(node, [*remarks, *others]))
    return facts


def _property_facts(
    entities: dict[str, EntityKind], properties: dict[str, Properties], counts: dict[str, int], *, every: bool
) -> list[Proposed[PropertyFacts]]:
    """Return years and dates as facts, if a sentence expresses them: *[X] was released in [Y]*.

    Args:
        every: True to return the other properties, too, except for names and texts in a language.
    """
    labels_of: dict[str, list[str]] = {}
    for label, kind in entities.items():
        dated = properties[label].dated()
        used = {kind.name, kind.id, *kind.aliases, kind.description, kind.popularity}
        for name, property_ in properties[label].of.items():
            if name in dated or (every and name not in used and property_.language is None):
                labels_of.setdefault(name, []).append(label)
    facts = []
    for name, labels in sorted(labels_of.items()):
        is_date = all(name in properties[label].dated() for label in labels)
        sentences = sentences_of_date(name) if is_date else None
        if sentences is None and not every:
            continue
        property_facts = PropertyFacts(
            property=name,
            from_=tuple(labels),
            values="date" if is_date else None,
            label=words_of(name),
            **_templates(sentences),
        )
        count = sum(counts[label] for label in labels)
        what = "a year or a date" if is_date else "a value"
        facts.append(Proposed(property_facts, [f"{what}, of up to {count:,} nodes"]))
    return facts


def _templates(sentences: Sentences | None) -> dict[str, Any]:
    """Return the templates by their keys in a mapping."""
    if sentences is None:
        return {}
    return {f"{kind}s": (text,) for kind, text in asdict(sentences).items() if text is not None}


def _noun(labels: Sequence[str]) -> str | None:
    """Return the noun for the nodes at an end; None if their labels differ or are not words."""
    if len(labels) != 1:
        return None
    words = words_of(labels[0])
    return words if words and all(map(str.isalpha, words.split())) else None


def _distinct(facts: Sequence[Proposed[Any]]) -> list[Proposed[Any]]:
    """Return the facts with valid and unique relation ids."""
    used: set[str] = set()
    kept = []
    for proposed in facts:
        # A type may have line breaks or be too long for an id.
        base = tidy(relation_id(proposed.what))[:_LONGEST_ID].strip() or "fact"
        id_, number = base, 2
        while id_ in used:
            id_ = f"{base} {number}"
            number += 1
        used.add(id_)
        if id_ != relation_id(proposed.what):
            proposed = Proposed(msgspec.structs.replace(proposed.what, id=id_), proposed.remarks)
        kept.append(proposed)
    return kept
