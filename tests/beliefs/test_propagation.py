"""One round in Cypher, on both engines, and the counters of a replay, against the definition written naively."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Fact
from kgprobe.beliefs.propagation import FactEnds, received
from kgprobe.beliefs.register import LEARNERS
from kgprobe.beliefs.summary import belief_rows, summarize
from kgprobe.graph.client import Graph
from kgprobe.graph.driver import encoded_bytes
from kgprobe.graph.ingest import load
from kgprobe.graph.state import graph_state
from kgprobe.probes.outcome import Outcome, Verdict, guessing_chance
from kgprobe.running.learner import Applied
from kgprobe.running.plan import Plan
from kgprobe.sampling.keys import FactKey
from tests.beliefs.graphs import askable_of, random_graph
from tests.running.killed_run import HashEvidence, make_plan
from tests.written_source import WrittenSource

AS_OF = 20200101
ASKABLE = {"r0": "is near", "r1": "is far from"}


def naive(
    facts: Sequence[Fact], rounds: Sequence[dict[str, Verdict]], max_degree: int
) -> dict[str, tuple[int, int, int, int]]:
    """Alpha, beta, right, wrong of touched facts: a fact that shares an entity gets an answer's increments once."""
    degree: dict[str, int] = defaultdict(int)
    for fact in facts:
        for entity in {fact.subject, fact.object}:
            degree[entity] += 1
    askable = askable_of(facts)
    beliefs: dict[str, list[int]] = defaultdict(lambda: [1, 1, 0, 0])
    by_id = {fact.id: fact for fact in facts}
    for answers in rounds:
        for asked_id, verdict in answers.items():
            own = beliefs[asked_id]
            if verdict in (Verdict.UNASKABLE, Verdict.UNANSWERED):
                continue
            # A refusal and an answer that nothing can be read from are failures.
            wrong = int(verdict is not Verdict.RIGHT)
            own[0] += wrong
            own[1] += 1 - wrong
            own[2] += 1 - wrong
            own[3] += wrong
            asked = by_id[asked_id]
            shared = {entity for entity in (asked.subject, asked.object) if degree[entity] <= max_degree}
            for fact in askable:
                if fact.id != asked_id and shared & {fact.subject, fact.object}:
                    beliefs[fact.id][0] += wrong
                    beliefs[fact.id][1] += 1 - wrong
    return {fact: tuple(values) for fact, values in beliefs.items()}  # type: ignore[misc]


def beliefs_in(graph: Graph, run: str) -> dict[str, tuple[int, int, int, int]]:
    """Alpha, beta, right, wrong of a run's facts, where all that follows of them stands beside them."""
    text = (
        "MATCH (b:Belief) WHERE b.run = $run "
        "RETURN properties(b) AS belief, b.alpha / (b.alpha + b.beta) AS theta ORDER BY b.fact"
    )
    rows = list(graph.run_text(text, {"run": run})[1])
    beliefs = [row["belief"] for row in rows]
    assert all(type(belief[name]) is float for belief in beliefs for name in ("alpha", "beta", "theta", "low", "high"))
    assert [belief["theta"] for belief in beliefs] == [row["theta"] for row in rows]
    alpha, beta, low, high = (
        np.array([belief[name] for belief in beliefs]) for name in ("alpha", "beta", "low", "high")
    )
    assert np.allclose((low, high), stats.beta(alpha, beta).interval(0.9), rtol=1e-12) if beliefs else True
    found = {one["fact"]: (one["alpha"], one["beta"], one["right"], one["wrong"]) for one in beliefs}
    assert len(found) == len(rows), "a fact has two beliefs in one run"
    return found


def outcomes_of(facts: Sequence[Fact], answers: dict[str, Verdict]) -> list[Outcome]:
    subjects = {fact.id: fact.subject for fact in facts}
    return [
        Outcome(
            FactKey(subjects[fact], fact), verdict, "r0", reason="no type" if verdict is Verdict.UNASKABLE else None
        )
        for fact, verdict in answers.items()
    ]


def apply(graph: Graph, plan: Plan, number: int, outcomes: Sequence[Outcome]) -> Applied:
    run = {"id": plan.run, "uid": "00000000", "model": "m", "relations": list(ASKABLE), "as_of": plan.as_of}
    run["graph"] = graph_state(graph)
    learner = LEARNERS[plan.options.learner].load()(graph, plan, run, ASKABLE)
    applied: Applied = learner.apply(number, outcomes)(list(map(guessing_chance, outcomes)), lambda: None)
    return applied


