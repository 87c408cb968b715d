"""Shares with Wilson's interval, against its closed form."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.estimates import at_least, mean_share, more_than_half, share


@given(some.lists(some.floats(0, 1), max_size=7))
def test_more_than_half_counts_every_way_it_can_go(chances: list[float]) -> None:
    expected = sum(
        math.prod(chance if hit else 1 - chance for chance, hit in zip(chances, way, strict=True))
        for way in product([True, False], repeat=len(chances))
        if 2 * sum(way) > len(way)
    )
    assert more_than_half(chances) == pytest.approx(expected)


@given(some.lists(some.floats(0, 1), max_size=7), some.integers(0, 8))
def test_at_least_counts_every_way_it_can_go(chances: list[float], count: int) -> None:
    expected = sum(
        math.prod(chance if hit else 1 - chance for chance, hit in zip(chances, way, strict=True))
        for way in product([True, False], repeat=len(chances))
        if sum(way) >= count
    )
    assert at_least(count, chances) == pytest.approx(expected)


@given(some.integers(1, 500), some.data())
def test_a_share_has_wilsons_interval(total: int, data: some.DataObject) -> None:
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
def test_a_mean_of_shares_has_the_interval_of_a_share(values: list[float], hits: list[bool]) -> None:
    found, expected = mean_share(list(map(float, hits))), share(sum(hits), len(hits))
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    between = mean_share(values)
    assert 0 <= between.low <= between.value <= between.high <= 1
    assert between.value == pytest.approx(sum(values) / len(values))


@given(some.integers(1, 400), some.data())
def test_what_is_counted_the_other_way_round_is_the_mirror_image(total: int, data: some.DataObject) -> None:
    count = data.draw(some.integers(0, total))
    one, other = share(count, total), share(total - count, total)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))
