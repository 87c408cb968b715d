"""A measure's agreement with itself on flawed and corrected sentences."""

import math

import numpy as np
import pytest
from scipy import stats

from kgprobe.studies.robustness import robustness


def test_robustness_is_kendalls_tau_with_a_bootstrap_over_pairs() -> None:
    generator = np.random.default_rng(1)
    flawed = generator.integers(0, 6, 25).astype(float)
    corrected = np.round(flawed + generator.normal(size=25))
    flawed[4], corrected[9] = np.nan, np.nan
    found = robustness(flawed, corrected, samples=400, seed=3)
    kept = [n for n in range(25) if n not in (4, 9)]
    first, second = flawed[kept], corrected[kept]
    assert found.tau == pytest.approx(stats.kendalltau(first, second).statistic)
    assert (found.pairs, found.left_out) == (23, 2)
    taus = []
    for counts in np.random.default_rng(3).multinomial(23, np.full(23, 1 / 23), size=400):
        drawn = np.repeat(np.arange(23), counts)
        taus.append(stats.kendalltau(first[drawn], second[drawn]).statistic)
    assert [found.low, found.high] == pytest.approx(np.quantile(taus, [0.025, 0.975]))
    assert found.low < found.tau < found.high
    assert robustness(flawed, corrected, samples=400, seed=4) != found


def test_few_pairs_in_the_same_order_are_no_certainty() -> None:
    widths = []
    for pairs in (2, 5, 20, 200):
        values = np.arange(float(pairs))
        found = robustness(values, values)
        assert found.tau == pytest.approx(1)
        widths.append(1 - found.low)
        assert found.high == pytest.approx(1)
    assert widths == sorted(widths, reverse=True)
    # Two pairs are compatible with nearly everything.
    assert widths[0] > 1.5
    assert widths[-1] < 0.1


def test_ties_and_infinities_and_what_has_no_order() -> None:
    values = np.array([-np.inf, 1.0, 1.0, np.inf])
    assert robustness(values, values).tau == pytest.approx(1)
    for flawed, corrected in ((np.zeros(4), values), (values[:1], values[:1]), (values[:0], values[:0])):
        found = robustness(flawed, corrected)
        assert math.isnan(found.tau)
        assert math.isnan(found.low)
        assert found.pairs == len(flawed)
