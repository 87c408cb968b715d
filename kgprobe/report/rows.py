"""Rows of a query as a table for people, as JSON, JSON lines or CSV for programs."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

import msgspec
from neo4j.graph import Path
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.graph.client import Row
from kgprobe.graph.values import cell, plain
from kgprobe.sanitize import spreadsheet_cell, visible

# So many characters of a long cell can be read in a column; what lines take beside each.
_READABLE = 12
_BORDERS = 3


def table(
    columns: Sequence[str],
    rows: Iterable[Row],
    limit: int | None,
    width: int | None = None,
    tell: Callable[[Any], str] = cell,
) -> tuple[RenderableType, int]:
    """A table of the first rows, all where there is no limit, and how many there were in all; every row is read.

    A column of paths is left out where there are others, which tell the same: paths are to be drawn.

    Args:
        width: of the terminal, in characters: where the columns would be too narrow to be read, a row is shown as a
            list of its values, one a line. None folds them however narrow they are.
        tell: makes a cell of a value; as it is, in the manner of Cypher.
    """
    remaining = iter(rows)
    first = list(islice(remaining, limit))
    columns = [one for one in columns if not _drawn(row[one] for row in first)] or columns
    shown = [[row[column] for column in columns] for row in first]
    names = [visible(column) for column in columns]
    told = [[tell(value) for value in values] for values in shown]
    drawn = _records(names, told) if width is not None and not _fits(names, told, width) else _grid(names, shown, told)
    return drawn, len(shown) + sum(1 for _ in remaining)


def _drawn(column: Iterable[Any]) -> bool:
    """Whether all values of a column that are there are paths, of one at least."""
    values = [value for value in column if value is not None]
    return bool(values) and all(isinstance(value, Path) for value in values)


def _grid(names: Sequence[str], rows: Sequence[Sequence[Any]], told: Sequence[Sequence[str]]) -> Table:
    grid = Table()
    for name in names:
        grid.add_column(Text(name), overflow="fold")
    for values, cells in zip(rows, told, strict=True):
        grid.add_row(*(Text(text, justify=_side(value)) for value, text in zip(values, cells, strict=True)))
    return grid


def _fits(names: Sequence[str], told: Sequence[Sequence[str]], width: int) -> bool:
    """Whether each column has room for its name and for what is short, or for a good part of what is long."""
    longest = [max(map(len, column)) for column in zip(names, *told, strict=True)]
    return (
        sum(max(len(name), min(size, _READABLE)) for name, size in zip(names, longest, strict=True))
        + (_BORDERS * len(names) + 1)
        <= width
    )


def _records(names: Sequence[str], told: Sequence[Sequence[str]]) -> RenderableType:
    """Each row as a block of its names and values."""
    blocks: list[RenderableType] = []
    for number, cells in enumerate(told, start=1):
        block = Table.grid(padding=(0, 2, 0, 0))
        block.add_column(style="bold", no_wrap=True)
        block.add_column(overflow="fold")
        for name, text in zip(names, cells, strict=True):
            block.add_row(Text(name), Text(text))
        blocks += [Text(f"── {number}", style="dim"), block]
    return Group(*blocks)


def _side(value: Any) -> Any:
    return "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """One JSON object a row, without line ends; what has no number (NaN, infinities) is null."""
    for row in rows:
        yield msgspec.json.encode(plain(row)).decode()


def write_json(rows: Iterable[Row], out: TextIO) -> None:
    """Write one JSON list of the rows, a line each; what has no number (NaN, infinities) is null."""
    out.write("[")
    for number, line in enumerate(json_lines(rows)):
        out.write(f"{',' if number else ''}\n{line}")
    out.write("\n]\n")


def write_csv(columns: Sequence[str], rows: Iterable[Row], out: TextIO) -> None:
    """A header and one line a row (RFC 4180); lists, maps, nodes and relationships stand as JSON, null as nothing.

    Formulas of spreadsheets are quoted; on a terminal, what would steer it is written out instead.
    """
    watched = out.isatty()

    def written(value: Any) -> Any:
        return visible(value) if watched and isinstance(value, str) else spreadsheet_cell(value)

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(written, columns))
    for row in rows:
        writer.writerow([written(_csv_value(plain(row[column]))) for column in columns])


def _csv_value(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list, bool)) else value
