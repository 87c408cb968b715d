"""Values in texts: dates, numbers and quantities, read with their precision and compared by value.

*July 22, 1802*, *22 July 1802* and *1802-07-22* are one date; *4,053,123* agrees with *4.05 million*, and *40,531 km²*
with *40531 square kilometres*. docs/methods/questions.md has the rules.

A number stands for an interval, by its stated digits: *4.05 million* for 4,045,000 to 4,055,000. Two numbers agree if
the more precise one lies in the interval of the other. Units are converted by pint; a number without a unit is meant in
the unit of the number that it is compared with. A date agrees if it states the year, month and day of the other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from kgprobe.base.dates import first_day

if TYPE_CHECKING:
    import pint

_MONTHS = re.findall(
    r"\w+",
    "january february march april may june july august september october november december"
    " jan feb mar apr may jun jul aug sep oct nov dec sept",
)
_NUMBER_OF_MONTH: Mapping[str, int] = {
    **{month: place % 12 + 1 for place, month in enumerate(_MONTHS)},
    "sept": 9,
}
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_ERA = r"(?P<era>bce?|b\.\s?c\.?(?:\s?e\.)?|ce|ad|a\.\s?d\.?|c\.\s?e\.)(?!\w)"
# Not 1870s, 1,879 or 1879.5.
_END = r"(?!\w|[.,]\d)"
_YEAR = rf"(?P<year>\d{{1,4}}){_END}(?:\s*{_ERA})?"
_DATES = [
    re.compile(rf"(?<![\w./,-]){form}", re.IGNORECASE)
    for form in (
        # 1879-03-14, 1879-03, 1879/3/14
        r"(?P<year>[+-]?\d{4,})-(?P<month>\d\d?)-(?P<day>\d\d?)(?:T[\d:.]+Z?)?(?![\w-])",
        r"(?P<year>[+-]?\d{4,})-(?P<month>\d\d)(?![\w-])",
        rf"(?P<year>\d{{4}})[/.](?P<month>\d\d?)[/.](?P<day>\d\d?){_END}",
        # 14.3.1879, 3/14/1879
        rf"(?P<first>\d\d?)(?P<mark>[/.-])(?P<second>\d\d?)(?P=mark)(?P<year>\d{{4}}){_END}",
        # 14th of March, 1879; March 14, 1879; March 1879
        rf"{_DAY}(?:\s+of)?[\s-]+{_MONTH},?(?:\s+of)?[\s-]+{_YEAR}",
        rf"{_MONTH}[\s-]+{_DAY},?(?:\s+of)?\s+{_YEAR}",
        # 1879, March 14
        rf"(?P<year>\d{{4}}),?\s+{_MONTH}(?:\s+{_DAY})?{_END}",
        rf"{_MONTH},?(?:\s+of)?[\s-]+(?:the\s+year\s+)?(?P<year>\d{{3,4}}){_END}(?:\s*{_ERA})?",
        rf"{_MONTH}\s+(?P<year>\d{{1,4}})\s*{_ERA}",
        # 14 March, March 14
        rf"{_DAY}(?:\s+of)?[\s-]+{_MONTH}(?!\w)",
        rf"{_MONTH}[\s-]+{_DAY}{_END}",
        # 44 BC, AD 79, 10,000 BC
        rf"{_ERA}\s*(?P<year>\d{{1,4}}){_END}",
        rf"(?P<year>\d{{1,3}}(?:,\d{{3}})+|\d+)\s*{_ERA}",
    )
]

_EXPONENTS: Mapping[str, int] = {
    "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mio": 6, "mn": 6, "bn": 9, "k": 3, "m": 6, "b": 9,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.,)])[-−–]\s?|\bminus\s)?"
    # Not a part of a word, of an ordinal, of a decade or of another number; after a currency's sign.
    r"(?<![\w.,'’])"
    r"(?P<digits>\d{1,3}(?P<mark>[,.'’ \u00a0\u2009\u202f])\d{3}(?:(?P=mark)\d{3})*(?!\d)(?:[.,]\d+)?"
    r"|\d+(?:[.,]\d+)?|\.\d+)"
    r"(?:\s?[x×·]\s?10\s?\^?(?P<power>[-−]?\d+|⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|e(?P<exponent>[+-]?\d+))?"
    r"(?:[\s-]?(?P<scale>thousand|million|billion|trillion|mio|mn|bn)\b|(?P<letter>(?-i:[kKMB]))(?![\w/²³^]))?"
    r"(?!\w*\d|(?:st|nd|rd|th|s)\b|[+#])",
    re.IGNORECASE,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_NUMBER_WORDS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion",
)
_WORD = rf"(?:{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_SPELLED = re.compile(
    rf"(?<![\w-])(?P<sign>minus\s)?(?:an?\s(?=hundred|thousand|million|billion))?{_WORD}(?:(?:\s+and)?[\s-]+{_WORD})*(?![\w-])",
    re.IGNORECASE,
)
# Integers from here on are rounded where they end in zeros.
_LEAST_ROUNDED = 10_000

_STEPS_OF_WORDS: Mapping[str, float] = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
# A text of so many words that has the word *one* in it is likely to mean something else.
_FEW_WORDS = 3
# Rounding errors of conversions, in steps.
_NOISE = 1e-9
# A difference of so many tolerances, but at most this share of the number, is near.
_NEAR = 10
_FARTHEST = 0.1

# Signs of units; pint knows the words.
_SIGNS: Mapping[str, str] = {
    "km": "kilometer", "m": "meter", "cm": "centimeter", "mm": "millimeter", "nm": "nanometer", "µm": "micrometer",
    "mi": "mile", "ft": "foot", "yd": "yard", "ha": "hectare", "kg": "kilogram", "g": "gram", "mg": "milligram",
    "lb": "pound", "lbs": "pound", "oz": "ounce", "t": "metric_ton", "l": "liter", "ml": "milliliter", "s": "second",
    "min": "minute", "h": "hour", "hrs": "hour", "km/h": "kilometer/hour", "kph": "kilometer/hour", "mph": "mile/hour",
    "m/s": "meter/second", "kw": "kilowatt", "mw": "megawatt", "gw": "gigawatt", "kwh": "kilowatt_hour",
    "°c": "degree_Celsius", "celsius": "degree_Celsius", "degree celsius": "degree_Celsius",
    "degrees celsius": "degree_Celsius", "°f": "degree_Fahrenheit", "degree fahrenheit": "degree_Fahrenheit",
    "degrees fahrenheit": "degree_Fahrenheit", "%": "percent", "per cent": "percent", "ly": "light_year",
    "au": "astronomical_unit", "hz": "hertz", "khz": "kilohertz", "mhz": "megahertz", "ghz": "gigahertz",
    "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte",
}  # fmt: skip
_POWERS = {"²": "**2", "2": "**2", "^2": "**2", "³": "**3", "3": "**3", "^3": "**3"}
_UNIT = re.compile(
    r"[\s\u00a0\u202f-]?(?P<unit>(?P<power>sq|square|cu|cubic)\.?\s+(?P<base>[a-z]+)|[a-zµ]+/[a-z]+|°\s?[cf]\b|%"
    r"|(?P<sign>[a-zµ]+)(?P<raised>[²³]|\^?[23]\b)|[a-zµ]+(?:[\s_-][a-z]+){0,2})",
    re.IGNORECASE,
)
# Units in labels of values are in lower case; *8 Mile* is a title.
_TITLE = re.compile(r"\b(?!Celsius|Fahrenheit)[A-Z][a-z]{3,}")
# pint would read prefixes and symbols into most short words.
_SHORTEST_WORD = 4

# Year, month, day; 0 for a part that is not stated.
Date = tuple[int, int, int]


class Agreement(IntEnum):
    """Agreement of two values."""

    NONE = 0
    NEAR = 1
    RIGHT = 2


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A date, number or quantity in a text.

    Attributes:
        start, end: position in the text, in characters.
        dates: readings as a date: none for *5.5 km*, one for *1879*, two for *07/12/1802*.
        number, step: readings as a number, and the unit of its last stated digit; None for a date with a month.
        unit: unit as pint names it; empty without one.
    """

    start: int
    end: int
    dates: tuple[Date, ...] = ()
    number: float | None = None
    step: float = 1.0
    unit: str = ""


