"""Values with a type, as T-REx writes them in place of a URI: ``1879-03-14T00:00:00Z^^http://…XMLSchema#dateTime``.

A date keeps its precision: a ``year`` (``1879``), a ``month`` (``1879-03``) or a ``date`` (``1879-03-14``). Unknown
parts are zeros. RDF has no such zeros and writes a year as its first day: the precision is then that of the sentence.
The literals are those of :mod:`.literals`.

Other values keep their notation; their type is the last part of the type's URI (``decimal``).
"""

import re

from kgprobe.base.records import Entity
from kgprobe.sources.values import check_id, plain_name, tidy

from .literals import date_literal, value_literal
from .wikidata_time import bounds

_DATES = ("date", "dateTime", "gYear", "gYearMonth")
_DATE = re.compile(r"([+-]?)([0-9]{1,12})(?:-([0-9]{2}))?(?:-([0-9]{2}))?(?:T.*)?", re.DOTALL)
_NUMBER = re.compile("[0-9]{1,12}")
_DAY = 11


def literal(text: str, words: str) -> Entity | None:
    """Return the literal of a typed value; None for a text without a type.

    Its datatype is also an entity type, so that distractors of the type exist.

    Args:
        words: its mention in a sentence.

    Raises:
        ValueError: the value is empty, or typed as a date and invalid.
    """
    value, mark, type_ = text.rpartition("^^")
    if not mark:
        return None
    datatype = type_.strip("<>").rpartition("#")[2].rpartition("/")[2]
    if datatype in _DATES:
        return _date(value.strip('"'), words)
    value = tidy(value.strip('"'))
    check_id(datatype, "type of a value")
    return value_literal(check_id(plain_name(value), "value"), datatype, value)


def _date(written: str, words: str) -> Entity:
    matched = _DATE.fullmatch(written)
    if matched is None:
        raise ValueError(f"{written[:80]!r} is not a date such as 1879-03-14T00:00:00Z")
    sign, year, month, day = matched.groups("00")
    if [int(number) for number in _NUMBER.findall(words)] == [int(year)] and day == "01":
        # The words name no day, and where they have no letters no month.
        day = "00"
        month = "00" if month == "01" and not any(map(str.isalpha, words)) else month
    value, _ = bounds(f"{sign or '+'}{year}-{month}-{day}T", _DAY)
    return date_literal(value)
