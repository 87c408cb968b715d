"""Tables on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from kgprobe.report.cells import numeric_columns, rounded, shown
from kgprobe.report.rows import table as rows_table
from kgprobe.sanitize import visible
from kgprobe.tables import Table

# Rows with the same cell in the column that they are grouped by.
_SHOWN_OF_A_GROUP = 2
# Characters beside a column's text.
_PADDING = 2
_LONGEST_WORD = 20
# Rows of a table that is too wide, at most, for a block of lines each.
_MOST_RECORDS = 6


def rich_table(table: Table) -> RenderableType:
    """Return a table with its notes, without repeated cells of the column that it is grouped by.

    Neither numbers nor words of up to 20 characters are broken. A table of few rows that is too wide for that has its
    columns below one another.
    """
    return _Fitted(table)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A table that is drawn for the width of its console."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        numeric = numeric_columns(self.table)
        widths = {name: _least_width(self.table, name, name in numeric) for name in self.table.columns}
        fits = sum(widths.values()) + _PADDING * len(widths) <= options.max_width
        if not fits and len(self.table.rows) <= _MOST_RECORDS:
            yield _records(self.table)
        else:
            yield _columns(self.table, widths if fits else {})


def _least_width(table: Table, name: str, is_numeric: bool) -> int:
    """Return the width of a column in which no number and no word of up to 20 characters is broken."""
    cells = [shown(row.get(name)) for row in table.rows]
    parts = [part for cell in cells for part in ([cell] if is_numeric else cell.split())]
    return max((min(cell_len(part), _LONGEST_WORD) for part in (*parts, *name.split())), default=1)


def _records(table: Table) -> RichTable:
    """Return a table with a block of lines for each row: the name of a column, and its cell."""
    drawn = _begun(table)
    drawn.show_header = False
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for row in table.rows:
        for name in table.columns:
            is_last = name == table.columns[-1]
            drawn.add_row(Text(visible(name)), Text(visible(shown(row.get(name)))), end_section=is_last)
    return drawn


def _begun(table: Table) -> RichTable:
    """Return a table with title and notes."""
    title = Text(visible(table.title), style="table.title")
    drawn = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    if table.notes:
        drawn.caption, drawn.caption_justify = Text(visible(" ".join(table.notes)), style="table.caption"), "left"
    return drawn


def _columns(table: Table, widths: Mapping[str, int]) -> RichTable:
    """Return a table with a line for each row.

    Args:
        widths: the least width of each column; without, a column is as wide as there is room for.
    """
    drawn = _begun(table)
    numeric = numeric_columns(table)
    for name in table.columns:
        justify: JustifyMethod = "right" if name in numeric else "left"
        drawn.add_column(Text(visible(name)), justify=justify, overflow="fold", min_width=widths.get(name))
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
