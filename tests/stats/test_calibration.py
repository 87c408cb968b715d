"""Figures of calibration against scikit-learn, their definition, and models with a known confidence."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from kgprobe.stats.calibration import (
    area_under_curve,
    brier_parts,
    brier_score,
    by_confidence,
    equal_mass,
    error_interval,
    error_of,
    right_by_coverage,
)

CONFIDENCES = st.integers(0, 20).map(lambda n: n / 20) | st.floats(0, 1)
ANSWERS = st.lists(st.tuples(CONFIDENCES, st.booleans()), min_size=1, max_size=60)


@given(ANSWERS)
def test_figures_equal_scikit_learn_and_their_definition(answers: list[tuple[float, bool]]) -> None:
    confidence, right = (np.array(column) for column in zip(*answers, strict=True))
    rated = by_confidence(confidence, right)
    brier = brier_score(rated)
    assert brier == pytest.approx(brier_score_loss(right, confidence, pos_label=True))
    miscalibration, discrimination, uncertainty = brier_parts(rated)
    assert brier == pytest.approx(miscalibration - discrimination + uncertainty)
    assert min(miscalibration, discrimination) >= -1e-12
    assert uncertainty == pytest.approx(right.var())
    area = area_under_curve(rated)
    if right.all() or not right.any():
        assert area is None
    else:
        assert area == pytest.approx(roc_auc_score(right, confidence))
    # The expected number of right ones among the k most confident, of which the last may be drawn among equals.
    for k, share in enumerate(right_by_coverage(rated), start=1):
        least = np.sort(confidence)[::-1][k - 1]
        above, equal = right[confidence > least], right[confidence == least]
        assert share == pytest.approx((above.sum() + (k - len(above)) * equal.mean()) / k)


@given(st.lists(st.booleans(), min_size=10, max_size=200), st.integers(1, 10))
def test_error_is_that_of_ranges_with_as_many_answers(right: list[bool], ranges: int) -> None:
    verdicts = np.array(right[: len(right) // ranges * ranges])
    confidence = np.random.default_rng(len(right)).permutation(len(verdicts)) / len(verdicts)
    order = np.argsort(confidence)
    parts = np.array_split(order, ranges)
    naive = sum(abs(confidence[part].mean() - verdicts[part].mean()) * len(part) for part in parts) / len(verdicts)
    own = by_confidence(confidence, verdicts)
    assert error_of(own.confidence, own.count, own.right, equal_mass(own.count, ranges)) == pytest.approx(naive)


def answers_of(accuracy: float, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences, and answers that are right with the confidence times a factor."""
    generator = np.random.default_rng(seed)
    confidence = generator.beta(3, 1, number)
    return confidence, generator.random(number) < accuracy * confidence


def test_diagnosis_of_made_up_models_is_right() -> None:
    found = {}
    for name, accuracy in (("calibrated", 1.0), ("overconfident", 0.6)):
        confidence, right = answers_of(accuracy, 500, seed=1)
        found[name], expected = error_interval(by_confidence(confidence, right), right, np.arange(500), seed=0)
        assert 0.01 < expected < 0.08
    assert found["calibrated"].low == 0
    assert found["overconfident"].low is not None
    assert found["overconfident"].low > 0.15
    # On average, 0.4 of the mean confidence of 0.75.
    assert found["overconfident"].low < 0.3 < (found["overconfident"].high or 0)


def test_repeated_answers_widen_the_interval() -> None:
    confidence, right = answers_of(0.6, 100, seed=2)
    once, _ = error_interval(by_confidence(confidence, right), right, np.arange(100), seed=0)
    five, of_five = np.tile(confidence, 5), np.tile(right, 5)
    dependent, _ = error_interval(by_confidence(five, of_five), of_five, np.tile(np.arange(100), 5), seed=0)
    ends = [once.low, dependent.low, dependent.high, once.high]
    independent, _ = error_interval(by_confidence(five, of_five), of_five, np.arange(500), seed=0)
    assert None not in ends
    assert (independent.high or 0) - (independent.low or 0) < 0.6 * ((dependent.high or 0) - (dependent.low or 0))
    assert (once.low, once.high) == pytest.approx((dependent.low, dependent.high), abs=0.03)


@pytest.mark.parametrize("accuracy", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("number", [20, 50])
def test_interval_of_a_confident_model_contains_the_true_error(accuracy: float, number: int) -> None:
    # Ranges with right answers alone have no observed spread.
    missed = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        confidence, right = generator.uniform(0.99, 0.9999, number), generator.random(number) < accuracy
        error, expected = error_interval(by_confidence(confidence, right), right, np.arange(number), seed=seed)
        assert 0 <= (error.low or 0) <= error.value <= (error.high or 0) <= 1
        assert expected < 0.02
        missed += not (error.low or 0) <= abs(0.995 - accuracy) <= (error.high or 0)
    assert missed <= 4


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [1.0, 0.95, 0.6])
@pytest.mark.parametrize("number", [60, 300])
def test_interval_contains_the_true_error(accuracy: float, number: int) -> None:
    # Accuracy is proportional to confidence, so that every range errs in one direction.
    truth = (1 - accuracy) * 0.75
    missed = 0
    for seed in range(200):
        confidence, right = answers_of(accuracy, number, seed)
        error, _ = error_interval(by_confidence(confidence, right), right, np.arange(number), seed=seed)
        missed += not (error.low or 0) <= truth <= (error.high or 0)
    assert missed <= 0.1 * 200


def test_more_confident_means_higher_coverage_first() -> None:
    shares = right_by_coverage(by_confidence(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, False, False])))
    assert all(later <= earlier for earlier, later in pairwise(shares.tolist()))
