"""The reference that a run gives is what it found."""

from pathlib import Path

import pytest

from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.running.rounds import continue_run
from kgprobe.running.runs import Plan, begin_run
from kgprobe.studies.run_reference import reference_of_run
from tests.beliefs.graphs import askable_of, random_graph
from tests.beliefs.test_propagation import beliefs_in
from tests.running.killed_run import AS_OF, HashProbe
from tests.running.test_rounds import UnaskableProbe
from tests.written_source import WrittenSource


def test_a_run_gives_the_share_of_wrong_answers(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    people, edges, relations = random_graph(20, 120, seed=6)
    load(graph, WrittenSource(people, edges, relations))
    askable = askable_of(edges)
    plan = Plan("run", rounds=6, batch=32, seed=1, as_of=AS_OF, sampling="sequential", learner="independent")
    begin_run(graph, UnaskableProbe(graph), plan, "hash")
    continue_run(graph, UnaskableProbe(graph), plan)
    answered = reference_of_run(graph, "run")
    own = {fact: values[2:] for fact, values in beliefs_in(graph, "run").items() if sum(values[2:])}
    asked = [fact for fact in sorted(askable, key=lambda fact: fact.id) if fact.id in own]
    assert 0 < len(asked) == sum(fact.relation == "r1" for fact in askable)
    assert answered.reference.theta.tolist() == [own[fact.id][1] / sum(own[fact.id]) for fact in asked]
    assert answered.unaskable == sum(fact.relation == "r0" for fact in askable)
    assert answered.least == min(map(sum, own.values())) > 1
    assert answered.mean == pytest.approx(sum(map(sum, own.values())) / len(own))
    # Facts share an entity by their numbers where they do by their ids.
    names = [(fact.subject, fact.object) for fact in asked]
    numbers = list(zip(answered.reference.subjects.tolist(), answered.reference.objects.tolist(), strict=True))
    assert len(set(zip(sum(names, ()), sum(numbers, ()), strict=True))) == len(set(sum(names, ())))
    assert len(set(sum(names, ()))) == len(set(sum(numbers, ())))
    assert answered.reference.relations is not None
    assert answered.reference.relations.tolist() == [0] * len(asked)

    with pytest.raises(UnknownNameError, match="Unknown run 'other'"):
        reference_of_run(graph, "other")
    begin_run(graph, HashProbe(graph), Plan("empty", as_of=AS_OF), "hash")
    with pytest.raises(KgprobeError, match="answers about 0 facts"):
        reference_of_run(graph, "empty")
