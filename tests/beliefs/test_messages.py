"""Messages between facts and parts, against expectation propagation with one joint normal of all parts.

The moments of one fact are tested against adaptive quadrature.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.typing import NDArray
from scipy import integrate, optimize, special

from kgprobe.beliefs.effects import Effects, effects_of
from kgprobe.beliefs.messages import Messages, Variances, settle, tilted
from tests.cases import slow_except

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
# So many standard deviations around 0 hold whatever the answers of these tests leave of x.
GRID = np.linspace(-40, 40, 16_001)
# A mean that is known all but surely joins nothing.
KNOWN = 1e-9


def dense(effects: Effects, variances: Variances, wrong: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of x of all facts: sites on x in a normal of all parts and of what facts have of their own."""
    facts, parts = effects.count, effects.all_parts
    maps = np.zeros((facts, parts + facts))
    for fact, (its, weights) in enumerate(zip(*effects.of(np.arange(facts)), strict=True)):
        for part, weight in zip(its, weights, strict=True):
            maps[fact, part] += weight
        maps[fact, parts + fact] = 1
    kinds = effects.kinds_of(np.arange(parts))
    prior = np.concatenate([1 / variances.kinds[kinds], np.full(facts, 1 / variances.own)])
    precision, shift = np.zeros(facts), np.zeros(facts)
    for _ in range(60):
        for fact in np.flatnonzero(answers):
            covariance = np.linalg.inv(np.diag(prior) + maps.T @ np.diag(precision) @ maps)
            mean = float(maps[fact] @ covariance @ maps.T @ shift)
            variance = float(maps[fact] @ covariance @ maps[fact])
            cavity = 1 / variance - precision[fact]
            at = (mean / variance - shift[fact]) / cavity
            log_density = wrong[fact] * GRID - answers[fact] * np.logaddexp(0, GRID) - (GRID - at) ** 2 * cavity / 2
            weights = np.exp(log_density - log_density.max())
            weights /= weights.sum()
            centre = float(weights @ GRID)
            spread = float(weights @ (GRID - centre) ** 2)
            precision[fact] = 1 / spread - cavity
            shift[fact] = centre / spread - at * cavity
    covariance = np.linalg.inv(np.diag(prior) + maps.T @ np.diag(precision) @ maps)
    return maps @ covariance @ maps.T @ shift, np.diag(maps @ covariance @ maps.T)


def ask(messages: Messages, wrong: Floats, answers: Floats, *, after: int = 0) -> Positions:
    """Add answers of all facts, from the ``after``-th on, wrong ones first; gives their slots."""
    for time in range(after, int(answers.max(initial=0))):
        asked = np.flatnonzero(answers > time)
        messages.add(asked, wrong[asked] > time)
    return np.arange(messages.answered)


def settled(effects: Effects, variances: Variances, wrong: Floats, answers: Floats) -> Messages:
    messages = Messages(effects, variances, effects.count)
    settle(messages, ask(messages, wrong, answers), 500, 1e-6)
    return messages


def tree(entities: int, seed: int) -> Effects:
    """Facts that form a tree: each joins an entity to one that is there."""
    generator = np.random.default_rng(seed)
    ends = np.array([[generator.integers(number), number] for number in range(1, entities)])
    return effects_of(ends[:, 0], ends[:, 1])


def alone(facts: int) -> Effects:
    """Facts that have nothing in common but the mean."""
    return effects_of(np.arange(facts), facts + np.arange(facts))


