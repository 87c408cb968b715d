"""Wikidata's JSON as typed structures with the needed fields, and its file formats.

The data model: https://www.mediawiki.org/wiki/Wikibase/DataModel/JSON. Other fields are skipped
without creating Python objects, which makes it fast. PHP writes an empty map as ``[]``.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from kgprobe.base.records import Entity, Rejected
from kgprobe.sources.lines import DECODING_ERRORS, LINE_LIMIT, InputFile, validation_message

from .literals import OTHER_ENTITY, STRING, NotLoaded
from .wikidata_literals import COORDINATES, NO_VALUE, TEXT, UNKNOWN_VALUE, quantity_literal, time_literal
from .wikidata_model import ALL_LANGUAGES, END, ITEM_ID, POINT, PROPERTY_ID, START, TYPE_RELATIONS
from .wikidata_time import bounds, interval

_ENTITY_DATA = re.compile(rb'\{\s*"entities"\s*:')

# Every statement has one; within a text the quotation marks would have backslashes.
_STATEMENT_MARK = b'"mainsnak"'

EmptyMap: TypeAlias = Annotated[list[Any], Meta(max_length=0)]


class Term(Struct):
    """A label, an alias or a description in one language."""

    value: str


class EntityId(Struct, rename="kebab"):
    """An entity as a value; dumps before 2017 have its number and its type only."""

    id: str | None = None
    numeric_id: int | None = None
    entity_type: str | None = None

    def item(self) -> str | None:
        """Return the id of an item; None for a property or lexeme.

        Raises:
            ValueError: the value has neither an id nor its parts.
        """
        if self.id is not None:
            return self.id if ITEM_ID.fullmatch(self.id) else None
        if self.numeric_id is None or self.entity_type is None:
            raise ValueError("the value has neither an id nor numeric-id with entity-type")
        return f"Q{self.numeric_id}" if self.entity_type == "item" else None


class EntityValue(Struct, tag_field="type", tag="wikibase-entityid"):
    """A value that is an entity."""

    value: EntityId


class TextValue(Struct, tag_field="type", tag="string"):
    """A value that is a string."""


class MonolingualValue(Struct, tag_field="type", tag="monolingualtext"):
    """A value that is a text in a language."""


class Quantity(Struct):
    """A number and the IRI of its unit, ``1`` for none."""

    amount: str
    unit: str


class QuantityValue(Struct, tag_field="type", tag="quantity"):
    """A value that is a number with a unit."""

    value: Quantity


class PlaceValue(Struct, tag_field="type", tag="globecoordinate"):
    """A value that is a place on a globe."""


class Time(Struct):
    """A point in time; see :mod:`.wikidata_time`."""

    time: str
    precision: int
    calendarmodel: str = ""


class TimeValue(Struct, tag_field="type", tag="time"):
    """A value that is a point in time."""

    value: Time


_OTHER_KINDS: dict[type, NotLoaded] = {
    EntityValue: OTHER_ENTITY,
    TextValue: STRING,
    MonolingualValue: TEXT,
    PlaceValue: COORDINATES,
}


class Snak(Struct):
    """The value of a statement: a value, an unknown value, or no value."""

    snaktype: Literal["value", "somevalue", "novalue"]
    datavalue: EntityValue | TextValue | MonolingualValue | QuantityValue | PlaceValue | TimeValue | UnsetType = UNSET


class BoundSnak(Struct):
    """The value of a qualifier for a time."""

    snaktype: Literal["value", "somevalue", "novalue"]
    datavalue: TimeValue | UnsetType = UNSET


class Qualifiers(Struct):
    """Qualifiers for the interval of a statement."""

    start: list[BoundSnak] = msgspec.field(default_factory=list, name=START)
    end: list[BoundSnak] = msgspec.field(default_factory=list, name=END)
    point: list[BoundSnak] = msgspec.field(default_factory=list, name=POINT)


class Statement(Struct):
    """One claim with its rank."""

    mainsnak: Snak
    rank: Literal["preferred", "normal", "deprecated"] = "normal"
    id: str = ""
    qualifiers: Qualifiers | EmptyMap | UnsetType = UNSET

    def item(self) -> str | None:
        """Return the item that is the object; None for other kinds and no value.

        Raises:
            ValueError: the value is missing, or lacks its id.
        """
        value = self.mainsnak.datavalue
        if value is UNSET and self.mainsnak.snaktype == "value":
            raise ValueError("the statement has neither a value nor says that there is none")
        return value.value.item() if isinstance(value, EntityValue) else None

    def object(self) -> str | Entity | NotLoaded:
        """Return the object: the id of an item, a literal, or why the statement is not loaded.

        Raises:
            ValueError: the value is missing, or not what its type says.
        """
        item, value = self.item(), self.mainsnak.datavalue
        if item is not None:
            return item
        if value is UNSET:
            return UNKNOWN_VALUE if self.mainsnak.snaktype == "somevalue" else NO_VALUE
        if isinstance(value, TimeValue):
            return time_literal(value.value.time, value.value.precision, value.value.calendarmodel)
        if isinstance(value, QuantityValue):
            return quantity_literal(value.value.amount, value.value.unit)
        return _OTHER_KINDS[type(value)]

    def interval(self) -> tuple[str | None, str | None]:
        """Return the interval; see :func:`.wikidata_time.interval`.

        Raises:
            ValueError: a bound is not a point in time.
        """
        if not isinstance(self.qualifiers, Qualifiers):
            return None, None
        starts, ends = _bounds(self.qualifiers.start), _bounds(self.qualifiers.end)
        ended = not ends and any(snak.snaktype == "somevalue" for snak in self.qualifiers.end)
        return interval(starts, ends, () if starts or ends else _bounds(self.qualifiers.point), ended)


def _bounds(snaks: Sequence[BoundSnak]) -> list[tuple[str, str]]:
    moments = []
    for snak in snaks:
        if snak.snaktype == "value" and snak.datavalue is not UNSET:
            value = snak.datavalue.value
            moments.append(bounds(value.time, value.precision, value.calendarmodel))
    return moments


class Claims(Struct):
    """An entity's statements, by relation."""

    id: str
    claims: dict[str, list[Statement]] | EmptyMap = msgspec.field(default_factory=dict)


