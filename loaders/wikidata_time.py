"""Wikidata's points in time as the bounds of an interval.

A value is a text (``+2011-05-00T00:00:00Z``) and a precision: 11 a day (12 to 14 are finer, and read as days), 10 a
month, 9 a year, 8 a decade, 7 a century, 6 a millennium, 5 to 0 ten thousand to a thousand million years. Years
before 1 are negative, and there is no year 0.

What is coarser than a year becomes the years it spans, so that a start counts from the first and an end to the last:
a decade begins with its 0 (1980–1989), a century and a millennium with their 1 (the 19th is 1801–1900), and the
geological ones with a multiple of their length. Before year 1 the spans are mirrored. A date of the Julian calendar
is kept as it is written; where the Gregorian has no such day, its month is kept.
"""

import re
from collections.abc import Sequence

from kgprobe.base.dates import UNKNOWN, first_day, last_day

JULIAN = "http://www.wikidata.org/entity/Q1985786"

_WRITTEN = re.compile(r"([+-])([0-9]{1,16})-([0-9]{2})-([0-9]{2})T.*", re.DOTALL)
_YEAR, _MONTH, _CENTURY, _MILLENNIUM, _FINEST = 9, 10, 7, 6, 14


def bounds(written: str, precision: int, calendar: str = "") -> tuple[str, str]:
    """Return the first and last year or date of a point in time; equal for a year or finer.

    The day is not validated here (:func:`~kgprobe.sources.values.check_interval`).

    Raises:
        ValueError: the text does not have the form of a point in time.
    """
    matched = _WRITTEN.fullmatch(written)
    if matched is None or not 0 <= precision <= _FINEST:
        raise ValueError(f"{written!r} with precision {precision} is not a point in time")
    sign, digits, month, day = matched.groups()
    year = int(digits)
    if precision < _YEAR:
        first, last = _span(year, 10 ** (_YEAR - precision), from_one=precision in {_CENTURY, _MILLENNIUM})
        return (_text("-", last), _text("-", first)) if sign == "-" else (_text("+", first), _text("+", last))
    text = _text(sign, year)
    if precision >= _MONTH and month != "00":
        text = f"{text}-{month}"
        if (
            precision > _MONTH
            and day != "00"
            and not (calendar == JULIAN and day == "29" and not _is_day(f"{text}-29"))
        ):
            text = f"{text}-{day}"
    return text, text


def written(value: str, precision: int, calendar: str = "") -> str:
    """Convert a point in time from the form of Wikidata's RDF to that of its JSON.

    In RDF, values with the precision of a year or finer count the year before 1 as 0, and Julian days are converted to
    Gregorian. Texts in other forms are unchanged.
    """
    matched = _WRITTEN.fullmatch(value if value.startswith(("+", "-")) else f"+{value}")
    if matched is None or value.startswith("+"):
        return value
    year, month, day = int(matched[1] + matched[2]), int(matched[3]), int(matched[4])
    if precision > _MONTH and calendar == JULIAN and month and day:
        year, month, day = _julian(year, month, day)
    if precision >= _YEAR and year <= 0:
        year -= 1
    return f"{year:+05}-{month:02}-{day:02}T00:00:00Z"


def _julian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Convert a day of the Gregorian calendar to the Julian; both have a year 0."""
    # Counted in years that begin in March, so that a leap day is the last of its year.
    years, months = year - (month <= 2), (month - 3) % 12
    days = 365 * years + years // 4 - years // 100 + years // 400 + (153 * months + 2) // 5 + day - 1
    # The two calendars agree from March of the year 200 to February of the year 300.
    days += 2
    cycle, rest = divmod(days, 1461)
    year_of_cycle = min(rest // 365, 3)
    rest -= 365 * year_of_cycle
    months = (5 * rest + 2) // 153
    return 4 * cycle + year_of_cycle + (months >= 10), (months + 2) % 12 + 1, rest - (153 * months + 2) // 5 + 1


def interval(
    starts: Sequence[tuple[str, str]],
    ends: Sequence[tuple[str, str]],
    points: Sequence[tuple[str, str]],
    ended: bool = False,
) -> tuple[str | None, str | None]:
    """Return the interval of a statement: its earliest start and latest end; None is unbounded.

    A point in time alone is a start: a prize won in 1921 remains won.

    Args:
        starts, ends, points: results of :func:`bounds`.
        ended: True if it has an unknown end.
    """
    if not starts and not ends and not ended:
        starts = points
    # One of each is the rule; counting their days takes longer than all the rest of a fact.
    start = starts[0] if len(starts) == 1 else min(starts, key=_first_then_last, default=(None, None))
    end = ends[0] if len(ends) == 1 else max(ends, key=_last_then_first, default=(None, None))
    return start[0], UNKNOWN if ended and not ends else end[1]


def _first_then_last(bound: tuple[str, str]) -> tuple[int, int]:
    return first_day(bound[0]), last_day(bound[1])


def _last_then_first(bound: tuple[str, str]) -> tuple[int, int]:
    return last_day(bound[1]), first_day(bound[0])


def _span(year: int, length: int, *, from_one: bool) -> tuple[int, int]:
    least = int(from_one)
    first = (max(year, least) - least) // length * length + least
    return first, first + length - 1


def _text(sign: str, year: int) -> str:
    return f"{'-' if sign == '-' and year else ''}{year:04}"


def _is_day(text: str) -> bool:
    try:
        first_day(text)
    except ValueError:
        return False
    return True
