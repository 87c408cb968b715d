"""Wikidata's RDF through SPARQL: entities, their statements in both directions, and the intervals of these.

Format: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format. The records and ids are those that
:mod:`.wikidata` makes from a dump.

Every query starts from ids and is bounded. Millions of statements may lead to an entity: at most ``SCANNED`` of them
are read, and sampled in the order of a hash of the statement. Excluded relations are filtered first, so that no query
reads all humans. Only plain SPARQL 1.1 is used, without label services and engine hints.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Rejected
from kgprobe.sources.values import check_interval

from .literals import DATE, OTHER_ENTITY, QUANTITY, STRING, NotLoaded
from .sparql_client import GOES_ON, Row, SparqlClient, TooSlow
from .wikidata_literals import (
    COORDINATES,
    DEPRECATED,
    NO_VALUE,
    NOT_PREFERRED,
    TEXT,
    UNKNOWN_VALUE,
    quantity_literal,
    time_literal,
)
from .wikidata_model import (
    ALL_LANGUAGES,
    BRANCHES,
    END,
    ITEM_ID,
    POINT,
    START,
    TYPE_RELATIONS,
    several_languages,
)
from .wikidata_time import bounds, interval, written

# Maximum number of incoming statements read per entity.
SCANNED = 10_000

# How many ids a query asks for, so that the largest answers stay well below a public endpoint's limit of a minute.
PROFILES = 50
SUBJECTS = 15
OBJECTS = 5
STATEMENTS = 200
COUNTED = 50

ENTITY = "http://www.wikidata.org/entity/"
_STATEMENT = f"{ENTITY}statement/"
# The unit of numbers without one.
_NO_UNIT = f"{ENTITY}Q199"
# Blank nodes of unknown values, as the public service shows them.
_UNKNOWN = "http://www.wikidata.org/.well-known/genid/"
_RANKS = {"NormalRank": "normal", "PreferredRank": "preferred"}
_ONTOLOGY = "http://wikiba.se/ontology#"
_PREFIXES = f"""PREFIX wd: <{ENTITY}>
PREFIX wikibase: <{_ONTOLOGY}>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX ps: <http://www.wikidata.org/prop/statement/>
PREFIX pq: <http://www.wikidata.org/prop/qualifier/>
PREFIX pqv: <http://www.wikidata.org/prop/qualifier/value/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX schema: <http://schema.org/>
"""
_TEXTS = {"label": "rdfs:label", "alias": "skos:altLabel", "description": "schema:description"}

# Kinds of values by the type of their property; all others, such as external ids and files, are strings.
_LOADED = ("WikibaseItem", "Time", "Quantity")
_KINDS = {
    "Time": DATE,
    "Quantity": QUANTITY,
    "Monolingualtext": TEXT,
    "GlobeCoordinate": COORDINATES,
    **dict.fromkeys(
        ("WikibaseProperty", "WikibaseLexeme", "WikibaseForm", "WikibaseSense", "WikibaseEntitySchema"), OTHER_ENTITY
    ),
}

_STATEMENT_NAME = re.compile("([A-Za-z][1-9][0-9]*)-([0-9A-Za-z-]+)")


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """Names, types and popularity of an item or property.

    Attributes:
        labels, descriptions: in the requested languages, best first.
        aliases: in all these languages, sorted within each.
        by_language: labels, aliases and descriptions in each of several languages; those of all languages last.
        types: ids of its classes (instance of), then of its superclasses.
        sitelinks: number of pages in Wikipedia and its sister projects; None if unknown.
    """

    labels: Sequence[str] = ()
    aliases: Sequence[str] = ()
    descriptions: Sequence[str] = ()
    by_language: Mapping[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    sitelinks: int | None = None

    @property
    def is_missing(self) -> bool:
        """True if the endpoint knows nothing of the entity, not even that it has no pages: it was deleted."""
        return self.sitelinks is None and not any((self.labels, self.aliases, self.descriptions, self.types))


@dataclass(slots=True)
class Wikidata:
    """Wikidata behind an endpoint, with a cache.

    Attributes:
        languages: language tags of names, best first.
        truthy: True to count only the best rank of a subject's statements of a relation; else all but deprecated.
        branches: sample size of the incoming statements per entity.
        left_out: ids of relations that are not followed backwards.
        hubs: objects with too many incoming statements for the endpoint; treated as having none.
        uncounted: subjects with too many statements for the endpoint to count them.
    """

    client: SparqlClient
    languages: Sequence[str]
    truthy: bool = False
    branches: int = BRANCHES
    left_out: Sequence[str] = ()
    hubs: set[str] = field(default_factory=set)
    uncounted: set[str] = field(default_factory=set)
    _profiles: dict[str, EntityProfile] = field(default_factory=dict)
    _outgoing: dict[str, list[Fact]] = field(default_factory=dict)
    _incoming: dict[str, list[Fact]] = field(default_factory=dict)

    def profiles(self, ids: Iterable[str]) -> Mapping[str, EntityProfile]:
        """Return the profiles of items and properties; empty for unknown entities."""
        for part in _parts(ids, self._profiles, PROFILES):
            rows: dict[str, list[Row]] = defaultdict(list)
            for row in self._rows(part, self._profiles_query):
                rows[_name(row, "entity")].append(row)
            for identifier in part:
                self._profiles[identifier] = self._profile(rows[identifier])
        return self._profiles

    def named(self, names: Sequence[str]) -> dict[str, str]:
        """Return the item of each English name, a label or an alias: of several the one with most pages.

        Raises:
            KgprobeError: no item has one of the names.
        """
        rows = self.client.select(_PREFIXES + _named_query(names), divisible=False) if names else []
        items: dict[str, list[str]] = {name: [] for name in names}
        for row in rows:
            items[row["name"]].append(_name(row, "item"))
        profiles = self.profiles(sorted({item for of_name in items.values() for item in of_name}))
        for name, of_name in items.items():
            if not of_name:
                raise KgprobeError(f"{self.client.endpoint} has no item with the English name {name!r}. Give its id.")
            of_name.sort(key=lambda item: (-(profiles[item].sitelinks or 0), len(item), item))
        return {name: of_name[0] for name, of_name in items.items()}

    def subjects(self, statements: Sequence[tuple[str, str]]) -> set[str]:
        """Return the items that have one of these statements, each a relation and an item."""
        parts = []
        for relation, item in statements:
            parts.append(f"?item p:{relation} ?statement . ?statement ps:{relation} wd:{item} . {self._of_rank()}")
        query = f'SELECT DISTINCT ?item {{ {_union(parts)} FILTER(STRSTARTS(STR(?item), "{ENTITY}Q")) }}'
        return {_name(row, "item") for row in self.client.select(_PREFIXES + query)}

    def outgoing(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        """Return the facts of subjects without types, sorted by id and without dates."""
        for part in _parts(ids, self._outgoing, SUBJECTS):
            self._outgoing.update(_by(part, self._rows(part, self._outgoing_query), "subject"))
        return self._outgoing

    def incoming(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        """Return a sample of the facts that lead to objects, sorted by id and without dates.

        It is the same for the same data as long as at most ``SCANNED`` statements lead to an object; above that, it
        also depends on the order in which the endpoint goes through them.
        """
        for part in _parts(ids, self._incoming, OBJECTS):
            self._incoming.update(_by(part, self._rows(part, self._incoming_query, self.hubs.add), "object"))
        return self._incoming

    def literals(self, ids: Sequence[str]) -> Iterator[tuple[Fact, Entity] | Rejected | NotLoaded]:
        """Yield the facts of subjects that lead to dates and quantities with these, without the dates of the facts."""
        for start in range(0, len(ids), SUBJECTS):
            rows = {_fact_id(row): row for row in self._rows(ids[start : start + SUBJECTS], self._literals_query)}
            for name, row in sorted(rows.items()):
                yield _literal_fact(name, row)

    def not_loaded(self, ids: Sequence[str], literals: bool) -> Counter[str]:
        """Return the numbers of statements of subjects that are not loaded by their rank or type, by kind.

        Dates and quantities that cannot be literals are not among them: :meth:`literals` yields these.

        Args:
            literals: False to count dates and quantities.
        """
        counts: Counter[str] = Counter()
        for start in range(0, len(ids), COUNTED):
            for row in self._rows(ids[start : start + COUNTED], _count_query, self.uncounted.add):
                kind = _kind_of(row, self.truthy, literals)
                if kind is not None:
                    counts[kind.kind] += int(row["count"])
        return counts

    def dated(self, facts: Sequence[Fact]) -> Iterator[Fact | Rejected]:
        """Return the facts in the same order with the dates of their statements; impossible dates are rejected."""
        for start in range(0, len(facts), STATEMENTS):
            part = facts[start : start + STATEMENTS]
            dates: dict[str, list[Row]] = defaultdict(list)
            for row in self._rows([fact.id for fact in part], _dates_query):
                dates[_fact_id(row)].append(row)
            for fact in part:
                yield _dated(fact, dates[fact.id])

    def _rows(
        self,
        ids: Sequence[str],
        query: Callable[[Sequence[str]], str],
        give_up: Callable[[str], object] | None = None,
    ) -> list[Row]:
        """Return the rows for all ids, in halves if one query takes too long.

        Args:
            give_up: called with a single id that takes too long, which then has no rows; without it that is an error.
        """
        try:
            return self.client.select(_PREFIXES + query(ids), divisible=len(ids) > 1)
        except TooSlow as error:
            if len(ids) > 1:
                middle = len(ids) // 2
                return self._rows(ids[:middle], query, give_up) + self._rows(ids[middle:], query, give_up)
            if give_up is None:
                raise KgprobeError(
                    f"{self.client.endpoint} cannot say in time what it knows of {ids[0]} ({error}). {GOES_ON}"
                ) from error
            give_up(ids[0])
            return []

    def _profile(self, rows: Sequence[Row]) -> EntityProfile:
        # Texts by kind and language.
        texts: dict[tuple[str, str], list[str]] = defaultdict(list)
        types: dict[str, set[str]] = defaultdict(set)
        sitelinks: int | None = None
        for row in rows:
            kind, value = row["kind"], row["value"]
            if kind in _TEXTS:
                texts[kind, row["language"].lower()].append(value)
            elif kind in TYPE_RELATIONS:
                types[kind].add(value.removeprefix(ENTITY))
            else:
                sitelinks = max(sitelinks or 0, int(value))

        def names_in(*languages: str) -> tuple[list[str], list[str], list[str]]:
            label, alias, description = ([sorted(texts[kind, code.lower()]) for code in languages] for kind in _TEXTS)
            return list(chain(*label)), list(chain(*alias)), list(chain(*description))

        labels, aliases, descriptions = names_in(*self.languages)
        items: list[str] = []
        for relation in TYPE_RELATIONS:
            of_relation = filter(ITEM_ID.fullmatch, types[relation])
            items += sorted(of_relation, key=lambda name: (len(name), name))
        return EntityProfile(
            labels=labels,
            aliases=aliases,
            descriptions=descriptions,
            by_language={code: names_in(code, ALL_LANGUAGES) for code in several_languages(self.languages)},
            types=tuple(dict.fromkeys(items)),
            sitelinks=sitelinks,
        )

    def _of_rank(self) -> str:
        best = "?statement a wikibase:BestRank ." if self.truthy else "FILTER(?rank != wikibase:DeprecatedRank)"
        return f"?statement wikibase:rank ?rank . {best}"

    def _profiles_query(self, ids: Sequence[str]) -> str:
        given = _values("entity", ids)
        languages = ", ".join(f'"{language.lower()}"' for language in self.languages)
        rank = self._of_rank()
        parts = []
        for kind, path in _TEXTS.items():
            parts.append(
                f'{given} ?entity {path} ?value . BIND("{kind}" AS ?kind) BIND(LANG(?value) AS ?language)'
                f" FILTER(LCASE(?language) IN ({languages}))"
            )
        for relation in TYPE_RELATIONS:
            statement = f"?entity p:{relation} ?statement . ?statement ps:{relation} ?value . {rank}"
            parts.append(f'{given} {statement} BIND("{relation}" AS ?kind)')
        # Beside the entity on Wikidata's own service, on the page of its data in the dumps.
        parts.append(f'{given} ?entity wikibase:sitelinks ?value . BIND("sitelinks" AS ?kind)')
        parts.append(
            f'{given} ?data schema:about ?entity . ?data wikibase:sitelinks ?value . BIND("sitelinks" AS ?kind)'
        )
        return f"SELECT ?entity ?kind ?language ?value {{ {_union(parts)} }}"

    def _outgoing_query(self, ids: Sequence[str]) -> str:
        types = ", ".join(f"wd:{relation}" for relation in TYPE_RELATIONS)
        return f"""SELECT ?subject ?relation ?object ?statement ?rank {{
  {_values("subject", ids)}
  ?relation wikibase:propertyType wikibase:WikibaseItem ; wikibase:claim ?claim ; wikibase:statementProperty ?of .
  FILTER(?relation NOT IN ({types}))
  ?subject ?claim ?statement . ?statement ?of ?object .
  {self._of_rank()}
  FILTER(STRSTARTS(STR(?object), "{ENTITY}Q"))
}}"""

    def _literals_query(self, ids: Sequence[str]) -> str:
        types = ", ".join(f"wd:{relation}" for relation in TYPE_RELATIONS)
        return f"""SELECT ?item ?relation ?statement ?rank ?time ?precision ?calendar ?amount ?unit {{
  {_values("item", ids)}
  VALUES ?type {{ wikibase:Time wikibase:Quantity }}
  ?relation wikibase:propertyType ?type ; wikibase:claim ?claim ; wikibase:statementValue ?of .
  FILTER(?relation NOT IN ({types}))
  ?item ?claim ?statement . ?statement ?of ?value .
  {self._of_rank()}
  {{
    ?value wikibase:timeValue ?time ; wikibase:timePrecision ?precision ; wikibase:timeCalendarModel ?calendar .
  }} UNION {{
    ?value wikibase:quantityAmount ?amount ; wikibase:quantityUnit ?unit .
  }}
}}"""

    def _incoming_query(self, ids: Sequence[str]) -> str:
        left_out = ", ".join(f"wd:{relation}" for relation in (*TYPE_RELATIONS, *self.left_out))
        samples = []
        for identifier in ids:
            sample = f"""SELECT (wd:{identifier} AS ?object) ?relation ?statement {{
    {{ SELECT ?relation ?statement {{
      ?relation wikibase:propertyType wikibase:WikibaseItem ; wikibase:statementProperty ?of .
      FILTER(?relation NOT IN ({left_out}))
      ?statement ?of wd:{identifier} .
    }} LIMIT {SCANNED} }}
  }} ORDER BY MD5(STR(?statement)) LIMIT {self.branches}"""
            samples.append(f"{{ {sample} }}")
        return f"""SELECT ?subject ?relation ?object ?statement ?rank {{
  {_union(samples)}
  ?relation wikibase:claim ?claim . ?subject ?claim ?statement .
  {self._of_rank()}
  FILTER(STRSTARTS(STR(?subject), "{ENTITY}Q"))
}}"""


def _named_query(names: Sequence[str]) -> str:
    values = " ".join(f"{json.dumps(name, ensure_ascii=False)}@en" for name in names)
    return f"""SELECT DISTINCT ?name ?item {{
  VALUES ?name {{ {values} }}
  ?item rdfs:label|skos:altLabel ?name .
  FILTER(STRSTARTS(STR(?item), "{ENTITY}Q"))
}}"""


def _count_query(ids: Sequence[str]) -> str:
    return f"""SELECT ?type ?rank ?best ?state (COUNT(DISTINCT ?statement) AS ?count) {{
  {_values("item", ids)}
  ?relation wikibase:claim ?claim ; wikibase:statementProperty ?of ; wikibase:propertyType ?type .
  ?item ?claim ?statement . ?statement wikibase:rank ?rank .
  BIND(EXISTS {{ ?statement a wikibase:BestRank }} AS ?best)
  OPTIONAL {{ ?statement ?of ?simple }}
  OPTIONAL {{ ?relation wikibase:statementValue ?path . ?statement ?path ?full }}
  BIND(IF(BOUND(?simple), IF(isBlank(?simple) || STRSTARTS(STR(?simple), "{_UNKNOWN}"), "unknown", "value"),
    IF(BOUND(?full), "value", "none")) AS ?state)
}} GROUP BY ?type ?rank ?best ?state"""


def _kind_of(row: Row, truthy: bool, literals: bool) -> NotLoaded | None:
    """Return the kind of the statements of a row of ``_count_query``; None if they can be loaded."""
    if row["rank"].removeprefix(_ONTOLOGY) not in _RANKS:
        return DEPRECATED
    if truthy and row["best"] == "false":
        return NOT_PREFERRED
    if row["state"] != "value":
        return UNKNOWN_VALUE if row["state"] == "unknown" else NO_VALUE
    type_ = row["type"].removeprefix(_ONTOLOGY)
    if type_ in (_LOADED if literals else _LOADED[:1]):
        return None
    return _KINDS.get(type_, STRING)


def _literal_fact(identifier: str, row: Row) -> tuple[Fact, Entity] | Rejected | NotLoaded:
    """Return a fact and its literal without the fact's dates, or why it is not loaded."""
    subject, relation = _name(row, "item"), _name(row, "relation")
    try:
        if "time" in row:
            precision, calendar = int(row["precision"]), row["calendar"]
            literal = time_literal(written(row["time"], precision, calendar), precision, calendar)
        else:
            literal = quantity_literal(row["amount"], "1" if row["unit"] == _NO_UNIT else row["unit"])
    except ValueError as error:
        return Rejected(f"{subject}, {relation}, statement {identifier[:80]!r}: {error}")
    if isinstance(literal, NotLoaded):
        return literal
    rank = _RANKS.get(row["rank"].removeprefix(_ONTOLOGY), "normal")
    return Fact(identifier, subject, relation, literal.id, rank), literal


