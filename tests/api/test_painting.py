"""The beliefs of runs, painted as relationships and labels, on both engines."""

from collections import Counter
from pathlib import Path

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.beliefs import painting
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.state import graph_state
from tests.results.test_finding import PROPERTIES
from tests.written_source import WrittenSource

ON_NEO4J = pytest.mark.parametrize("endpoint", ["neo4j"], indirect=True)
FACTS = [Fact(f"f{n}", f"e{n % 3}", "r", f"e{(n + 1) % 4}") for n in range(8)]
BELIEVED = """
UNWIND $rows AS row
MATCH (s:Entity)-[fact:FACT {id: row.fact}]->(o)
CREATE (:Belief {id: row.run + '/' + row.fact, run: row.run, model: 'model of ' + row.run, fact: row.fact,
                 subject: s.id, object: o.id, relation: fact.relation, relation_label: fact.relation_label,
                 alpha: 4 * row.theta, beta: 4 * (1 - row.theta), theta: row.theta,
                 low: row.theta - 0.2, high: row.theta + 0.2, right: row.right, wrong: row.wrong,
                 believed: row.believed})
"""
PAINTED = """
MATCH (s:Entity)-[p]->(o:Entity) WHERE type(p) <> 'FACT'
RETURN type(p) AS type, s.id AS subject, p.fact AS fact, o.id AS object, p.run AS run, p.model AS model,
       p.relation AS relation, p.caption AS caption, p.alpha AS alpha, p.beta AS beta, p.theta AS theta,
       p.low AS low, p.high AS high, p.right AS right, p.wrong AS wrong, p.belief AS belief ORDER BY fact, run
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
    its = PROPERTIES | {"id": run, "uid": "0" * 8, "started": started, "graph": graph_state(graph)}
    graph.write("beliefs/begin_run", id=run, properties=its)
    graph.query("MATCH (run:Run {id: $id}) SET run.round = 1", id=run)


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


def labelled(graph: Graph) -> dict[str, tuple[str, float]]:
    """Return the painted label of each entity, and its share of unknown facts."""
    rows = graph.query("MATCH (e:Entity) RETURN e.id AS id, labels(e) AS labels, e.unknown_share AS share")
    return {
        row["id"]: (*(label for label in row["labels"] if label not in ("Entity", "Type")), row["share"])
        for row in rows
        if row["share"] is not None
    }


def test_each_asked_fact_gets_a_relationship_with_its_belief(painted: Graph) -> None:
    result = kgprobe.paint_beliefs(painted, "old")
    types = {"f0": "KNOWN", "f1": "UNKNOWN", "f2": "UNKNOWN", "f3": "KNOWN", "f4": "LEANS_UNKNOWN", "f6": "UNKNOWN"}
    assert seen(painted) == types
    assert {type_: count for type_, count in result.counts.items() if count} == Counter(types.values())
    assert str(result) == "Painted the beliefs of run old: 2 KNOWN, 1 LEANS_UNKNOWN, 3 UNKNOWN."
    rows = {row["fact"]: row for row in painted.query(PAINTED)}
    for fact in FACTS:
        if fact.id in rows:
            assert (rows[fact.id]["subject"], rows[fact.id]["object"]) == (fact.subject, fact.object)
    f0 = rows["f0"]
    assert (f0["run"], f0["model"], f0["relation"], f0["caption"]) == ("old", "model of old", "likes", "✓ likes")
    assert (f0["belief"], f0["right"], f0["wrong"]) == ("surely known", 4, 1)
    assert (f0["alpha"], f0["beta"], f0["theta"]) == (0.4, 3.6, 0.1)
    assert (f0["low"], f0["high"]) == (pytest.approx(-0.1), pytest.approx(0.3))


@ON_NEO4J
def test_entities_asked_get_a_label_by_unknown_share(painted: Graph) -> None:
    kgprobe.paint_beliefs(painted, "old")
    # Facts: f0 e0-e1, f1 e1-e2, f2 e2-e3, f3 e0-e0, f4 e1-e1, f6 e0-e3; f0 and f3 are known.
    assert labelled(painted) == {
        "e0": ("MostlyKnown", pytest.approx(1 / 3)),
        "e1": ("MostlyUnknown", pytest.approx(2 / 3)),
        "e2": ("MostlyUnknown", 1.0),
        "e3": ("MostlyUnknown", 1.0),
    }
    # Beliefs of both runs count: f2 is unknown to one of them.
    kgprobe.paint_beliefs(painted, ["old", "new"])
    assert labelled(painted)["e3"] == ("MostlyUnknown", pytest.approx(2 / 3))
    kgprobe.delete("new", painted)
    assert labelled(painted) == {}
    kgprobe.paint_beliefs(painted, "old")
    kgprobe.clear_paint(painted)
    assert labelled(painted) == {}


def test_painting_again_replaces_what_was_painted(painted: Graph) -> None:
    kgprobe.paint_beliefs(painted, "old")
    # The run begun last.
    again = kgprobe.paint_beliefs(painted)
    assert again.runs == ["new"]
    assert seen(painted) == {
        "f0": "KNOWN",
        "f1": "UNKNOWN",
        "f2": "KNOWN",
        "f3": "UNKNOWN",
        "f4": "LEANS_UNKNOWN",
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


def test_several_runs_are_painted_parallel_to_each_other(painted: Graph) -> None:
    result = kgprobe.paint_beliefs(painted, ["old", "new"])
    assert str(result).startswith("Painted the beliefs of runs old, new: ")
    rows = [(row["fact"], row["run"], row["type"], row["caption"]) for row in painted.query(PAINTED)]
    assert [row[:2] for row in rows] == [
        *[(fact, run) for fact in ("f0", "f1", "f2", "f3", "f4") for run in ("new", "old")],
        *[("f5", "new"), ("f6", "old")],
    ]
    assert rows[4:6] == [
        ("f2", "new", "KNOWN", "✓ likes · new"),
        ("f2", "old", "UNKNOWN", "✗ likes · old"),
    ]


def test_unasked_facts_of_run_in_view_are_painted_expected(painted: Graph) -> None:
    with pytest.raises(ArgumentError, match="no painted run is in view; `kgprobe beliefs apply new` brings one"):
        kgprobe.paint_beliefs(painted, "new", expected=1)
    assert kgprobe.paint_beliefs(painted, "new").counts["EXPECTED"] == 0
    painted.query("MATCH (r:Run {id: 'new'}) SET r.inView = true")
    painted.query(
        "MATCH (:Entity)-[f:FACT]->(:Entity) WHERE f.id IN ['f6', 'f7'] SET f.alpha = 3.0, f.beta = 1.0, "
        "f.theta = CASE f.id WHEN 'f6' THEN 0.75 ELSE 0.8 END, f.low = 0.2, f.high = 0.9, f.right = 0, f.wrong = 0, "
        "f.belief = 'not asked'"
    )
    assert kgprobe.paint_beliefs(painted, "new").counts["EXPECTED"] == 2
    assert kgprobe.paint_beliefs(painted, ["old", "new"], expected=1).counts["EXPECTED"] == 1
    expected = [row for row in painted.query(PAINTED) if row["type"] == "EXPECTED"]
    assert [(row["fact"], row["run"], row["caption"], row["theta"]) for row in expected] == [
        ("f7", "new", "… likes · new", 0.8)
    ]
    # The view is not the old run's.
    assert kgprobe.paint_beliefs(painted, "old").counts["EXPECTED"] == 0


def test_captions_have_the_years_of_facts(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    ended = [
        Fact("f0", "e0", "r", "e1", start="1998-10-27", end="2005"),
        Fact("f1", "e0", "r", "e2", start="2005"),
        Fact("f2", "e0", "r", "e3", end="-0043"),
    ]
    load(graph, WrittenSource([Entity(f"e{n}", f"person {n}") for n in range(4)], ended, [Relation("r", "head")]))
    begin(graph, "new", "2026-01-02T00:00:00+00:00")
    believe(graph, "new", {"f0": 0.1, "f1": 0.9, "f2": 0.4})
    kgprobe.paint_beliefs(graph)
    assert [row["caption"] for row in graph.query(PAINTED)] == ["✓ head 1998–2005", "✗ head 2005–", "✓? head –-43"]


def test_forgetting_a_run_deletes_its_paint(painted: Graph) -> None:
    kgprobe.paint_beliefs(painted, "new", against="old")
    kgprobe.delete("old", painted)
    assert len(seen(painted)) == 6
    kgprobe.delete("new", painted)
    assert seen(painted) == {}


def test_against_an_earlier_run_what_changed_is_seen(painted: Graph) -> None:
    found = kgprobe.paint_beliefs(painted, "new", against="old")
    assert seen(painted) == {
        "f0": "KNOWN",
        "f1": "UNKNOWN",
        "f2": "LEARNED",
        "f3": "FORGOT",
        "f4": "LEANS_UNKNOWN",
        "f5": "KNOWN",
    }
    types = {"KNOWN": 2, "LEANS_UNKNOWN": 1, "UNKNOWN": 1, "LEARNED": 1, "FORGOT": 1}
    assert {type_: count for type_, count in found.counts.items() if count} == types
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
    with pytest.raises(ArgumentError, match="`against` is 'old', a painted run itself"):
        kgprobe.paint_beliefs(painted, "old", against="old")
    # What was painted is still there.
    assert len(seen(painted)) == 6
