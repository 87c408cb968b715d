"""Tables on the terminal."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from kgprobe.report.cells import numeric_columns, rounded, shown
from kgprobe.report.rows import table as rows_table
from kgprobe.tables import Table
from kgprobe.texts import visible

# Rows with the same cell in the column that they are grouped by.
_SHOWN_OF_A_GROUP = 2


def rich_table(table: Table) -> RichTable:
    """A table with its notes; repeated cells of the column that it is grouped by are left out."""
    title = Text(visible(table.title), style="table.title")
    drawn = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = numeric_columns(table)
    for name in table.columns:
        drawn.add_column(Text(visible(name)), justify="right" if name in numeric else "left", overflow="fold")
    before, repeated = None, 0
    for row in table.rows:
        group = row.get(table.groups_by) if table.groups_by else None
        repeated = repeated + 1 if group is not None and group == before else 0
        before = group
        if repeated >= _SHOWN_OF_A_GROUP:
            continue
        cells = [
            "" if repeated and (name == table.groups_by or name in numeric) else shown(row.get(name))
            for name in table.columns
        ]
        drawn.add_row(*map(Text, cells))
    if table.notes:
        drawn.caption, drawn.caption_justify = Text(visible(" ".join(table.notes)), style="table.caption"), "left"
    return drawn


def lined_table(table: Table) -> RenderableType:
    """A table of single things, say of distractors: all of its rows, with lines around them, and its notes below."""
    drawn, _ = rows_table(table.columns, map(dict, table.rows), len(table.rows), tell=rounded)
    title = [Text(visible(table.title), style="bold")] if table.title else []
    return Group(*title, drawn, *notes_of(table.notes))


def reasons_note(reasons: Mapping[str, int], said: str = "Not askable", at_most: int = 8) -> str:
    """Why facts have no answer, the most frequent reasons first.

    Args:
        reasons: how many facts each is of, as ordered.
        said: what is the matter with them.
    """
    listed = "; ".join(f"{count:,}: {reason}" for reason, count in list(reasons.items())[:at_most])
    more = f"; and {len(reasons) - at_most} more reasons" if len(reasons) > at_most else ""
    return f"{said}: {listed}{more}"


def notes_of(notes: Sequence[str]) -> list[Text]:
    """Sentences below a table."""
    return [Text(visible(note)) for note in notes]
