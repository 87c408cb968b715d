"""Values of a graph as JSON and as text."""

from typing import Any

from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from kgprobe.base.sanitize import visible


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
