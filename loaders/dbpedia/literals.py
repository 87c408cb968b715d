"""Values of DBpedia's triples as literals: dates of their precision, numbers, measures, texts in a language.

- Dates and years are those of :mod:`kgprobe.loaders.trex_literals`, with the same ids: ``1879-03-14``, ``1879``.
- A number is written in one way: ``3.355E7`` is 33550000. All whole numbers are of the type ``integer``, all others of
  the type ``decimal``; one with a unit is of the type of its unit, and called by both (*5.2 kilometres*).
- A text is of the type ``string``. One that is empty, in a language that was not chosen, or longer than
  ``TEXT_LIMIT`` characters is no value that could be asked for, and left out; so are addresses of the web.
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
# A day without a year: an anniversary. (A `day` is a unit.)
_DAY_OF_YEAR = "dayOfYear"
# How many parts of a date count: old editions write a year as a whole date, or even a moment.
_PARTS = {"date": 3, "dateTime": 3, "gYearMonth": 2, "gYear": 1}
_DATE = re.compile(r"([+-]?[0-9]{1,12})(?:-([0-9]{2}))?(?:-([0-9]{2}))?(?:T.*)?(?:Z|[+-][0-9]{2}:[0-9]{2})?", re.DOTALL)
_MONTH_DAY = re.compile(r"--([0-9]{2})-([0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INTEGER = re.compile("[+-]?[0-9]{1,300}")
# Numbers of more digits are written with an exponent.
_MOST_DIGITS = 20
_PLURALS = {"foot": "feet", "inch": "inches", "hertz": "hertz", "century": "centuries", "us dollar": "US dollars"}
_UNCHANGED = ("per cent", "hertz", "stone", "percent")


class Value(NamedTuple):
    """A literal's value and type, which say all that there is to say of it."""

    value: str
    datatype: str


def read_value(text: str, language: str | None, datatype: str, languages: tuple[str, ...]) -> Value | None:
    """What a literal's text stands for; None for one that is left out.

    >>> read_value("3.355E7", None, "http://www.w3.org/2001/XMLSchema#double", ("en",))
    Value(value='33550000', datatype='decimal')

    Args:
        datatype: its IRI.
        languages: whose texts are values; texts without a language always are.

    Raises:
        ValueError: it has not the form that its type asks for.
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
            raise ValueError(f"{text[:80]!r} is no whole number, as its type says")
        return Value(str(int(text)), "integer")
    if kind in _BROKEN:
        if not _NUMBER.fullmatch(text.strip()):
            raise ValueError(f"{text[:80]!r} is no number, as its type says")
        return Value(_number(text), "decimal")
    return None if kind == "anyURI" else _text(text)


def value_id(value: Value) -> str:
    """The id of a literal: a date itself, anything else with its type behind it."""
    return value.value if value.datatype == "date" else f"{value.value}^^{value.datatype}"


def value_entity(value: Value) -> Entity:
    """The literal. Its type is its kind of value as well, so that others of the kind can be drawn in its place."""
    text, datatype = value
    if datatype == "date":
        # None is for texts without a type.
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
    """A value as the bound of an interval; None for what is no date. Four digits alone are a year."""
    if value.datatype == "date":
        return value.value
    return value.value if re.fullmatch("[12][0-9]{3}", value.value) else None


def _text(text: str) -> Value | None:
    tidied = tidy(text)
    return Value(tidied, "string") if tidied and len(tidied) <= TEXT_LIMIT else None


def _date(text: str, kind: str) -> Value:
    matched = _DATE.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text[:80]!r} is no date, as its type says")
    parts = [part for part in matched.groups()[: _PARTS[kind]] if part is not None]
    year = int(parts[0])
    bound = "-".join([f"{'-' if year < 0 else ''}{abs(year):04}", *parts[1:]])
    first_day(bound)
    return Value(bound, "date")


def _month_day(text: str) -> Value:
    matched = _MONTH_DAY.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text[:80]!r} is no day of a year, as its type says")
    # Of a leap year, which has all days.
    first_day(f"2000-{matched[1]}-{matched[2]}")
    return Value(f"--{matched[1]}-{matched[2]}", _DAY_OF_YEAR)


def _day_label(text: str) -> str:
    whole = literal(f"2000{text[1:]}^^date", "")
    return "" if whole is None else whole.label.removesuffix(" 2000")


def _number(text: str) -> str:
    """A number without an exponent where that is short, without a plus sign and without zeros that say nothing."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation as error:
        raise ValueError(f"{text[:80]!r} is no number") from error
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits))
    bare = written.rstrip("0")
    number = Decimal(f"{'-' if sign else ''}{bare}E{int(exponent) + len(written) - len(bare)}")
    short = -_MOST_DIGITS < number.adjusted() < _MOST_DIGITS
    return check_id(format(number, "f") if short else str(number), "value")


def _unit_words(unit: str, number: str) -> str:
    named = words(f"unit:{unit}")
    head, per, rest = named.partition(" per ")
    if number == "1" or named in _UNCHANGED:
        return "US dollar" if named == "us dollar" else named
    if head.startswith("pound ") and not per:
        return head.replace("pound ", "pounds ", 1)
    return f"{_PLURALS.get(head, f'{head}s')}{per}{rest}"
