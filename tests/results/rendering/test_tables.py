"""Tables on the terminal: cells, sides, groups, notes."""

import io
import re
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from kgprobe.base.intervals import Mean, Percent, Points, Share
from kgprobe.base.tables import Table
from kgprobe.results.rendering.tables import (
    is_number,
    notes_of,
    numeric_columns,
    reasons_note,
    rich_table,
    share_columns,
    shown,
)

NUMBERS = (int, float, Share, Mean, Percent, Points)
EVIL = "[bold]markup[/bold] [/red] \x1b[31mred\x1b[0m"


def drawn(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=False).print(rich_table(table))
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (0.12345, "0.123"),
        (12345, "12,345"),
        (True, "true"),
        ("it\nis", r"it\nis"),
        (Share(0.5, 0.25, 0.75), "50% [25, 75]"),
        (Mean(0.5, 0.25, 0.75), "0.500 [0.250, 0.750]"),
        (Percent(0.716), "72%"),
        (Points(-0.0123), "-1.2"),
        (Points(0.0123, -0.041, 0.05), "+1.2 [-4.1, +5.0]"),
        (["a", None], '["a", null]'),
    ],
)
def test_cell_as_people_read_it(value: Any, text: str) -> None:
    assert shown(value) == text
    assert is_number(value) == (not isinstance(value, bool) and isinstance(value, NUMBERS))


def test_column_is_judged_by_all_of_its_rows() -> None:
    rows = [{"a": None, "b": 1, "c": None, "d": "x"}, {"a": Share(0.5, 0, 1), "b": "one", "c": None}]
    table = Table("key", "Title", rows)
    assert numeric_columns(table) == {"a", "c"}
    assert share_columns(table) == ["a"]
    header, _, first, second = drawn(table).splitlines()[2:6]
    # Numbers stand on the right, under the end of their column's name; texts on the left.
    assert header.index("a") == second.index("50% [0, 100]") + len("50% [0, 100]") - 1
    assert header.index("b") == second.index("one") == first.index("1")


def test_what_is_in_a_table_is_text() -> None:
    text = drawn(Table("key", f"Title {EVIL}", [{f"column {EVIL}": EVIL}], [f"Note {EVIL}", "Another."]))
    assert text.count(r"[bold]markup[/bold] [/red] \x1b[31mred\x1b[0m") == 4
    assert "\x1b" not in text
    assert "Another." in text
    told = notes_of([EVIL])
    assert [str(note) for note in told] == [r"[bold]markup[/bold] [/red] \x1b[31mred\x1b[0m"]
    assert all(isinstance(note, Text) for note in told)


def test_repeated_cells_of_a_group_are_left_out() -> None:
    rows = [
        {"class": name, "answers": count, "said": f"{name} {number}"}
        for name, count, numbers in (("factual", 20, 4), ("refused", 5, 1), ("factual", 3, 1))
        for number in range(numbers)
    ]
    text = drawn(Table("errors", "Errors", rows, groups_by="class"))
    cells = [line.split() for line in text.splitlines() if re.search(r"\d", line)]
    assert cells == [
        ["factual", "20", "factual", "0"],
        ["factual", "1"],
        ["refused", "5", "refused", "0"],
        # It is another group where it comes again.
        ["factual", "3", "factual", "0"],
    ]
    every = drawn(Table("errors", "Errors", rows))
    assert len(re.findall(r"factual [0-3]", every)) == 5


def test_table_without_notes_has_none() -> None:
    assert drawn(Table("none", "Nothing here", [{"a": 1}])).split()[-1] == "1"


WIDE = {
    "first": "base.distractors-20261123-0a1b2c3d",
    "second": "tuned.distractors-20261123-4e5f6a7b",
    "second - first": Points(-0.0123, -0.041, 0.02),
    "first alone": 12,
    "second alone": 7,
    "p": 0.359,
    "better": "neither",
    "ties": "11 of 12 relations",
    "detectable": Points(0.042),
    "by guessing": Percent(0.0909),
}


@pytest.mark.parametrize("rows", [1, 3, 12])
def test_wide_table_breaks_no_number(rows: int) -> None:
    text = drawn(Table("pairs", "Differences", [WIDE] * rows, ["A note."]))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "A note." in text
    # The first column, and below it whole cells with their keys, since all columns have no room next to one another.
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("first: base.distractors-20261123-0a1b2c3d") == rows
    pairs = [pair for line in lines for pair in line.split(" · ")]
    for name, value in WIDE.items():
        assert pairs.count(f"{name}: {shown(value)}") == rows


def test_table_with_many_numbers_is_not_cut() -> None:
    rates = {f"rate {number}": Share(0.5, 0.25, 0.75) for number in range(4)}
    for width in range(30, 100):
        out = io.StringIO()
        Console(file=out, width=width).print(
            rich_table(Table("wide", "Wide", [{"relation": "shares border with"} | rates]))
        )
        assert out.getvalue().count("50% [25, 75]") == 4, width


def test_table_that_fits_breaks_no_word() -> None:
    rows = [{"relation": "shares border with the neighbouring country " * 3, "ties": "11 of 12", "loss": Points(0.1)}]
    rows += [{"relation": "incomprehensibility", "ties": None, "loss": Points(-0.2, -0.3, -0.1)}]
    text = drawn(Table("some", "Some", rows))
    assert "incomprehensibility" in text
    assert "-20.0 [-30.0, -10.0]" in text
    assert text.count("neighbouring") == 3


def test_reasons_are_told_in_their_order_and_not_all_of_them() -> None:
    reasons = {"no name": 1_234, "no type": 2} | {f"reason {n}": 1 for n in range(8)}
    assert reasons_note(reasons) == (
        "Not askable: 1,234: no name; 2: no type; 1: reason 0; 1: reason 1; 1: reason 2; 1: reason 3; 1: reason 4;"
        " 1: reason 5; and 2 more reasons"
    )
    assert reasons_note({"it hung up": 3}, "No answer came") == "No answer came: 3: it hung up"
    assert reasons_note(reasons, at_most=10).endswith("1: reason 7")