def some_answers(facts: int, seed: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    answers = generator.integers(0, 6, facts).astype(float)
    return np.floor(generator.random(facts) * (answers + 1)), answers


TREES = [
    (tree(18, 0), Variances(np.array([KNOWN, 2.0]), 1.5), 1e-3),
    # Facts that share only the mean.
    (alone(15), Variances(np.array([25.0, 1.0]), 2.0), 2e-3),
]


@pytest.mark.parametrize(("effects", "variances", "allowed"), TREES, ids=["tree", "mean"])
def test_on_trees_messages_are_the_joint_fit(effects: Effects, variances: Variances, allowed: float) -> None:
    wrong, answers = some_answers(effects.count, 9)
    mean, variance = settled(effects, variances, wrong, answers).marginals(np.arange(effects.count))
    expected_mean, expected_variance = dense(effects, variances, wrong, answers)
    assert mean == pytest.approx(expected_mean, abs=allowed)
    assert variance == pytest.approx(expected_variance, rel=allowed)


@pytest.mark.parametrize("seed", slow_except(range(3), [2]))
def test_with_loops_messages_are_close_to_the_joint_fit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    ends = generator.integers(15, size=(2, 40))
    ends[:, :3] = [[0, 1, 2], [0, 2, 1]]
    effects = effects_of(*ends, relations=generator.integers(3, size=40), popularity=generator.normal(size=40))
    variances = Variances(np.array([25.0, 1.0, 0.5, 1.5]), 1.5)
    wrong, answers = some_answers(40, seed)
    mean, variance = settled(effects, variances, wrong, answers).marginals(np.arange(40))
    expected_mean, expected_variance = dense(effects, variances, wrong, answers)
    deviation = np.sqrt(expected_variance)
    apart, ratio = np.abs(mean - expected_mean) / deviation, np.sqrt(variance) / deviation
    assert apart.max() < 0.03
    assert (ratio > 0.96).all()
    assert (ratio < 1.11).all()


def test_answers_one_by_one_come_to_what_all_at_once_come_to() -> None:
    effects = tree(40, 5)
    variances = Variances(np.array([KNOWN, 2.0]), 1.5)
    wrong, answers = some_answers(effects.count, 5)
    at_once = settled(effects, variances, wrong, answers)
    streamed = Messages(effects, variances, effects.count)
    for time in range(6):
        for fact in np.flatnonzero(answers > time):
            settle(streamed, streamed.add(np.array([fact]), np.array([wrong[fact] > time])), 500, 1e-6)
    assert streamed.heard[:, 0] == pytest.approx(at_once.heard[:, 0], rel=1e-3)
    assert streamed.heard[:, 1] == pytest.approx(at_once.heard[:, 1], abs=1e-2)


def test_what_is_settled_in_part_costs_its_surroundings() -> None:
    # Two trees: an answer in one leaves the facts of the other alone.
    first = tree(30, 1)
    ends = [np.concatenate([side, side + 30]) for side in (first.subjects, first.objects)]
    effects = effects_of(*ends)
    variances = Variances(np.array([KNOWN, 2.0]), 1.5)
    messages = settled(effects, variances, np.ones(58), np.full(58, 2.0))
    before = messages.heard.copy()
    refreshed = settle(messages, messages.add(np.array([0]), np.array([True])), 500)
    assert set(messages.positions[refreshed].tolist()) > {0}
    assert (messages.positions[refreshed] < 29).all()
    first_of_the_other = 1 + 30
    assert np.array_equal(messages.heard[first_of_the_other:], before[first_of_the_other:])
    assert not np.allclose(messages.heard[1:first_of_the_other], before[1:first_of_the_other])
    # Where no part wakes anybody, the fact is alone.
    lonely = Messages(effects, variances, 0)
    settle(lonely, ask(lonely, np.ones(58), np.full(58, 2.0)), 500)
    assert settle(lonely, lonely.add(np.array([0]), np.array([True])), 500).tolist() == [0]


def test_fact_that_was_not_asked_is_known_from_its_parts() -> None:
    effects = tree(6, 2)
    variances = Variances(np.array([KNOWN, 3.0]), 1.0)
    messages = settled(effects, variances, np.array([4.0, 0, 0, 0, 0]), np.array([4.0, 0, 0, 0, 0]))
    known = messages.posterior(np.arange(5))
    draws = np.random.default_rng(0).normal(known.mean, np.sqrt(known.variance), (200_000, 5))
    assert special.expit(draws).mean(axis=0)[1:] == pytest.approx(known.theta[1:], abs=0.005)
    assert special.expit(draws).var(axis=0)[1:] == pytest.approx(known.theta_variance[1:], abs=0.005)
    parts = effects.of(np.arange(5))[0][:, 1:]
    near = [fact for fact in range(1, 5) if set(parts[fact]) & set(parts[0])]
    assert near
    assert (known.theta[near] > 0.5).all()


def test_popularity_and_relations_predict_other_facts() -> None:
    # Every fact has ends of its own; those of relation 1, and the popular ones, fail.
    facts = 60
    popularity = np.tile([-1.0, 1.0], 30)
    relations = np.repeat([0, 1], 30)
    effects = effects_of(np.arange(facts), facts + np.arange(facts), relations=relations, popularity=popularity)
    failed = (relations == 1) | (popularity > 0)
    answers = np.where(np.arange(facts) % 10 < 8, 3.0, 0.0)
    messages = settled(effects, Variances(np.array([25.0, 4.0, 4.0, 0.5]), 0.5), answers * failed, answers)
    known = messages.posterior(np.arange(facts))
    unasked = answers == 0
    easy, hard = (unasked & chosen for chosen in (~failed, failed))
    assert known.theta[easy].max() < 0.4 < 0.6 < known.theta[hard].min()


def test_weight_of_a_loop_counts_its_entity_twice() -> None:
    effects = effects_of(np.array([0, 0]), np.array([0, 1]))
    messages = Messages(effects, Variances(np.array([KNOWN, 2.0]), 1.0), 10)
    _, variance = messages.before(np.arange(2))
    assert variance == pytest.approx([4 * 2.0 + 1.0, 2 * 2.0 + 1.0])


def by_quadrature(mean: float, variance: float, wrong: int, answers: int) -> tuple[float, float, float, float]:
    """Mean and variance of x and of theta, by SciPy."""

    def log_density(x: float) -> float:
        return float(wrong * x - answers * np.logaddexp(0, x) - (x - mean) ** 2 / (2 * variance))

    reach = 12 * variance**0.5 + min(variance * answers, 40.0)
    mode = float(optimize.minimize_scalar(lambda x: -log_density(x), bounds=(mean - reach, mean + reach)).x)
    top = log_density(mode)

    def expected(function: object) -> float:
        def weighted(x: float) -> float:
            return float(function(x)) * np.exp(log_density(x) - top)  # type: ignore[operator]

        low, high = mode - 12 * variance**0.5, mode + 12 * variance**0.5
        points = [mode, *(mode + step for step in (-4.0, -1.0, 1.0, 4.0) if low < mode + step < high)]
        return float(integrate.quad(weighted, low, high, points=points, limit=400)[0])

    mass = expected(lambda _: 1.0)
    centre, theta = expected(lambda x: x) / mass, expected(special.expit) / mass
    around = expected(lambda x: (x - centre) ** 2) / mass
    return centre, around, theta, expected(lambda x: (special.expit(x) - theta) ** 2) / mass


@settings(max_examples=60, deadline=None)
@given(some.floats(-10, 10), some.floats(0.01, 36), some.integers(0, 30), some.integers(0, 30))
def test_moments_are_those_of_adaptive_quadrature(mean: float, variance: float, wrong: int, right: int) -> None:
    answers = wrong + right
    found = tilted(*(np.array([float(value)]) for value in (mean, variance, wrong, answers)))
    centre, around, theta, theta_variance = by_quadrature(mean, variance, wrong, answers)
    assert found.mean[0] == pytest.approx(centre, abs=0.02 * around**0.5)
    assert found.variance[0] == pytest.approx(around, rel=0.03)
    assert found.theta[0] == pytest.approx(theta, abs=0.01)
    assert found.theta_variance[0] ** 0.5 == pytest.approx(theta_variance**0.5, abs=0.015)


def test_no_answers_leave_the_normal() -> None:
    found = tilted(np.array([-2.0, 7.0]), np.array([0.5, 30.0]), np.zeros(2), np.zeros(2))
    assert found.mean == pytest.approx([-2, 7])
    assert found.variance == pytest.approx([0.5, 30])


@pytest.mark.parametrize("answers", [1.0, 100.0, 10_000.0])
def test_answers_that_are_all_alike_are_mirrored_and_finite(answers: float) -> None:
    means, variances = np.array([-9.0, 0.0, 9.0]), np.array([20.0, 4.0, 0.1])
    count = np.full(3, answers)
    failed = tilted(means, variances, count, count)
    passed = tilted(-means, variances, np.zeros(3), count)
    assert failed.mean == pytest.approx(-passed.mean)
    assert failed.theta == pytest.approx(1 - passed.theta)
    assert (failed.mean > means).all()
    assert ((failed.theta > 0) & (failed.theta <= 1) & (failed.theta_variance >= 0)).all()
    for place in range(3):
        assert failed.mean[place] == pytest.approx(
            by_quadrature(means[place], variances[place], int(answers), int(answers))[0], abs=0.1
        )
