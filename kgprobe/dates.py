"""Validity: ISO 8601 bounds in the source's own precision, and the integers every engine can compare.

A bound ``2011-05`` covers a whole month. As a start it counts from its first day, as an end to its last; so
``from`` and ``until`` are integers ``yyyymmdd`` with both days included. Years before 1 are negative
(``-0044-03-15`` is ``-44 * 10000 + 315``), which keeps the order of days within a year and of years.

What has ended on a day that nobody knows has the end ``unknown``, whose ``until`` lies before every day: it is current
at none.
"""

import calendar
import re
from datetime import date

from kgprobe.errors import ArgumentError

UNKNOWN = "unknown"
_BEFORE_EVERY_DAY = -(10**16)

# As days are shown. Nobody means the year 20,100,630.
_DAY = re.compile(r"[0-9]{8}")

# Twelve digits reach past the age of the universe, and yyyymmdd then stays within 64 bits.
_YEARS = 10**12
_YEAR = re.compile(r"[+-]?\d{4,}")
_BOUND = re.compile(r"([+-]?)([0-9]{1,12})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def _parse(bound: str) -> tuple[int, int, int]:
    matched = _BOUND.fullmatch(bound)
    if matched is None:
        raise ValueError(f"{bound!r} is no date; a year, year-month or year-month-day would be (2011, 2011-05, -0044)")
    sign, year, month, day = matched.groups()
    parsed = (-int(year) if sign == "-" else int(year), int(month or 0), int(day or 0))
    if parsed[1] > 12 or (month and parsed[1] == 0) or (day and not 1 <= parsed[2] <= _days(parsed[0], parsed[1])):
        raise ValueError(f"{bound!r} is no date: there is no such month or day")
    return parsed


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if calendar.isleap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def first_day(bound: str) -> int:
    """The first day that an ISO 8601 bound covers, as ``yyyymmdd``.

    Raises:
        ValueError: the text is no date of one of the three precisions.
    """
    year, month, day = _parse(bound)
    return year * 10000 + (month or 1) * 100 + (day or 1)


def last_day(bound: str) -> int:
    """The last day that an ISO 8601 bound covers, as ``yyyymmdd``; of an ``UNKNOWN`` end, one before every day.

    Raises:
        ValueError: the text is no date of one of the three precisions.
    """
    if bound == UNKNOWN:
        return _BEFORE_EVERY_DAY
    year, month, day = _parse(bound)
    month = month or 12
    return year * 10000 + month * 100 + (day or _days(year, month))


def day_number(day: int) -> int:
    """A day ``yyyymmdd`` counted from a fixed one, so that differences are numbers of days.

    Of the Gregorian calendar, also for the time before it; the year 0 is a year.
    """
    year, rest = divmod(day, 10000)
    month, day_of_month = divmod(rest, 100)
    # Years that begin in March end with the leap day, and 153 days are five months from there.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day_of_month


def today() -> int:
    """Today as ``yyyymmdd``: the default ``as_of``."""
    now = date.today()
    return now.year * 10000 + now.month * 100 + now.day


def as_of_day(as_of: int | str | date | None) -> int:
    """A reference date as ``yyyymmdd``; None is today. A text may be a year or a month, and stands for its last day.

    >>> as_of_day("2021-02"), as_of_day("2021-01-01"), as_of_day("20210101"), as_of_day(20210101)
    (20210228, 20210101, 20210101, 20210101)

    Raises:
        ArgumentError: it is no date.
    """
    if as_of is None:
        return today()
    if isinstance(as_of, date):
        return as_of.year * 10000 + as_of.month * 100 + as_of.day
    if isinstance(as_of, str) and _DAY.fullmatch(as_of):
        as_of = int(as_of)
    if isinstance(as_of, int):
        # A year alone, or 0, would be a day so long ago that hardly a fact is current at it.
        year, month, day = as_of // 10000, as_of // 100 % 100, as_of % 100
        known = abs(year) < _YEARS and 1 <= month <= 12
        if not (known and 1 <= day <= _days(year, month)):
            raise ArgumentError(
                "as_of", f"is {as_of}; a day would be, like 20211231 or '2021-12-31', or a year: '2021'."
            )
        return as_of
    try:
        return last_day(as_of)
    except ValueError as error:
        raise ArgumentError("as_of", f"is no date: {error}.") from error


def year_of(told: str | None) -> int | None:
    """The year of a date in ISO 8601, such as ``2011-05``, ``-0044`` or ``+2011-05-01T00:00:00Z``; None without one."""
    found = _YEAR.match(told) if isinstance(told, str) else None
    return int(found[0]) if found else None
