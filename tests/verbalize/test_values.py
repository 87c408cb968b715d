"""Values in texts: a table of spellings, conversions, and invariants."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.verbalize.answers import named_in, near_values
from kgprobe.verbalize.values import Agreement, as_value, compare, values_in

SPELLINGS = Path(__file__).parent.parent / "data" / "value_spellings.tsv"
TITLES = ("50 Cent", "8 Mile", "21 Grams", "127 Hours")
MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield wanted values with the agreement of a spelling: right, near or none."""
    for line in SPELLINGS.read_text(encoding="utf-8").splitlines():
        wanted, agreement, spelling = line.split("\t")
        yield wanted, agreement, spelling


def agreement_of(spelling: str, wanted: str, tolerance: float | None = None) -> Agreement:
    value = as_value(wanted)
    assert value is not None
    return max((compare(said, value, tolerance) for said in values_in(spelling)), default=Agreement.NONE)


def test_values_in_each_spelling_agree_as_listed() -> None:
    listed = list(rows())
    assert len(listed) >= 300
    differing = [(row, found) for row in listed if (found := agreement_of(row[2], row[0]).name.lower()) != row[1]]
    assert not differing


def test_named_in_and_near_values_read_each_spelling_alike() -> None:
    for wanted, agreement, spelling in rows():
        assert bool(named_in(spelling, [wanted])) == (agreement == "right"), spelling
        assert bool(near_values(spelling, [wanted])) == (agreement == "near"), spelling


@given(st.dates(), st.sampled_from(["{d} {m} {y}", "{m} {d}, {y}", "{y:04}-{n:02}-{d:02}", "the {d}th of {m} {y}"]))
def test_date_in_any_order_is_its_own_day_alone(date: object, form: str) -> None:
    day = vars_of(date)
    label = "{d} {m} {y}".format(**day)
    assert agreement_of(form.format(**day), label) is Agreement.RIGHT
    other = {**day, "d": day["d"] % 28 + 1}
    assert agreement_of(form.format(**other), label) is Agreement.NONE


def vars_of(date: object) -> dict[str, object]:
    return {"d": date.day, "n": date.month, "m": MONTHS[date.month - 1], "y": max(date.year, 1000)}  # type: ignore[attr-defined]


@given(st.integers(min_value=10_000, max_value=10**12))
def test_whole_number_agrees_with_itself_in_groups_of_three(number: int) -> None:
    assert agreement_of(f"{number:,}", str(number)) is Agreement.RIGHT
    assert agreement_of(f"{number:_}".replace("_", " "), str(number)) is Agreement.RIGHT
    assert agreement_of(f"{number * 3:,}", str(number)) is Agreement.NONE


@pytest.mark.parametrize(
    ("tolerance", "expected"), [(0.02, Agreement.RIGHT), (0.005, Agreement.NEAR), (0.0001, Agreement.NONE)]
)
def test_tolerance_is_relative_and_ten_times_is_near(tolerance: float, expected: Agreement) -> None:
    assert agreement_of("4,100,000", "4053123", tolerance) is expected


@pytest.mark.parametrize(
    "name", ["Apollo 11", "12 Angry Men", "May", "Seven", "Route 66", "2001: A Space Odyssey", "C5", "", *TITLES]
)
def test_name_that_is_more_than_a_value_is_no_value(name: str) -> None:
    assert as_value(name) is None


@pytest.mark.parametrize("text", ["10 in the morning", "5 peas", "12 cats", "3 at most", "20 a day", "7 to go"])
def test_word_that_pint_could_read_is_no_unit(text: str) -> None:
    assert [value.unit for value in values_in(text)] == [""]
