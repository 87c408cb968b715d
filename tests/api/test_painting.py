"""What a run believes, painted beside the facts, on both engines."""

from collections import Counter
from pathlib import Path

import pytest

import kgprobe
from kgprobe.beliefs import painting
from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.records import Entity, Fact, Relation
from tests.results.test_finding import PROPERTIES
from tests.written_source import WrittenSource

FACTS = [Fact(f"f{n}", f"e{n % 3}", "r", f"e{(n + 1) % 4}") for n in range(8)]
BELIEVED = """
UNWIND $rows AS row
MATCH (s:Entity)-[fact:FACT {id: row.fact}]->(o)
CREATE (:Belief {id: row.run + '/' + row.fact, run: row.run, fact: row.fact, subject: s.id, object: o.id,
                 relation: fact.relation, relation_label: fact.relation_label, theta: row.theta,
                 low: row.theta - 0.2, high: row.theta + 0.2, right: row.right, wrong: row.wrong,
                 believed: row.believed})
"""
PAINTED = """
MATCH (s:Entity)-[p]->(o:Entity) WHERE type(p) <> 'FACT'
RETURN type(p) AS type, s.id AS subject, p.fact AS fact, o.id AS object, p.run AS run, p.relation AS relation,
       p.theta AS theta, p.right AS right ORDER BY fact
"""


@pytest.fixture
def painted(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph with two runs that are sure of some facts."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    people = [Entity(f"e{n}", f"person {n}") for n in range(4)]
    load(graph, WrittenSource(people, FACTS, [Relation("r", "likes")]))
    begin(graph, "old", "2026-01-01T00:00:00+00:00")
    begin(graph, "new", "2026-01-02T00:00:00+00:00")
    # Surely known, surely unknown, and not sure: three of each run, and combinations; one that nobody asked.
    believe(graph, "old", {"f0": 0.1, "f1": 0.9, "f2": 0.9, "f3": 0.1, "f4": 0.5, "f6": 0.9})
    believe(graph, "new", {"f0": 0.1, "f1": 0.9, "f2": 0.1, "f3": 0.9, "f4": 0.6, "f5": 0.1})
    return graph


def begin(graph: Graph, run: str, started: str) -> None:
    its = PROPERTIES | {"id": run, "uid": "0" * 8, "started": started}
    graph.write("beliefs/begin_run", id=run, properties=its)


def believe(graph: Graph, run: str, facts: dict[str, float]) -> None:
    def word(theta: float) -> str:
        sure = "surely" if abs(theta - 0.5) > 0.2 else "leans"
        return f"{sure} {'known' if theta < 0.5 else 'unknown'}"

    rows = [
        {"run": run, "fact": fact, "theta": theta, "right": 1 + 3 * (theta < 0.5), "wrong": 1 + 3 * (theta > 0.5)}
        | {"believed": word(theta)}
        for fact, theta in facts.items()
    ]
    # Of a fact that only others speak of, nothing is painted.
    rows.append({"run": run, "fact": "f7", "theta": 0.1, "right": 0, "wrong": 0, "believed": "leans known"})
    graph.query(BELIEVED, rows=rows)


def seen(graph: Graph) -> dict[str, str]:
    return {row["fact"]: row["type"] for row in graph.query(PAINTED)}


def test_what_a_run_believes_is_a_relationship_beside_each_fact(painted: Graph) -> None:
    found = kgprobe.paint_beliefs(painted, "old")
    assert seen(painted) == {
        "f0": "KNOWN",
        "f1": "UNKNOWN",
        "f2": "UNKNOWN",
        "f3": "KNOWN",
        "f4": "UNSURE",
        "f6": "UNKNOWN",
    }
    assert found.counts == {"known": 2, "unsure": 1, "unknown": 3, "learned": 0, "forgot": 0}
    assert str(found) == "Painted the beliefs of run old: 2 KNOWN, 1 UNSURE, 3 UNKNOWN."
    rows = {row["fact"]: row for row in painted.query(PAINTED)}
    for fact in FACTS:
        if fact.id in rows:
            assert (rows[fact.id]["subject"], rows[fact.id]["object"]) == (fact.subject, fact.object)
    assert (rows["f0"]["run"], rows["f0"]["relation"], rows["f0"]["theta"], rows["f0"]["right"]) == (
        *("old", "likes", 0.1, 4),
    )


def test_a_graph_shows_one_picture_at_a_time(painted: Graph) -> None:
    kgprobe.paint_beliefs(painted, "old")
    # The run begun last.
    again = kgprobe.paint_beliefs(painted)
    assert again.run == "new"
    assert seen(painted) == {
        "f0": "KNOWN",
        "f1": "UNKNOWN",
        "f2": "KNOWN",
        "f3": "UNKNOWN",
        "f4": "UNSURE",
        "f5": "KNOWN",
    }
    assert kgprobe.paint_beliefs(painted) == again
    assert len(list(painted.query(PAINTED))) == 6
    assert kgprobe.clear_paint(painted) == 6
    assert kgprobe.clear_paint(painted) == 0
    assert seen(painted) == {}
    # Beliefs and facts are as they were.
    kept = painted.query("MATCH ()-[r]->() RETURN type(r) AS kind UNION ALL MATCH (:Belief) RETURN 'Belief' AS kind")
    assert Counter(row["kind"] for row in kept) == {"FACT": 8, "OBJECT_OF": 4, "Belief": 14}


def test_a_run_that_is_forgotten_takes_its_picture_along(painted: Graph) -> None:
    kgprobe.paint_beliefs(painted, "new", against="old")
    kgprobe.forget_run(painted, "old")
    assert len(seen(painted)) == 6
    kgprobe.forget_run(painted, "new")
    assert seen(painted) == {}


def test_against_an_earlier_run_what_changed_is_seen(painted: Graph) -> None:
    found = kgprobe.paint_beliefs(painted, "new", against="old")
    assert seen(painted) == {
        "f0": "KNOWN",
        "f1": "UNKNOWN",
        "f2": "LEARNED",
        "f3": "FORGOT",
        "f4": "UNSURE",
        "f5": "KNOWN",
    }
    assert found.counts == {"known": 2, "unsure": 1, "unknown": 1, "learned": 1, "forgot": 1}
    back = kgprobe.paint_beliefs(painted, "old", against="new")
    assert {fact: kind for fact, kind in seen(painted).items() if kind in ("LEARNED", "FORGOT")} == {
        "f2": "FORGOT",
        "f3": "LEARNED",
    }
    assert back.against == "new"


@pytest.mark.parametrize("at_once", [1, 2, 5_000])
def test_many_facts_are_painted_in_parts(painted: Graph, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(painting, "_AT_ONCE", at_once)
    assert sum(kgprobe.paint_beliefs(painted, "old").counts.values()) == 6
    assert len(list(painted.query(PAINTED))) == 6


def test_what_cannot_be_painted_is_said(painted: Graph) -> None:
    kgprobe.paint_beliefs(painted, "old")
    with pytest.raises(UnknownNameError, match="Unknown run 'nobody'"):
        kgprobe.paint_beliefs(painted, "nobody")
    with pytest.raises(UnknownNameError, match="Unknown run 'nobody'"):
        kgprobe.paint_beliefs(painted, "old", against="nobody")
    with pytest.raises(ArgumentError, match="`against` is 'old', the run itself"):
        kgprobe.paint_beliefs(painted, "old", against="old")
    # What was painted is still there.
    assert len(seen(painted)) == 6
