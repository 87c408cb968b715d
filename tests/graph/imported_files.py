"""What neo4j-admin would make of a folder of import files, read by the rules of its manual and by nothing of ours."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neo4j.time import Date

from kgprobe.graph.bulk.bulk_files import read_bulk_files

Made = list[tuple[list[str], dict[str, Any]]]


def rows_of(path: Path) -> Iterator[list[str | None]]:
    """Yield the rows of a file: a column is a text, or None where nothing stands between the commas."""
    text = path.read_bytes().decode()
    row: list[str | None] = []
    position = 0
    while position < len(text):
        if text[position] == "\n" and not row:
            position += 1
            continue
        if text[position] == '"':
            value, position = "", position + 1
            while True:
                end = text.index('"', position)
                value, position = value + text[position:end], end + 1
                if text[position] != '"':
                    break
                value, position = value + '"', position + 1
            row.append(value)
        else:
            end = min(text.index(each, position) for each in ",\n" if each in text[position:])
            row.append(text[position:end] or None)
            position = end
        if text[position] == "\n":
            yield row
            row = []
        elif text[position + 1] == "\n":
            yield [*row, None]
            row, position = [], position + 1
        position += 1


def _value(text: str, kind: str) -> Any:
    if kind == "string[]":
        return text.split("\x1f")
    convert = {"long": int, "double": float, "boolean": lambda said: said == "true", "date": Date.from_iso_format}
    return convert.get(kind, str)(text)


def _read(path: Path) -> Iterator[tuple[list[str], list[str], dict[str, Any]]]:
    """Return the ids with their groups, the labels and the properties of each row."""
    rows = rows_of(path)
    header = [str(column) for column in next(rows)]
    for row in rows:
        assert len(row) == len(header), row
        ids, labels, properties = [], [], {}
        for column, text in zip(header, row, strict=True):
            name, _, kind = column.partition(":")
            if kind.startswith(("ID", "START_ID", "END_ID")):
                ids.append(f"{kind.split('(')[1]}{text}")
            elif kind == "LABEL":
                labels = str(text).split("\x1f")
            elif kind != "IGNORE" and text is not None:
                properties[name] = _value(text, kind)
        yield ids, labels, properties


def graph_of(folder: Path) -> tuple[Made, Made]:
    """Nodes and relationships once the import is finished, the latter as their type with the ids of their ends."""
    files = read_bulk_files(folder)
    nodes: dict[str, tuple[list[str], dict[str, Any]]] = {}
    by_id = {}
    for name in files.node_files:
        for ids, labels, properties in _read(folder / name):
            assert ids[0] not in nodes
            nodes[ids[0]] = (sorted(labels), properties)
            by_id[labels[0], properties["id"]] = properties
            if "number" in properties:
                properties.setdefault("aliases", [])
                properties.setdefault("types", [])
    for label, name in (("Entity", "entities.jsonl"), ("Relation", "relations.jsonl")):
        for line in (folder / name).read_bytes().splitlines():
            said = json.loads(line)
            by_id[label, said["id"]].update(said["properties"])
    relationships = []
    for type_, names in files.relationship_files.items():
        for name in names:
            for ids, _, properties in _read(folder / name):
                ends = [nodes[id_][1]["id"] for id_ in ids]
                relationships.append(([type_, *ends], properties))
    return list(nodes.values()), relationships
