"""Queries of ``cypher/explore/`` about two runs, one of them in view: the same rows, and paths, on both engines."""

from pathlib import Path

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
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


# As the view writes them; the query contract has the other properties.
VIEW = """
MATCH (run:Run {id: 'new'})
SET run.inView = true
WITH run
MATCH (s:Entity)-[f:FACT]->(:Entity)
MATCH (b:Belief {id: 'new/' + f.id})
SET f.theta = b.theta, f.belief = b.believed, f.asked = true
"""


@pytest.fixture
def believed(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph with two runs, the later in view; nothing is painted."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    load(graph, WrittenSource([Entity(name[0], name) for name in NAMES], FACTS, RELATIONS))
    begin(graph, "old", "2026-01-01T00:00:00+00:00")
    begin(graph, "new", "2026-01-02T00:00:00+00:00")
    believe(graph, "old", {"ab": 0.1, "cb": 0.9, "cd": 0.1, "ad": 0.9, "ea": 0.1})
    believe(graph, "new", {"ab": 0.1, "cb": 0.1, "cd": 0.1, "ad": 0.8, "ea": 0.9, "ef": 0.95, "ag": 0.6, "af": 0.9})
    graph.query(VIEW)
    return graph


def test_known_path_of_the_library_walks_well_known_facts(believed: Graph) -> None:
    path = kgprobe.known_path(believed, "Ada", "D")
    assert [(fact.subject_label, fact.object_label) for fact in path.facts] == [
        ("Ada", "Bea"),
        ("Cid", "Bea"),
        ("Cid", "Dan"),
    ]
    assert path.known == pytest.approx(0.9)
    assert path.to_frame()["belief"].tolist() == ["surely known"] * 3
    assert [fact.fact for fact in kgprobe.known_path(believed, "Ada", "D", facts=2).facts] == ["ad"]
    assert path.summary() == "3 facts by run new; the least known one is known with 90.0%: Ada | knows | Bea."
    alone = kgprobe.known_path(believed, "Gus", "Bea", facts=1)
    assert (len(alone), alone.known, alone.tables()) == (0, None, [])
    assert alone.summary() == "G and B are not connected by 1 fact or fewer that run new can ask."


def test_known_path_without_a_run_in_view_is_refused(believed: Graph) -> None:
    with pytest.raises(ArgumentError, match="is A, the same entity"):
        kgprobe.known_path(believed, "Ada", "A")
    believed.query("MATCH (run:Run) REMOVE run.inView")
    with pytest.raises(KgprobeError, match="No run is in view"):
        kgprobe.known_path(believed, "Ada", "Dan")
    believed.query("MATCH (run:Run) DELETE run")
    with pytest.raises(KgprobeError, match="The graph has no runs yet"):
        kgprobe.known_path(believed, "Ada", "Dan")


def test_known_path_stops_after_many_facts(believed: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgprobe.graph.known_path._MOST_READ", 3)
    with pytest.raises(KgprobeError, match="has read 3 facts; lower `facts`"):
        kgprobe.known_path(believed, "Ada", "Dan")


@pytest.mark.parametrize("method", ["louvain", "labels", "components"])
def test_communities_are_of_unknown_facts(believed: Graph, method: str) -> None:
    result = kgprobe.find_ignorance(believed, "new", method=method, limit=5)
    assert (result.facts, result.entities) == (5, 5)
    assert sum(row.unknown for row in result.communities) <= 5
    if method == "components":
        (row,) = result.communities
        assert (row.entities, row.unknown, row.share) == (5, 5, 1.0)
        assert (list(row.central), list(row.central_labels)) == (["A", "E", "F"], ["Ada", "Eve", "Fay"])
        assert list(row.relation_labels) == ["lives in", "likes"]
        assert result.summary() == "Run new: 5 unknown facts of 5 entities, 1 community (components)."


def test_communities_of_surely_unknown_facts_and_of_none(believed: Graph) -> None:
    sure = kgprobe.find_ignorance(believed, "old", method="components", sure=True)
    assert [(row.entities, row.unknown, row.share) for row in sure.communities] == [(2, 1, 0.5), (2, 1, 0.5)]
    assert kgprobe.find_ignorance(believed, "old", method="components", sure=True, limit=1).total == 2
    believed.query("MATCH (b:Belief {run: 'old'}) SET b.believed = 'surely known'")
    none = kgprobe.find_ignorance(believed, "old")
    assert (none.summary(), none.tables(), len(none)) == ("Run old has no unknown facts.", [], 0)
    with pytest.raises(ArgumentError, match="is 'cliques'; expected one of louvain, labels, components"):
        kgprobe.find_ignorance(believed, method="cliques")
    believed.query("MATCH (run:Run) DELETE run")
    with pytest.raises(UnknownNameError, match="The graph has no runs yet"):
        kgprobe.find_ignorance(believed)
