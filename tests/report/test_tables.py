"""Tables on the terminal: cells, sides, groups, notes."""

import io
import re
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from kgprobe.estimates import Mean, Share
from kgprobe.report.cells import is_number, numeric_columns, share_columns, shown
from kgprobe.report.tables import notes_of, reasons_note, rich_table
from kgprobe.tables import Table

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
        (["a", None], '["a", null]'),
    ],
)
def test_a_cell_as_people_read_it(value: Any, text: str) -> None:
    assert shown(value) == text
    assert is_number(value) == (not isinstance(value, bool) and isinstance(value, (int, float, Share, Mean)))


def test_a_column_is_judged_by_all_of_its_rows() -> None:
    rows = [{"a": None, "b": 1, "c": None, "d": "x"}, {"a": Share(0.5, 0, 1), "b": "one", "c": None}]
    table = Table("key", "Title", rows)
    assert numeric_columns(table) == {"a", "c"}
    assert share_columns(table) == {"a"}
    columns = {str(column.header): column.justify for column in rich_table(table).columns}
    assert columns == {"a": "right", "b": "left", "c": "right", "d": "left"}


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


def test_a_table_without_notes_has_none() -> None:
    assert rich_table(Table("none", "Nothing here", [])).caption is None


def test_reasons_are_told_in_their_order_and_not_all_of_them() -> None:
    reasons = {"no name": 1_234, "no type": 2} | {f"reason {n}": 1 for n in range(8)}
    assert reasons_note(reasons) == (
        "Not askable: 1,234: no name; 2: no type; 1: reason 0; 1: reason 1; 1: reason 2; 1: reason 3; 1: reason 4;"
        " 1: reason 5; and 2 more reasons"
    )
    assert reasons_note({"it hung up": 3}, "No answer came") == "No answer came: 3: it hung up"
    assert reasons_note(reasons, at_most=10).endswith("1: reason 7")
