"""Which facts a round of the learner asks, and with which probability each was drawn."""

import copy

import numpy as np
import pytest
from scipy import special, stats

from kgprobe.beliefs.choosing import choose, expected_gain, hardest_gain
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel
from kgprobe.beliefs.messages import Messages, settle

FACTS = 120


def learner(rounds: int = 4, seed: int = 0) -> HierarchicalModel:
    """Facts at 30 entities, of which the first half fail mostly."""
    generator = np.random.default_rng(seed)
    subjects = np.repeat(np.arange(30), 4)
    its = HierarchicalModel.of(effects_of(subjects, generator.integers(30, size=FACTS)))
    for _ in range(rounds):
        facts = generator.choice(FACTS, 16, replace=False)
        its.learn(facts, generator.random(16) < np.where(subjects[facts] < 15, 0.9, 0.1))
    return its


def tallied(messages: Messages, sampling: str, size: int, times: int, **more: object) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each fact was chosen, and its mean inclusion probability then; both (facts,)."""
    often, told = np.zeros(FACTS), np.zeros(FACTS)
    for time in range(times):
        chosen = choose(messages, sampling, size, np.random.default_rng([7, time]), **more)  # type: ignore[arg-type]
        known = ~np.isnan(chosen.probabilities)
        often[chosen.positions[known]] += 1
        told[chosen.positions[known]] += chosen.probabilities[known]
    return often / times, np.divide(told, often, out=np.zeros(FACTS), where=often > 0)


@pytest.mark.parametrize("sampling", ["hardest", "thompson", "information", "uniform"])
@pytest.mark.parametrize("rounds", [0, 4])
@pytest.mark.representatives(2)
def test_round_has_as_many_different_facts_as_it_shall(sampling: str, rounds: int) -> None:
    messages = learner(rounds).messages
    left_out = np.zeros(FACTS, np.bool_)
    left_out[::3] = True
    for size, expected in ((1, 1), (16, 16), (79, 79), (500, 80)):
        chosen = choose(messages, sampling, size, np.random.default_rng(size), left_out=left_out)
        assert len(chosen.positions) == len(np.unique(chosen.positions)) == expected
        assert not left_out[chosen.positions].any()
        known = chosen.probabilities[~np.isnan(chosen.probabilities)]
        assert ((known > 0) & (known <= 1 + 1e-12)).all()
    everything = np.ones(FACTS, np.bool_)
    assert not len(choose(messages, sampling, 5, np.random.default_rng(0), left_out=everything).positions)


@pytest.mark.parametrize(
    ("sampling", "size", "candidates"),
    [
        ("information", 12, 50),
        ("uniform", 12, FACTS),
        pytest.param("hardest", 12, FACTS, marks=pytest.mark.slow),
        pytest.param("hardest", 12, 50, marks=pytest.mark.slow),
        pytest.param("information", 12, FACTS, marks=pytest.mark.slow),
        pytest.param("information", 40, FACTS, marks=pytest.mark.slow),
        pytest.param("information", 40, 50, marks=pytest.mark.slow),
        pytest.param("uniform", 12, 50, marks=pytest.mark.slow),
    ],
)
def test_facts_are_drawn_as_often_as_is_told(sampling: str, size: int, candidates: int) -> None:
    messages = learner().messages
    # With all candidates a fact has one probability, and with a part of them one for each draw of these.
    if candidates == FACTS:
        often, told = tallied(messages, sampling, size, 3_000, candidates=candidates)
        assert often == pytest.approx(told, abs=4.5 * 0.5 / 3_000**0.5)
        assert told.sum() == pytest.approx(size)
    # What a sum over the drawn, divided by their probabilities, estimates is the sum over all.
    draws = [
        choose(messages, sampling, size, np.random.default_rng([8, time]), candidates=candidates) for time in range(300)
    ]
    values = np.arange(FACTS)
    sums = [float((values[its.positions] / its.probabilities).sum()) for its in draws]
    assert np.mean(sums) == pytest.approx(values.sum(), abs=4 * np.std(sums) / 300**0.5)


def test_thompson_choices_are_one_eighth_uniform() -> None:
    its = learner(rounds=12)
    often, told = tallied(its.messages, "thompson", 16, 2_000)
    assert often.sum() == pytest.approx(2)
    assert often == pytest.approx(2 / FACTS, abs=0.015)
    assert set(told.round(12).tolist()) == {round(2 / FACTS, 12)}
    chosen = [choose(its.messages, "thompson", 16, np.random.default_rng([9, time])) for time in range(200)]
    high = np.concatenate([one.positions[np.isnan(one.probabilities)] for one in chosen])
    assert (high < 60).mean() > 0.9


def test_information_asks_what_is_uncertain_and_shared() -> None:
    # Entity 0 has many facts, of which one was asked; the last fact was asked so often that all is known of it.
    subjects = np.concatenate([np.zeros(20, np.int64), np.arange(1, 21)])
    objects = np.arange(100, 140)
    messages = HierarchicalModel.of(effects_of(subjects, objects)).messages
    for _ in range(60):
        slots = messages.add(np.array([39]), np.array([False]))
    settle(messages, slots, 100)
    gain = expected_gain(messages, np.arange(40))
    assert gain[:20].min() > gain[20:39].max() > gain[39]


def test_gain_is_the_variance_reduction_of_an_answer() -> None:
    # Far from certainty, and with one fact a part: against both answers learned, weighted with their probabilities.
    its = learner(rounds=2)
    facts = np.arange(FACTS)
    before = its.messages.posterior(facts)
    gain = expected_gain(its.messages, facts)
    taken = []
    for fact in range(0, FACTS, 6):
        left = 0.0
        for wrong, chance in ((True, before.theta[fact]), (False, 1 - before.theta[fact])):
            again = copy.deepcopy(its)
            settle(again.messages, again.messages.add(np.array([fact]), np.array([wrong])), 60)
            left += chance * again.messages.posterior(facts).theta_variance.sum()
        taken.append(before.theta_variance.sum() - left)
    assert np.corrcoef(taken, gain[::6])[0, 1] > 0.9
    assert np.median(gain[::6] / taken) == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize("hardest", [3, 30.0, 90])
@pytest.mark.representatives(2)
def test_gain_about_the_hardest_is_the_variance_reduction(hardest: float) -> None:
    # Against sums over a fine grid of x, by Bayes' theorem for either answer.
    messages = learner().messages
    facts = np.arange(FACTS)
    mean, variance = messages.marginals(facts)
    deviation = np.sqrt(variance)
    grid = mean[:, None] + deviation[:, None] * np.linspace(-9, 9, 10_001)
    density = stats.norm.pdf(np.linspace(-9, 9, 10_001))
    density /= density.sum()
    bound = next(
        bound
        for bound in np.linspace(grid.max(), grid.min(), 20_000)
        if stats.norm.sf(bound, mean, deviation).sum() >= hardest
    )
    hard, wrong = grid > bound, special.expit(grid)
    before = (density * hard).sum(axis=1)
    left = 0.0
    for likelihood in (wrong, 1 - wrong):
        chance = (density * likelihood).sum(axis=1)
        after = (density * likelihood * hard).sum(axis=1) / chance
        left += chance * after * (1 - after)
    taken = before * (1 - before) - left
    assert hardest_gain(messages, facts, hardest) == pytest.approx(taken, rel=0.06, abs=1e-3 * taken.max())


def test_hardest_are_asked_where_it_is_open_which_they_are() -> None:
    # Of 120 facts 12 are looked for: those of one entity that fails always, or those of another that does nearly.
    subjects = np.repeat(np.arange(12), 10)
    its = HierarchicalModel.of(effects_of(subjects, np.arange(12, 132)))
    generator = np.random.default_rng(1)
    for _ in range(12):
        facts = generator.choice(FACTS, 60, replace=False)
        its.learn(facts, generator.random(60) < np.select([subjects[facts] < 2], [0.9], 0.1))
    often, _ = tallied(its.messages, "hardest", 12, 400)
    # Half of the 12 are drawn uniformly, one of them from the first 20.
    assert often[:20].sum() > 6.5 > 5.5 > often[20:].sum()


@pytest.mark.slow
def test_facts_that_have_had_one_answer_are_asked_again_at_first() -> None:
    messages = learner(rounds=1).messages
    once = messages.positions
    often, _ = tallied(messages, "information", 12, 2_000)
    assert often[once].sum() > 12 / 5
    assert often.min() > 0