def values_in(text: str) -> list[StatedValue]:
    """Return the values in a text, in order.

    >>> [(value.dates, value.number, value.unit) for value in values_in("In May 1879, 4.5 million people, 5 km away")]
    [(((1879, 5, 0),), None, ''), ((), 4500000.0, ''), (((5, 0, 0),), 5.0, 'kilometer')]

    Cost: linear in the text.
    """
    values: list[StatedValue] = []
    behind = 0
    for place in map(re.Match.start, re.finditer(r"(?<!\w)[\w+−–.-]", text)):
        if place < behind:
            continue
        value = _date_at(text, place) or _number_at(text, place) or _spelled_at(text, place)
        if value is not None:
            behind = value.end
            if value.dates or value.number is not None:
                values.append(value)
    return values


@lru_cache(maxsize=100_000)
def as_value(name: str) -> StatedValue | None:
    """Return the value that a name states; None if it is another name, such as a title, or a value in words.

    >>> as_value("78782 square kilometres").number, as_value("Apollo 11"), as_value("50 Cent")
    (78782.0, None, None)
    """
    if not any(map(str.isdigit, name)):
        return None
    values = values_in(name)
    if len(values) != 1 or name[: values[0].start].strip() or name[values[0].end :].strip():
        return None
    return None if values[0].unit and _TITLE.search(name) else values[0]