class _Outline(Struct):
    id: str
    claims: dict[str, msgspec.Raw] | EmptyMap = msgspec.field(default_factory=dict)


class _SiteLink(Struct):
    pass


class _TypeClaims(Struct):
    instance_of: list[Statement] = msgspec.field(default_factory=list, name=TYPE_RELATIONS[0])
    subclass_of: list[Statement] = msgspec.field(default_factory=list, name=TYPE_RELATIONS[1])


_decode_claims = msgspec.json.Decoder(Claims).decode
_decode_outline = msgspec.json.Decoder(_Outline).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_statement = msgspec.json.Decoder(Statement).decode
_decode_document = msgspec.json.Decoder(dict[str, msgspec.Raw] | list[msgspec.Raw]).decode
_decode_map = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class DumpHead:
    """Kind, names and types of an entity, in the requested languages, best first.

    Attributes:
        kind: ``item``, ``property``, ``lexeme``, …
        by_language: labels, aliases and descriptions in each of several languages; those of all languages last.
        types: statements of its types, one list for each of ``TYPE_RELATIONS``.
        sitelinks: number of pages in Wikipedia and its sister projects; None if unknown.
        missing: True if Wikidata has no such entity.
    """

    id: str
    kind: str
    labels: list[str]
    aliases: list[str]
    descriptions: list[str]
    by_language: dict[str, tuple[list[str], list[str], list[str]]]
    types: list[list[Statement]]
    sitelinks: int | None
    missing: bool


class DumpHeadDecoder:
    """Decoder of entity heads that reads a few languages only."""

    def __init__(self, languages: Sequence[str], named: Sequence[str] = ()) -> None:
        """Create a decoder.

        Args:
            languages: languages of the main names, best first.
            named: languages that also get names of their own.
        """
        codes = list(dict.fromkeys((*languages, *named)))
        terms = _by_language("Terms", codes, Term)
        aliases = _by_language("Aliases", codes, list[Term])
        structure = msgspec.defstruct(
            "Entity",
            [
                ("id", str),
                ("type", str, ""),
                ("labels", terms | EmptyMap | UnsetType, UNSET),
                ("descriptions", terms | EmptyMap | UnsetType, UNSET),
                ("aliases", aliases | EmptyMap | UnsetType, UNSET),
                ("claims", _TypeClaims | EmptyMap | UnsetType, UNSET),
                ("sitelinks", dict[str, _SiteLink] | EmptyMap | UnsetType, UNSET),
                # An empty text, or true in the newer format of the API.
                ("missing", str | bool, False),
            ],
        )
        self._decode = msgspec.json.Decoder(structure).decode
        fields = {code: f"language_{index}" for index, code in enumerate(codes)}
        self._fields = [fields[code] for code in languages]
        common = [fields[ALL_LANGUAGES]] if ALL_LANGUAGES in fields else []
        self._named = {code: [fields[code], *common] for code in named}

    def decode(self, record: bytes) -> DumpHead:
        """Return the head of an entity.

        Raises:
            ValueError, RecursionError: the record is not JSON, or not of Wikidata's structure.
        """
        entity: Any = self._decode(record)
        claims = entity.claims
        return DumpHead(
            id=entity.id,
            kind=entity.type or {"Q": "item", "P": "property"}.get(entity.id[:1], ""),
            **dict(zip(("labels", "aliases", "descriptions"), _texts_in(entity, self._fields), strict=True)),
            by_language={code: _texts_in(entity, fields) for code, fields in self._named.items()},
            types=[claims.instance_of, claims.subclass_of] if isinstance(claims, _TypeClaims) else [],
            sitelinks=None if entity.sitelinks is UNSET else len(entity.sitelinks),
            missing=entity.missing is not False,
        )


