"""The parts of facts, and what popularity is to them."""

import numpy as np
import pytest

from kgprobe.beliefs.effects import effects_of, standardised_popularity


def test_parts_are_numbered_kind_by_kind() -> None:
    effects = effects_of(
        np.array([0, 2], np.int32),
        np.array([1, 2], np.int32),
        relations=np.array([1, 0], np.int16),
        popularity=np.array([0.5, -0.5]),
    )
    assert effects.kinds == ("mean", "popularity", "relation", "entity")
    parts, weights = effects.of(np.array([0, 1]))
    assert parts.tolist() == [[0, 1, 3, 4, 5], [0, 1, 2, 6, 6]]
    assert weights.tolist() == [[1, 0.5, 1, 1, 1], [1, -0.5, 1, 2, 0]]
    assert effects.all_parts == 7
    assert effects.kinds_of(np.arange(7)).tolist() == [0, 1, 2, 2, 3, 3, 3]
    assert effects.kinds_of(parts[0]).tolist() == effects.kinds_of_places().tolist()


def test_popularity_is_the_mean_of_the_logarithms_that_are_known() -> None:
    subjects, objects = np.array([np.e - 1, np.nan, np.nan]), np.array([np.e**3 - 1, np.e**4 - 1, np.nan])
    found = standardised_popularity(subjects, objects)
    assert found is not None
    # Logarithms 2 and 4, of mean 3 and deviation 1; and one of which nothing is known.
    assert found.of_facts == pytest.approx([-1, 1, 0])
    assert (found.mean, found.spread) == pytest.approx((3, 1))


@pytest.mark.parametrize("value", [np.nan, 5.0])
def test_popularity_that_tells_no_facts_apart_is_none(value: float) -> None:
    assert standardised_popularity(np.full(3, value), np.full(3, value)) is None
    assert standardised_popularity(np.empty(0), np.empty(0)) is None
