"""The queries of ``cypher/explore/`` about what was painted: the same rows, and paths, on both engines."""

from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.records import Entity, Fact, Relation
from tests.api.test_painting import begin, believe
from tests.written_source import WrittenSource

# Two stars of things, a chain between their centres, and a fact that another one came before.
NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve", "Fay", "Gus")
FACTS = [
    Fact("ab", "A", "knows", "B"),
    Fact("cb", "C", "knows", "B"),
    Fact("cd", "C", "knows", "D"),
    Fact("ad", "A", "likes", "D"),
    Fact("ea", "E", "likes", "A"),
    Fact("ef", "E", "lives", "F"),
    Fact("eg", "E", "lives", "G", end="1999"),
    Fact("ag", "A", "lives", "G"),
    Fact("af", "A", "lives", "F"),
    Fact("ae", "A", "lives", "E", end="1999"),
]
RELATIONS = [Relation("knows", "knows"), Relation("likes", "likes"), Relation("lives", "lives in")]


@pytest.fixture
def painted(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph with what a run believes drawn beside its facts, against an earlier run."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    load(graph, WrittenSource([Entity(name[0], name) for name in NAMES], FACTS, RELATIONS))
    begin(graph, "old", "2026-01-01T00:00:00+00:00")
    begin(graph, "new", "2026-01-02T00:00:00+00:00")
    believe(graph, "old", {"ab": 0.1, "cb": 0.9, "cd": 0.1, "ad": 0.9, "ea": 0.1})
    believe(graph, "new", {"ab": 0.1, "cb": 0.1, "cd": 0.1, "ad": 0.8, "ea": 0.9, "ef": 0.95, "ag": 0.6, "af": 0.9})
    kgprobe.paint_beliefs(graph, "new", against="old")
    return graph


def rows_of(graph: Graph, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """The rows, without the paths, each of which leads through its row's entities."""
    told = []
    for row in graph.query(f"explore/{name}", **parameters):
        path = row["path"]
        called = [node["label"] for node in path.nodes]
        expected = row.get("entities") or [row.get("subject"), row.get("object")]
        assert called == expected or set(expected) <= set(called)
        told.append(
            tuple(round(its, 2) if isinstance(its, float) else its for column, its in row.items() if column != "path")
        )
    return told


def test_what_changed_since_an_earlier_run(painted: Graph) -> None:
    forgot, learned = (
        ("forgot", "likes", "Eve", "Ada", 0.1, 1, 4, "ea"),
        ("learned", "knows", "Cid", "Bea", 0.9, 4, 1, "cb"),
    )
    assert rows_of(painted, "changed") == [forgot, learned]
    assert rows_of(painted, "changed", entity="Bea", limit=5.0) == [learned]
    assert rows_of(painted, "changed", entity="E") == [forgot]
    assert [row["path"].relationships[0].type for row in painted.query("explore/changed")] == ["FORGOT", "LEARNED"]


def test_the_weakest_relations_with_what_is_least_known_of_them(painted: Graph) -> None:
    assert rows_of(painted, "weakest_relations", asked=2, facts=2) == [
        ("likes", 2, 0.0, "Eve", "Ada", 0.1, 1, 4, "ea"),
        ("likes", 2, 0.0, "Ada", "Dan", 0.2, 1, 4, "ad"),
        ("lives in", 3, 0.0, "Eve", "Fay", 0.05, 1, 4, "ef"),
        ("lives in", 3, 0.0, "Ada", "Fay", 0.1, 1, 4, "af"),
    ]
    assert {row[0] for row in rows_of(painted, "weakest_relations", asked=3.0, relations=1.0)} == {"lives in"}
    assert rows_of(painted, "weakest_relations") == []


def test_the_shortest_way_through_what_is_known(painted: Graph) -> None:
    way = (3, ["Ada", "Bea", "Cid", "Dan"], ["knows", "knows", "knows"])
    assert rows_of(painted, "known_path", one="Ada", other="D") == [way]
    assert rows_of(painted, "known_path", one="A", other="Dan") == [way]
    # Eve is tied to Ada by what was forgotten.
    assert rows_of(painted, "known_path", one="Eve", other="Dan") == []


def test_what_is_unknown_and_hangs_together(painted: Graph) -> None:
    around_ada = [
        ("Ada", 3, 1, ["Ada", "Dan"], ["likes"]),
        ("Ada", 3, 1, ["Ada", "Eve"], ["likes"]),
        ("Ada", 3, 1, ["Ada", "Fay"], ["lives in"]),
        ("Ada", 3, 2, ["Ada", "Eve", "Fay"], ["likes", "lives in"]),
        ("Ada", 3, 2, ["Ada", "Fay", "Eve"], ["lives in", "lives in"]),
    ]
    assert rows_of(painted, "ignorance", communities=1) == around_ada
    assert rows_of(painted, "ignorance", communities=1.0, limit=3.0) == [row for row in around_ada if row[2] == 1]
    assert {row[0] for row in rows_of(painted, "ignorance", communities=2)} == {"Ada", "Eve"}


def test_where_what_was_true_before_may_stand_in_the_way(painted: Graph) -> None:
    # Ada lives in two places now: that she lived elsewhere before says nothing of either.
    assert rows_of(painted, "obsolete") == [("lives in", "Eve", "Fay", "Gus", 19991231, 0.05, 1, 4, "ef")]
    assert rows_of(painted, "obsolete", entity="Eve", limit=1.0)
    assert rows_of(painted, "obsolete", entity="A") == []
    (row,) = painted.query("explore/obsolete")
    assert [node["label"] for node in row["path"].nodes] == ["Fay", "Eve", "Gus"]
    assert [one.type for one in row["path"].relationships] == ["UNKNOWN", "FACT"]
