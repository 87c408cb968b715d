"""Rows of results: columns for programs, cells for people, from fields that are annotated once."""

from dataclasses import dataclass
from typing import Annotated

from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.intervals import Mean, Points, Share
from kgprobe.base.tables import Heading, ResultRow, more_note, row_dicts, row_frame, row_table
from kgprobe.stats.proportions import share


@dataclass(frozen=True, slots=True)
class Row(ResultRow):
    id: str
    label: Annotated[str, Heading("name")]
    known: Annotated[Share | None, Heading("known")]
    mean: Mean | None
    loss: Points
    rank: Annotated[int, Heading("rank", lambda value: f"#{value}")]


def row(known: Share | None = None, mean: Mean | None = None) -> Row:
    return Row("P36", "capital", known, mean, Points(0.5), 2)


COLUMNS = ["id", "label", "known", "known_low", "known_high", "mean", "mean_low", "mean_high"]


def test_columns_have_the_ends_of_intervals() -> None:
    assert Row.columns() == [*COLUMNS, "loss", "loss_low", "loss_high", "rank"]


@given(st.integers(0, 9), st.booleans())
def test_row_has_all_columns_whatever_is_missing(right: int, is_missing: bool) -> None:
    known = None if is_missing else share(right, 9)
    values = row(known).to_dict()
    assert list(values) == Row.columns()
    ends = (values["known_low"], values["known"], values["known_high"])
    assert ends == ((None, None, None) if known is None else (known.low, known.value, known.high))
    assert (values["mean"], values["mean_low"], values["mean_high"]) == (None, None, None)


def test_cells_are_the_fields_with_a_heading() -> None:
    known = share(1, 2)
    assert row(known).cells() == {"name": "capital", "known": known, "rank": "#2"}


def test_table_and_rows_come_from_the_same_rows() -> None:
    table = row_table("runs", "Runs", [row(), row()], ["A note."])
    assert (table.columns, len(table.rows), table.notes) == (["name", "known", "rank"], 2, ["A note."])
    assert row_dicts([row()]) == [row().to_dict()]


def test_more_note_is_empty_if_all_are_shown() -> None:
    assert more_note(2, [1, 2]) == []
    assert more_note(1_200, [1, 2]) == ["2 of 1,200."]


@dataclass(frozen=True, slots=True)
class Nested(ResultRow):
    best: Annotated[str | None, Heading("better than {other}", none="neither")]
    rows: tuple[Row, ...]


def test_headings_take_names_and_none_has_its_own_cell() -> None:
    assert Nested(None, ()).cells({"other": "b"}) == {"better than b": "neither"}
    table = row_table("nested", "", [Nested("a", ()), Nested(None, ())], limit=1, other="b")
    assert (table.rows, table.notes) == ([{"better than b": "a"}], ["1 of 2."])


def test_rows_within_rows_are_dictionaries() -> None:
    assert Nested("a", (row(),)).to_dict() == {"best": "a", "rows": [row().to_dict()]}
    assert Nested.columns() == ["best", "rows"]
    assert (len(row_frame([], Nested)), [*row_frame([], Nested).columns]) == (0, ["best", "rows"])