def _dates_query(fact_ids: Sequence[str]) -> str:
    statements = " ".join(f"<{_STATEMENT}{identifier.replace('$', '-', 1)}>" for identifier in fact_ids)
    qualifiers = " ".join(f'("{name}" pqv:{name})' for name in (START, END, POINT))
    return f"""SELECT ?statement ?qualifier ?time ?precision ?calendar {{
  VALUES ?statement {{ {statements} }}
  {{
    VALUES (?qualifier ?path) {{ {qualifiers} }}
    ?statement ?path ?value .
    ?value wikibase:timeValue ?time ; wikibase:timePrecision ?precision ; wikibase:timeCalendarModel ?calendar .
  }} UNION {{
    ?statement pq:{END} ?unknown .
    FILTER(!isLiteral(?unknown))
    BIND("{END}" AS ?qualifier)
  }}
}}"""


def _dated(fact: Fact, rows: Iterable[Row]) -> Fact | Rejected:
    try:
        first, last = _interval(rows)
        check_interval(first, last)
    except ValueError as error:
        return Rejected(f"{fact.subject}, {fact.relation}, statement {fact.id[:80]!r}: {error}")
    return replace(fact, start=first, end=last)


def _interval(rows: Iterable[Row]) -> tuple[str | None, str | None]:
    moments: dict[str, list[tuple[str, str]]] = {START: [], END: [], POINT: []}
    ended = False
    for row in rows:
        if "time" not in row:
            # An unknown value is a blank node.
            ended = True
            continue
        precision, calendar = int(row["precision"]), row["calendar"]
        moments[row["qualifier"]].append(bounds(written(row["time"], precision, calendar), precision, calendar))
    return interval(moments[START], moments[END], moments[POINT], ended)


