"""Literals of all loaders: dates with their precision, numbers, numbers with a unit, texts.

- A date is a ``year`` (``1879``), a ``month`` (``1879-03``) or a ``date`` (``1879-03-14``), which is also its id.
  Labels of dates are uniform (*14 March 1879*, *March 1879*, *44 BC*), so that their form gives no hint.
- Numbers have one notation: ``3.355E7`` is 33550000. Their datatype is ``integer`` or ``decimal``.
- A number with a unit has the unit as datatype and in its label (*5.2 kilometres*).

The datatype is also the entity type of a literal, so that its distractors are of the same kind.
"""

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from kgprobe.base.dates import first_day
from kgprobe.base.records import Entity
from kgprobe.sources.values import check_id

# Datatypes of dates, by their number of hyphens.
DATE_KINDS = ("year", "month", "date")

# A number, of which the exponent has at most four digits.
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")

# Longer numbers are written with an exponent.
_MOST_DIGITS = 20
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_PLURALS = {
    "foot": "feet",
    "inch": "inches",
    "hertz": "hertz",
    "century": "centuries",
    "us dollar": "US dollars",
    "square foot": "square feet",
    "square inch": "square inches",
    "cubic foot": "cubic feet",
    "year old": "years old",
    "bar": "bar",
}
_UNCHANGED = ("per cent", "hertz", "stone", "percent", "kilohertz", "megahertz", "gigahertz", "euro", "kelvin")
# First words that take the plural: pounds sterling, degrees Celsius.
_PLURAL_FIRST = ("pound", "degree")


class NotLoaded(NamedTuple):
    """A statement that is not loaded, by the kind of its value or its rank."""

    kind: str


DATE = NotLoaded("date")
QUANTITY = NotLoaded("quantity")
STRING = NotLoaded("string")
OTHER_ENTITY = NotLoaded("other entity")


def value_literal(value: str, datatype: str, label: str) -> Entity:
    """Return the literal of a value that is not a date.

    Raises:
        ValueError: value and datatype do not make an id.
    """
    return Entity(check_id(f"{value}^^{datatype}"), label, types=(datatype,), value=value, datatype=datatype)


def date_literal(value: str) -> Entity:
    """Return a date (``1999``, ``1999-03``, ``1999-03-31``) as a literal of its precision.

    Raises:
        ValueError: the value is not a date.
    """
    first_day(value)
    kind = DATE_KINDS[value.removeprefix("-").count("-")]
    parts = [int(part) for part in value.removeprefix("-").split("-")]
    names = [*map(str, parts[2:]), *(_MONTHS[month - 1] for month in parts[1:2]), str(parts[0])]
    label = " ".join(names) + (" BC" if value.startswith("-") else "")
    return Entity(value, label, types=(kind,), value=value, datatype=kind)


def year_literal(literal: Entity) -> Entity:
    """Return the year of a date as a literal; other literals are unchanged.

    >>> year_literal(date_literal("1879-03-14")).label, year_literal(date_literal("-0044-03")).id
    ('1879', '-0044')
    """
    hyphens = DATE_KINDS.index(literal.datatype) if literal.datatype in DATE_KINDS else 0
    return date_literal(literal.id.rsplit("-", hyphens)[0]) if hyphens else literal


def is_year(identifier: str) -> bool:
    """Return True for the id of a year.

    >>> list(map(is_year, ["1879", "-0044", "1879-03", "Q5", "1879^^integer"]))
    [True, True, False, False, False]
    """
    return identifier.removeprefix("-").isdigit()


def number_literal(text: str) -> Entity:
    """Return a number without a unit as a literal: an ``integer``, or else a ``decimal``.

    >>> number_literal("+68000000").id, number_literal("1.50").id
    ('68000000^^integer', '1.5^^decimal')

    Raises:
        ValueError: the text is not a number.
    """
    number = normal_number(text)
    return value_literal(number, "integer" if number.lstrip("-").isdigit() else "decimal", number)


def measure_literal(text: str, unit: str) -> Entity:
    """Return a number with a unit as a literal.

    >>> measure_literal("+78782", "square kilometre").id, measure_literal("+78782", "square kilometre").label
    ('78782^^squareKilometre', '78782 square kilometres')

    Args:
        unit: name of the unit, in the singular.

    Raises:
        ValueError: the text is not a number.
    """
    number = normal_number(text)
    first, *others = unit.split()
    datatype = first.lower() + "".join(word[0].upper() + word[1:] for word in others)
    return value_literal(number, datatype, f"{number} {unit_words(unit, number)}")


def normal_number(text: str) -> str:
    """Return the normal form of a number: no exponent if short, no plus sign, no trailing zeros.

    Raises:
        ValueError: the text is not a number, or too long.
    """
    text = text.strip()
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is not a number")
    try:
        number = Decimal(text)
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


def unit_words(unit: str, number: str) -> str:
    """Return the name of a unit after a number: *kilometre* after 1, *kilometres* after others."""
    head, per, rest = unit.partition(" per ")
    if number == "1" or unit in _UNCHANGED:
        return "US dollar" if unit == "us dollar" else unit
    first, space, others = head.partition(" ")
    if space and first in _PLURAL_FIRST and not per:
        return f"{first}s {others}"
    return f"{_PLURALS.get(head, f'{head}s')}{per}{rest}"
