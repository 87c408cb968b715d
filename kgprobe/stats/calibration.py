"""Calibration of confidences: do answers with a confidence of 80% turn out right in 80% of the cases?

docs/methods/calibration.md. Confidences and answers are compared in ranges of equal mass (calibration error), without
ranges by isotonic regression (parts of the Brier score; Dimitriadis, Gneiting and Jordan, PNAS 118, 2021), and by rank
alone (accuracy by coverage; Geifman and El-Yaniv, NeurIPS 2017).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.intervals import Mean

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

RANGES = 10
_SIMULATIONS = 2_000
_CALIBRATED = 200
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class ByConfidence:
    """Answers by their distinct confidences, ascending; all arrays have the shape (confidences,).

    Attributes:
        place: of each answer's confidence among them, shape (answers,).
        count, right: numbers of answers, and of right ones.
    """

    confidence: Floats
    place: Integers
    count: Floats
    right: Floats


def by_confidence(confidence: Floats, right: Bools) -> ByConfidence:
    """Return answers by confidence."""
    values, place = np.unique(confidence, return_inverse=True)
    count = np.bincount(place).astype(np.float64)
    return ByConfidence(values, place, count, np.bincount(place, right).astype(np.float64))


def equal_mass(count: Floats, ranges: int = RANGES) -> Integers:
    """Return the range of each distinct confidence, from 0, so that ranges have about as many answers each.

    A range is that of the middle rank of a confidence: equal confidences are in one range.

    >>> equal_mass(np.array([1.0, 1.0, 1.0, 5.0]), 2).tolist()
    [0, 0, 0, 1]
    """
    middle = np.cumsum(count) - count / 2
    places: Integers = np.minimum(middle * ranges / count.sum(), ranges - 1).astype(np.int64)
    return places


def equal_width(confidence: Floats, ranges: int = RANGES) -> Integers:
    """Return the range of each confidence, from 0, of ranges as wide as each other."""
    places: Integers = np.minimum((confidence * ranges).astype(np.int64), ranges - 1)
    return places


def error_of(confidence: Floats, count: Floats, right: Floats, places: Integers) -> float:
    """Return the expected calibration error over ranges: Σ |Σ confidences - right answers| / answers.

    >>> confidence, count = np.array([0.2, 0.8]), np.array([10.0, 10.0])
    >>> error_of(confidence, count, np.array([4.0, 8.0]), equal_mass(count))
    0.1

    Args:
        places: range of each confidence, by :func:`equal_mass` or :func:`equal_width`.
    """
    distances = np.bincount(places, count * confidence - right)
    return float(np.abs(distances).sum() / count.sum())


def error_interval(answers: ByConfidence, right: Bools, facts: Integers, *, seed: int) -> tuple[Mean, float]:
    """Return the calibration error with a 95% interval, and its expectation for a perfectly calibrated model.

    The error of a finite number of answers is above 0 even then, so that a bootstrap's interval misses 0 about every
    other time. This one consists of the multiples s of the observed differences by range whose error is, with normal
    noise, at least as great as the observed one in 2.5% of the simulations (s = 0 if it is in more), and at most as
    great. The upper end is at least the 97.5% quantile of the noise alone. Answers to one fact count as dependent, by a
    design effect; the expectation takes them as independent.

    Args:
        right: True for right answers, shape (answers,).
        facts: place of each answer's fact, from 0, shape (answers,).

    Cost: a pass over the answers, 200 over their distinct confidences, 2,000 simulations of the ranges for each of 40
    multiples.
    """
    places = equal_mass(answers.count)
    count, hits = np.bincount(places, answers.count), np.bincount(places, answers.right)
    differences = np.bincount(places, answers.count * answers.confidence - answers.right)
    share = (hits + 1) / (count + 2)
    of_answer = places[answers.place]
    residual = answers.confidence[answers.place] - right - (differences / np.maximum(count, 1))[of_answer]
    design = max(1.0, float((np.bincount(facts, residual) ** 2).sum() / max((residual**2).sum(), 1e-12)))
    # The second is an answer's variance in a range without both right and wrong answers.
    variance = np.maximum(np.bincount(of_answer, residual**2), count * share * (1 - share))
    deviation = np.sqrt(design * variance)
    generator = np.random.default_rng(seed)
    noise = deviation * generator.standard_normal((_SIMULATIONS, len(count)))
    total = count.sum()
    error = float(np.abs(differences).sum() / total)
    numbers = answers.count.astype(np.int64)
    # One at a time, so that a million confidences fit into memory.
    drawn = (generator.binomial(numbers, answers.confidence).astype(np.float64) for _ in range(_CALIBRATED))
    calibrated = [error_of(answers.confidence, answers.count, each, places) for each in drawn]

    def share_below(multiple: float) -> float:
        simulated = np.abs(multiple * differences + noise).sum(axis=1) / total
        return float((simulated < error).mean())

    low = min(1.0, _crossing(share_below, 1 - _TAIL)) * error
    # Where all answers of a range are right, the observed differences have no spread to multiply.
    by_noise = float(np.percentile(np.abs(noise).sum(axis=1) / total, 100 * (1 - _TAIL)))
    high = min(1.0, max(_crossing(share_below, _TAIL) * error, by_noise, error))
    return Mean(error, low, high), float(np.mean(calibrated))


def _crossing(share_below: Callable[[float], float], level: float) -> float:
    """Return the multiple at which a falling function reaches a level; 0 if it starts below."""
    low, high = 0.0, 4.0
    if share_below(low) < level:
        return 0.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if share_below(middle) >= level else (low, middle)
    return low


def brier_parts(answers: ByConfidence) -> tuple[float, float, float]:
    """Return miscalibration, discrimination and uncertainty: the Brier score is the first - the second + the third.

    Miscalibration is the gain by recalibration with isotonic regression; discrimination, the gain of confidences so
    recalibrated over their mean; uncertainty, the variance of right and wrong.

    >>> parts = brier_parts(by_confidence(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, False, True, True])))
    >>> [round(part, 2) for part in parts]
    [0.01, 0.25, 0.25]
    """
    from sklearn.isotonic import IsotonicRegression

    share = answers.right / answers.count
    fitted = IsotonicRegression(out_of_bounds="clip").fit_transform(
        answers.confidence, share, sample_weight=answers.count
    )
    total = answers.count.sum()
    mean = answers.right.sum() / total
    uncertainty = mean * (1 - mean)
    recalibrated = _mean_square(answers, fitted)
    return float(brier_score(answers) - recalibrated), float(uncertainty - recalibrated), float(uncertainty)


def brier_score(answers: ByConfidence) -> float:
    """Return the mean of (confidence - 1)² over right answers and confidence² over wrong ones."""
    return _mean_square(answers, answers.confidence)


def _mean_square(answers: ByConfidence, predicted: Floats) -> float:
    wrong = answers.count - answers.right
    return float((answers.right * (1 - predicted) ** 2 + wrong * predicted**2).sum() / answers.count.sum())


def right_by_coverage(answers: ByConfidence) -> Floats:
    """Return the expected accuracy of the k most confident answers, for every k from 1; shape (answers,).

    Answers with one confidence are taken in random order.

    >>> right_by_coverage(by_confidence(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]))).tolist()
    [1.0, 0.75, 0.6666666666666666]
    """
    count = answers.count[::-1].astype(np.int64)
    right = np.cumsum(np.repeat(answers.right[::-1] / count, count))
    shares: Floats = right / np.arange(1, len(right) + 1)
    return shares


def area_under_curve(answers: ByConfidence) -> float | None:
    """Return the probability that a right answer is more confident than a wrong one; None without both."""
    wrong = answers.count - answers.right
    if not answers.right.any() or not wrong.any():
        return None
    below = np.cumsum(wrong) - wrong / 2
    return float((answers.right * below).sum() / (answers.right.sum() * wrong.sum()))
