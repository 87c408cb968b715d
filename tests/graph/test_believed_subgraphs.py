"""Parts of the graph with what a run believes of their facts, on both engines."""

from pathlib import Path

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import FactBelief
from kgprobe.graph.subgraphs import facts_of, neighbourhood
from tests.api.test_painting import begin, believe
from tests.written_source import WrittenSource

PEOPLE = [Entity(f"e{n}", f"person {n}") for n in range(40)]
# One whom everybody likes, and a chain; f7 is what the run only heard of.
FACTS = [
    *(Fact(f"f{n}", f"e{n}", "likes", "e0") for n in range(1, 30)),
    Fact("g1", "e0", "knows", "e30"),
    Fact("g2", "e30", "knows", "e31", end="2000"),
]


@pytest.fixture
def people(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    load(graph, WrittenSource(PEOPLE, FACTS, [Relation("likes", "likes"), Relation("knows", "knows")]))
    begin(graph, "old", "2026-01-01T00:00:00+00:00")
    begin(graph, "new", "2026-01-02T00:00:00+00:00")
    believe(graph, "old", {"f20": 0.9, "f1": 0.9, "g1": 0.1, "g2": 0.5})
    believe(graph, "new", {"f2": 0.1})
    return graph


def test_beliefs_of_a_run_stand_beside_its_facts(people: Graph) -> None:
    found = facts_of(people, ["e0", "e31"], run="old")
    assert found.run == "old"
    told = {fact: (belief.theta, belief.right, belief.wrong, belief.believed) for fact, belief in found.beliefs.items()}
    assert told == {
        "f1": (0.9, 1, 4, "surely unknown"),
        "f20": (0.9, 1, 4, "surely unknown"),
        "g1": (0.1, 4, 1, "surely known"),
        "g2": (0.5, 1, 1, "leans unknown"),
        "f7": (0.1, 0, 0, "leans known"),
    }
    assert found.beliefs["g1"] == FactBelief(0.1, 0.1 - 0.2, 0.1 + 0.2, 4, 1, "surely known", None)
    frame = found.to_frame().set_index("fact")
    assert frame.loc["f20", ["theta", "believed"]].tolist() == [0.9, "surely unknown"]
    assert frame.loc["f3", ["theta", "low", "high", "right", "believed"]].tolist() == [None] * 5
    network = found.networkx()
    assert network.graph["run"] == "old"
    assert network.edges["e20", "e0", "f20"] | {"theta": 0.9, "wrong": 4} == network.edges["e20", "e0", "f20"]
    assert "theta" not in network.edges["e3", "e0", "f3"]
    assert "question" not in network.edges["e20", "e0", "f20"]


def test_facts_asked_come_first_and_only_selected_ones(people: Graph) -> None:
    assert [fact.id for fact in facts_of(people, ["e0"], limit=3, run="old").facts] == ["g1", "f1", "f20"]
    # The least known first, and no belief of another run.
    assert {fact.id for fact in neighbourhood(people, "e0", limit=2, run="old").facts} == {"f1", "f20"}
    assert {fact.id for fact in neighbourhood(people, "e0", limit=1, run="new").facts} == {"f2"}
    assert [fact.id for fact in facts_of(people, ["e0"], ["knows"], limit=1, run="old").facts] == ["g1"]
    assert "g2" not in {fact.id for fact in facts_of(people, ["e30"], as_of=20100101, run="old").facts}
    every = neighbourhood(people, "e0", steps=2, run="old")
    assert {fact.id for fact in every.facts} == {fact.id for fact in FACTS}
    assert every.complete


def test_without_a_run_there_is_no_belief(people: Graph) -> None:
    found = facts_of(people, ["e0"])
    assert (found.run, found.beliefs) == (None, {})
    assert "theta" not in found.to_frame().columns
    with pytest.raises(UnknownNameError, match="Unknown run 'nobody'; runs of this graph: old, new"):
        facts_of(people, ["e0"], run="nobody")
