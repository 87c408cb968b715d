"""``kgprobe load wikidata``: Wikidata's JSON dumps, whole or in part, from a few kilobytes to all 115 million entities.

Entities and facts are two readings of the file, each decoding only what it needs. ``P31`` (instance of) and ``P279``
(subclass of) become an entity's types; every other statement whose value is an item, a date or a quantity becomes a
fact, unless its rank is deprecated. "Unknown value" and "no value" give no fact, and as a date leave the interval open.
Statements that are not loaded are counted by kind. Popularity is the number of site links. An entity without a label in
any of the languages, or in ``mul`` (all languages), is kept, its label empty. Lexemes are skipped; deleted entities are
rejected.

Relations get the templates that come with kgprobe (:mod:`.wikidata_model`), also those of properties that the items
use and a part of a dump lacks.

Dates and quantities are literals (:mod:`.wikidata_literals`), each given once; for this the entities are decoded with
their statements. Memory: about 100 bytes for each different literal.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.options import option
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import DECODING_ERRORS, FileSource, InputFile, explain, fingerprint, open_input
from kgprobe.sources.values import check_id, check_interval, fact_id

from .literals import DATE, DATE_KINDS, QUANTITY, NotLoaded, is_year, year_literal
from .wikidata_json import DumpHead, DumpHeadDecoder, Statement, decode_claims, records
from .wikidata_literals import DEPRECATED, NOT_PREFERRED
from .wikidata_model import (
    DATES_OPTION,
    ITEM_ID,
    LANGUAGES,
    LANGUAGES_OPTION,
    LITERALS_OPTION,
    PROPERTY_ID,
    SHIPPED_OPTION,
    TEMPLATES_OPTION,
    TRUTHY_OPTION,
    TYPE_RELATIONS,
    YEARS,
    check_dates,
    check_forms,
    distinct_languages,
    named_languages,
    names,
    read_statements,
    several_languages,
    shipped_digest,
    shipped_relations,
    texts_of,
    with_fallback,
    with_shipped_templates,
    with_templates,
)

# Dumps write type and id first, so that most unselected entities need no decoding.
_LEADING_ID = re.compile(rb'\{"type":"item",(?:"pageid":[0-9]+,)?"id":"(Q[0-9]+)"')
_LEADING_KIND = b'{"type":"item"'
# Parts of points in time and quantities.
_LITERAL_MARKS = (b'"calendarmodel"', b'"amount"')
_PROPERTY_MARK = re.compile(rb'"type": ?"property"')
# The property of a statement with a value, not of a qualifier or a reference.
_STATEMENT_PROPERTY = re.compile(
    rb'"mainsnak"\s*:\s*\{\s*"snaktype"\s*:\s*"value"\s*,\s*"property"\s*:\s*"(P[1-9][0-9]*)"'
)


@dataclass(frozen=True, slots=True)
class DumpSelection:
    """Selection of entities and facts from a dump.

    Attributes:
        languages: languages of names; the first with a label gives it, aliases come from all.
        named: languages with names of their own; none if there is one language.
        relations: relations whose facts are read; all if empty.
        types: types whose entities are read; all if empty.
        ids: entities to read; all if None.
        truthy: True to read only the preferred statements of a subject and relation, if any.
        literals: True to read dates and quantities.
        types_as_facts: True to read the types of entities as facts, too.
        where: statements, each a relation and an item; only items with one of them are read, all if empty.
        years: True to read the years of dates alone.
    """

    languages: tuple[str, ...] = LANGUAGES
    named: tuple[str, ...] = ()
    relations: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    ids: frozenset[str] | None = None
    truthy: bool = False
    literals: bool = True
    types_as_facts: bool = False
    where: tuple[tuple[str, str], ...] = ()
    years: bool = False


WHOLE = DumpSelection()


@dataclass(slots=True, kw_only=True)
class Dump(FileSource):
    """A dump as a source; see :class:`kgprobe.sources.contract.Source`.

    What keeps a whole line from being read is reported once, by the entities.

    Attributes:
        shipped: True to use the shipped templates.
        not_loaded: numbers of statements that the latest reading of the facts has left out, by kind.
    """

    selection: DumpSelection
    shipped: bool = True
    not_loaded: Counter[str] = field(default_factory=Counter)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of names."""
        return self.selection.named or named_languages(self.selection.languages)

    def relations(self) -> Iterator[Placed]:
        """Yield the dump's properties with templates (the user's before the shipped ones), then the user's others."""
        properties = with_shipped_templates(self._properties()) if self.shipped else self._properties()
        yield from with_templates(properties, self.readings.get("templates"), self._is_read)

    def entities(self) -> Iterator[Placed]:
        """Yield the selected items, and the literals of their statements, each at its first place."""
        known: set[int] = set()
        decoder = DumpHeadDecoder(self.selection.languages, self.selection.named)
        reading = self.readings["entities"]
        for line, record in self._selected(reading):
            if isinstance(record, Rejected):
                yield Placed(line, record, reading.name)
                continue
            try:
                entity = self._entity(decoder.decode(record))
            except DECODING_ERRORS as error:
                yield Placed(line, Rejected(explain(error, record)), reading.name)
                continue
            if entity is not None:
                yield Placed(line, entity, reading.name)
                for literal in self._literals(record, known):
                    yield Placed(line, literal, reading.name)

    def facts(self) -> Iterator[Placed]:
        """Yield the facts with selected subjects; a selection by id or type may leave out their objects."""
        self.not_loaded.clear()
        reading = self.readings["facts"]
        head_decoder = DumpHeadDecoder(self.selection.languages)
        for line, record in self._selected(reading):
            if isinstance(record, Rejected):
                continue
            try:
                claims, problems = decode_claims(record)
            except DECODING_ERRORS as error:
                if _has_head(head_decoder, record):
                    yield Placed(line, Rejected(f"{explain(error, record)}; its facts are lost"), reading.name)
                continue
            if not ITEM_ID.fullmatch(claims.id) or not isinstance(claims.claims, dict):
                continue
            try:
                types = self._types([claims.claims.get(relation, []) for relation in TYPE_RELATIONS])
            except ValueError:
                continue
            if not self._is_selected(claims.id, types):
                continue
            for problem in problems:
                yield Placed(line, Rejected(f"{claims.id}: {problem}"), reading.name)
            for fact in self._facts(claims.id, claims.claims):
                yield Placed(line, fact, reading.name)

    def _selected(self, reading: InputFile) -> Iterator[tuple[int, bytes | Rejected]]:
        ids = self.selection.ids
        for line, record in records(reading):
            if ids is not None and not isinstance(record, Rejected):
                leading = _LEADING_ID.match(record)
                if leading is not None and leading[1].decode() not in ids:
                    continue
            if isinstance(record, Rejected) or self._has_statement(record):
                yield line, record

    def _has_statement(self, record: bytes) -> bool:
        """Return True for a record with one of the statements, and for one that cannot be read."""
        where = self.selection.where
        # Fast path: dumps before 2017 have the number of an item without its Q.
        if not any(item.removeprefix("Q").encode() in record for _, item in where):
            return not where
        try:
            claims, _ = decode_claims(record)
        except DECODING_ERRORS:
            return True
        own = claims.claims if isinstance(claims.claims, dict) else {}
        return any(item in self._items(own.get(relation, ())) for relation, item in where)

    def _is_selected(self, identifier: str, types: Iterable[str]) -> bool:
        ids, wanted = self.selection.ids, self.selection.types
        if ids is not None and identifier not in ids:
            return False
        return not wanted or not wanted.isdisjoint(types)

    def _properties(self) -> Iterator[Placed]:
        """Yield the properties; then those with shipped templates that items use, and that are not in the dump."""
        decoder = DumpHeadDecoder(self.selection.languages, self.selection.named)
        reading = self.readings["relations"]
        described: set[str] = set()
        used: dict[str, int] = {}
        for line, record in records(reading):
            if isinstance(record, Rejected):
                continue
            if record.startswith(_LEADING_KIND) or not _PROPERTY_MARK.search(record):
                for relation in self._used_relations(record, decoder, used):
                    used[relation] = line
                continue
            try:
                head = decoder.decode(record)
            except DECODING_ERRORS:
                continue
            if head.kind == "property" and PROPERTY_ID.fullmatch(head.id) and self._is_asked(head.id):
                label, aliases, description = names(head.labels, head.aliases, head.descriptions)
                described.add(head.id)
                texts = texts_of(head.by_language)
                yield Placed(line, Relation(head.id, label, aliases, description, texts=texts), reading.name)
        for relation, line in used.items():
            if relation not in described:
                yield Placed(line, Relation(relation), reading.name)

    def _used_relations(self, record: bytes, decoder: DumpHeadDecoder, known: Container[str]) -> list[str]:
        """Return the relations of an item that have shipped templates, are read, and are not known yet."""
        if not self.shipped:
            return []
        shipped = shipped_relations()
        relations = [
            relation
            for relation in dict.fromkeys(map(bytes.decode, _STATEMENT_PROPERTY.findall(record)))
            if relation in shipped and relation not in known and self._is_asked(relation)
        ]
        return relations if relations and self._is_item_selected(record, decoder) else []

    def _is_item_selected(self, record: bytes, decoder: DumpHeadDecoder) -> bool:
        ids, types = self.selection.ids, self.selection.types
        if not self._has_statement(record):
            return False
        if ids is None and not types:
            return True
        leading = _LEADING_ID.match(record)
        if ids is not None and leading is not None and leading[1].decode() not in ids:
            return False
        # Fast path: dumps before 2017 have the number of an item without its Q.
        if types and not any(type_.removeprefix("Q").encode() in record for type_ in types):
            return False
        try:
            head = decoder.decode(record)
            return self._is_selected(head.id, self._types(head.types))
        except DECODING_ERRORS:
            return False

    def _is_asked(self, relation: str) -> bool:
        """Return True for a relation whose facts are read; types have none by default."""
        return self._is_read(relation) and (self.selection.types_as_facts or relation not in TYPE_RELATIONS)

    def _is_read(self, relation: str) -> bool:
        return not self.selection.relations or relation in self.selection.relations

    def _entity(self, head: DumpHead) -> Entity | None:
        if head.missing:
            if self.selection.ids is not None and head.id not in self.selection.ids:
                return None
            raise ValueError("it is missing: deleted or never there")
        form = {"item": ITEM_ID, "property": PROPERTY_ID}.get(head.kind or "item")
        if form is None:
            return None
        if not form.fullmatch(head.id):
            raise ValueError(f"{check_id(head.id)!r} is not a Wikidata id such as Q42 or P36")
        if head.kind == "property":
            return None
        types = self._types(head.types)
        if not self._is_selected(head.id, types):
            return None
        label, aliases, description = names(head.labels, head.aliases, head.descriptions)
        popularity = None if head.sitelinks is None else float(head.sitelinks)
        return Entity(head.id, label, aliases, description, types, popularity, texts=texts_of(head.by_language))

    def _items(self, statements: Sequence[Statement]) -> set[str]:
        """Return the items that statements have as values."""
        items = set()
        for statement in self._best(statements):
            with suppress(ValueError):
                items.add(statement.item() or "")
        return items

    def _types(self, claims: Iterable[Sequence[Statement]]) -> tuple[str, ...]:
        items: dict[str | None, None] = {}
        for statements in claims:
            items |= dict.fromkeys(statement.item() for statement in self._best(statements))
        return tuple(filter(None, items))

    def _best(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        if self.selection.truthy:
            preferred = [statement for statement in statements if statement.rank == "preferred"]
            if preferred:
                return preferred
        return [statement for statement in statements if statement.rank != "deprecated"]

    def _literals(self, record: bytes, known: set[int]) -> Iterator[Entity]:
        """Yield the literals of an item that are not known yet; errors are reported with the facts."""
        # Fast path: most small items have none.
        if not self.selection.literals or not any(mark in record for mark in _LITERAL_MARKS):
            return
        try:
            claims, _ = decode_claims(record)
        except DECODING_ERRORS:
            return
        for relation, statements in claims.claims.items() if isinstance(claims.claims, dict) else ():
            if relation in TYPE_RELATIONS or not self._is_read(relation):
                continue
            for statement in self._best(statements):
                with suppress(ValueError):
                    literal = self._object(statement)
                    if isinstance(literal, Entity) and _is_new(literal.id, known):
                        yield literal

    def _facts(self, subject: str, claims: dict[str, list[Statement]]) -> Iterator[Fact | Rejected]:
        for relation, statements in claims.items():
            if not self._is_read(relation) and relation not in TYPE_RELATIONS:
                continue
            best = self._best(statements)
            deprecated = sum(statement.rank == "deprecated" for statement in statements)
            for kind, count in ((DEPRECATED, deprecated), (NOT_PREFERRED, len(statements) - len(best) - deprecated)):
                if count:
                    self.not_loaded[kind.kind] += count
            years: set[str] = set()
            for statement in best:
                try:
                    fact = self._fact(subject, relation, statement)
                except ValueError as error:
                    yield Rejected(f"{subject}, {relation}, statement {statement.id[:80]!r}: {error}")
                    continue
                if fact is not None and fact.object not in years:
                    yield fact
                    if self.selection.years and is_year(fact.object):
                        years.add(fact.object)

    def _object(self, statement: Statement) -> str | Entity | NotLoaded:
        """Return the object of a statement, of a date its year if chosen."""
        object_ = statement.object()
        return year_literal(object_) if self.selection.years and isinstance(object_, Entity) else object_

    def _fact(self, subject: str, relation: str, statement: Statement) -> Fact | None:
        """Return the fact of a statement; None for a type only, and for one that is not loaded, which is counted."""
        object_ = self._object(statement)
        if isinstance(object_, Entity) and not (self.selection.literals and relation not in TYPE_RELATIONS):
            object_ = DATE if object_.datatype in DATE_KINDS else QUANTITY
        if isinstance(object_, NotLoaded):
            self.not_loaded[object_.kind] += 1
            return None
        if relation in TYPE_RELATIONS and not self._is_asked(relation):
            return None
        end = object_.id if isinstance(object_, Entity) else object_
        first, last = statement.interval()
        check_interval(first, last)
        identifier = check_id(statement.id) if statement.id else fact_id(subject, relation, end, first)
        return Fact(identifier, subject, relation, end, statement.rank, first, last)


def _is_new(identifier: str, known: set[int]) -> bool:
    """Return True for an id that is not known, and remember it by a hash of eight bytes."""
    key = int.from_bytes(blake2b(identifier.encode(), digest_size=8).digest(), "big")
    is_new = key not in known
    known.add(key)
    return is_new


def _has_head(decoder: DumpHeadDecoder, record: bytes) -> bool:
    """Return True if a record is a readable item, which the entities report otherwise."""
    try:
        head = decoder.decode(record)
    except DECODING_ERRORS:
        return False
    return head.kind == "item" and ITEM_ID.fullmatch(head.id) is not None


def open_dump(
    path: Path, *, templates: Path | None = None, shipped: bool = True, selection: DumpSelection = WHOLE
) -> Dump:
    """Open a dump as a source."""
    # One object for each stream, as each has its own position.
    readings = {stream: open_input(path) for stream in ("relations", "entities", "facts")}
    files = [readings["entities"]]
    if templates is not None:
        readings["templates"] = open_input(templates)
        files.append(readings["templates"])
    options = {
        "languages": selection.languages,
        "relations": sorted(selection.relations),
        "types": sorted(selection.types),
        "ids": None if selection.ids is None else sorted(selection.ids),
        "truthy": selection.truthy,
        "literals": selection.literals,
        "where": selection.where,
        "years": selection.years,
        "shipped": shipped_digest(shipped),
        # Loads without them keep their fingerprint.
        **({"named": selection.named} if selection.named else {}),
        **({"types_as_facts": True} if selection.types_as_facts else {}),
    }
    return Dump(
        name=path.name,
        fingerprint=fingerprint(files, options),
        # Even a whole dump names items that were deleted, merged or are of another kind.
        partial=True,
        selection=selection,
        readings=readings,
        shipped=shipped,
    )


def read_ids(path: Path) -> frozenset[str]:
    """Return the ids of a file, one per line; blank lines and lines that begin with ``#`` are ignored."""
    ids = set()
    for number, line in open_input(path).lines():
        if isinstance(line, Rejected):
            raise KgprobeError(f"{path.name}, line {number:,}: {line.reason}.")
        text = line.decode("utf-8", errors="replace").strip()
        if not text or text.startswith("#"):
            continue
        if not ITEM_ID.fullmatch(text):
            raise KgprobeError(f"{path.name}, line {number:,}: {text[:80]!r} is not an item id such as Q42.")
        ids.add(text)
    return frozenset(ids)


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """Options of the loader."""

    dump: Path = option(help="JSON: a whole dump, or any part of one (plain, .gz, .bz2, .zst).", positional=True)
    languages: tuple[str, ...] = option(**LANGUAGES_OPTION, common=True)
    relations: tuple[str, ...] = option(
        (),
        "Read facts of this relation alone; may be given several times.",
        flag="relation",
        metavar="P…",
        shown_default="all",
        common=True,
    )
    types: tuple[str, ...] = option(
        (),
        "Read only entities of this type (direct instances or subclasses) and the facts among them; repeatable.",
        flag="type",
        metavar="Q…",
        shown_default="all",
        common=True,
    )
    ids: Path | None = option(
        None,
        "Read the entities of this list alone, one id a line, and facts among them.",
        metavar="FILE",
        shown_default="all",
        common=True,
    )
    where: tuple[str, ...] = option(
        (),
        "Read only items with this statement: P166=Q38104 are the laureates in physics; may be given several times.",
        metavar="P…=Q…",
        shown_default="all",
    )
    truthy: bool = option(**TRUTHY_OPTION)
    literals: bool = option(**LITERALS_OPTION, common=True)
    types_as_facts: bool = option(
        False, "Load the types of entities (instance of, subclass of) as facts, too, so that they can be asked."
    )
    dates: str = option(**DATES_OPTION)
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)
    shipped_templates: bool = option(**SHIPPED_OPTION)


