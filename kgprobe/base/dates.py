"""Validity of facts: ISO 8601 bounds in the source's precision, and integers that every engine can compare.

A bound ``2011-05`` covers a whole month: a start means its first day, an end its last. ``from`` and ``until`` are
these days as integers ``yyyymmdd``, both included. Years before 1 are negative (``-0044-03-15`` is
``-44 * 10000 + 315``), which keeps the order of years and of the days within a year.

A fact that ended on an unknown day has the end ``unknown`` and no ``until``. Its property ``ended`` is true: it is
never current.
"""

import calendar
import re
from datetime import date

from kgprobe.base.errors import ArgumentError

UNKNOWN = "unknown"

# A day yyyymmdd, not the year 20,100,630.
_DAY = re.compile(r"[0-9]{8}")

# ISO 8601 writes years with four digits, or with a sign and more.
_YEAR_OF_DAY = re.compile(r"([+-]?[0-9]{4}|[+-][0-9]{5,})(-|$)")

_CALENDAR_DATE = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}")

# Twelve digits reach past the age of the universe, and yyyymmdd then stays within 64 bits.
_YEARS = 10**12
_YEAR = re.compile(r"[+-]?\d{4,}")
_BOUND = re.compile(r"([+-]?)([0-9]{1,12})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def _parse(bound: str) -> tuple[int, int, int]:
    matched = _BOUND.fullmatch(bound)
    if matched is None:
        raise ValueError(
            f"{bound!r} is not a date; expected a year, year-month or year-month-day (2011, 2011-05, -0044)"
        )
    sign, year, month, day = matched.groups()
    parsed = (-int(year) if sign == "-" else int(year), int(month or 0), int(day or 0))
    if parsed[1] > 12 or (month and parsed[1] == 0) or (day and not 1 <= parsed[2] <= _days(parsed[0], parsed[1])):
        raise ValueError(f"{bound!r} is not a date: its month or day does not exist")
    return parsed


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if calendar.isleap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def calendar_date(bound: str) -> str | None:
    """Return a bound that is a day of the years 1 to 9999; None for others.

    >>> calendar_date("1998-10-27"), calendar_date("1998-10"), calendar_date("-0043-03-15")
    ('1998-10-27', None, None)
    """
    return bound if _CALENDAR_DATE.fullmatch(bound) else None


def first_day(bound: str) -> int:
    """Return the first day that an ISO 8601 bound covers, as ``yyyymmdd``.

    Raises:
        ValueError: the text is not a year, year-month or year-month-day.
    """
    year, month, day = _parse(bound)
    return year * 10000 + (month or 1) * 100 + (day or 1)


def last_day(bound: str) -> int:
    """Return the last day that an ISO 8601 bound covers, as ``yyyymmdd``. ``UNKNOWN`` is no bound.

    Raises:
        ValueError: the text is not a year, year-month or year-month-day.
    """
    year, month, day = _parse(bound)
    month = month or 12
    return year * 10000 + month * 100 + (day or _days(year, month))


def day_number(day: int) -> int:
    """Count a day ``yyyymmdd`` from a fixed day, so that differences are numbers of days.

    The calendar is proleptic Gregorian, with a year 0.
    """
    year, rest = divmod(day, 10000)
    month, day_of_month = divmod(rest, 100)
    # Count years from March: the leap day is their last day, and five months have 153 days.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day_of_month


def day_text(day: int) -> str:
    """Return a day ``yyyymmdd`` as people read it.

    >>> day_text(20240229)
    '2024-02-29'
    """
    return f"{day // 10000:04}-{day // 100 % 100:02}-{day % 100:02}"


def today() -> int:
    """Return today as ``yyyymmdd``: the default ``as_of``."""
    return as_of_day(date.today())


def as_of_day(as_of: int | str | date | None) -> int:
    """Return a reference date as ``yyyymmdd``; None is today, a year or a month means its last day.

    >>> as_of_day("2021-02"), as_of_day("2021-01-01"), as_of_day("20210101"), as_of_day(20210101)
    (20210228, 20210101, 20210101, 20210101)
    """
    if as_of is None:
        return today()
    if isinstance(as_of, date):
        return as_of.year * 10000 + as_of.month * 100 + as_of.day
    if isinstance(as_of, str) and _DAY.fullmatch(as_of):
        as_of = int(as_of)
    if isinstance(as_of, int):
        # A year alone has no month and day here, and is refused.
        year, month, day = as_of // 10000, as_of // 100 % 100, as_of % 100
        known = abs(year) < _YEARS and 1 <= month <= 12
        if not (known and 1 <= day <= _days(year, month)):
            raise ArgumentError("as_of", f"is {as_of}; expected a day (20211231, '2021-12-31') or a year ('2021').")
        return as_of
    if not _YEAR_OF_DAY.match(as_of):
        raise ArgumentError(
            "as_of",
            f"is not a date: {as_of!r}; expected a year of four digits (2021, -0044), or a day (2021-12-31, 20211231).",
        )
    try:
        return last_day(as_of)
    except ValueError as error:
        raise ArgumentError("as_of", f"is not a date: {error}.") from error


def year_of(text: str | None) -> int | None:
    """Return the year of an ISO 8601 date (``2011-05``, ``-0044``, ``+2011-05-01T00:00:00Z``); None without one."""
    match = _YEAR.match(text) if isinstance(text, str) else None
    return int(match[0]) if match else None