def begin(graph: Graph, run: str) -> None:
    graph.write("beliefs/begin_run", id=run, properties={"model": "m"})


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.integers(2, 7), some.integers(1, 25), some.sampled_from([3, 6, 1000]), some.data())
def test_rounds_are_the_definition(graph: Graph, entities: int, facts: int, max_degree: int, data: Any) -> None:
    list(graph.run_text("MATCH (n) DETACH DELETE n", {})[1])
    seed = data.draw(some.integers(0, 10_000))
    people, edges, relations = random_graph(entities, facts, seed)
    load(graph, WrittenSource(people, edges, relations))
    askable = [fact.id for fact in askable_of(edges)]
    if not askable:
        return
    answers = some.dictionaries(some.sampled_from(askable), some.sampled_from(Verdict), max_size=8)
    rounds = data.draw(some.lists(answers, min_size=1, max_size=3))
    begin(graph, "run")
    for number, answered in enumerate(rounds, start=1):
        plan = make_plan("run", as_of=AS_OF, max_degree=max_degree, learner="propagation")
        outcomes = outcomes_of(edges, answered)
        before = beliefs_in(graph, "run")
        touched = apply(graph, plan, number, outcomes).touched
        assert beliefs_in(graph, "run") == naive(edges, rounds[:number], max_degree)
        changed = beliefs_in(graph, "run").items() - before.items()
        assert len(changed) <= touched
    assert beliefs_in(graph, "run") == naive(edges, rounds, max_degree)


def test_counters_at_entities_give_the_same_beliefs(graph: Graph) -> None:
    people, edges, relations = random_graph(12, 60, seed=3)
    load(graph, WrittenSource(people, edges, relations))
    askable = askable_of(edges)
    answers = {fact.id: (Verdict.RIGHT, Verdict.WRONG)[index % 3 == 0] for index, fact in enumerate(askable[:20])}
    begin(graph, "run")
    apply(graph, make_plan("run", as_of=AS_OF, learner="propagation"), 1, outcomes_of(edges, answers))
    found = beliefs_in(graph, "run")
    for fact in askable:
        for place, verdict in ((0, Verdict.WRONG), (1, Verdict.RIGHT)):
            counted = [other for other in askable if answers.get(other.id) is verdict]
            at = {
                entity: sum(entity in (other.subject, other.object) for other in counted)
                for entity in (fact.subject, fact.object)
            }
            between = sum({other.subject, other.object} == {fact.subject, fact.object} for other in counted)
            loop = fact.subject == fact.object
            expected = 1 + at[fact.subject] + (0 if loop else at[fact.object] - between)
            assert found.get(fact.id, (1, 1))[place] == expected


def test_facts_without_propagation_learn_from_own_answers(graph: Graph) -> None:
    people, edges, relations = random_graph(6, 20, seed=4)
    load(graph, WrittenSource(people, edges, relations))
    asked = [fact.id for fact in askable_of(edges)[:4]]
    answers = dict(zip(asked, (Verdict.WRONG, Verdict.RIGHT, Verdict.UNANSWERED, Verdict.UNASKABLE), strict=True))
    begin(graph, "run")
    plan = make_plan("run", as_of=AS_OF, learner="independent")
    applied = apply(graph, plan, 1, outcomes_of(edges, answers))
    expected = {asked[0]: (2, 1, 0, 1), asked[1]: (1, 2, 1, 0), asked[2]: (1, 1, 0, 0), asked[3]: (1, 1, 0, 0)}
    assert beliefs_in(graph, "run") == expected
    touched = {row["fact"]: row["unaskable"] for row in graph.read("beliefs/touched", run="run")}
    assert touched == {fact: fact == asked[3] for fact in asked}
    assert (applied.touched, applied.hubs) == (4, {})


def test_refusals_and_answers_off_the_format_are_counted_apart(graph: Graph) -> None:
    people, edges, relations = random_graph(6, 20, seed=4)
    load(graph, WrittenSource(people, edges, relations))
    asked = askable_of(edges)[0].id
    begin(graph, "run")
    given = (Verdict.REFUSED, Verdict.OFF_FORMAT, Verdict.WRONG, Verdict.REFUSED, Verdict.UNANSWERED, Verdict.RIGHT)
    for number, verdict in enumerate(given, start=1):
        apply(graph, make_plan("run", as_of=AS_OF, learner="propagation"), number, outcomes_of(edges, {asked: verdict}))
    text = "MATCH (b:Belief {fact: $fact}) RETURN b.wrong AS wrong, b.refused AS refused, b.off_format AS off"
    assert list(graph.run_text(text, {"fact": asked})[1]) == [{"wrong": 4, "refused": 2, "off": 1}]
    run = graph.read("beliefs/run", id="run")[0]["run"]
    assert (run["asked"], run["unanswered"], run["unaskable"]) == (5, 1, 0)


