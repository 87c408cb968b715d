"""Every probe asked backwards, and both directions of the same facts side by side."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from tests.api.labelled_world import well_read
from tests.cases import slow_except
from tests.stored import store_measurement


@pytest.fixture(scope="module")
def backwards(example_graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The example graph from object to subject."""
    with kgprobe.reverse_graph(example_graph, folder=tmp_path_factory.mktemp("reversed") / "graph") as graph:
        yield graph


ASKED: dict[str, dict[str, Any]] = {
    "distractors": {"distractors": 2, "sentences": 1},
    "examples": {"examples": 2, "choices": 3},
    "questions": {},
    "choices": {"max_choices": 300},
    "statements": {"replace": "any"},
}


@pytest.mark.parametrize("probe", slow_except(ASKED, ("distractors", "statements")))
def test_probe_asks_a_reversed_graph_as_any_other(backwards: Graph, tiny: Model, probe: str) -> None:
    how = {"limit": 2, "relations": ["capital"], "as_of": "2024", **ASKED[probe]}
    result = kgprobe.measure(backwards, well_read() if probe == "questions" else tiny, probe, **how)
    assert (result.progress.done, result.reversed, result.config["reversed"]) == (2, True, True)
    reversal = kgprobe.reversal_of(backwards)
    assert reversal is not None
    assert result.config["reversed_of"] == reversal.of
    assert f"{probe}-backwards-" in result.folder.name
    assert result.summary().startswith(f"{probe} backwards, tiny: 2 asked")
    assert {outcome.verdict.counts for outcome in result.outcomes} == {True}, result.to_frame()["reason"].tolist()
    assert "backwards" in result.page().read_text(encoding="utf-8")
    assert result.finding().about.reversed
    # A country is asked for, and is right.
    facts = {row["id"]: row["country"] for row in backwards.run_text(CAPITALS, {})[1]}
    for outcome in result.outcomes:
        assert outcome.fact.fact in facts
        if probe in ("distractors", "examples"):
            assert outcome.evidence.right_answer == facts[outcome.fact.fact]


CAPITALS = "MATCH (:Entity)-[f:FACT]->(o:Entity) WHERE f.relation = 'P36' RETURN f.id AS id, o.label AS country"


def test_two_directions_of_the_same_facts_are_compared(example_graph: Graph, backwards: Graph, tiny: Model) -> None:
    how: dict[str, Any] = {"relations": ["capital"], "as_of": "2024", "examples": 2, "choices": 2}
    # An id is the same in both directions, so the same limit and seed draw the same facts.
    ahead, back = (kgprobe.measure(graph, tiny, "examples", limit=30, **how) for graph in (example_graph, backwards))
    found = kgprobe.compare([ahead, back])
    assert found.notes == ()
    assert found.labels == ["tiny forwards", "tiny backwards"]
    assert found.directions is not None
    won = [
        {outcome.fact.fact for outcome in result.outcomes if outcome.verdict.value == "right"}
        for result in (ahead, back)
    ]
    overall = found.directions.overall
    assert (overall.facts, overall.both) == (30, len(won[0] & won[1]))
    assert (overall.forwards_alone, overall.backwards_alone) == (len(won[0] - won[1]), len(won[1] - won[0]))
    frame = found.frames()["directions_one_way_facts"]
    assert set(frame["fact"]) == won[0] ^ won[1]
    assert "Known forwards and backwards" in found.page().read_text(encoding="utf-8")
    with pytest.raises(ArgumentError, match="the direction is forwards and backwards"):
        kgprobe.check(ahead, back)


def test_facts_known_one_way_are_listed_by_relation(tmp_path: Path) -> None:
    facts = {f"f{n:02}": n < 30 for n in range(40)}
    relations = {fact: f"r{n % 2}" for n, fact in enumerate(facts)}
    back = {**facts, **dict.fromkeys([f"f{n:02}" for n in range(12)], False), "f35": True}
    store_measurement(tmp_path / "ahead", facts, relations=relations)
    of = {
        "reversed": True,
        "reversed_of": "{}",
        "graph": "{2}",
        "described": {"model": "base", "distractors": 2, "clozes": {"r0": ["x"]}},
    }
    store_measurement(tmp_path / "back", back, relations=relations, **of)
    several = [kgprobe.open(tmp_path / name) for name in ("ahead", "back")]
    # Whichever comes first.
    for results in (several, several[::-1]):
        found = kgprobe.compare(results)
        assert found.notes == ()
        directions = found.directions
        assert directions is not None
        overall = directions.overall
        assert (overall.forwards.value, overall.backwards.value) == (30 / 40, 19 / 40)
        assert (overall.both, overall.forwards_alone, overall.backwards_alone) == (18, 12, 1)
        assert overall.not_backwards is not None
        assert overall.not_backwards.value == 12 / 30
        assert [(one.relation, one.forwards_alone) for one in directions.relations] == [("r0", 6), ("r1", 6)]
        assert [(one.known, one.fact) for one in directions.one_way_facts[-2:]] == [
            ("forwards", "f11"),
            ("backwards", "f35"),
        ]
        assert directions.one_way_facts[0].prediction == "Strong of f00"
        assert "Not known backwards: 40%" in found.summary()
        page = found.page()
        assert len(pd.read_csv(page.parent / "directions_one_way_facts.csv")) == 13
        told = json.loads((page.parent / "comparison.json").read_text())["directions"]
        assert (told["overall"]["forwards_alone"], len(told["one_way_facts"])) == (12, 13)
        assert told["relations"][0]["not_forwards_low"] == 0
    store_measurement(tmp_path / "stale", back, relations=relations, **{**of, "reversed_of": "{3}"})
    stale = kgprobe.compare([several[0], kgprobe.open(tmp_path / "stale")])
    assert stale.notes[0].startswith("The graph changed between the two directions")
    # Two results of one direction are compared as ever.
    store_measurement(tmp_path / "other", back, relations=relations, model="other")
    assert kgprobe.compare([several[0], kgprobe.open(tmp_path / "other")]).directions is None
