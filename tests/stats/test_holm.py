"""Holm's levels, compared with the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.stats.paired_proportions import directional_levels, holm_levels


def naive_levels(p_values: list[float], level: float) -> list[float]:
    """Test the smallest p-value of those left, until one fails; the rest have the level at which it failed."""
    left = sorted(range(len(p_values)), key=lambda place: p_values[place])
    levels = [0.0] * len(p_values)
    while left:
        own = level / len(left)
        if p_values[left[0]] >= own:
            for place in left:
                levels[place] = own
            break
        levels[left.pop(0)] = own
    return levels


@given(st.lists(st.floats(0, 1) | st.floats(0, 0.06), max_size=7), st.sampled_from([0.05, 0.2]))
def test_holm_levels_equal_their_definition(p_values: list[float], level: float) -> None:
    assert holm_levels(np.array(p_values), level).tolist() == pytest.approx(naive_levels(p_values, level))


def test_holm_levels_of_repetitions_are_separate() -> None:
    p_values = np.array([[0.001, 0.03, 0.5], [0.04, 0.04, 0.04]])
    assert holm_levels(p_values, 0.05).tolist() == [holm_levels(row, 0.05).tolist() for row in p_values]


def test_directional_levels_err_in_5_percent_at_the_boundary() -> None:
    generator = np.random.default_rng(0)
    for count in (1, 2, 3, 6):
        # Uniform p-values of one verdict, which is false for all; that of the opposite verdict is 1 - p.
        false = generator.random((400_000, count))
        levels = directional_levels(np.minimum(false, 1 - false), 0.05)
        # Three standard errors.
        assert (false < levels).any(axis=1).mean() <= 0.05 + 0.00104, count
