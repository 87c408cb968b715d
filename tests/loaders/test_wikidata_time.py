"""Wikidata's points in time, by precision and calendar."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgprobe.base.dates import first_day, last_day
from kgprobe.loaders.wikidata_time import JULIAN, bounds, interval, written
from tests.loaders.entities import GREGORIAN
from tests.loaders.wikidata_rdf import rdf_time


@pytest.mark.parametrize(
    ("written", "precision", "first", "last"),
    [
        ("+2011-05-07T00:00:00Z", 11, "2011-05-07", "2011-05-07"),
        ("+2011-05-07T10:30:00Z", 14, "2011-05-07", "2011-05-07"),
        ("+2011-05-00T00:00:00Z", 10, "2011-05", "2011-05"),
        ("+2011-05-07T00:00:00Z", 10, "2011-05", "2011-05"),
        ("+2011-00-00T00:00:00Z", 9, "2011", "2011"),
        ("+2011-01-01T00:00:00Z", 9, "2011", "2011"),
        # A month or a day of 0 cannot be as precise as it says.
        ("+2011-05-00T00:00:00Z", 11, "2011-05", "2011-05"),
        ("+2011-00-00T00:00:00Z", 11, "2011", "2011"),
        # Old dumps write years with eleven digits.
        ("+00000002011-05-07T00:00:00Z", 11, "2011-05-07", "2011-05-07"),
        ("-0044-03-15T00:00:00Z", 11, "-0044-03-15", "-0044-03-15"),
        ("+1984-00-00T00:00:00Z", 8, "1980", "1989"),
        ("+1801-00-00T00:00:00Z", 7, "1801", "1900"),
        ("+1900-00-00T00:00:00Z", 7, "1801", "1900"),
        ("+0100-00-00T00:00:00Z", 7, "0001", "0100"),
        ("+2000-00-00T00:00:00Z", 6, "1001", "2000"),
        ("-0044-00-00T00:00:00Z", 8, "-0049", "-0040"),
        ("-0400-00-00T00:00:00Z", 7, "-0400", "-0301"),
        ("-0301-00-00T00:00:00Z", 7, "-0400", "-0301"),
        ("-13798000000-00-00T00:00:00Z", 3, "-13798999999", "-13798000000"),
    ],
)
def test_bounds(written: str, precision: int, first: str, last: str) -> None:
    assert bounds(written, precision) == (first, last)


def test_julian_date_without_gregorian_day_keeps_its_month() -> None:
    assert bounds("+1616-04-23T00:00:00Z", 11, JULIAN) == ("1616-04-23", "1616-04-23")
    assert bounds("+1600-02-29T00:00:00Z", 11, JULIAN) == ("1600-02-29", "1600-02-29")
    assert bounds("+1500-02-29T00:00:00Z", 11, JULIAN) == ("1500-02", "1500-02")


@pytest.mark.parametrize(
    ("written", "precision"),
    [("2011", 9), ("", 9), ("+2011-05-07", 11), ("+2011-05-07T00:00:00Z", 15), ("+2011-05-07T00:00:00Z", -1)],
)
def test_what_is_no_point_in_time(written: str, precision: int) -> None:
    with pytest.raises(ValueError, match="is not a point in time"):
        bounds(written, precision)


@given(
    year=st.integers(1, 10**11),
    sign=st.sampled_from("+-"),
    month=st.integers(1, 12),
    day=st.integers(1, 28),
    precision=st.integers(0, 14),
)
def test_bounds_are_dates_in_order_that_hold_what_was_written(
    year: int, sign: str, month: int, day: int, precision: int
) -> None:
    first, last = bounds(f"{sign}{year:04}-{month:02}-{day:02}T00:00:00Z", precision)
    whole = f"{'-' if sign == '-' else ''}{year:04}-{month:02}-{day:02}"
    assert first_day(first) <= first_day(whole) <= last_day(last)


@pytest.mark.parametrize(
    ("value", "precision", "calendar", "expected"),
    [
        ("2011-05-07T00:00:00Z", 11, GREGORIAN, "+2011-05-07T00:00:00Z"),
        ("0000-01-01T00:00:00Z", 9, GREGORIAN, "-0001-01-01T00:00:00Z"),
        ("-0043-01-01T00:00:00Z", 9, GREGORIAN, "-0044-01-01T00:00:00Z"),
        ("-0050-01-01T00:00:00Z", 7, GREGORIAN, "-0050-01-01T00:00:00Z"),
        ("-0043-03-13T00:00:00Z", 11, JULIAN, "-0044-03-15T00:00:00Z"),
        ("1917-11-07T00:00:00Z", 11, JULIAN, "+1917-10-25T00:00:00Z"),
        ("1582-10-15T00:00:00Z", 11, JULIAN, "+1582-10-05T00:00:00Z"),
        ("1900-03-13T00:00:00Z", 11, JULIAN, "+1900-02-29T00:00:00Z"),
        ("1917-01-01T00:00:00Z", 9, JULIAN, "+1917-01-01T00:00:00Z"),
        ("13798000000-01-01T00:00:00Z", 3, GREGORIAN, "+13798000000-01-01T00:00:00Z"),
        # What has not the form of a date in RDF stands there as in the JSON.
        ("+0000-00-00T00:00:00Z", 9, GREGORIAN, "+0000-00-00T00:00:00Z"),
        ("soon", 9, GREGORIAN, "soon"),
    ],
)
def test_from_the_form_of_rdf(value: str, precision: int, calendar: str, expected: str) -> None:
    assert written(value, precision, calendar) == expected


@pytest.mark.slow
@given(
    st.integers(-100, 2100).filter(bool),
    st.integers(1, 12),
    st.integers(1, 28),
    st.integers(0, 14),
    st.sampled_from([GREGORIAN, JULIAN]),
)
@example(1700, 2, 28, 11, JULIAN)
@example(-1, 12, 28, 11, JULIAN)
@settings(deadline=None, max_examples=40)
def test_rdf_and_json_give_the_same_bounds(year: int, month: int, day: int, precision: int, calendar: str) -> None:
    value = {"time": f"{year:+05}-{month:02}-{day:02}T00:00:00Z", "precision": precision, "calendarmodel": calendar}
    assert bounds(written(rdf_time(value), precision, calendar), precision, calendar) == bounds(
        str(value["time"]), precision, calendar
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (("2009", "2009-03-01"), "2009"),
        (("2009-12-31", "2009"), "2009-12-31"),
        (("2010-01-01", "2009"), "2010-01-01"),
        (("-0044-03", "-0044-03-15"), "-0044-03"),
    ],
)
def test_interval_several_ends_takes_the_latest_last_day(ends: tuple[str, ...], expected: str) -> None:
    for order in (ends, ends[::-1]):
        assert interval([], [(end, end) for end in order], []) == (None, expected)
