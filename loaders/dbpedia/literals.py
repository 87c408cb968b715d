"""Literals of DBpedia's triples: dates with their precision, numbers, measures, texts in a language.

- Dates and years are those of :mod:`kgprobe.loaders.trex_literals`, with the same ids: ``1879-03-14``, ``1879``.
- Numbers have one notation: ``3.355E7`` is 33550000. Whole numbers have the type ``integer``, others ``decimal``; a
  number with a unit has the unit as type and in its label (*5.2 kilometres*).
- Texts have the type ``string``. Left out are empty texts, other languages, texts longer than ``TEXT_LIMIT`` characters
  and web addresses.
"""

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from kgprobe.dates import first_day
from kgprobe.records import Entity
from kgprobe.sources.values import check_id, tidy

from ..trex_literals import literal
from .identifiers import words

TEXT_LIMIT = 200

_XSD = "http://www.w3.org/2001/XMLSchema#"
_UNIT = "http://dbpedia.org/datatype/"
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
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INTEGER = re.compile("[+-]?[0-9]{1,300}")
# Longer numbers are written with an exponent.
_MOST_DIGITS = 20
_PLURALS = {"foot": "feet", "inch": "inches", "hertz": "hertz", "century": "centuries", "us dollar": "US dollars"}
_UNCHANGED = ("per cent", "hertz", "stone", "percent")


class Value(NamedTuple):
    """Value and type of a literal."""

    value: str
    datatype: str


def read_value(text: str, language: str | None, datatype: str, languages: tuple[str, ...]) -> Value | None:
    """Return the value of a literal; None if it is left out.

    >>> read_value("3.355E7", None, "http://www.w3.org/2001/XMLSchema#double", ("en",))
    Value(value='33550000', datatype='decimal')

    Args:
        datatype: IRI of the type.
        languages: languages of accepted texts; texts without a language are always accepted.

    Raises:
        ValueError: the text does not have the form of its type.
    """
    if language is not None:
        return _text(text) if language in languages else None
    if datatype.startswith(_UNIT):
        unit = check_id(datatype[len(_UNIT) :], "unit of a value")
        return Value(_number(text), unit) if _NUMBER.fullmatch(text.strip()) else _text(text)
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
        if not _NUMBER.fullmatch(text.strip()):
            raise ValueError(f"{text[:80]!r} is not a number, although its type is")
        return Value(_number(text), "decimal")
    return None if kind == "anyURI" else _text(text)


def value_id(value: Value) -> str:
    """Return the id of a literal: the date, or value and type."""
    return value.value if value.datatype == "date" else f"{value.value}^^{value.datatype}"


def value_entity(value: Value) -> Entity:
    """Return the literal as an entity; its type is also an entity type, so that distractors of the type exist."""
    text, datatype = value
    if datatype == "date":
        # literal() returns None only for texts without a type.
        date = literal(f"{text}^^date", "")
        if date is not None:
            return date
    label = text
    if datatype == _DAY_OF_YEAR:
        label = _day_label(text)
    elif datatype not in ("integer", "decimal", "string"):
        label = f"{text} {_unit_words(datatype, text)}"
    return Entity(value_id(value), label, types=(datatype,), value=text, datatype=datatype)


def date_bound(value: Value) -> str | None:
    """Return a value as the bound of an interval; None if it is not a date. Four digits are a year."""
    if value.datatype == "date":
        return value.value
    return value.value if re.fullmatch("[12][0-9]{3}", value.value) else None


def _text(text: str) -> Value | None:
    tidied = tidy(text)
    return Value(tidied, "string") if tidied and len(tidied) <= TEXT_LIMIT else None


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
    # 2000 is a leap year, with all days.
    first_day(f"2000-{match[1]}-{match[2]}")
    return Value(f"--{match[1]}-{match[2]}", _DAY_OF_YEAR)


def _day_label(text: str) -> str:
    whole = literal(f"2000{text[1:]}^^date", "")
    return "" if whole is None else whole.label.removesuffix(" 2000")


def _number(text: str) -> str:
    """Return the normal form of a number: no exponent if short, no plus sign, no trailing zeros."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation as error:
        raise ValueError(f"{text[:80]!r} is not a number") from error
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits))
    bare = written.rstrip("0")
    number = Decimal(f"{'-' if sign else ''}{bare}E{int(exponent) + len(written) - len(bare)}")
    short = -_MOST_DIGITS < number.adjusted() < _MOST_DIGITS
    return check_id(format(number, "f") if short else str(number), "value")


def _unit_words(unit: str, number: str) -> str:
    name = words(f"unit:{unit}")
    head, per, rest = name.partition(" per ")
    if number == "1" or name in _UNCHANGED:
        return "US dollar" if name == "us dollar" else name
    if head.startswith("pound ") and not per:
        return head.replace("pound ", "pounds ", 1)
    return f"{_PLURALS.get(head, f'{head}s')}{per}{rest}"
