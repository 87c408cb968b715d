"""Wikidata's points in time and quantities as literals (:mod:`.literals`).

- A point in time is a day, a month or a year, as precise as it is stated. Hours are dropped. Decades, centuries and
  coarser spans are not loaded. A Julian date keeps its day and month as they are stated, and has the same literal as
  the Gregorian date of the same name; a 29 February that only the Julian calendar has becomes its month.
- A quantity has its unit in words, from a list of names (``wikidata_units.txt``). Quantities in other units are not
  loaded, because their number alone would be wrong. Bounds of uncertainty are dropped.
"""

from functools import cache
from pathlib import Path

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity
from kgprobe.sources.lines import open_input

from .literals import NotLoaded, date_literal, measure_literal, number_literal
from .wikidata_model import ITEM_ID
from .wikidata_time import bounds

UNITS = Path(__file__).with_name("wikidata_units.txt")

_YEAR = 9
_NO_UNIT = "1"


DEPRECATED = NotLoaded("deprecated")
NOT_PREFERRED = NotLoaded("not preferred")
UNKNOWN_VALUE = NotLoaded("unknown value")
NO_VALUE = NotLoaded("no value")
TEXT = NotLoaded("text in a language")
COORDINATES = NotLoaded("coordinates")
COARSE_DATE = NotLoaded("date coarser than a year")
OTHER_UNIT = NotLoaded("quantity in another unit")


def time_literal(written: str, precision: int, calendar: str) -> Entity | NotLoaded:
    """Return the literal of a point in time in the form of Wikidata's JSON.

    Raises:
        ValueError: the text is not a point in time, or not a day, month or year that exists.
    """
    first, _ = bounds(written, precision, calendar)
    if precision < _YEAR:
        return COARSE_DATE
    if not int(first.removeprefix("-").partition("-")[0]):
        raise ValueError(f"{written!r} is in the year 0, which does not exist")
    return date_literal(first)


def quantity_literal(amount: str, unit: str) -> Entity | NotLoaded:
    """Return the literal of a quantity.

    Raises:
        ValueError: the amount is not a number, or the unit not an item.
    """
    if unit == _NO_UNIT:
        return number_literal(amount)
    item = unit.rpartition("/")[2]
    if not ITEM_ID.fullmatch(item):
        raise ValueError(f"the unit {unit[:80]!r} is not an item of Wikidata such as Q11573")
    name = unit_names().get(item)
    # Its number is checked, too.
    literal = measure_literal(amount, name or "unit")
    return literal if name is not None else OTHER_UNIT


@cache
def unit_names() -> dict[str, str]:
    """Return the names of units, by their items."""
    units: dict[str, str] = {}
    for number, line in open_input(UNITS).lines():
        if not isinstance(line, bytes):
            raise KgprobeError(f"{UNITS.name}, line {number:,}: {line.reason}.")
        if line.strip() and not line.startswith(b"#"):
            item, _, name = line.decode("utf-8").strip().partition(" ")
            units[item] = name
    return units