def compare(stated: StatedValue, target: StatedValue, tolerance: float | None = None) -> Agreement:
    """Return how a stated value agrees with a target.

    A date is right or not; one that states less than the target date, and nothing else, is near. So are plain whole
    numbers below 10,000, which may be years. Of other numbers, a difference up to ten times the tolerance is near, and
    at most a tenth of the target number.

    ``tolerance`` is the relative difference of numbers that is right; by default that of rounding to stated digits.
    """
    by_date = max(
        (_dates_agree(date, other) for date in stated.dates for other in target.dates), default=Agreement.NONE
    )
    # Plain whole numbers may be years, and counts are as exact.
    if stated.number is None or target.number is None or (stated.dates and target.dates):
        return by_date
    if target.dates and stated.number != target.number:
        return max(by_date, min(Agreement.NEAR, _numbers_agree(stated, target, tolerance)))
    converted = _converted(stated, target.unit) if stated.unit else stated
    if converted is None:
        return by_date
    return max(by_date, _numbers_agree(converted, target, tolerance))


def _date_at(text: str, place: int) -> StatedValue | None:
    for form in _DATES:
        match = form.match(text, place)
        dates = () if match is None else _dates_of(match.groupdict())
        if match is not None and dates:
            return StatedValue(match.start(), match.end(), dates)
    return None


def _dates_of(parts: Mapping[str, str | None]) -> tuple[Date, ...]:
    """Return the readings of a date's parts that exist in the calendar."""
    year = int((parts.get("year") or "0").replace(",", ""))
    if (parts.get("era") or "").lower().startswith("b"):
        year = -year
    if parts.get("first"):
        first, second = int(str(parts["first"])), int(str(parts["second"]))
        readings = {(year, second, first), (year, first, second)}
    else:
        month = parts.get("month") or "0"
        readings = {
            (year, int(month) if month.isdigit() else _NUMBER_OF_MONTH[month.lower()], int(parts.get("day") or 0))
        }
    return tuple(sorted(filter(_exists, readings)))


def _exists(date: Date) -> bool:
    year, month, day = date
    bound = f"{year or 4:05}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")
    try:
        first_day(bound if year < 0 else bound[1:])
    except ValueError:
        return False
    return True


def _number_at(text: str, place: int) -> StatedValue | None:
    match = _NUMBER.match(text, place)
    if match is None:
        return None
    whole, decimals = _digits(match["digits"], match["mark"])
    exponent = _EXPONENTS.get((match["scale"] or match["letter"] or "").lower(), 0)
    exponent += int((match["power"] or match["exponent"] or "0").translate(_SUPERSCRIPTS))
    is_plain = not (decimals or exponent or match["sign"])
    rounded = len(whole) - max(len(whole.rstrip("0")), 2) if is_plain and int(whole or 0) >= _LEAST_ROUNDED else 0
    number = float(f"{whole or 0}.{decimals or 0}e{exponent}")
    unit, end = _unit_at(text, match.end())
    is_year = is_plain and not unit and match["mark"] is None and 0 < number < _LEAST_ROUNDED
    return StatedValue(
        match.start(),
        end,
        ((int(number), 0, 0),) if is_year else (),
        -number if match["sign"] else number,
        10.0 ** (exponent - len(decimals) + rounded),
        unit,
    )


def _digits(digits: str, mark: str | None) -> tuple[str, str]:
    """Return the digits of a number before and after its decimal mark.

    A dot or comma that separates three digits once is the English one: *1,500* is a whole number, and *1.500* is not.
    """
    if mark is not None and not (mark == "." and digits.count(".") == 1):
        head, *groups = digits.split(mark)
        # The last group may have decimals.
        last, _, decimals = groups[-1].replace(",", ".").partition(".")
        return head + "".join(groups[:-1]) + last, decimals
    whole, _, decimals = digits.replace(",", ".").partition(".")
    return whole, decimals


