"""Rows of a query: as a table for people, as JSON, JSON lines or CSV for programs."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, TextIO

import msgspec
from neo4j.graph import Path
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kgprobe.base.sanitize import spreadsheet_cell, visible
from kgprobe.graph.client import Row
from kgprobe.graph.values import cell, plain

# A column narrower than this is unreadable for long cells; and the width of its borders.
_READABLE = 12
_BORDERS = 3
# Before the second line of a row, and between its values.
_INDENT, _BETWEEN = "    ", " · "


def table(
    columns: Sequence[str],
    rows: Iterable[Row],
    limit: int | None,
    width: int | None = None,
    format_cell: Callable[[Any], str] = cell,
) -> tuple[RenderableType, int]:
    """Return a table of the first rows, or of all without a limit, and the total number of rows; all are read.

    Columns of paths are left out if there are others, because paths are meant to be drawn.

    Args:
        width: of the terminal, in characters. If columns would be too narrow to read, each row becomes two lines, see
            :class:`TwoLines`. None folds columns to any width.
        format_cell: formats a value; the default is Cypher's notation.
    """

    def formatted(value: Any) -> Text:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return Text(format_cell(value), justify="right" if is_number else "left")

    remaining = iter(rows)
    first = list(islice(remaining, limit))
    columns = [column for column in columns if not _has_paths(column, first)] or columns
    names = list(map(visible, columns))
    cells = [list(map(formatted, map(row.__getitem__, columns))) for row in first]
    drawn = _grid(names, cells) if width is None or _fits(names, cells, width) else _two_lines(names, cells)
    return drawn, len(first) + sum(1 for _ in remaining)


def _has_paths(column: str, rows: Sequence[Row]) -> bool:
    """Return True if a column has values and all of them are paths."""
    values = [row[column] for row in rows if row[column] is not None]
    return bool(values) and all(isinstance(value, Path) for value in values)


def _grid(names: Sequence[str], rows: Sequence[Sequence[Text]]) -> Table:
    grid = Table()
    for name in names:
        grid.add_column(Text(name), overflow="fold")
    for cells in rows:
        grid.add_row(*cells)
    return grid


def _fits(names: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> bool:
    """Return True if each column has room for its name and its cells, or for a readable part of long cells."""
    needed = _BORDERS * len(names) + 1
    for place, name in enumerate(names):
        longest = max([len(name), *(len(cells[place]) for cells in rows)])
        needed += max(len(name), min(longest, _READABLE))
    return needed <= width


def _two_lines(names: Sequence[str], rows: Sequence[Sequence[Text]]) -> RenderableType:
    return TwoLines(names, [list(map(attrgetter("plain"), cells)) for cells in rows])


@dataclass(frozen=True, slots=True)
class TwoLines:
    """Rows that are too wide for a table: the first value of each, and below it the others with their names."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first, *others = self.names
        for value, *values in self.rows:
            yield Text.assemble((f"{first}: ", "bold"), value)
            pairs = [f"{name}: {own}" for name, own in zip(others, values, strict=True)]
            for line in _packed(pairs, options.max_width - len(_INDENT)):
                yield Padding(Text(line), (0, 0, 0, len(_INDENT)))


def _packed(pairs: Sequence[str], width: int) -> Iterator[str]:
    """Yield lines of whole pairs, as many as fit; a longer pair has a line of its own."""
    line = ""
    for pair in pairs:
        if line and cell_len(line) + len(_BETWEEN) + cell_len(pair) > width:
            yield line
            line = ""
        line = f"{line}{_BETWEEN}{pair}" if line else pair
    if line:
        yield line


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Yield one JSON object per row, without line ends; NaN and infinities become null."""
    for row in rows:
        yield msgspec.json.encode(plain(row)).decode()


def write_json(rows: Iterable[Row], out: TextIO) -> None:
    """Write the rows as one JSON list, one per line; NaN and infinities become null."""
    out.write("[")
    for number, line in enumerate(json_lines(rows)):
        out.write(f"{',' if number else ''}\n{line}")
    out.write("\n]\n")


def write_csv(columns: Sequence[str], rows: Iterable[Row], out: TextIO) -> None:
    """Write a header and one line per row (RFC 4180); lists, maps, nodes and relationships as JSON, null as empty.

    Formulas of spreadsheets are quoted; on a terminal, control characters are escaped instead.
    """
    is_terminal = out.isatty()

    def written(value: Any) -> Any:
        if isinstance(value, (dict, list, bool)):
            value = msgspec.json.encode(value).decode()
        return visible(value) if is_terminal and isinstance(value, str) else spreadsheet_cell(value)

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(written, columns))
    for row in rows:
        writer.writerow([written(plain(row[column])) for column in columns])
