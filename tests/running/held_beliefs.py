"""The beliefs that facts hold, compared with those of the run in view."""

from typing import Any

import pytest

from kgprobe.beliefs.register import LEARNERS
from kgprobe.graph.client import Graph
from kgprobe.running.plan import plan_of
from kgprobe.running.runs import get_run

# Codes are the places of these words.
CODES = ("not asked", "surely unknown", "leans unknown", "leans known", "surely known")
PROPERTIES = ("alpha", "beta", "theta", "low", "high", "right", "wrong", "round")
ON_FACTS = """
MATCH (s:Entity)-[f:FACT]->(:Entity)
RETURN f.id AS fact, f.alpha AS alpha, f.beta AS beta, f.theta AS theta, f.low AS low, f.high AS high, f.right AS right,
       f.wrong AS wrong, f.round AS round, f.belief AS belief, f.asked AS asked, f.belief_code AS code
"""
OF_RUN = """
MATCH (:Run {id: $run})-[:BELIEVES]->(b:Belief)
RETURN b.fact AS fact, b.alpha AS alpha, b.beta AS beta, b.theta AS theta, b.low AS low, b.high AS high,
       b.right AS right, b.wrong AS wrong, b.round AS round, b.believed AS belief
"""
TIES = "MATCH (b:Belief)-[:ABOUT]->(s:Entity) RETURN b.id AS belief, b.subject = s.id AS is_subject"


def on_facts(graph: Graph) -> dict[str, dict[str, Any]]:
    """Return the facts that hold a belief, with it."""
    rows = graph.query(ON_FACTS)
    return {
        row["fact"]: row
        for row in rows
        if any(row[name] is not None for name in (*PROPERTIES, "belief", "asked", "code"))
    }


def assert_holds(graph: Graph, run: str, *, everywhere: bool = True) -> None:
    """Check that facts hold the beliefs of a run and of no other: all facts that it can ask, or some of them.

    Its beliefs are tied to the subjects of these facts, each once.
    """
    held = on_facts(graph)
    stored = {row["fact"]: row for row in graph.query(OF_RUN, run=run)}
    assert stored
    ties = graph.query(TIES)
    assert all(row["is_subject"] for row in ties)
    assert sorted(row["belief"] for row in ties) == sorted(f"{run}/{fact}" for fact in stored.keys() & held.keys())
    for fact, row in held.items():
        belief = stored.get(fact)
        asked = belief is not None and belief["right"] + belief["wrong"] > 0
        assert row["asked"] is asked
        assert row["belief"] == (belief["belief"] if asked else "not asked")
        assert row["code"] == CODES.index(row["belief"])
        if belief is not None:
            assert [row[name] for name in PROPERTIES] == [belief[name] for name in PROPERTIES]
        else:
            assert (row["right"], row["wrong"], row["round"]) == (0, 0, None)
            assert row["theta"] == pytest.approx(row["alpha"] / (row["alpha"] + row["beta"]))
            assert row["low"] < row["theta"] < row["high"]
    if everywhere:
        properties = get_run(graph, run)
        labels = dict.fromkeys(properties["relations"], "")
        learner = LEARNERS[properties["learner"]].load()(graph, plan_of(properties), properties, labels)
        assert set(held) == {learner.keys[position].fact for position in range(len(learner.keys))}
