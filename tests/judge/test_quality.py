"""Figures of a judge against scikit-learn's, and by hand."""

import numpy as np
import pytest
from hypothesis import given as cases
from hypothesis import strategies as st
from sklearn import metrics

from kgprobe.judge.quality import compare_quality, quality_of


def test_by_hand():
    given = np.array([0, 0, 0, 1, 1, 2])
    told = np.array([0, 0, 1, 1, 0, 0])
    probabilities = np.full((6, 3), 0.1)
    probabilities[np.arange(6), told] = 0.8
    # Right: 4 statements, 2 of them found and nothing else; wrong: 1, found with 3 others; unknown: 1, not found.
    quality = quality_of(given, probabilities, np.array([True, True, True, True, False, False]))
    assert quality.weighted_precision == pytest.approx((4 * 1 + 1 * 0.25 + 1 * 0) / 6)
    assert quality.weighted_recall == pytest.approx((4 * 0.5 + 1 * 1 + 1 * 0) / 6)
    assert quality.weighted_f1 == pytest.approx((4 * 2 / 3 + 1 * 0.4 + 1 * 0) / 6)
    assert quality.confusion == ((2, 1, 0), (1, 1, 0), (1, 0, 0))
    assert quality.accuracy.value == 0.5
    true, false, unknown = quality.answers
    assert (true.precision, true.recall) == (0.5, 2 / 3)
    assert true.f1 == pytest.approx(4 / 7)
    assert (false.precision, false.recall, false.f1) == (0.5, 0.5, 0.5)
    assert (unknown.precision, unknown.recall, unknown.f1) == (None, 0.0, None)
    assert quality.macro_f1 == pytest.approx((4 / 7 + 0.5 + 0) / 3)
    assert quality.log_loss == pytest.approx(-(3 * np.log(0.8) + 3 * np.log(0.1)) / 6)
    (only,) = quality.reliability
    assert (only.low, only.high, only.count, only.right) == (0.8, 0.9, 6, 0.5)
    assert quality.calibration_error == pytest.approx(0.3)


def test_quality_of_low_confidence_counts_as_error() -> None:
    given = np.zeros(4, dtype=np.int64)
    probabilities = np.tile([0.4, 0.3, 0.3], (4, 1))
    assert quality_of(given, probabilities).calibration_error == pytest.approx(0.6)


@cases(st.integers(2, 40), st.integers(0, 1000))
def test_against_scikit_learn(count, seed):
    random = np.random.default_rng(seed)
    given = random.integers(0, 3, count)
    probabilities = random.dirichlet([1, 1, 1], count)
    told = probabilities.argmax(axis=1)
    quality = quality_of(given, probabilities)
    assert quality.accuracy.value == pytest.approx(metrics.accuracy_score(given, told))
    np.testing.assert_array_equal(quality.confusion, metrics.confusion_matrix(given, told, labels=[0, 1, 2]))
    assert quality.log_loss == pytest.approx(metrics.log_loss(given, probabilities, labels=[0, 1, 2]), abs=1e-5)
    # Mean distance over ten ranges of equal width.
    confidence, ranges = probabilities.max(axis=1), np.digitize(probabilities.max(axis=1), np.arange(1, 10) / 10)
    chosen = [ranges == place for place in range(10) if (ranges == place).any()]
    distances = [own.mean() * abs(confidence[own].mean() - (told == given)[own].mean()) for own in chosen]
    assert quality.calibration_error == pytest.approx(sum(distances))
    assert [each.count for each in quality.reliability] == [own.sum() for own in chosen]
    present = sorted(set(given.tolist()))
    wanted = metrics.f1_score(given, told, labels=present, average="macro", zero_division=0)
    assert quality.macro_f1 == pytest.approx(wanted)
    for number, one in enumerate(quality.answers):
        kinds = given == number
        if 0 < kinds.sum() < count:
            assert one.auroc == pytest.approx(metrics.roc_auc_score(kinds, probabilities[:, number]))
        else:
            assert one.auroc is None


def test_only_one_answer_was_ever_given():
    quality = quality_of(np.zeros(4, dtype=np.int64), np.tile([0.2, 0.7, 0.1], (4, 1)))
    assert quality.accuracy.value == 0
    assert quality.auroc is None
    assert quality.macro_f1 == 0


@pytest.mark.slow
def test_gain_interval_agrees_with_bootstrap_over_facts():
    random = np.random.default_rng(4)
    effects = np.repeat(random.normal(size=100), 3)
    given = (effects + random.normal(size=300) > 0).astype(np.int64)

    def probabilities(noise):
        true = 1 / (1 + np.exp(effects + noise * random.normal(size=300)))
        return np.stack([true * 0.9, (1 - true) * 0.9, np.full(300, 0.1)], axis=1)

    judge, words = probabilities(0.8), probabilities(2.0)
    facts = [f"f{place // 3}" for place in range(300)]
    beside = compare_quality(given, judge, words, facts)
    assert beside.facts == 100
    assert beside.gain.value == pytest.approx(beside.quality.auroc - beside.baseline.auroc)
    gains = []
    for _ in range(400):
        places = (3 * random.integers(0, 100, 100)[:, None] + np.arange(3)).ravel()
        gains.append(quality_of(given[places], judge[places]).auroc - quality_of(given[places], words[places]).auroc)
    assert (beside.gain.high - beside.gain.low) / (2 * 1.96) == pytest.approx(np.std(gains), rel=0.15)
    assert compare_quality(given, judge, judge, facts).gain.value == 0
