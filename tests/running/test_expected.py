"""What Cypher says of facts that a run has asked or not, against the learner itself; on both engines."""

import numpy as np
import pytest

from kgprobe.base.records import Entity
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.running.learning import HierarchicalBeliefs, Learning, replay
from kgprobe.running.runs import begin_run, get_run
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from tests.beliefs.graphs import random_graph
from tests.cases import slow_except
from tests.running.killed_run import AS_OF, HashProbe
from tests.running.test_rounds import plan_for, run_rounds
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")


def load_popular(graph: Graph, popular: bool) -> None:
    """A graph with loops, whose entities are popular to different degrees, as far as that is known."""
    people, edges, relations = random_graph(14, 120, seed=9)
    known = [
        Entity(one.id, one.label, types=one.types, popularity=float(2**place) if popular and place % 3 else None)
        for place, one in enumerate(people)
    ]
    load(graph, WrittenSource(known, edges, relations))


def learned(graph: Graph, run: str) -> HierarchicalBeliefs:
    """Return the learner of a run, from its answers."""
    properties = get_run(graph, run)
    learning = Learning(AskableFacts(open_columns(graph), properties["relations"], AS_OF), 1000)
    replay(learning, properties)
    return learning.beliefs


@pytest.mark.parametrize("popular", slow_except([True, False], [True]))
def test_what_is_expected_of_a_fact_is_what_the_learner_expects(graph: Graph, popular: bool) -> None:
    load_popular(graph, popular)
    probe, plan = HashProbe(graph), plan_for("run", rounds=4)
    begin_run(graph, probe, plan, "hash")
    run_rounds(graph, probe, plan)
    learning = learned(graph, "run")
    assert (learning.popularity is not None) == popular
    theta = learning.model.posterior(np.arange(len(learning.facts))).theta
    expected = {learning.facts[place].fact: 1 - float(theta[place]) for place in range(len(theta))}
    asked = {learning.facts[int(place)].fact for place in np.flatnonzero(learning.asked)}
    assert 0 < len(asked) < len(expected)
    found = {}
    for entity in (f"e{number}" for number in range(14)):
        rows = graph.read("explore/expected", entity=entity, run="run", limit=1_000)
        assert [row["known"] for row in rows] == sorted(row["known"] for row in rows)
        found |= {row["fact"]: row for row in rows}
    assert {fact: found[fact]["known"] for fact in expected} == pytest.approx(expected, abs=2e-3)
    assert {fact for fact, row in found.items() if row["asked"]} == asked
    # The run begun last, by a label, and no more than wanted.
    facts = [row["fact"] for row in graph.query("explore/expected", entity="label of e3", limit=2)]
    assert facts == [row["fact"] for row in graph.read("explore/expected", entity="e3", run="run", limit=1_000)[:2]]

    blind = graph.read("explore/blind_spots", run="run", entities=50, limit=1_000)
    unasked = expected.keys() - asked
    assert {row["fact"]: row["known"] for row in blind} == pytest.approx(
        {fact: expected[fact] for fact in unasked}, abs=2e-3
    )
    assert [row["known"] for row in blind] == sorted(row["known"] for row in blind)
    few = graph.read("explore/blind_spots", run=None, entities=2, limit=3)
    assert 0 < len(few) <= 3


def test_runs_of_other_learners_expect_nothing_unasked(graph: Graph) -> None:
    load_popular(graph, popular=True)
    probe, plan = HashProbe(graph), plan_for("run", rounds=1, learner="independent")
    begin_run(graph, probe, plan, "hash")
    run_rounds(graph, probe, plan)
    rows = [
        row
        for number in range(14)
        for row in graph.read("explore/expected", entity=f"e{number}", run="run", limit=1_000)
    ]
    assert {row["asked"] for row in rows} == {True, False}
    assert all((row["known"] is None) == (not row["asked"]) for row in rows)
    assert graph.read("explore/blind_spots", run="run", entities=50, limit=10) == []
