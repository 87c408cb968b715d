"""Results: tables, rows, frames, files, JSON and page follow from annotated fields."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.intervals import Mean, Points, Share
from kgprobe.base.tables import INTERNAL, Heading, ResultRow, more_note, row_dicts
from kgprobe.results.result import Listing, Result, StoredResult
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


@given(st.integers(0, 9), st.booleans())
def test_row_has_all_columns_whatever_is_missing(right: int, is_missing: bool) -> None:
    known = None if is_missing else share(right, 9)
    values = row(known).to_dict()
    assert list(values) == Row.columns() == [*COLUMNS, "loss", "loss_low", "loss_high", "rank"]
    ends = (values["known_low"], values["known"], values["known_high"])
    assert ends == ((None, None, None) if known is None else (known.low, known.value, known.high))
    assert (values["mean"], values["mean_low"], values["mean_high"]) == (None, None, None)


def test_cells_are_the_fields_with_a_heading() -> None:
    known = share(1, 2)
    assert row(known).cells() == {"name": "capital", "known": known, "rank": "#2"}


def test_more_note_is_empty_if_all_are_shown() -> None:
    assert more_note(2, [1, 2]) == []
    assert more_note(1_200, [1, 2]) == ["2 of 1,200."]


@dataclass(frozen=True, slots=True)
class Nested(ResultRow):
    best: Annotated[str | None, Heading("better than {base}", none="neither")]
    rows: tuple[Row, ...] = ()


def test_rows_within_rows_are_dictionaries() -> None:
    assert Nested("a", (row(),)).to_dict() == {"best": "a", "rows": [row().to_dict()]}
    assert row_dicts([Nested(None)]) == [{"best": None, "rows": []}]
    assert Nested.columns() == ["best", "rows"]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Detail(Result):
    lists: Annotated[Sequence[Row], Listing("In detail", detail=True)] = ()


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Sample(StoredResult):
    base: str
    margin: float
    rows_of_all: Annotated[
        Sequence[Row],
        Listing("Ranked above {base}", where=lambda row: row.rank < 3, show=2),
        Listing("", by=lambda result, row: f"{result.base}: {row.rank}"),
    ]
    best: Annotated[Sequence[Nested], Listing("Best", "The margin is {margin:.0%}.", main=True)]
    silent: Annotated[Sequence[Nested], Listing()]
    secret: Annotated[object, INTERNAL] = None
    detail: Detail | None = None

    file: ClassVar[str] = "sample"
    properties: ClassVar[Sequence[str]] = ("place",)

    @property
    def title(self) -> str:
        return f"Page of <{self.base}>"

    @property
    def place(self) -> Path:
        return Path("a")

    @property
    def counts(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Counts", optional=True, groups_by="of")]:
        return [{"of": "rows", "number": len(self.rows_of_all), "why": None}] if self.rows_of_all else []

    @property
    def last(self) -> Annotated[Sequence[Nested], Listing("Last", last=True)]:
        return self.best

    def summary(self) -> str:
        return f"{len(self.best)} best."


def sample() -> Sample:
    rows = [row(share(1, 2)), row(), row(), Row("P1", "other", None, None, Points(0), 3)]
    best, detail = [Nested(None)], Detail(lists=[row()])
    return Sample(base="b", margin=0.02, rows_of_all=rows, best=best, silent=[Nested("a")], detail=detail, notes=["N."])


TABLES = [
    ("counts", "Counts", 1, ["of", "number"], []),
    ("rows_of_all", "Ranked above b", 2, ["name", "known", "rank"], ["2 of 3."]),
    ("rows_of_all", "b: 2", 3, ["name", "known", "rank"], []),
    ("rows_of_all", "b: 3", 1, ["name", "known", "rank"], []),
    ("best", "Best", 1, ["better than b"], ["The margin is 2%."]),
    ("last", "Last", 1, ["better than b"], []),
    ("lists", "In detail", 1, ["name", "known", "rank"], []),
]


def test_tables_are_declared_on_fields_and_properties() -> None:
    tables = sample().tables()
    assert [(table.key, table.title, len(table.rows), table.columns, list(table.notes)) for table in tables] == TABLES
    assert [table.detail for table in tables] == [table.key == "lists" for table in tables]
    assert tables[0].groups_by == "of"
    printed = repr(sample())
    places = [printed.index(text) for text in ("N.", *(f"\n{title}\n" for _, title, *_ in TABLES), "1 best.")]
    assert places == sorted(places)
    captions = re.findall("<caption>(.*?)</caption>", sample()._repr_html_())
    assert captions == [title for _, title, *_ in TABLES]


def test_result_for_programs_has_all_fields() -> None:
    found = json.loads(json.dumps(sample().to_dict()))
    assert (found["summary"], found["place"], found["margin"], found["notes"]) == ("1 best.", "a", 0.02, ["N."])
    assert found["rows_of_all"][0] == row(share(1, 2)).to_dict()
    assert (found["detail"], found["config"]) == ({"lists": [row().to_dict()], "notes": []}, {})
    assert "secret" not in found
    assert (sample().rows(), len(sample()), sample().columns) == ([{"best": None, "rows": []}], 1, ["best", "rows"])


@pytest.mark.parametrize("is_empty", [False, True])
def test_files_have_the_rows_of_every_field(is_empty: bool, tmp_path: Path) -> None:
    result = Sample(base="b", margin=0.5, rows_of_all=[], best=[], silent=[]) if is_empty else sample()
    page = result.page(tmp_path).read_text(encoding="utf-8")
    names = {"counts", "rows_of_all", "best", "silent", "last"} | ({"detail_lists"} if not is_empty else set())
    files = {"sample.html", "sample.json"} | {f"{name}.csv" for name in names}
    assert {path.name for path in tmp_path.iterdir()} == files
    assert list(pd.read_csv(tmp_path / "rows_of_all.csv").columns) == Row.columns()
    assert json.loads((tmp_path / "sample.json").read_text()) == json.loads(json.dumps(result.to_dict()))
    assert "Page of &lt;b" in page
    # Nothing is loaded by a page without plots.
    assert "<script" not in page
    assert (result.tables() == [], list(result.to_frame().columns)) == (is_empty, ["best", "rows"])


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Single(Result):
    known: Annotated[Share, Heading("known")]


def test_result_without_rows_is_one_row() -> None:
    single = Single(known=share(1, 2), notes=["Not a column."])
    assert (len(single), single.columns) == (1, ["known", "known_low", "known_high"])
    assert (single.headed(), single.rows()[0]["known"]) == ({"known": share(1, 2)}, 0.5)
