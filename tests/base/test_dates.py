"""Bounds of validity as integers that every engine compares."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.dates import UNKNOWN, as_of_day, day_number, first_day, last_day, today, year_of
from kgprobe.base.errors import ArgumentError

days = some.dates(date(1, 1, 1), date(9998, 12, 31))


def number(day: date) -> int:
    return day.year * 10000 + day.month * 100 + day.day


@given(days)
def test_bound_covers_its_day_its_month_or_its_year(day: date) -> None:
    year, month = f"{day.year:04}", f"{day.year:04}-{day.month:02}"
    assert first_day(day.isoformat()) == last_day(day.isoformat()) == number(day)
    assert first_day(month) == number(day.replace(day=1))
    following = day.replace(day=28) + timedelta(days=4)
    of_month = number(following - timedelta(days=following.day))
    assert last_day(month) == of_month
    assert (first_day(year), last_day(year)) == (day.year * 10000 + 101, day.year * 10000 + 1231)
    assert first_day(year) <= first_day(month) <= first_day(day.isoformat()) <= last_day(month) <= last_day(year)


@given(days, days)
def test_integers_of_days_keep_order_and_distance(one: date, other: date) -> None:
    assert (number(one) < number(other)) == (one < other)
    assert day_number(number(other)) - day_number(number(one)) == (other - one).days


@given(some.integers(-(10**12) + 1, 10**12 - 1), some.integers(1, 12), some.integers(1, 28))
def test_years_may_be_long_ago(year: int, month: int, day: int) -> None:
    bound = f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"
    assert first_day(bound) == year * 10000 + month * 100 + day
    # The day before the first of March is the leap day, in leap years.
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    assert last_day(f"{bound.rsplit('-', 2)[0]}-02") == year * 10000 + (229 if leap else 228)
    assert day_number(year * 10000 + 301) - day_number(year * 10000 + 228) == (2 if leap else 1)
    assert day_number(year * 10000 + 101) - day_number((year - 1) * 10000 + 1231) == 1


def test_ides_of_march() -> None:
    assert first_day("-0044-03-15") == -44 * 10000 + 315
    assert (first_day("-0044"), last_day("-0044")) == (-44 * 10000 + 101, -44 * 10000 + 1231)
    assert first_day("+2011-05") == 20110501


@pytest.mark.parametrize(
    "wrong", ["", "soon", "2011-13", "2011-00", "2011-02-29", "2011-04-31", "2011-5", "2011-05-00"]
)
def test_what_is_no_date_is_told(wrong: str) -> None:
    for bound in (first_day, last_day):
        with pytest.raises(ValueError, match="is not a date"):
            bound(wrong)


def test_today_is_a_day() -> None:
    before = number(date.today())
    assert before <= today() <= number(date.today())


def test_reference_date_is_a_day_however_it_is_given() -> None:
    for same in (20211231, "20211231", "2021", "2021-12", "2021-12-31", date(2021, 12, 31)):
        assert as_of_day(same) == 20211231
    assert as_of_day(-44 * 10000 + 315) == as_of_day("-0044-03-15")
    assert as_of_day(None) == today()


@pytest.mark.parametrize(
    "wrong", [0, 2021, 202112, 20210230, 20211301, "20210230", "", "soon", "2021-02-30", "-1", "202", "20211"]
)
def test_what_is_no_reference_date_is_refused(wrong: int | str) -> None:
    with pytest.raises(ArgumentError, match="`as_of` is "):
        as_of_day(wrong)


@pytest.mark.parametrize(
    ("told", "year"),
    [
        ("2011-05", 2011),
        ("-0044", -44),
        ("+2011-05-01T00:00:00Z", 2011),
        ("12011", 12011),
        ("soon", None),
        (None, None),
    ],
)
def test_year_of_a_date(told: str | None, year: int | None) -> None:
    assert year_of(told) == year


def test_unknown_end_is_no_day() -> None:
    with pytest.raises(ValueError, match="'unknown' is not a date"):
        last_day(UNKNOWN)
    with pytest.raises(ArgumentError, match="is not a date"):
        as_of_day(UNKNOWN)
