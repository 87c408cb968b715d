"""Rows from both engines, as tables, JSON and CSV."""

import io
import json
import math
from typing import Any

from rich.console import Console
from rich.table import Table

from kgprobe.base.sanitize import visible
from kgprobe.graph.client import Graph
from kgprobe.graph.values import cell, plain
from kgprobe.results.rendering.rows import json_lines, table, write_csv

PATH = """
CREATE p = (:Entity:Type {id: 'Q1'})-[:FACT {id: 'f'}]->(:Entity {id: 'Q2', aliases: ['a', 'b']})
          <-[:FACT {id: 'g'}]-(:Entity)
RETURN nodes(p)[0] AS node, relationships(p)[0] AS relationship, p AS path, {deep: [nodes(p)[1]]} AS nested
"""


def first(graph: Graph) -> dict[str, Any]:
    (row,) = graph.run_text(PATH, {})[1]
    return row


def test_nodes_relationships_and_paths_in_a_table(graph: Graph) -> None:
    row = first(graph)
    assert cell(row["node"]) == '(:Entity:Type {id: "Q1"})'
    assert cell(row["relationship"]) == '[:FACT {id: "f"}]'
    assert cell(row["path"]) == (
        '(:Entity:Type {id: "Q1"})-[:FACT {id: "f"}]->(:Entity {id: "Q2", aliases: ["a", "b"]})'
        '<-[:FACT {id: "g"}]-(:Entity)'
    ).replace('{id: "Q2", aliases: ["a", "b"]}', cell(dict(row["path"].nodes[1].items())))


def test_nodes_relationships_and_paths_as_json(graph: Graph) -> None:
    row = first(graph)
    (line,) = json_lines([row])
    told = json.loads(line)
    assert told["node"] == {"labels": ["Entity", "Type"], "properties": {"id": "Q1"}}
    assert told["relationship"]["type"] == "FACT"
    assert told["relationship"]["properties"] == {"id": "f"}
    middle = {"labels": ["Entity"], "properties": {"id": "Q2", "aliases": ["a", "b"]}}
    assert told["nested"] == {"deep": [middle]}
    assert [node["labels"] for node in told["path"]["nodes"]] == [["Entity", "Type"], ["Entity"], ["Entity"]]
    assert [each["properties"]["id"] for each in told["path"]["relationships"]] == ["f", "g"]


def test_dates_are_iso(graph: Graph) -> None:
    (row,) = graph.run_text("RETURN date('2011-05-06') AS day", {})[1]
    assert plain(row) == {"day": "2011-05-06"}
    assert cell(row["day"]) == "2011-05-06"


def test_labels_cannot_steer_the_terminal() -> None:
    assert visible("a\x1b[31mb\n\u202ec\x9b") == r"a\x1b[31mb\n\u202ec\x9b"
    assert visible("Zoë 🇫🇷 عربي") == "Zoë 🇫🇷 عربي"
    out = io.StringIO()
    Console(file=out, width=60).print(table(["[b]x[/b]"], [{"[b]x[/b]": "[red]\x1b[2J[/red]"}], 5)[0])
    assert "[b]x[/b]" in out.getvalue()
    assert r"[red]\x1b[2J[/red]" in out.getvalue()


def test_table_counts_what_it_leaves_out_and_reads_everything() -> None:
    rows = iter([{"i": i} for i in range(10)])
    shown, count = table(["i"], rows, 3)
    assert isinstance(shown, Table)
    assert shown.row_count == 3
    assert count == 10
    assert next(rows, None) is None


def test_values_without_a_json_form() -> None:
    assert list(json_lines([{"x": math.nan, "y": None, "z": True}])) == ['{"x":null,"y":null,"z":true}']
    out = io.StringIO()
    write_csv(["x", "y"], [{"x": True, "y": {"k": [1, "é"]}}, {"x": None, "y": "a,b"}], out)
    assert out.getvalue() == 'x,y\ntrue,"{""k"":[1,""é""]}"\n,"a,b"\n'
    assert [cell(value) for value in (None, True, 3, 0.25, 1e20, [None, "a"])] == [
        "",
        "true",
        "3",
        "0.25",
        "1e+20",
        '[null, "a"]',
    ]


def test_row_of_too_many_columns_has_two_lines() -> None:
    columns = [f"column {number}" for number in range(9)]
    rows = [{column: f"{column} of row {row}" for column in columns} for row in range(2)]

    def printed(width: int, columns: list[str]) -> list[str]:
        out = io.StringIO()
        drawn, count = table(columns, iter(rows), 10, width)
        assert count == 2
        Console(file=out, width=width).print(drawn)
        return [line.rstrip() for line in out.getvalue().splitlines()]

    narrow = printed(80, columns)
    assert max(map(len, narrow)) <= 80
    assert narrow[0] == "column 0: column 0 of row 0"
    assert narrow[1].startswith("    column 1: column 1 of row 0 · column 2: column 2 of row 0")
    assert " · ".join(line.strip() for line in narrow).count(" of row 1") == len(columns)
    # What can be read as a table is one.
    assert printed(80, columns[:4])[0].startswith("┏")
    assert printed(300, columns)[0].startswith("┏")
