"""The change point of answers over time, against its definition and on made-up models."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, special

from kgprobe.stats.change_point import (
    FEWEST,
    DatedAnswers,
    adjusted_shares,
    critical_ratio,
    difficulty,
    drop_shape,
    find_change,
    possible_changes,
)


def made_up(seed: int, *, drop: float, count: int = 400, cutoff: float = 2018.5) -> DatedAnswers:
    """Answers to facts of 2010 to 2024 that begin in a month, of three relations."""
    random = np.random.default_rng(seed)
    times = (np.floor((2010 + 14 * random.random(count)) * 12) + 0.5) / 12
    groups = random.integers(3, size=count)
    popularity = random.standard_normal(count)
    log_odds = 0.5 + popularity + np.array([-1.0, 0.0, 1.0])[groups] + drop * (times > cutoff)
    right = (random.random(count) < special.expit(log_odds)).astype(np.float64)
    return DatedAnswers(times, np.full(count, 1 / 12), right, popularity[:, None], groups, np.arange(count))


def best_log_likelihood(answers: DatedAnswers, tau: float, width: float) -> float:
    """The greatest penalised log-likelihood of a drop, by a general optimiser; that of none if the best is a rise."""
    v, t = difficulty(answers), answers.times - answers.times.mean()
    s = drop_shape(answers.times, answers.widths, tau, width)

    def loss(coefficients: NDArray[np.float64]) -> float:
        a, b, c, d, e = (*coefficients, 0, 0)[:5]
        log_odds = a + b * v + c * t + (d + e * v) * s
        penalty = 0.5 * (1e-4 * (a * a + b * b + c * c) + 0.04 * d * d + e * e)
        return float(np.logaddexp(0, log_odds).sum() - answers.right @ log_odds + penalty)

    without = float(optimize.minimize(loss, np.zeros(3), method="BFGS").fun)
    best = optimize.minimize(loss, np.zeros(5), method="BFGS")
    return -min(without, float(best.fun)) if best.x[3] < 0 else -without


def test_find_change_ratios_equal_their_definition() -> None:
    answers = made_up(0, drop=-2.0, count=120)
    # Gradual drops are a quarter of a year apart.
    change = find_change(answers, grid=0.25)
    assert change is not None
    fits = [[best_log_likelihood(answers, tau, width) for width in (0.0, 1.0, 2.0)] for tau in change.candidates]
    values = np.max(fits, axis=1)
    naive = 2 * (values.max() - values) / change.overdispersion
    assert change.ratios == pytest.approx(naive, abs=1e-3)
    assert change.time in change.candidates[naive < 1e-3]


def test_find_change_known_cutoffs_are_covered() -> None:
    covered, found, errors = [], [], []
    for seed in range(30):
        change = find_change(made_up(seed, drop=-2.5, count=250), grid=0.25, draws=99)
        assert change is not None
        covered.append(change.low <= 2018.5 <= change.high)
        found.append(change.p_value <= 0.05)
        errors.append(abs(change.time - 2018.5))
    # If 90% were covered, 22 of 30 or fewer would be seen once in 100 times.
    assert sum(covered) > 22
    assert sum(found) >= 24
    assert np.median(errors) < 0.4


def test_find_change_without_a_drop_seldom_finds_one() -> None:
    changes = [find_change(made_up(seed, drop=0.0, count=250), grid=0.25, draws=99) for seed in range(30)]
    assert sum(change is not None and change.p_value <= 0.05 for change in changes) <= 5


def test_find_change_a_rise_is_not_a_cutoff() -> None:
    change = find_change(made_up(1, drop=3.0))
    assert change is not None
    assert change.p_value == 1.0


def test_find_change_a_curve_is_told_from_a_drop() -> None:
    random = np.random.default_rng(4)
    answers = made_up(4, drop=0.0, count=800)
    bent = 2 - 0.03 * (answers.times - 2010) ** 2
    bent_answers = replace(answers, right=(random.random(800) < special.expit(bent)).astype(np.float64))
    curve, jump = find_change(bent_answers), find_change(made_up(4, drop=-2.5, count=800))
    assert curve is not None
    assert jump is not None
    assert max(curve.p_value, curve.p_value_beyond_curve) > 0.05
    assert max(jump.p_value, jump.p_value_beyond_curve) <= 0.05


def test_find_change_is_reproducible_and_needs_enough_facts() -> None:
    answers = made_up(2, drop=-2.0)
    first, again = find_change(answers, seed=3), find_change(answers, seed=3)
    assert first is not None
    assert again is not None
    assert (first.time, first.low, first.high, first.p_value) == (again.time, again.low, again.high, again.p_value)
    few = made_up(2, drop=-2.0, count=2 * FEWEST - 1)
    assert find_change(few) is None
    # Ten facts on each side of July 2015, and none elsewhere.
    assert possible_changes(np.repeat([2015.4, 2015.6], FEWEST), 0.5).tolist() == [2015.5]


def test_find_change_copies_of_subjects_widen_the_interval() -> None:
    once = made_up(5, drop=-1.5, count=250)
    columns = ("times", "widths", "right", "predictors", "groups", "clusters")
    copies = replace(once, **{name: np.concatenate([getattr(once, name)] * 4) for name in columns})
    told = find_change(copies)
    untold = find_change(replace(copies, clusters=np.arange(len(copies))))
    assert told is not None
    assert untold is not None
    assert told.overdispersion == pytest.approx(4, rel=0.1)
    assert told.high - told.low > untold.high - untold.low
    assert told.p_value >= untold.p_value


def test_difficulty_a_late_relation_is_not_taken_for_hard() -> None:
    # Relation 1 has only facts after the drop; within a year, relations are equally hard.
    random = np.random.default_rng(0)
    times = random.integers(14, size=2_000).astype(np.float64) + 2010.5
    groups = np.where((times > 2018) & (random.random(2_000) < 0.7), 1, 0)
    right = (random.random(2_000) < np.where(times > 2018, 0.2, 0.8)).astype(np.float64)
    width, popularity = np.ones(2_000), np.full((2_000, 1), np.nan)
    v = difficulty(DatedAnswers(times, width, right, popularity, groups, np.arange(2_000)))
    assert abs(v[groups == 1].mean() - v[groups == 0].mean()) < 0.5


def test_adjusted_shares_equal_facts_have_the_plain_share() -> None:
    times = np.repeat(np.array([2010.5, 2011.5]), 200)
    right = np.concatenate([np.arange(200) < 150, np.arange(200) < 40]).astype(np.float64)
    nothing = np.full((400, 1), np.nan)
    answers = DatedAnswers(times, np.ones(400), right, nothing, np.zeros(400, np.int64), np.arange(400))
    first, second = adjusted_shares(answers)
    assert (first.year, second.year) == (2010, 2011)
    assert first.value == pytest.approx(0.75, abs=0.01)
    assert second.value == pytest.approx(0.2, abs=0.01)
    assert first.low < 0.75 < first.high


def test_adjusted_shares_remove_a_trend_of_popularity() -> None:
    random = np.random.default_rng(0)
    times = random.integers(6, size=6_000).astype(np.float64) + 2010.5
    popularity = random.standard_normal(6_000) - 0.4 * (times - 2013)
    right = (random.random(6_000) < special.expit(1.5 * popularity)).astype(np.float64)
    answers = DatedAnswers(
        times, np.ones(6_000), right, popularity[:, None], np.zeros(6_000, np.int64), np.arange(6_000)
    )
    adjusted = [share.value for share in adjusted_shares(answers)]
    plain = [right[times == year].mean() for year in np.unique(times)]
    assert max(plain) - min(plain) > 0.25
    assert max(adjusted) - min(adjusted) < 0.08


def test_drop_shape_is_a_ramp_around_its_middle() -> None:
    times, point = np.array([2018.0, 2019.0, 2019.5, 2020.0, 2021.0]), np.zeros(5)
    assert drop_shape(times, point, 2019.5, 0.0).tolist() == [0, 0, 0.5, 1, 1]
    assert drop_shape(times, point, 2019.5, 2.0).tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_critical_ratio_is_the_quantile_of_its_distribution() -> None:
    for confidence in (0.8, 0.95, 0.99):
        assert (1 - math.exp(-critical_ratio(confidence) / 2)) ** 2 == pytest.approx(confidence)
