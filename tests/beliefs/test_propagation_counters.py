"""What counters say that facts receive, against the definition written naively, and against a run in the graph."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.records import Fact
from kgprobe.beliefs.propagation import FactEnds, received
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.probes.outcome import Verdict
from kgprobe.running.rounds import continue_run
from kgprobe.running.runs import begin_run
from tests.beliefs.graphs import askable_of, random_graph
from tests.beliefs.test_propagation import beliefs_in, naive
from tests.running.killed_run import HashProbe, make_plan
from tests.written_source import WrittenSource


def parameters(facts: list[Fact], own: dict[str, tuple[int, int]], max_degree: int | None) -> dict[str, Any]:
    """Alpha and beta by the counters, from own answers (wrong, right) by fact."""
    names = sorted({end for fact in facts for end in (fact.subject, fact.object)})
    subjects = np.array([names.index(fact.subject) for fact in facts], dtype=np.int64)
    objects = np.array([names.index(fact.object) for fact in facts], dtype=np.int64)
    ends = FactEnds.of(subjects, objects, max_degree)
    wrong, right = (np.array([own.get(fact.id, (0, 0))[place] for fact in facts], dtype=np.float64) for place in (0, 1))
    pairs = zip(1 + received(ends, wrong), 1 + received(ends, right), strict=True)
    return dict(zip((fact.id for fact in facts), pairs, strict=True))


# Between so few entities there are loops, parallel facts and facts in both directions.
drawn_facts = some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=14)


@given(drawn_facts, some.sampled_from([1, 3, 5, None]), some.data())
def test_counters_are_the_definition(ends: list[tuple[int, int]], max_degree: int | None, data: Any) -> None:
    facts = [Fact(f"f{number}", f"e1{s}", "r0", f"e1{o}") for number, (s, o) in enumerate(ends)]
    answers = some.dictionaries(
        some.sampled_from([fact.id for fact in facts]) if facts else some.nothing(),
        some.sampled_from([Verdict.RIGHT, Verdict.WRONG]),
    )
    rounds = data.draw(some.lists(answers, max_size=3))
    expected = naive(facts, rounds, 1000 if max_degree is None else max_degree)
    own = {fact: (values[3], values[2]) for fact, values in expected.items()}
    found = parameters(facts, own, max_degree)
    assert found == {fact.id: expected.get(fact.id, (1, 1))[:2] for fact in facts}


def test_counters_say_what_a_run_in_the_graph_has_come_to(
    graph: Graph, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    people, edges, relations = random_graph(30, 200, seed=11)
    load(graph, WrittenSource(people, edges, relations))
    plan = make_plan("run", rounds=10, facts_per_round=8, seed=2, sampling="thompson", learner="propagation")
    begin_run(graph, HashProbe(graph), plan, "hash")
    continue_run(graph, HashProbe(graph), plan)
    beliefs = beliefs_in(graph, "run")
    facts = askable_of(edges)
    assert sum(values[2] + values[3] for values in beliefs.values()) == 80
    found = parameters(facts, {fact: (values[3], values[2]) for fact, values in beliefs.items()}, None)
    assert found == {fact.id: beliefs.get(fact.id, (1, 1))[:2] for fact in facts}
