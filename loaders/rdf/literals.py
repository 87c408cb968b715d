"""Literals of RDF: dates with their precision, numbers, measures, texts in a language.

- Dates, numbers and units are those of :mod:`kgprobe.loaders.literals`; the datatype of a number is that of its triple.
- A number with a datatype of another vocabulary has its last part as unit: ``"5.5"^^<…/datatype/kilometre>``.
- Texts have the type ``string``. Left out are empty texts, other languages, texts longer than ``TEXT_LIMIT`` characters
  and web addresses.
"""

import re
from typing import NamedTuple

from kgprobe.base.dates import first_day
from kgprobe.base.records import Entity
from kgprobe.sources.values import check_id, plain_name, tidy

from ..literals import DATE, NUMBER, QUANTITY, STRING, NotLoaded, date_literal, normal_number, unit_words, value_literal
from .vocabulary import WEB_ADDRESS, last_part, words

TEXT_LIMIT = 200

EMPTY_TEXT = NotLoaded("empty text")
LONG_TEXT = NotLoaded(f"text of more than {TEXT_LIMIT} characters")
OTHER_LANGUAGE = NotLoaded("text in another language")
COORDINATES = NotLoaded("coordinates")
INFINITE = NotLoaded("number that is infinite or missing")

_XSD = "http://www.w3.org/2001/XMLSchema#"
_OWN = (_XSD, "http://www.w3.org/1999/02/22-rdf-syntax-ns#")
_SCHEMA = re.compile("https?://schema.org/")
_SCHEMA_KINDS = {
    "Date": "date",
    "DateTime": "dateTime",
    "Integer": "integer",
    "Number": "decimal",
    "Float": "double",
    "Text": "string",
    "Boolean": "boolean",
    "URL": "anyURI",
}
_WHOLE = frozenset(
    (
        *("integer", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("int", "long", "short", "byte", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    )
)
_BROKEN = frozenset(["decimal", "double", "float"])
# A day without a year, such as an anniversary (`day` is a unit).
_DAY_OF_YEAR = "dayOfYear"
# Number of significant parts of a date: old editions write a year as a whole date or time.
_PARTS = {"date": 3, "dateTime": 3, "gYearMonth": 2, "gYear": 1}
_DATE = re.compile(r"([+-]?[0-9]{1,12})(?:-([0-9]{2}))?(?:-([0-9]{2}))?(?:T.*)?(?:Z|[+-][0-9]{2}:[0-9]{2})?", re.DOTALL)
_MONTH_DAY = re.compile(r"--([0-9]{2})-([0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?")
_INTEGER = re.compile("[+-]?[0-9]{1,300}")


class Value(NamedTuple):
    """Value and type of a literal."""

    value: str
    datatype: str


def read_value(text: str, language: str | None, datatype: str, languages: tuple[str, ...]) -> Value | NotLoaded:
    """Return the value of a literal, or why it is not loaded.

    >>> read_value("3.355E7", None, "http://www.w3.org/2001/XMLSchema#double", ("en",))
    Value(value='33550000', datatype='decimal')

    Raises:
        ValueError: the text does not have the form of its type.
    """
    if language is not None:
        is_read = language in languages or language.partition("-")[0] in languages
        return _text(text) if is_read else OTHER_LANGUAGE
    if not datatype.startswith(_OWN):
        kind = _SCHEMA_KINDS.get(_SCHEMA.sub("", datatype), "")
        if not kind:
            return _measure(text, datatype)
    else:
        kind = datatype.removeprefix(_XSD)
    if kind in _PARTS:
        return _date(text.strip(), kind)
    if kind == "gMonthDay":
        return _month_day(text.strip())
    if kind in _WHOLE:
        if not _INTEGER.fullmatch(text.strip()):
            raise ValueError(f"{text[:80]!r} is not a whole number, although its type is")
        return Value(str(int(text)), "integer")
    if kind in _BROKEN:
        if text.strip().lstrip("+-") in ("INF", "NaN"):
            return INFINITE
        if not NUMBER.fullmatch(text.strip()):
            raise ValueError(f"{text[:80]!r} is not a number, although its type is")
        return Value(normal_number(text), "decimal")
    return WEB_ADDRESS if kind == "anyURI" else _text(text)


def value_id(value: Value) -> str:
    """Return the id of a literal: the date, or value and type. Texts that print alike have one id."""
    return value.value if value.datatype == "date" else f"{plain_name(value.value)}^^{value.datatype}"


def value_entity(value: Value) -> Entity:
    """Return the literal as an entity; its type is also an entity type, so that distractors of the type exist."""
    text, datatype = value
    if datatype == "date":
        return date_literal(text)
    label = text
    if datatype == _DAY_OF_YEAR:
        label = date_literal(f"2000{text[1:]}").label.removesuffix(" 2000")
    elif datatype not in ("integer", "decimal", "string"):
        label = f"{text} {unit_words(words(f'unit:{datatype}'), text)}"
    return value_literal(plain_name(text), datatype, label)


def date_bound(value: Value) -> str | None:
    """Return a value as the bound of an interval; None if it is not a date. Four digits are a year."""
    if value.datatype == "date":
        return value.value
    return value.value if re.fullmatch("[12][0-9]{3}", value.value) else None


def kind_of(value: Value) -> NotLoaded:
    """Return the kind of a value, for the count of values left out by ``--literals no``."""
    if value.datatype in ("date", _DAY_OF_YEAR):
        return DATE
    return STRING if value.datatype == "string" else QUANTITY


def _measure(text: str, datatype: str) -> Value | NotLoaded:
    if datatype.endswith(("wktLiteral", "gmlLiteral")):
        return COORDINATES
    unit = check_id(last_part(datatype), "unit of a value")
    return Value(normal_number(text), unit) if NUMBER.fullmatch(text.strip()) else _text(text)


def _text(text: str) -> Value | NotLoaded:
    tidied = tidy(text)
    if not plain_name(tidied):
        return EMPTY_TEXT
    return Value(tidied, "string") if len(tidied) <= TEXT_LIMIT else LONG_TEXT


def _date(text: str, kind: str) -> Value:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:80]!r} is not a date, although its type is")
    year, *parts = filter(None, match.groups()[: _PARTS[kind]])
    sign = "-" if int(year) < 0 else ""
    bound = "-".join([f"{sign}{abs(int(year)):04}", *parts])
    first_day(bound)
    return Value(bound, "date")


def _month_day(text: str) -> Value:
    match = _MONTH_DAY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:80]!r} is not a day of a year, although its type is")
    try:
        # 2000 is a leap year, with all days.
        first_day(f"2000-{match[1]}-{match[2]}")
    except ValueError as error:
        raise ValueError(f"{text!r} is not a day of a year: its month or day does not exist") from error
    return Value(f"--{match[1]}-{match[2]}", _DAY_OF_YEAR)
