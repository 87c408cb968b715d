"""The result of a query: its rows in Python, and their values as JSON and as text."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from kgprobe.base.sanitize import visible

if TYPE_CHECKING:
    import pandas as pd


def rows_by(key: str, rows: Iterable[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return rows by the value of a column."""
    return {row[key]: row for row in rows}


def column_by(key: str, column: str, rows: Iterable[Mapping[str, Any]]) -> dict[Any, Any]:
    """Return the values of a column by those of another one."""
    return {row[key]: row[column] for row in rows}


def plain(value: Any) -> Any:
    """Return a value of the graph as a JSON value.

    Nodes become ``{labels, properties}``, relationships ``{type, start, end, properties}`` with the ``id`` properties
    of their ends if the row contains them, paths ``{nodes, relationships}``, dates and times ISO 8601 text.
    """
    match value:
        case Node():
            return {"labels": sorted(value.labels), "properties": plain(dict(value.items()))}
        case Relationship():
            ends = {"start": value.start_node, "end": value.end_node}
            return {
                "type": value.type,
                **{end: node.get("id") if node is not None else None for end, node in ends.items()},
                "properties": plain(dict(value.items())),
            }
        case Path():
            return {"nodes": plain(list(value.nodes)), "relationships": plain(list(value.relationships))}
        case Date() | DateTime() | Time() | Duration():
            return value.iso_format()
        case Point():
            return {"srid": value.srid, "coordinates": list(value)}
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return list(map(plain, value))
        case _:
            return value


def cell(value: Any) -> str:
    """Return a value of the graph as one line of text, similar to Cypher."""
    match value:
        case None:
            return ""
        case str():
            return visible(value)
        case Relationship():
            return f"[:{value.type}{_properties(value)}]"
        case Node():
            labels = "".join(f":{label}" for label in sorted(value.labels))
            return f"({labels}{_properties(value)})"
        case Path():
            shown = [cell(value.nodes[0])]
            for before, relationship, after in zip(value.nodes, value.relationships, value.nodes[1:], strict=False):
                ends = ("-", "->") if relationship.start_node == before else ("<-", "-")
                shown += [ends[0], cell(relationship), ends[1], cell(after)]
            return "".join(shown)
        case list() | tuple():
            return f"[{', '.join(map(_inner, value))}]"
        case dict():
            return "{" + ", ".join(f"{visible(key)}: {_inner(inner)}" for key, inner in value.items()) + "}"
        case float():
            return format(value, "g" if abs(value) < 1e15 else "")
        case int():
            return str(value).lower()
        case _:
            return visible(str(plain(value)))


def _properties(entity: Node | Relationship) -> str:
    return f" {cell(dict(entity.items()))}" if len(entity) else ""


def _inner(value: Any) -> str:
    if isinstance(value, str):
        return '"' + visible(value).replace('"', '\\"') + '"'
    return "null" if value is None else cell(value)


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

        Nodes, relationships and dates are converted to JSON values by :func:`~kgprobe.graph.rows.plain`.
        ``attrs["note"]`` is :attr:`note`.
        """
        import pandas as pd

        values = [[plain(row[column]) for column in self.columns] for row in self]
        frame: pd.DataFrame = pd.DataFrame(values, columns=[*self.columns])
        frame.attrs["note"] = self.note
        return frame


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