def _texts_in(entity: Any, fields: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the labels, aliases and descriptions in the languages of some fields."""
    labels, aliases, descriptions = (
        _present(terms, fields) for terms in (entity.labels, entity.aliases, entity.descriptions)
    )
    return (
        [term.value for term in labels],
        [term.value for term in itertools.chain.from_iterable(aliases)],
        [term.value for term in descriptions],
    )


def _present(terms: Any, fields: Sequence[str]) -> list[Any]:
    if not isinstance(terms, Struct):
        return []
    values = [getattr(terms, field) for field in fields]
    return [value for value in values if value is not UNSET]


def _by_language(name: str, languages: Sequence[str], kind: Any) -> Any:
    codes = {f"language_{index}": code for index, code in enumerate(languages)}
    fields = [(field, kind | UnsetType, UNSET) for field in codes]
    return msgspec.defstruct(name, fields, rename=codes)


def decode_claims(record: bytes) -> tuple[Claims, list[str]]:
    """Return the statements of an entity, and messages about unreadable ones.

    Raises:
        ValueError, RecursionError: the whole record is unreadable, and so is its head.
    """
    try:
        whole = _decode_claims(record)
        count = sum(map(len, whole.claims.values())) if isinstance(whole.claims, dict) else 0
        # A repeated key hides the values before it.
        return whole, [] if record.count(_STATEMENT_MARK) == count else _repeated_keys(record)
    except DECODING_ERRORS:
        outline = _decode_outline(record)
    claims: dict[str, list[Statement]] = {}
    problems = []
    if isinstance(outline.claims, dict):
        for relation, statements in outline.claims.items():
            claims[relation] = []
            try:
                parts = _decode_list(statements)
            except DECODING_ERRORS as error:
                problems.append(_located(error, f"$.claims.{relation}"))
                continue
            for index, part in enumerate(parts):
                try:
                    claims[relation].append(_decode_statement(part))
                except DECODING_ERRORS as error:  # noqa: PERF203
                    problems.append(_located(error, f"$.claims.{relation}[{index}]"))
    return Claims(outline.id, claims), [*problems, *_repeated_keys(record)]


def _repeated_keys(record: bytes) -> list[str]:
    """Return messages about repeated keys of an entity or its claims; parses the record again."""
    problems: dict[str, None] = {}

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in pairs)
        for key, count in counts.items():
            if count > 1 and (key == "claims" or PROPERTY_ID.fullmatch(key)):
                problems[f"the key {key[:40]!r} occurs {count} times; only the last one is read"] = None
        return dict(pairs)

    try:
        json.loads(record, object_pairs_hook=look)
    except DECODING_ERRORS:
        # Reported when the parts are decoded.
        return []
    return list(problems)


def _located(error: Exception, path: str) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} in a text - at `{path}`"
    message = validation_message(error)
    return message.replace("`$", f"`{path}") if "`$" in message else f"{message} - at `{path}`"


def records(file: InputFile) -> Iterator[tuple[int, bytes | Rejected]]:
    """Yield the entities of a file as JSON texts, each with its first line number.

    Formats: a dump (one array, one entity per line), JSON lines, and one JSON document up to ``LINE_LIMIT`` in any
    layout: an array, ``{"entities": {…}}`` of Special:EntityData, or one entity.
    """
    lines = file.lines()
    opening = list(itertools.islice(lines, 2))
    lines = itertools.chain(opening, lines)
    if _is_document([line.strip() for _, line in opening if isinstance(line, bytes)]):
        yield from _document_records(lines)
        return
    for number, line in lines:
        if isinstance(line, bytes):
            record = line.strip().removeprefix(b"[")
            if record.endswith((b",", b"]")):
                record = record[:-1]
            if record:
                yield number, record
        else:
            yield number, line


def _is_document(opening: Sequence[bytes]) -> bool:
    first, second = (*opening, b"", b"")[:2]
    return (
        first in (b"{", b"[{")
        or (first == b"[" and second == b"{")
        or (first.startswith(b"[") and first.endswith(b"]") and len(first) > 2)
        or _ENTITY_DATA.match(first) is not None
    )


def _document_records(lines: Iterator[tuple[int, bytes | Rejected]]) -> Iterator[tuple[int, bytes | Rejected]]:
    parts: list[bytes] = []
    size = 0
    for number, line in lines:
        if isinstance(line, Rejected):
            yield number, line
            return
        size += len(line) + 1
        if size > LINE_LIMIT:
            reason = f"one JSON document of more than {LINE_LIMIT // 2**20} MiB; an entity a line has no such limit"
            yield number, Rejected(reason)
            return
        parts.append(line)
    document = b"\n".join(parts)
    try:
        content = _decode_document(document)
        if isinstance(content, list):
            entities = content
        elif "entities" in content:
            entities = list(_decode_map(content["entities"]).values())
        else:
            entities = [msgspec.Raw(document)]
    except DECODING_ERRORS:
        # Reported when the record is decoded.
        yield 1, document
        return
    offset, line_number = 0, 1
    for entity in map(bytes, entities):
        at = document.index(entity, offset)
        line_number += document.count(b"\n", offset, at)
        offset = at
        yield line_number, entity
