"""Rows of a query as a table for people, as JSON lines or CSV for programs."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

import msgspec
from rich.table import Table
from rich.text import Text

from kgprobe.graph.client import Row
from kgprobe.graph.values import cell, plain
from kgprobe.texts import spreadsheet_cell, visible


def table(columns: Sequence[str], rows: Iterable[Row], limit: int | None) -> tuple[Table, int]:
    """A table of the first rows, all where there is no limit, and how many there were in all; every row is read."""
    shown = Table()
    for column in columns:
        shown.add_column(Text(visible(column)), overflow="fold")
    remaining = iter(rows)
    count = 0
    for row in islice(remaining, limit):
        values = [row[column] for column in columns]
        shown.add_row(*(Text(cell(value), justify=_side(value)) for value in values))
        count += 1
    return shown, count + sum(1 for _ in remaining)


def _side(value: Any) -> Any:
    return "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """One JSON object a row, without line ends; what has no number (NaN, infinities) is null."""
    for row in rows:
        yield msgspec.json.encode(plain(row)).decode()


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
