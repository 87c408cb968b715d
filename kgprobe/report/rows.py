"""Rows of a query as a table for people, as JSON lines or CSV for programs."""

import csv
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

import msgspec
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time
from rich.table import Table
from rich.text import Text

from kgprobe.graph.client import Row

# Characters that change how those after them are shown: they would let a label rewrite the terminal.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(value: Any) -> Any:
    """A value from the graph as JSON knows it.

    Nodes become ``{labels, properties}``, relationships ``{type, start, end, properties}`` (the ends as nodes' ``id``
    properties, where the row holds them), paths ``{nodes, relationships}``, dates and times ISO 8601 text.
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
            return [plain(inner) for inner in value]
        case _:
            return value


def cell(value: Any) -> str:
    """A value from the graph as people read it, in one line, in the manner of Cypher."""
    match value:
        case None:
            return ""
        case str():
            return visible(value)
        case Node():
            labels = "".join(f":{label}" for label in sorted(value.labels))
            return f"({labels}{_properties(value)})"
        case Relationship():
            return f"[:{value.type}{_properties(value)}]"
        case Path():
            shown = [cell(value.nodes[0])]
            for before, relationship, after in zip(value.nodes, value.relationships, value.nodes[1:], strict=False):
                forth = relationship.start_node == before
                shown += ["-" if forth else "<-", cell(relationship), "->" if forth else "-", cell(after)]
            return "".join(shown)
        case list() | tuple():
            return "[" + ", ".join(_inner(element) for element in value) + "]"
        case dict():
            return "{" + ", ".join(f"{visible(key)}: {_inner(inner)}" for key, inner in value.items()) + "}"
        case float():
            return f"{value:g}" if abs(value) < 1e15 else repr(value)
        case int() | bool():
            return str(value).lower()
        case _:
            return visible(str(plain(value)))


def _properties(entity: Node | Relationship) -> str:
    return f" {cell(dict(entity.items()))}" if len(entity) else ""


def _inner(value: Any) -> str:
    if isinstance(value, str):
        return '"' + visible(value).replace('"', '\\"') + '"'
    return "null" if value is None else cell(value)


def visible(text: str) -> str:
    """The text with its control characters written out, so that data cannot steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTIONS
        else character
        for character in text
    )


def table(columns: Sequence[str], rows: Iterable[Row], limit: int) -> tuple[Table, int]:
    """A table of the first rows, and how many there were in all; every row is read."""
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
    """A header and one line a row (RFC 4180); lists, maps, nodes and relationships stand as JSON, null as nothing."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_value(plain(row[column])) for column in columns])


def _csv_value(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list, bool)) else value
