"""Tables on the terminal, and the texts of their cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from kgprobe.base.intervals import Mean, Percent, Points, Share
from kgprobe.base.sanitize import visible
from kgprobe.base.tables import Table
from kgprobe.graph.values import cell
from kgprobe.results.rendering.rows import TwoLines

# Maximum number of rows with the same cell in the grouping column.
_SHOWN_OF_A_GROUP = 2
# Padding and border of a column in characters.
_BORDER = 3
_LONGEST_WORD = 20


def shown(value: Any) -> str:
    """Return a cell's text: numbers with three decimals or their interval, a dash for None.

    >>> shown(0.25), shown(7e-24), shown(None), shown(1234)
    ('0.250', '≈ 0', '—', '1,234')
    """
    if value is None:
        return "—"
    if isinstance(value, (Share, Mean, Percent, Points)):
        return str(value)
    if isinstance(value, float):
        return "≈ 0" if 0 < abs(value) < 0.0005 else f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return cell(value)


def is_number(value: Any) -> bool:
    """Return True for numbers, which are aligned to the right."""
    return isinstance(value, (int, float, Share, Mean, Percent, Points)) and not isinstance(value, bool)


def numeric_columns(table: Table) -> set[str]:
    """Return the columns that contain only numbers and None."""
    columns = set(table.columns)
    for row in table.rows:
        columns -= {name for name, value in row.items() if not (value is None or is_number(value))}
    return columns


def share_columns(table: Table) -> list[str]:
    """Return the columns that contain a share, in order."""
    return [name for name in table.columns if any(isinstance(row.get(name), Share) for row in table.rows)]


def rich_table(table: Table) -> RenderableType:
    """Return a table with its notes, without repeated cells of the grouping column.

    Numbers and words of up to 20 characters are not broken. A table that is too wide for that has two lines a row, see
    :class:`~kgprobe.results.rendering.rows.TwoLines`.
    """
    return _Fitted(table)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A table that adapts to the width of its console."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _BORDER * len(self.table.columns)
        widths = _widths(self.table, room)
        if sum(widths.values()) <= room:
            yield _columns(self.table, widths)
            return
        yield Text(visible(self.table.title), style="table.title")
        names = list(map(visible, self.table.columns))
        rows = []
        for row, _ in _rows(self.table):
            rows.append([visible(shown(row.get(name))) for name in self.table.columns])
        yield TwoLines(names, rows)
        yield from notes_of([" ".join(self.table.notes)] if self.table.notes else [])
        yield Text()


def _widths(table: Table, room: int) -> dict[str, int]:
    """Return widths of columns that break no number and no word of up to 20 characters; more where there is room."""
    numeric = numeric_columns(table)
    least = {name: _least_width(table, name, name in numeric) for name in table.columns}
    longest = {name: max(map(cell_len, (visible(name), *_texts(table, name)))) for name in table.columns}
    needed = sum(longest.values()) - sum(least.values())
    left = max(0, min(needed, room - sum(least.values())))
    return {name: width + (longest[name] - width) * left // max(1, needed) for name, width in least.items()}


def _texts(table: Table, name: str) -> list[str]:
    return [visible(shown(row.get(name))) for row in table.rows]


def _least_width(table: Table, name: str, is_numeric: bool) -> int:
    """Return the width at which a column's numbers, and words of up to 20 characters, are not broken."""
    parts = name.split()
    for text in _texts(table, name):
        parts += [text] if is_numeric else text.split()
    return max((min(cell_len(part), _LONGEST_WORD) for part in parts), default=1)


def _rows(table: Table) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield the rows that people read, and True for those that repeat the group of the row before."""
    before, repeated = None, 0
    for row in table.rows:
        group = row.get(table.groups_by) if table.groups_by else None
        repeated = repeated + 1 if group is not None and group == before else 0
        before = group
        if repeated < _SHOWN_OF_A_GROUP:
            yield row, bool(repeated)


def _columns(table: Table, widths: Mapping[str, int]) -> RichTable:
    """Return a table with a line for each row, its title and notes."""
    title = Text(visible(table.title), style="table.title")
    drawn = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    if table.notes:
        drawn.caption, drawn.caption_justify = Text(visible(" ".join(table.notes)), style="table.caption"), "left"
    numeric = numeric_columns(table)
    for name in table.columns:
        justify: JustifyMethod = "right" if name in numeric else "left"
        drawn.add_column(Text(visible(name)), justify=justify, overflow="fold", width=widths[name])
    for row, repeats in _rows(table):
        cells = [
            "" if repeats and (name == table.groups_by or name in numeric) else shown(row.get(name))
            for name in table.columns
        ]
        drawn.add_row(*map(Text, cells))
    return drawn


def reasons_note(reasons: Mapping[str, int], title: str = "Not askable", at_most: int = 8) -> str:
    """Return a note on facts without answers, the most frequent reasons first."""
    listed = "; ".join(f"{count:,}: {reason}" for reason, count in list(reasons.items())[:at_most])
    more = f"; and {len(reasons) - at_most} more reasons" if len(reasons) > at_most else ""
    return f"{title}: {listed}{more}"


def notes_of(notes: Sequence[str]) -> list[Text]:
    """Return notes below a table."""
    return [Text(visible(note)) for note in notes]
