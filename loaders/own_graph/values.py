"""Conversion of node and relationship properties to ids, names, dates and numbers.

All functions raise ``ValueError`` for an unsuitable value, with a message about the property. NaN and an empty list are
no value, and a list of one value is that value: neosemantics can store every property as a list.
"""

import math
import re
from operator import itemgetter
from typing import Any, Literal

from kgprobe.base.dates import UNKNOWN, first_day
from kgprobe.base.records import Entity
from kgprobe.sources.values import check_id, plain_name, tidy, tidy_all

from ..literals import date_literal, value_literal

# Larger numbers may be days (19990331) or milliseconds since 1970.
_LAST_YEAR = 9999
_DAY = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
# A date, optionally with a time of day, which is ignored.
# A text with a language tag of neosemantics: Berlin@de, Berlin@de-CH.
_TAGGED = re.compile(r"(.*\S)@([A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*)", re.DOTALL)
_DATE = re.compile(r"([+-]?[0-9]{4,}(?:-[0-9]{2}(?:-[0-9]{2})?)?)(?:[T ].*)?", re.DOTALL)


def given(value: Any) -> Any:
    """Return a value, or None where there is none; the value of a list of one."""
    if isinstance(value, list):
        values = [item for item in map(given, value) if item is not None]
        return values if len(values) > 1 else next(iter(values), None)
    return None if isinstance(value, float) and math.isnan(value) else value


def language_of(text: str) -> str | None:
    """Return the language of a text that ends in a tag, in lower case; None without a tag."""
    match = _TAGGED.fullmatch(text)
    return match[2].lower() if match else None


def in_language(value: Any, language: str | None) -> Any:
    """Return texts without their language tags, those of a language first; None returns the value as it is."""
    if language is None:
        return value
    preferred = language.lower()
    texts: list[tuple[bool, Any]] = []
    for text in listed(value):
        match = _TAGGED.fullmatch(text) if isinstance(text, str) else None
        own = match[2].lower() if match else ""
        texts.append((own != preferred and not own.startswith(f"{preferred}-"), match[1] if match else text))
    return [text for _, text in sorted(texts, key=itemgetter(0))]


def key_of(value: Any, name: str) -> str:
    """Return the id of a node."""
    value = given(value)
    if value is None:
        raise ValueError(f"it has no {shown(name)}, which is its id")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"its {shown(name)} is {shown(value)}, which is not an id; expected a text or a whole number")
    return tidy(str(value))


def name_of(value: Any, name: str) -> str:
    """Return the name of an entity: the first text of a list, whose others are aliases."""
    texts = texts_of([value], (name,))
    if not texts:
        raise ValueError(f"it has no {shown(name)}, which is its name")
    return texts[0]


def text_of(value: Any, name: str) -> str:
    """Return a text in one line, the first of a list; empty for None."""
    value = given(value)
    if isinstance(value, list):
        value = value[0]
    if value is None:
        return ""
    if isinstance(value, str):
        return tidy(value)
    if _is_number(value):
        return str(value)
    if (day := _day(value)) is not None:
        return day
    raise ValueError(f"its {shown(name)} is {shown(value)}; a text is expected")


def texts_of(values: list[Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct texts of properties that are texts or lists of texts."""
    texts: list[str] = []
    for value, name in zip(values, names, strict=True):
        texts += [text_of(item, name) for item in listed(value)]
    return tidy_all(texts)


def listed(value: Any) -> list[Any]:
    """Return the values of a list, or a value as a list."""
    value = given(value)
    return [] if value is None else value if isinstance(value, list) else [value]


def popularity_of(value: Any, name: str) -> float | None:
    """Return a number that is not negative, or None."""
    value = given(value)
    if value is None:
        return None
    if not _is_number(value) or not math.isfinite(value) or value < 0:
        raise ValueError(f"its {shown(name)} is {shown(value)}; a number that is not negative is expected")
    return float(value)


def bound_of(value: Any, name: str) -> str | None:
    """Return a date in ISO 8601, in the value's precision; None for no value.

    The time of day is dropped. A whole number is a year, or a day if its eight digits are a date.
    """
    value = given(value)
    bound = _bound(value)
    if bound is None and value not in (None, ""):
        raise ValueError(
            f"its {shown(name)} is {shown(value)}, which is not a date; expected 2011, 2011-05, 2011-05-09 or a"
            " date of the graph"
        )
    return bound


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def rank_of(value: Any, name: str) -> str:
    """Return the rank: ``preferred``, ``normal`` or ``deprecated``."""
    value = given(value)
    if value is None:
        return "normal"
    if value not in ("preferred", "normal", "deprecated"):
        raise ValueError(f"its {shown(name)} is {shown(value)}; preferred, normal or deprecated is expected")
    return str(value)


def literal_of(value: Any, name: str, values: Literal["date", "number", "text"] | None) -> Entity:
    """Return a value as an object of facts: a year, month or day, a number, or a text.

    Args:
        values: kind of the values; None decides by the value.
    """
    if values == "date" or (values is None and _day(value) is not None):
        bound = bound_of(value, name)
        if bound is None or bound == UNKNOWN:
            raise ValueError(f"its {shown(name)} is {shown(value)}, which is not a date")
        return date_literal(bound)
    if values == "number" and not _is_number(value):
        raise ValueError(f"its {shown(name)} is {shown(value)}; a number is expected")
    if not _is_number(value) or values == "text":
        kind, text = "string", text_of(value, name)
        check_id(plain_name(text), shown(name))
    elif not math.isfinite(value):
        raise ValueError(f"its {shown(name)} is {shown(value)}; a finite number is expected")
    elif int(value) == value:
        kind, text = "integer", str(int(value))
    else:
        kind, text = "decimal", str(value)
    return value_literal(plain_name(text), kind, text)


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _bound(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 < abs(value) <= _LAST_YEAR:
            return f"{value:05d}" if value < 0 else f"{value:04d}"
        match = _DAY.fullmatch(str(value))
        return _checked("-".join(match.groups())) if match else None
    if isinstance(value, str):
        text = value.strip()
        if text == UNKNOWN:
            return text
        match = _DATE.fullmatch(text)
        return _checked(match[1].removeprefix("+")) if match else None
    return _day(value)


def _checked(bound: str) -> str | None:
    try:
        first_day(bound)
    except ValueError:
        return None
    return bound


def _day(value: Any) -> str | None:
    """Return the day of a date or a point in time of the driver or of Python; None for other values."""
    if all(hasattr(value, part) for part in ("year", "month", "day")):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    return None