def _values(variable: str, ids: Sequence[str]) -> str:
    return f"VALUES ?{variable} {{ {' '.join(f'wd:{identifier}' for identifier in ids)} }}"


def _union(parts: Iterable[str]) -> str:
    return "\n  UNION ".join(f"{{ {part} }}" for part in parts)


def _parts(ids: Iterable[str], known: Mapping[str, object], size: int) -> Iterator[list[str]]:
    missing = [identifier for identifier in dict.fromkeys(ids) if identifier not in known]
    return (missing[start : start + size] for start in range(0, len(missing), size))


def _by(ids: Sequence[str], rows: Iterable[Row], end: str) -> dict[str, list[Fact]]:
    """Return facts by their subject or object, each once, although a triple may be in several graphs."""
    facts_of: dict[str, dict[str, Fact]] = {identifier: {} for identifier in ids}
    for row in rows:
        rank = _RANKS.get(row["rank"].removeprefix(_ONTOLOGY))
        subject, object_ = _name(row, "subject"), _name(row, "object")
        if rank is None or not ITEM_ID.fullmatch(subject) or not ITEM_ID.fullmatch(object_):
            continue
        fact = Fact(_fact_id(row), subject, _name(row, "relation"), object_, rank)
        facts_of[_name(row, end)][fact.id] = fact
    return {identifier: sorted(facts.values(), key=attrgetter("id")) for identifier, facts in facts_of.items()}


def _name(row: Row, variable: str) -> str:
    return row[variable].removeprefix(ENTITY)


def _fact_id(row: Row) -> str:
    """Return a statement's id as dumps write it."""
    matched = _STATEMENT_NAME.fullmatch(row["statement"].removeprefix(_STATEMENT))
    if matched is None:
        raise KgprobeError(f"{row['statement'][:200]!r} is not a Wikidata statement; does the endpoint serve its data?")
    return f"{matched[1]}${matched[2]}"
