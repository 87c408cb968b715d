"""What properties of nodes and relationships say: ids, names, dates, numbers.

All raise ``ValueError`` for a value that cannot be what it is taken for, with a message about the property.
"""

import math
import re
from typing import Any, Literal

from kgprobe.dates import UNKNOWN, first_day
from kgprobe.records import Entity
from kgprobe.sources.values import check_id, tidy, tidy_all

from ..trex_literals import date_literal

# Nobody's year; a number beyond may be a day (19990331), or milliseconds since 1970.
_LAST_YEAR = 9999
_DAY = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
# A date, with or without a time of the day, which is not read.
_DATE = re.compile(r"([+-]?[0-9]{4,}(?:-[0-9]{2}(?:-[0-9]{2})?)?)(?:[T ].*)?", re.DOTALL)


def key_of(value: Any, named: str) -> str:
    """A property that tells nodes apart."""
    if value is None:
        raise ValueError(f"it has no {shown(named)}, which is its id")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"its {shown(named)} is {shown(value)}, which is no id; a text or a whole number would be")
    return tidy(str(value))


def name_of(value: Any, named: str) -> str:
    """What an entity is called."""
    name = text_of(value, named)
    if not name:
        raise ValueError(f"it has no {shown(named)}, which is its name")
    return name


def text_of(value: Any, named: str) -> str:
    """A text in one line; empty for what is not there."""
    if value is None:
        return ""
    if isinstance(value, str):
        return tidy(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if (day := _day(value)) is not None:
        return day
    raise ValueError(f"its {shown(named)} is {shown(value)}; a text is expected")


def texts_of(values: list[Any], named: tuple[str, ...]) -> tuple[str, ...]:
    """Properties that are each a text or a list of texts, each once."""
    flat = [
        (one, name)
        for value, name in zip(values, named, strict=True)
        for one in (value if isinstance(value, list) else [value])
    ]
    return tidy_all(text_of(one, name) for one, name in flat)


def popularity_of(value: Any, named: str) -> float | None:
    """A number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise ValueError(f"its {shown(named)} is {shown(value)}; a number that is not negative is expected")
    return float(value)


def bound_of(value: Any, named: str) -> str | None:
    """When something began or ended, in ISO 8601 and the value's own precision; None for what is not there.

    A time of the day is left away. A whole number is a year, or a day where it has eight digits that are one.
    """
    bound = _bound(value)
    if bound is None and value not in (None, ""):
        raise ValueError(
            f"its {shown(named)} is {shown(value)}, which is no date; 2011, 2011-05, 2011-05-09 and dates of the"
            " graph's own are read"
        )
    return bound


def rank_of(value: Any, named: str) -> str:
    """``preferred``, ``normal`` or ``deprecated``."""
    if value is None:
        return "normal"
    if value not in ("preferred", "normal", "deprecated"):
        raise ValueError(f"its {shown(named)} is {shown(value)}; preferred, normal or deprecated is expected")
    return str(value)


def literal_of(value: Any, named: str, values: Literal["date", "number", "text"] | None) -> Entity:
    """A value as an object of facts: dates as years, months or days, numbers and texts by their kind.

    Args:
        values: what they are; None tells it by the value.
    """
    if values == "date" or (values is None and _day(value) is not None):
        bound = bound_of(value, named)
        if bound is None or bound == UNKNOWN:
            raise ValueError(f"its {shown(named)} is {shown(value)}, which is no date")
        return date_literal(bound)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if values == "number" and not number:
        raise ValueError(f"its {shown(named)} is {shown(value)}; a number is expected")
    if number and values != "text":
        if not math.isfinite(value):
            raise ValueError(f"its {shown(named)} is {shown(value)}; a finite number is expected")
        kind = "integer" if isinstance(value, int) or float(value).is_integer() else "decimal"
        text = str(int(value)) if kind == "integer" else str(value)
    else:
        kind, text = "string", check_id(text_of(value, named), f"{shown(named)}")
    return Entity(check_id(f"{text}^^{kind}"), text, types=(kind,), value=text, datatype=kind)


def shown(value: Any) -> str:
    """A value in a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _bound(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 < abs(value) <= _LAST_YEAR:
            return f"{'-' if value < 0 else ''}{abs(value):04d}"
        matched = _DAY.fullmatch(str(value))
        return _checked("-".join(matched.groups())) if matched else None
    if isinstance(value, str):
        text = value.strip()
        matched = _DATE.fullmatch(text)
        return text if text == UNKNOWN else _checked(matched[1].removeprefix("+")) if matched else None
    return _day(value)


def _checked(bound: str) -> str | None:
    try:
        first_day(bound)
    except ValueError:
        return None
    return bound


def _day(value: Any) -> str | None:
    """The day of a date or a point in time, as the driver gives them, or Python has them."""
    if all(hasattr(value, part) for part in ("year", "month", "day")):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    return None
