"""The result of a query: its rows in Python, as text, and as a data frame."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def rows_by(key: str, rows: Iterable[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return rows by the value of a column."""
    return {row[key]: row for row in rows}


def column_by(key: str, column: str, rows: Iterable[Mapping[str, Any]]) -> dict[Any, Any]:
    """Return the values of a column by those of another one."""
    return {row[key]: row[column] for row in rows}


# Printed rows, and characters of a cell.
_SHOWN = 20
_WIDTH = 40


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """The rows of a query, each a dictionary by column.

    >>> rows = graph.query("UNWIND [1, 2] AS number RETURN number, number * number AS square")
    >>> [row["square"] for row in rows]
    [1, 4]
    >>> rows
    number  square
    1       1
    2       4
    2 rows

    Attributes:
        columns: names in the query's order; ArcadeDB returns none for an empty result.
        rows: values as the driver returns them: Python values, nodes, relationships, dates.
        note: reason for the empty result of a query of kgprobe, else None.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    note: str | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.rows[position]

    def __repr__(self) -> str:
        # Stored results have rows without a graph; the driver takes half a second to import.
        from kgprobe.graph.values import cell

        count = f"{len(self)} {'row' if len(self) == 1 else 'rows'}"
        if len(self) > _SHOWN:
            count += f", {_SHOWN} of them shown"
        lines = [list(map(cell, self.columns))]
        lines += [[_cut(cell(row[column])) for column in self.columns] for row in self.rows[:_SHOWN]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines if self.columns]
        return "\n".join([*shown, count, *filter(None, [self.note])])

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame.

        >>> graph.query("UNWIND [1, 2] AS number RETURN number, number * number AS square").to_frame()
           number  square
        0       1       1
        1       2       4

        Nodes, relationships and dates are converted to JSON values by :func:`~kgprobe.graph.values.plain`.
        ``attrs["note"]`` is :attr:`note`.
        """
        import pandas as pd

        from kgprobe.graph.values import plain

        values = [[plain(row[column]) for column in self.columns] for row in self]
        frame: pd.DataFrame = pd.DataFrame(values, columns=[*self.columns])
        frame.attrs["note"] = self.note
        return frame


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