def test_round_counts_once(graph: Graph) -> None:
    people, edges, relations = random_graph(5, 12, seed=1)
    load(graph, WrittenSource(people, edges, relations))
    asked = askable_of(edges)[0].id
    outcomes = outcomes_of(edges, {asked: Verdict.WRONG})
    begin(graph, "run")
    plan = make_plan("run", as_of=AS_OF, learner="propagation")
    apply(graph, plan, 1, outcomes)
    before = beliefs_in(graph, "run")
    with pytest.raises(KgprobeError, match="has round 1 already"):
        apply(graph, plan, 1, outcomes)
    assert beliefs_in(graph, "run") == before


def test_runs_do_not_mix(graph: Graph) -> None:
    people, edges, relations = random_graph(5, 12, seed=2)
    load(graph, WrittenSource(people, edges, relations))
    asked = askable_of(edges)[0].id
    for run, verdict in (("one", Verdict.WRONG), ("two", Verdict.RIGHT)):
        begin(graph, run)
        apply(graph, make_plan(run, as_of=AS_OF, learner="propagation"), 1, outcomes_of(edges, {asked: verdict}))
    assert beliefs_in(graph, "one")[asked] == (2, 1, 0, 1)
    assert beliefs_in(graph, "two")[asked] == (1, 2, 1, 0)


def test_belief_tells_what_it_is_about_and_what_was_asked_last(graph: Graph) -> None:
    people, edges, relations = random_graph(6, 20, seed=4)
    load(graph, WrittenSource(people, edges, relations))
    asked, untold = (fact for fact in askable_of(edges)[:2])
    begin(graph, "run")
    for number, (verdict, question) in enumerate(
        [
            (Verdict.WRONG, "Which?"),
            (Verdict.UNANSWERED, None),
            (Verdict.RIGHT, "Which, again?"),
            (Verdict.WRONG, None),
        ],
        1,
    ):
        evidence = HashEvidence((), question=question) if question else None
        outcome = Outcome(FactKey(asked.subject, asked.id), verdict, asked.relation, evidence=evidence)
        others = outcomes_of(edges, {untold.id: Verdict.UNASKABLE})
        apply(graph, make_plan("run", as_of=AS_OF, learner="propagation"), number, [outcome, *others])
    text = "MATCH (b:Belief) RETURN b.fact AS fact, b.relation AS id, b.relation_label AS label, b.question AS question"
    found = {row["fact"]: row for row in graph.run_text(text, {})[1]}
    assert len(found) > 2
    for fact in edges:
        if fact.id in found:
            assert (found[fact.id]["id"], found[fact.id]["label"]) == (fact.relation, ASKABLE[fact.relation])
    questions = {fact: row["question"] for fact, row in found.items() if row["question"] is not None}
    assert questions == {asked.id: "Which, again?"}


@given(
    some.dictionaries(some.text(max_size=5), some.tuples(some.integers(1, 9), some.integers(1, 9))),
    some.integers(1, 200),
)
def test_beliefs_are_sent_in_parts_each_fact_once(facts: dict[str, tuple[int, int]], most_bytes: int) -> None:
    answers = {"right": 0, "wrong": 0, "chances": []}
    touched = [
        {"fact": fact, "alpha": float(alpha), "beta": float(beta), **answers} for fact, (alpha, beta) in facts.items()
    ]
    sent: dict[str, list[float]] = {}
    for part in belief_rows("run", touched, summarize(touched), most_bytes):
        assert sum(encoded_bytes(row) for row in part) <= most_bytes + 100 or len(part) == 1
        sent |= {row["belief"]: row["values"] for row in part}
    expected = {
        f"run/{fact}": [alpha, beta, *stats.beta(alpha, beta).interval(0.9)] for fact, (alpha, beta) in facts.items()
    }
    assert sent.keys() == expected.keys()
    assert all(np.allclose(sent[belief], expected[belief]) for belief in expected)


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
