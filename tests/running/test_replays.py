"""References of replays: of a run, and the one that comes with kgprobe."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.records import Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.loaders.example import open_example
from kgprobe.running.replays import demo_answers, demo_reference, fit_prior, make_reference, run_truth
from kgprobe.running.rounds import continue_run
from kgprobe.running.runs import begin_run
from tests.beliefs.graphs import askable_of, random_graph
from tests.beliefs.test_propagation import beliefs_in
from tests.running.killed_run import HashProbe, make_plan
from tests.running.test_rounds import UnaskableProbe
from tests.written_source import WrittenSource


def test_run_gives_the_share_of_wrong_answers(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    people, edges, relations = random_graph(20, 120, seed=6)
    load(graph, WrittenSource(people, edges, relations))
    askable = askable_of(edges)
    plan = make_plan("run", rounds=6, facts_per_round=32, seed=1, sampling="sequential", learner="independent")
    begin_run(graph, UnaskableProbe(graph), plan, "hash")
    continue_run(graph, UnaskableProbe(graph), plan)
    truth = run_truth(graph, "run", 2)
    reference, again = truth.references
    assert reference is again
    own = {fact: values[2:] for fact, values in beliefs_in(graph, "run").items() if sum(values[2:])}
    asked = [fact for fact in sorted(askable, key=lambda fact: fact.id) if fact.id in own]
    assert 0 < len(asked) == sum(fact.relation == "r1" for fact in askable)
    assert reference.theta.tolist() == [own[fact.id][1] / sum(own[fact.id]) for fact in asked]
    unaskable = sum(fact.relation == "r0" for fact in askable)
    least = min(map(sum, own.values()))
    mean = sum(map(sum, own.values())) / len(own)
    assert truth.notes[0] == (
        f"θ is the share of a fact's own answers in run run that were wrong: {mean:.1f} answers a fact, {least:.0f} at"
        f" least; {unaskable} facts that it could not ask are left out."
    )
    assert ["With so few answers θ is coarse" in note for note in truth.notes] == [False, True]
    # Facts share an entity by their numbers where they do by their ids.
    names = [(fact.subject, fact.object) for fact in asked]
    numbers = list(zip(reference.subjects.tolist(), reference.objects.tolist(), strict=True))
    assert len(set(zip(sum(names, ()), sum(numbers, ()), strict=True))) == len(set(sum(names, ())))
    assert len(set(sum(names, ()))) == len(set(sum(numbers, ())))
    assert reference.relations is not None
    assert reference.relations.tolist() == [0] * len(asked)

    with pytest.raises(UnknownNameError, match="Unknown run 'other'"):
        run_truth(graph, "other", 2)
    begin_run(graph, HashProbe(graph), make_plan("empty"), "hash")
    with pytest.raises(KgprobeError, match="answers about 0 facts"):
        run_truth(graph, "empty", 2)


def test_reference_of_ids() -> None:
    facts = pd.DataFrame({"subject": ["a", "b", "a"], "relation": ["r", "q", "q"], "object": ["b", "c", "a"]})
    made = make_reference(facts, np.array([0.1, 0.5, 0.9]))
    ends = made.subjects.tolist() + made.objects.tolist()
    assert ends == [0, 1, 0, 1, 2, 0]
    assert made.relations is not None
    assert made.relations.tolist() == [1, 0, 0]
    assert made.theta.tolist() == [0.1, 0.5, 0.9]


def answers() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Facts, right and wrong answers, as the file has them."""
    columns = demo_answers()
    return columns["fact"].tolist(), columns["right"].to_numpy(), columns["wrong"].to_numpy()


def test_example_has_each_fact_asked_eight_times() -> None:
    facts, right, wrong = answers()
    known = {one.record.id: one.record for one in open_example().facts() if isinstance(one.record, Fact)}
    assert len(set(facts)) == len(facts) == 2_554
    assert set(facts) <= known.keys()
    assert set((right + wrong).tolist()) == {8, 9}
    reference = demo_reference([0])
    # Facts of one subject, object or relation in the file are so in the reference.
    its = [known[fact] for fact in facts]
    for ids, numbers in (
        ([one.subject for one in its] + [one.object for one in its], np.r_[reference.subjects, reference.objects]),
        ([one.relation for one in its], reference.relations),
    ):
        assert numbers is not None
        assert len(set(zip(ids, numbers.tolist(), strict=True))) == len(set(ids)) == len(set(numbers.tolist()))


@pytest.mark.slow
def test_theta_is_drawn_from_what_the_answers_leave_open() -> None:
    _, right, wrong = answers()
    draws = np.array([demo_reference([1, number]).theta for number in range(200)])
    assert draws.mean() == pytest.approx(wrong.sum() / (right + wrong).sum(), abs=0.003)
    # As different as the model's: what two answers about a fact have in common, without bias.
    again = (wrong * (wrong - 1) / ((right + wrong) * (right + wrong - 1))).mean()
    assert (draws**2).mean() == pytest.approx(again, abs=0.003)
    never = draws[:, wrong == 0].mean()
    assert 0.01 < never < 0.06
    assert draws[:, right == 0].mean() > 0.9
    assert np.array_equal(draws[0], demo_reference([1, 0]).theta)


def test_prior_makes_the_answers_most_probable() -> None:
    _, right, wrong = answers()
    a, b = fit_prior(right.astype(float), wrong.astype(float))

    def half(x: float, near: float, far: float) -> float:
        """Below one half, with theta = x**4, which takes away the pole at 0."""
        return 4 * x ** (4 * near - 1) * (1 - x**4) ** (far - 1)

    def log_likelihood(a: float, b: float) -> float:
        """Return the log-likelihood by integrating over theta, a sum over the different pairs of answers."""
        pairs, counts = np.unique(np.stack([right, wrong]), axis=1, return_counts=True)
        total = 0.0
        for (r, w), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
            shapes = (a + w, b + r)
            low, high = (integrate.quad(half, 0, 0.5**0.25, args=its)[0] for its in (shapes, shapes[::-1]))
            total += count * math.log(low + high)
        return total - len(right) * (math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))

    best = log_likelihood(a, b)
    for other in ((1.03 * a, b), (0.97 * a, b), (a, 1.03 * b), (a, 0.97 * b), (1.03 * a, 1.03 * b)):
        assert log_likelihood(*other) < best