def _open(options: DumpOptions) -> Dump:
    check_forms("relations", options.relations, PROPERTY_ID, "P36")
    check_forms("types", options.types, ITEM_ID, "Q6256")
    for value in TYPE_RELATIONS:
        if value in options.relations and not options.types_as_facts:
            raise ArgumentError(
                "relations", f"names {value}, which is read as an entity's types, not as facts: set `types_as_facts`."
            )
    check_dates(options.dates, options.literals)
    languages = distinct_languages(options.languages)
    selection = DumpSelection(
        languages=with_fallback(languages),
        named=several_languages(languages),
        relations=frozenset(options.relations),
        types=frozenset(options.types),
        ids=None if options.ids is None else read_ids(options.ids),
        truthy=options.truthy,
        literals=options.literals,
        types_as_facts=options.types_as_facts,
        where=read_statements(options.where),
        years=options.dates == YEARS,
    )
    return open_dump(options.dump, templates=options.templates, shipped=options.shipped_templates, selection=selection)


loader = Loader(
    summary="""Load Wikidata's JSON: a dump, or a part of one (plain, .gz, .bz2, .zst).

    \b
    kgprobe load wikidata latest-all.json.gz --type Q6256 --relation P36
    kgprobe load wikidata Q22.json --language de --language en
    """,
    options=DumpOptions,
    open=_open,
)
