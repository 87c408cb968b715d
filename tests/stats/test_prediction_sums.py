"""Sums of predictions, in whatever parts they come; labelled facts that can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.errors import ArgumentError
from kgprobe.stats.prediction_sums import LabelledFacts, PredictionSums, sum_predictions, sum_predictions_by

VALUES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), max_size=60)


def plain(sums: PredictionSums) -> tuple[float, ...]:
    return sums.count, sums.mean, sums.squares, sums.least, sums.most


@given(VALUES)
def test_sums_of_parts_are_those_of_the_whole(values: list[tuple[float, int]]) -> None:
    predictions = np.array([value for value, _ in values])
    groups = np.array([group for _, group in values], dtype=np.int64)
    each = sum_predictions_by(predictions, groups, 5)
    for group, sums in enumerate(each):
        expected = plain(sum_predictions(predictions[groups == group]))
        assert plain(sums) == pytest.approx(expected, abs=1e-12)
    joined = sum(each, PredictionSums())
    assert plain(joined) == pytest.approx(plain(sum_predictions(predictions)), abs=1e-12)
    if len(predictions) > 1:
        assert joined.variance == pytest.approx(predictions.var(ddof=1), abs=1e-12)


def test_digits_are_kept_where_predictions_hardly_differ() -> None:
    predictions = 1 - 1e-9 * np.random.default_rng(0).random(100_000)
    joined = sum((sum_predictions(part) for part in np.array_split(predictions, 97)), PredictionSums())
    assert joined.variance == pytest.approx(np.var(predictions - 1, ddof=1), rel=1e-5)


def test_a_part_has_all_columns_of_its_facts() -> None:
    facts = LabelledFacts(np.array([0.0, 1, 1]), np.array([0.1, 0.2, 0.3]), subjects=np.array(["a", "b", "c"]))
    part = facts.where(np.array([True, False, True]))
    assert part.labels.tolist() == [0, 1]
    assert part.predictions.tolist() == [0.1, 0.3]
    assert part.subjects is not None
    assert part.subjects.tolist() == ["a", "c"]
    assert part.probabilities is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"labels": [0.0, float("nan")]}, "`labels` has nan"),
        ({"predictions": [0.5]}, "`predictions` has 1 values; 2 are expected"),
        ({"probabilities": [0.0, 0.5]}, "`probabilities` must be above 0"),
        ({"probabilities": [0.5, 1.1]}, "`probabilities` must be above 0, and at most 1"),
        ({"labels": [[0.0, 1.0]]}, "`labels` has 2 dimensions"),
        ({"objects": np.array(["a"])}, "`objects` has 1 values"),
    ],
)
def test_facts_that_cannot_be_are_refused(columns: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"labels": [0.0, 1.0], "predictions": [0.5, 0.5]}
    with pytest.raises(ArgumentError, match=message):
        LabelledFacts(**{**good, **columns})  # type: ignore[arg-type]


@pytest.mark.parametrize("groups", [[0], [0, 2], [-1, 0]])
def test_groups_that_cannot_be_are_refused(groups: list[int]) -> None:
    with pytest.raises(ArgumentError, match="`groups` must be one per prediction"):
        sum_predictions_by([0.1, 0.2], np.array(groups), 2)