def _spelled_at(text: str, place: int) -> StatedValue | None:
    """Return the number in words at a place; *one* alone is a number only where there is little else."""
    match = _SPELLED.match(text, place)
    if match is None:
        return None
    from text_to_num import text2num

    words = re.sub(r"^an?\s", "one ", match[0].removeprefix(match["sign"] or "").lower())
    if words == "one" and len(text.split()) > _FEW_WORDS:
        return None
    try:
        number = float(text2num(words, "en"))
    except ValueError:
        # *Nineteen eighty-four* is not 84.
        return StatedValue(match.start(), match.end())
    step = _STEPS_OF_WORDS.get(re.split(r"[\s-]", words)[-1], 1.0)
    unit, end = _unit_at(text, match.end())
    is_plain = step == 1 and not unit and not match["sign"] and 0 < number < _LEAST_ROUNDED
    dates = ((int(number), 0, 0),) if is_plain else ()
    return StatedValue(match.start(), end, dates, -number if match["sign"] else number, step, unit)


def _unit_at(text: str, place: int) -> tuple[str, int]:
    """Return the unit that follows a number, and where it ends; an unknown one is empty."""
    match = _UNIT.match(text, place)
    if match is None:
        return "", place
    base = match["base"] or match["sign"]
    if base:
        power = 3 if (match["power"] or "").lower().startswith("cu") else 2
        raised = _POWERS.get(match["raised"] or "", f"**{power}")
        unit = _unit_named(base.lower())
        return (f"{unit}{raised}", match.end()) if unit else ("", place)
    words = re.split(r"([\s_-])", match["unit"].lower())
    for last in range(len(words), 0, -2):
        phrase = "".join(words[:last])
        unit = _unit_named(re.sub(r"[\s_]+", " ", phrase))
        if unit:
            return unit, match.start("unit") + len(phrase)
    return "", place


@lru_cache(maxsize=10_000)
def _unit_named(phrase: str) -> str:
    """Return pint's name of a unit in words or signs; empty if it is unknown."""
    sign = _SIGNS.get(phrase.replace("° ", "°"))
    if sign is not None:
        return sign
    above, per, below = phrase.replace("/", " per ").partition(" per ")
    if per:
        parts = _unit_named(above), _unit_named(below)
        return "/".join(parts) if all(parts) else ""
    if len(phrase) < _SHORTEST_WORD:
        return ""
    for prefix, unit, _ in _registry().parse_unit_name(phrase.replace(" ", "_")):
        # pint reads symbols too: "peas" would be a picoare.
        if phrase.startswith(prefix) and len(phrase) - len(prefix) >= _SHORTEST_WORD:
            return prefix + unit
    return ""


@cache
def _registry() -> "pint.UnitRegistry[float]":
    import pint

    return pint.UnitRegistry()


def _converted(value: StatedValue, unit: str) -> StatedValue | None:
    """Return a value in another unit, which is empty for a plain number; None if they measure different things."""
    if unit == value.unit or not unit:
        return value if unit else None
    import pint

    registry, number = _registry(), value.number or 0.0
    bounds = (number - value.step / 2, number, number + value.step / 2)
    try:
        low, middle, high = (registry.Quantity(bound, value.unit).to(unit).magnitude for bound in bounds)
    except pint.DimensionalityError:
        return None
    return replace(value, number=middle, step=abs(high - low), unit=unit)


def _dates_agree(stated: Date, target: Date) -> Agreement:
    pairs = [(part, other) for part, other in zip(stated, target, strict=True) if other]
    compared = [part == other for part, other in pairs if part]
    if not compared or not all(compared):
        return Agreement.NONE
    return Agreement.RIGHT if len(compared) == len(pairs) else Agreement.NEAR


def _numbers_agree(stated: StatedValue, target: StatedValue, tolerance: float | None) -> Agreement:
    """Compare two numbers in one unit."""
    number, right = stated.number or 0.0, target.number or 0.0
    if tolerance is None:
        # Half a step above rounds up to the next value of the coarser number, half a step below belongs to it.
        coarse, fine = (number, right) if stated.step > target.step else (right, number)
        steps = (abs(fine) - abs(coarse)) / max(stated.step, target.step)
        if number * right < 0:
            return Agreement.NONE
        is_right, near = -0.5 - _NOISE <= steps < 0.5 - _NOISE, _NEAR * target.step / 2
    else:
        allowed = tolerance * abs(right) * (1 + _NOISE)
        is_right, near = abs(number - right) <= allowed, _NEAR * allowed
    if is_right:
        return Agreement.RIGHT
    return Agreement.NEAR if abs(number - right) <= min(near, _FARTHEST * abs(right)) else Agreement.NONE
