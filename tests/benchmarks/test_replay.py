"""Replays of sampling strategies, against a replay written naively and against closed forms."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.replay.metrics import LATELY, replay_all, replay_one
from benchmarks.replay.synthetic import Synthetic, synthetic
from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import Beliefs, credible_interval
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.running.replays import (
    LEARNED_STRATEGIES,
    PAPER_STRATEGIES,
    SAMPLING_STRATEGIES,
    Reference,
    SamplingStrategy,
    SimulatedAnswers,
    checkpoint_rounds,
    shown_rounds,
)
from tests.cases import rotate

_READ = ("mse_all", "coverage", "mean_error")
SEQUENTIAL = SamplingStrategy("sequential", "independent")
UNIFORM = SamplingStrategy("uniform", "independent")


def small_reference(facts: int = 30, entities: int = 9, seed: int = 0) -> Reference:
    """A reference with loops, parallel facts, facts in both directions, and equal values of theta."""
    generator = np.random.default_rng(seed)
    ends = generator.integers(entities, size=(facts, 2))
    ends[:3] = [[0, 0], [1, 2], [2, 1]]
    return Reference(ends[:, 0], ends[:, 1], generator.choice([0.0, 0.1, 0.5, 0.9, 1.0], size=facts))


def naive_replay(
    reference: Reference,
    strategy: SamplingStrategy,
    seed: list[int],
    rounds: int,
    batch: int,
    hardest: int,
    max_degree: int,
) -> dict[str, float]:
    """Return the definition, fact by fact and answer by answer."""
    facts = [{int(s), int(o)} for s, o in zip(reference.subjects, reference.objects, strict=True)]
    theta = reference.theta.tolist()
    degree = {entity: sum(entity in fact for fact in facts) for fact in facts for entity in fact}
    beliefs = {number: {"alpha": 1, "beta": 1, "right": 0, "wrong": 0} for number in range(len(facts))}
    answers = SimulatedAnswers(reference.theta, seed)
    lists: list[list[int]] = []
    for number in range(1, rounds + 1):
        known = Beliefs.untouched(len(facts))
        for fact, belief in beliefs.items():
            if belief["alpha"] + belief["beta"] > 2:
                values = (np.array([float(belief[name])]) for name in ("alpha", "beta"))
                known.update(np.array([fact]), *values, np.array([True]))
        generator = np.random.default_rng([*seed, number])
        asked = known.choose(strategy.sampling, batch, number, generator).positions.tolist()
        lists.append(asked)
        for fact in asked:
            own = beliefs[fact]
            times = own["right"] + own["wrong"]
            wrong = bool(answers.wrong(np.array([fact]), np.array([times]))[0])
            own["wrong" if wrong else "right"] += 1
            own["alpha" if wrong else "beta"] += 1
            shared = {entity for entity in facts[fact] if degree[entity] <= max_degree}
            for other in range(len(facts)):
                if strategy.learner == "propagation" and other != fact and facts[other] & shared:
                    beliefs[other]["alpha" if wrong else "beta"] += 1
    expected = {fact: its["alpha"] / (its["alpha"] + its["beta"]) for fact, its in beliefs.items()}
    own_expected = {fact: (1 + its["wrong"]) / (2 + its["wrong"] + its["right"]) for fact, its in beliefs.items()}
    times = {fact: its["wrong"] + its["right"] for fact, its in beliefs.items()}
    by_theta = sorted(beliefs, key=lambda fact: (-theta[fact], fact))[:hardest]
    by_belief = sorted(beliefs, key=lambda fact: (-expected[fact], fact))[:hardest]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else math.nan

    def mse(estimate: dict[int, float], among: list[int]) -> float:
        return mean([(estimate[fact] - theta[fact]) ** 2 for fact in among if times[fact]])

    def covers(fact: int) -> bool:
        low, high = stats.beta.ppf([0.05, 0.95], beliefs[fact]["alpha"], beliefs[fact]["beta"])
        return bool(low <= theta[fact] <= high)

    easy = [fact for fact in beliefs if theta[fact] < 0.5]
    hard = [fact for fact in beliefs if theta[fact] >= 0.5]
    return {
        "requests": sum(times.values()),
        "examined": mean([float(times[fact] > 0) for fact in beliefs]),
        "mse": mse(expected, list(beliefs)),
        "mse_lately": mse(expected, sorted({fact for asked in lists[-LATELY:] for fact in asked})),
        "mse_own": mse(own_expected, list(beliefs)),
        "mse_easy": mse(expected, easy),
        "mse_hard": mse(expected, hard),
        "answers_easy": mean([times[fact] for fact in easy]),
        "answers_hard": mean([times[fact] for fact in hard]),
        "hardest_examined": mean([float(times[fact] > 0) for fact in by_theta]),
        "hardest_mse": mse(expected, by_theta),
        "hardest_mse_own": mse(own_expected, by_theta),
        "hardest_found": len(set(by_theta) & set(by_belief)) / hardest,
        "mse_all": mean([(expected[fact] - theta[fact]) ** 2 for fact in beliefs]),
        "coverage": mean([float(covers(fact)) for fact in beliefs]),
        "coverage_examined": mean([float(covers(fact)) for fact in beliefs if times[fact]]),
        "mean_error": mean(list(expected.values())) - mean(theta),
    }


@pytest.mark.parametrize("strategy", PAPER_STRATEGIES, ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("max_degree", [6, 1000])
def test_replay_is_its_definition(strategy: SamplingStrategy, max_degree: int) -> None:
    reference = small_reference()
    rounds = [1, 2, 5, 12, 30]
    found = replay_one(reference, strategy, [3, 1], checkpoints=rounds, batch=4, hardest=7, max_degree=max_degree)
    for number, standing in zip(rounds, found, strict=True):
        expected = naive_replay(reference, strategy, [3, 1], number, 4, 7, max_degree)
        assert dataclasses.asdict(standing) == pytest.approx(expected, nan_ok=True), number


@pytest.mark.parametrize(
    ("strategy", "relations"),
    rotate(LEARNED_STRATEGIES, [(None,), (np.arange(150) % 4,)]),
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.representatives(2)
def test_replay_with_learning_equals_the_learner(strategy: SamplingStrategy, relations: "np.ndarray | None") -> None:
    reference = dataclasses.replace(synthetic(Synthetic(150, likeness=0.8), [1]), relations=relations)
    effects = effects_of(reference.subjects, reference.objects, relations=relations)
    learner, answers = HierarchicalModel.of(effects), SimulatedAnswers(reference.theta, [3])
    times = np.zeros(150, np.int64)
    for number in range(1, 13):
        asked = choose(learner.messages, strategy.sampling, 16, np.random.default_rng([3, number])).positions
        learner.learn(asked, answers.wrong(asked, times[asked]))
        times[asked] += 1
    known = learner.posterior(np.arange(150))
    low, high = credible_interval(*beta_parameters(known))
    standing = replay_one(reference, strategy, [3], checkpoints=[12], batch=16)[0]
    assert standing.mse_all == pytest.approx(((known.theta - reference.theta) ** 2).mean())
    assert standing.coverage == pytest.approx(((low <= reference.theta) & (reference.theta <= high)).mean())
    assert standing.mean_error == pytest.approx(known.theta.mean() - reference.theta.mean())
    assert (standing.requests, standing.examined) == (192, (times > 0).mean())


@pytest.mark.slow
def test_learner_errs_less_with_similar_neighbours() -> None:
    references = [synthetic(Synthetic(800, hard=0.3, spread=6, likeness=0.9), [seed]) for seed in range(2)]
    found = replay_all(references, 2, checkpoints=[13, 50], batch=64)
    means = {
        strategy: {name: np.mean([[getattr(one, name) for one in run] for run in runs], axis=0) for name in _READ}
        for strategy, runs in found.items()
    }
    best = np.min([means[strategy.name]["mse_all"] for strategy in PAPER_STRATEGIES], axis=0)
    assert (means["information + hierarchical"]["mse_all"] < 0.8 * best).all()
    assert (np.abs(means["information + hierarchical"]["coverage"] - 0.9) < 0.06).all()
    assert (means["thompson + propagation"]["coverage"] < 0.4).all()
    assert (np.abs(means["information + hierarchical"]["mean_error"]) < 0.03).all()


@pytest.mark.slow
def test_replay_is_equal_for_equal_seeds_only() -> None:
    reference = small_reference()

    def replayed(seed: int) -> Any:
        drawing = [strategy for strategy in SAMPLING_STRATEGIES if strategy.sampling != "sequential"]
        return [replay_one(reference, strategy, [seed], checkpoints=[20], batch=4) for strategy in drawing]

    assert replayed(1) == replayed(1)
    assert all(one != other for one, other in zip(replayed(1), replayed(2), strict=True))


def test_nth_answer_about_a_fact_is_the_same_whoever_asks() -> None:
    theta = np.linspace(0, 1, 50)
    forward, backward = SimulatedAnswers(theta, [4]), SimulatedAnswers(theta, [4])
    facts = np.arange(50)
    one = [forward.wrong(facts, np.full(50, time)) for time in (0, 1, 2)]
    other = [backward.wrong(facts[::-1], np.full(50, time))[::-1] for time in (2, 1, 0)][::-1]
    assert np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])
    often = np.mean([forward.wrong(facts, np.full(50, time)) for time in range(400)], axis=0)
    assert often == pytest.approx(theta, abs=0.1)
    assert (often[0], often[-1]) == (0, 1)


def test_error_of_own_answers_is_what_the_binomial_says() -> None:
    reference = synthetic(Synthetic(20_000, hard=0.4, spread=2), [1])
    theta = reference.theta

    def expected(answers: float) -> Any:
        return ((1 - 2 * theta) ** 2 + answers * theta * (1 - theta)) / (answers + 2) ** 2

    iterated = replay_one(reference, SEQUENTIAL, [2], checkpoints=[10, 20, 50], batch=2_000)
    assert [standing.mse for standing in iterated] == pytest.approx([expected(n).mean() for n in (1, 2, 5)], rel=0.05)
    assert [standing.answers_easy for standing in iterated] == [1, 2, 5]

    # At random, a fact has had about Poisson many answers, and those with none do not count.
    drawn = replay_one(reference, UNIFORM, [2], checkpoints=[200, 800], batch=100)
    for standing, mean in zip(drawn, (1, 4), strict=True):
        weights = [math.exp(-mean) * mean**n / math.factorial(n) for n in range(40)]
        error = sum(weight * expected(n).mean() for n, weight in enumerate(weights) if n)
        assert standing.examined == pytest.approx(1 - weights[0], abs=0.01)
        assert standing.mse == pytest.approx(error / (1 - weights[0]), rel=0.05)


@pytest.mark.slow
def test_all_strategies_are_replayed_on_each_reference() -> None:
    references = [small_reference(seed=seed) for seed in (1, 2)]
    replayed = []
    found = replay_all(
        references, 7, checkpoints=[1, 9], batch=4, hardest=5, max_degree=6, on_replay=lambda: replayed.append(1)
    )
    assert (list(found), len(replayed)) == ([strategy.name for strategy in SAMPLING_STRATEGIES], 18)
    for strategy in SAMPLING_STRATEGIES:
        for repetition, reference in enumerate(references):
            alone = replay_one(
                reference, strategy, [7, repetition], checkpoints=[1, 9], batch=4, hardest=5, max_degree=6
            )
            assert str(found[strategy.name][repetition]) == str(alone)
            assert [standing.requests for standing in alone] == [4, 36]


def test_checkpoints_are_close_at_the_beginning_and_at_passes() -> None:
    rounds = checkpoint_rounds(2_500, 20_000, 64)
    assert rounds == sorted(set(rounds))
    assert (rounds[:3], rounds[-1]) == ([1, 2, 3], 313)
    shown = shown_rounds(2_500, 313, 64)
    assert shown == [10, 20, 39, 78, 156, 313]
    assert set(shown) <= set(rounds)
    # Fewer facts than a round could ask; fewer requests than a round asks.
    assert checkpoint_rounds(10, 25, 64) == [1, 2, 3]
    assert shown_rounds(10, 3, 64) == [1, 2, 3]
    assert checkpoint_rounds(1_000, 5, 64) == [1]


def test_with_no_more_facts_than_the_hardest_all_of_them_are() -> None:
    standing = replay_one(small_reference(facts=6), SEQUENTIAL, [0], checkpoints=[3], batch=64, hardest=100)[0]
    assert (standing.requests, standing.hardest_found) == (18, 1)
    assert standing.hardest_mse == pytest.approx(standing.mse)
