"""Tables before they are drawn: flat for programs, with what makes an interval beside its value."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.intervals import Mean, Share
from kgprobe.base.tables import Table, flat_row
from kgprobe.stats.proportions import share

cells = some.none() | some.text("ab", max_size=5) | some.integers() | some.floats(allow_nan=False, allow_infinity=False)
intervals = some.builds(Share, *[some.floats(0, 1)] * 3) | some.builds(Mean, *[some.floats(-9, 9)] * 3)
rows = some.dictionaries(some.text("abc", min_size=1, max_size=3), cells | intervals, max_size=4)


@given(rows)
def test_flat_row_has_every_cell_and_the_ends_of_intervals(row: dict[str, object]) -> None:
    flat = flat_row(row)
    expected = {}
    for name, value in row.items():
        if isinstance(value, (Share, Mean)):
            expected |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            expected[name] = value
    assert flat == expected
    # In the order of the row, an interval's ends behind its value.
    assert list(flat) == list(expected)


def test_table_as_json_and_as_pandas() -> None:
    rows = [{"kind": "wh", "right": share(3, 4), "n": 1}, {"kind": "yes/no", "right": None, "n": 2}]
    table = Table("kinds", "By kind", rows, ["A note."])
    assert table.columns == ["kind", "right", "n"]
    told = table.to_dict()
    assert told["title"] == "By kind"
    assert told["notes"] == ["A note."]
    assert told["rows"][0] == {
        "kind": "wh",
        "right": 0.75,
        "right_low": share(3, 4).low,
        "right_high": share(3, 4).high,
    } | {"n": 1}
    assert told["rows"][1] == {"kind": "yes/no", "right": None, "n": 2}
    assert json.loads(msgspec.json.encode(told)) == told
    frame = table.to_frame()
    assert list(frame.columns) == ["kind", "right", "right_low", "right_high", "n"]
    assert frame["right"].tolist()[0] == 0.75
    assert frame["right"].isna().tolist() == [False, True]


def test_table_without_rows_has_no_columns() -> None:
    table = Table("none", "Nothing", [])
    assert table.columns == []
    assert table.to_dict() == {"title": "Nothing", "rows": [], "notes": []}
    assert table.to_frame().empty


@pytest.mark.parametrize(
    ("value", "text"),
    [(Share(0.5, 0.25, 0.754), "50% [25, 75]"), (Mean(0.12345, 0, 1), "0.123 [0.000, 1.000]")],
)
def test_interval_as_text(value: Share | Mean, text: str) -> None:
    assert str(value) == text
