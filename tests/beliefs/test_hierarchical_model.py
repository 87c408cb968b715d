"""What is learned of made-up facts, against what they were made with."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from kgprobe.beliefs.draw import credible_interval
from kgprobe.beliefs.effects import Effects, effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters, initial_variances, learn_variances
from kgprobe.beliefs.messages import Messages

Floats = NDArray[np.float64]


def made(
    facts: int, entities: int, relations: int, deviations: tuple[float, float, float], seed: int
) -> tuple[Effects, Floats]:
    """Random facts, and their theta.

    Args:
        deviations: of the effects of relations and entities, and of what facts have of their own.
    """
    generator = np.random.default_rng(seed)
    ends = generator.integers(entities, size=(2, facts))
    of_relation = generator.integers(relations, size=facts)
    of_relations, of_entities, own = (
        deviation * generator.normal(size=size)
        for deviation, size in zip(deviations, (relations, entities, facts), strict=True)
    )
    x = 0.5 + of_relations[of_relation] + of_entities[ends[0]] + of_entities[ends[1]] + own
    return effects_of(*ends, relations=of_relation), special.expit(x)


def asked(effects: Effects, theta: Floats, times: int, seed: int) -> Messages:
    generator = np.random.default_rng(seed)
    messages = Messages(effects, initial_variances(effects.fixed_variances()), effects.count)
    for _ in range(times):
        messages.add(np.arange(effects.count), generator.random(effects.count) < theta)
    return messages


@pytest.mark.parametrize("deviations", [(1.5, 1.0, 0.7), (0.3, 1.5, 2.0)])
def test_variances_are_those_that_facts_were_made_with(deviations: tuple[float, float, float]) -> None:
    effects, theta = made(3_000, 250, 60, deviations, seed=1)
    messages = asked(effects, theta, times=6, seed=2)
    learn_variances(messages)
    found = np.sqrt([*messages.variances.kinds[1:], messages.variances.own])
    assert found == pytest.approx(deviations, rel=0.2)


def test_what_does_not_differ_is_found_not_to() -> None:
    effects, theta = made(2_000, 200, 20, (0.0, 0.0, 1.5), seed=3)
    messages = asked(effects, theta, times=6, seed=4)
    learn_variances(messages)
    assert messages.variances.kinds[1:].max() < 0.05
    assert messages.variances.own**0.5 == pytest.approx(1.5, rel=0.15)


@pytest.mark.slow
def test_intervals_hold_what_they_say_also_of_facts_never_asked() -> None:
    effects, theta = made(4_000, 600, 30, (1.0, 1.0, 1.0), seed=5)
    generator = np.random.default_rng(6)
    learner = HierarchicalModel.of(effects)
    for _ in range(100):
        facts = generator.choice(2_000, 64, replace=False)
        learner.learn(facts, generator.random(64) < theta[facts])
    known = learner.posterior(np.arange(4_000))
    low, high = credible_interval(*beta_parameters(known))
    covered = (low <= theta) & (theta <= high)
    for of_them in (slice(0, 2_000), slice(2_000, None)):
        assert 0.85 < covered[of_them].mean() < 0.95
    # Those that were not asked are known by what they share: better than by the rate of all.
    unasked = theta[2_000:]
    assert ((known.theta[2_000:] - unasked) ** 2).mean() < 0.8 * unasked.var()


def test_beta_parameters_have_the_mean_and_the_variance() -> None:
    effects, theta = made(50, 20, 3, (1.0, 1.0, 1.0), seed=7)
    messages = asked(effects, theta, times=2, seed=8)
    known = messages.posterior(np.arange(50))
    alpha, beta = beta_parameters(known)
    total = alpha + beta
    assert alpha / total == pytest.approx(known.theta)
    assert alpha * beta / (total**2 * (total + 1)) == pytest.approx(known.theta_variance)


def test_rounds_learn_variances_when_answers_are_a_quarter_more() -> None:
    effects, theta = made(2_000, 300, 10, (1.0, 1.0, 1.0), seed=9)
    generator = np.random.default_rng(10)
    learner = HierarchicalModel.of(effects)
    learned = []
    for number in range(20):
        facts = generator.choice(2_000, 10, replace=False)
        if learner.learn(facts, generator.random(10) < theta[facts]):
            learned.append(number + 1)
    # After 10, 20, 30, 40, 50, 70, 90, 120, 150, 190 answers.
    assert learned == [1, 2, 3, 4, 5, 7, 9, 12, 15, 19]


def test_round_without_answers_changes_nothing() -> None:
    effects, _ = made(50, 20, 3, (1.0, 1.0, 1.0), seed=11)
    learner = HierarchicalModel.of(effects)
    assert not learner.learn(np.empty(0, np.int64), np.empty(0, np.bool_))
    learner.learn(np.array([3]), np.array([True]))
    before = learner.messages.heard.copy()
    assert not learner.learn(np.empty(0, np.int64), np.empty(0, np.bool_))
    assert np.array_equal(learner.messages.heard, before)


def test_equal_answers_in_equal_rounds_give_equal_numbers() -> None:
    effects, theta = made(3_000, 300, 10, (1.0, 1.0, 1.0), seed=12)
    heard = []
    for _ in range(2):
        generator = np.random.default_rng(13)
        learner = HierarchicalModel.of(effects)
        for _ in range(12):
            facts = generator.choice(3_000, 64, replace=False)
            learner.learn(facts, generator.random(64) < theta[facts])
        heard.append(learner.messages.heard.copy())
    assert np.array_equal(*heard)
