"""Values with a type, as T-REx writes them in place of a URI: ``1879-03-14T00:00:00Z^^http://…XMLSchema#dateTime``.

A date keeps the precision that it is written in: a ``year`` (``1879``), a ``month`` (``1879-03``) or a ``date``
(``1879-03-14``). Zeros stand for what it leaves open. RDF has no such zeros, and writes a year as its first day: where
the sentence names no more than the year (or no day), no more is kept. All dates of a precision are called alike,
whatever the sentence calls them (*14 March 1879*, *March 1879*, *44 BC*), so that none stands out among others.

Any other value is called as it is written, and its type is the last part of the type's URI (``decimal``).
"""

import re

from kgprobe.dates import first_day
from kgprobe.records import Entity
from kgprobe.sources.values import check_id, tidy

from .wikidata_time import bounds

_DATES = ("date", "dateTime", "gYear", "gYearMonth")
_DATE = re.compile(r"([+-]?)([0-9]{1,12})(?:-([0-9]{2}))?(?:-([0-9]{2}))?(?:T.*)?", re.DOTALL)
_NUMBER = re.compile("[0-9]{1,12}")
_DAY = 11
_KINDS = ("year", "month", "date")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def literal(text: str, words: str) -> Entity | None:
    """The literal of a typed value; None for what has no type.

    Its type is its kind of value as well, so that others of the kind can be drawn in its place.

    Args:
        words: that stand for it in a sentence.

    Raises:
        ValueError: it is typed as a date and is none, or has no value.
    """
    value, mark, type_ = text.rpartition("^^")
    if not mark:
        return None
    datatype = type_.strip("<>").rpartition("#")[2].rpartition("/")[2]
    if datatype in _DATES:
        return _date(value.strip('"'), words)
    value = check_id(tidy(value.strip('"')), "value")
    check_id(datatype, "type of a value")
    return Entity(check_id(f"{value}^^{datatype}"), value, types=(datatype,), value=value, datatype=datatype)


def _date(written: str, words: str) -> Entity:
    matched = _DATE.fullmatch(written)
    if matched is None:
        raise ValueError(f"{written[:80]!r} is no date; one like 1879-03-14T00:00:00Z is expected")
    sign, year, month, day = matched.groups("00")
    if [int(number) for number in _NUMBER.findall(words)] == [int(year)] and day == "01":
        # The words name no day, and where they have no letters no month.
        day = "00"
        month = "00" if month == "01" and not any(map(str.isalpha, words)) else month
    value, _ = bounds(f"{sign or '+'}{year}-{month}-{day}T", _DAY)
    return date_literal(value)


def date_literal(value: str) -> Entity:
    """A date (``1999``, ``1999-03``, ``1999-03-31``) as a literal of its precision.

    Raises:
        ValueError: it is none.
    """
    first_day(value)
    kind = _KINDS[value.removeprefix("-").count("-")]
    return Entity(value, _label(value), types=(kind,), value=value, datatype=kind)


def _label(value: str) -> str:
    parts = [int(part) for part in value.removeprefix("-").split("-")]
    names = [*map(str, parts[2:]), *(_MONTHS[month - 1] for month in parts[1:2]), str(parts[0])]
    return " ".join(names) + (" BC" if value.startswith("-") else "")
