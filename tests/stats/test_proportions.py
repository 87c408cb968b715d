"""Shares with Wilson's interval, against its closed form."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from kgprobe.stats.proportions import answers_for_width, at_least, exact_interval, mean_share, more_than_half, share


@given(some.lists(some.floats(0, 1), max_size=7), some.integers(0, 8))
def test_at_least_counts_every_way_it_can_go(chances: list[float], count: int) -> None:
    expected = sum(
        math.prod(chance if hit else 1 - chance for chance, hit in zip(chances, way, strict=True))
        for way in product([True, False], repeat=len(chances))
        if sum(way) >= count
    )
    assert at_least(count, chances) == pytest.approx(expected)
    assert more_than_half(chances) == pytest.approx(at_least(len(chances) // 2 + 1, chances))


@given(some.integers(1, 500), some.data())
def test_share_has_wilsons_interval(total: int, data: some.DataObject) -> None:
    count = data.draw(some.integers(0, total))
    found = share(count, total)
    z = 1.959963984540054
    p = count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    assert found.value == p
    assert found.low == pytest.approx(max(0, middle - half), abs=1e-9)
    assert found.high == pytest.approx(min(1, middle + half), abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1


@given(some.lists(some.floats(0, 1), min_size=1, max_size=40), some.lists(some.booleans(), min_size=1, max_size=40))
def test_mean_of_shares_has_the_interval_of_a_share(values: list[float], hits: list[bool]) -> None:
    found, expected = mean_share(list(map(float, hits))), share(sum(hits), len(hits))
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    between = mean_share(values)
    assert 0 <= between.low <= between.value <= between.high <= 1
    assert between.value == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("width", [0.4, 0.1, 0.03])
def test_needed_answers_are_the_fewest_for_a_width(mean: float, width: float) -> None:
    def wide(answers: int) -> float:
        right = mean * answers
        low = stats.beta.ppf(0.025, right, answers - right + 1) if right else 0.0
        high = stats.beta.ppf(0.975, right + 1, answers - right) if right < answers else 1.0
        return float(high - low)

    fewest = answers_for_width(mean, width)
    assert wide(fewest) <= width
    assert fewest == 1 or wide(fewest - 1) > width


@pytest.mark.parametrize("total", [1, 12, 60])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_exact_interval_covers_every_share_at_its_level(total: int, confidence: float) -> None:
    intervals = [exact_interval(right, total, confidence) for right in range(total + 1)]
    for share_right in np.linspace(0.001, 0.999, 400):
        chances = stats.binom.pmf(np.arange(total + 1), total, share_right)
        covered = [low <= share_right <= high for low, high in intervals]
        assert chances[covered].sum() >= confidence - 1e-9
