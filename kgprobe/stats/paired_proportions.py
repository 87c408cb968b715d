"""Paired proportions: the difference of two accuracies on the same facts, its interval, and the power of tests.

docs/methods/comparison.md. Among ``total`` facts, ``lost`` are right in the first model and wrong in the second,
``gained`` the other way around; both are discordant. The loss is (lost - gained) / total. Exact test: McNemar,
Psychometrika 12 (1947). Intervals: Tango, Statistics in Medicine 17 (1998). Facts are assumed independent. Counts may
be arrays; they broadcast.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.intervals import Points
from kgprobe.stats.proportions import CONFIDENCE

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = "NDArray[np.int64] | int"

# Power at the minimum detectable difference.
POWER = 0.8
# Confidence of one-sided bounds.
BOUND_CONFIDENCE = 0.95
# Continuity correction of one-sided bounds, in facts. Without it, the error of the first kind is up to 8% with few
# discordant facts, with 0.5 up to 5.4%, with 0.75 at most 5% for 100 facts or more.
CORRECTION = 0.75
# Two-sided significance level of McNemar's test.
SIGNIFICANCE = 0.05

_MOST_FACTS = 10**7
# Range of the number of discordant facts in sums, in standard deviations.
_TAILS = 8.0


def mcnemar(lost: Counts, gained: Counts) -> Floats:
    """Return the two-sided p-value of McNemar's exact test; 1 without discordant facts.

    >>> float(mcnemar(6, 0)), float(mcnemar(3, 3))
    (0.03125, 1.0)
    """
    lost, gained = np.asarray(lost), np.asarray(gained)
    p: Floats = np.minimum(1.0, 2 * stats.binom.cdf(np.minimum(lost, gained), lost + gained, 0.5))
    return p


def score_statistic(
    lost: Counts, gained: Counts, total: Counts, loss: "Floats | float", correction: float = 0.0
) -> Floats:
    """Return Tango's score for a loss: standard normal if it is the true one; decreasing in ``loss``.

    Args:
        loss: in [-1, 1].
        correction: continuity correction, in facts.
    """
    losses, gains, count, delta = (np.asarray(value, dtype=np.float64) for value in (lost, gained, total, loss))
    # Maximum-likelihood share of gained facts given the loss: the greater root of a quadratic.
    b = (2 * count - losses + gains) * delta - losses - gains
    c = -gains * delta * (1 - delta)
    share = (np.sqrt(np.maximum(b * b - 8 * count * c, 0)) - b) / (4 * count)
    variance = count * (2 * share + delta * (1 - delta))
    deviation = losses - gains - count * delta
    deviation = np.sign(deviation) * np.maximum(np.abs(deviation) - correction, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score: Floats = np.where(deviation == 0, 0.0, deviation / np.sqrt(np.maximum(variance, 0)))
    return score


def loss_interval(lost: Counts, gained: Counts, total: Counts) -> tuple[Floats, Floats]:
    """Return the ends of Tango's two-sided 95% interval of the loss, each in [-1, 1].

    >>> low, high = loss_interval(12, 4, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.002, 0.166)
    """
    quantile = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    return _bounds(lost, gained, total, quantile, 0.0)


def signed_mean(values: Floats, most: float = 1.0) -> Points:
    """Return the mean of numbers in [-most, most], with a 95% interval, as of a net score or its change.

    If all are -1, 0 or 1, this is Tango's interval of the loss. In between, sums of positive and negative values are
    measured in units that give the values' mean square. Coverage with 5 to 200 values of five kinds: 92 to 100%.

    >>> print(signed_mean(np.array([1.0, 1.0, 1.0, 0.0, -1.0])))
    +40.0 [-34.9, +82.6]

    Args:
        values: of independent facts, at least one.
    """
    sizes = np.abs(values)
    unit = min(max(float(sizes @ sizes / sizes.sum()), 1.0), most) if sizes.any() else most
    positive, negative = (float(np.maximum(side, 0).sum()) / unit for side in (values, -values))
    low, high = loss_interval(np.asarray(positive), np.asarray(negative), len(values))
    return Points(float(values.mean()), unit * float(low), unit * float(high))


def loss_bounds(
    lost: Counts, gained: Counts, total: Counts, confidence: "Floats | float" = BOUND_CONFIDENCE
) -> tuple[Floats, Floats]:
    """Return the lower and the upper one-sided bound of the loss, by Tango's score with ``CORRECTION``.

    Args:
        confidence: one-sided, of each bound, in (0.5, 1).
    """
    return _bounds(lost, gained, total, stats.norm.ppf(confidence), CORRECTION)


def loss_p_values(lost: Counts, gained: Counts, total: Counts, margin: float) -> tuple[Floats, Floats]:
    """Return two one-sided p-values: that the loss exceeds the margin, and that it is within the margin.

    The lower bound of confidence 1 - p equals the margin where p is the first, the upper bound where p is the second.

    >>> exceeds, within = loss_p_values(30, 5, 500, 0.02)
    >>> round(float(exceeds), 3), round(float(within), 3)
    (0.013, 0.987)
    """
    score = score_statistic(lost, gained, total, margin, CORRECTION)
    return np.asarray(stats.norm.sf(score)), np.asarray(stats.norm.cdf(score))


def family_bounds(lost: Counts, gained: Counts, total: Counts, tests: int) -> tuple[Floats, Floats]:
    """Return the one-sided 95% bounds of losses that are tested together.

    The lower bounds exceed any true loss with a probability of 5% at most (Bonferroni). The upper bounds are not
    widened: all of them together show that nothing is lost.

    Args:
        tests: number of losses that are tested together.
    """
    low, _ = loss_bounds(lost, gained, total, 1 - (1 - BOUND_CONFIDENCE) / tests)
    _, high = loss_bounds(lost, gained, total)
    return low, high


def detectable_difference(discordant: float, total: int) -> float | None:
    """Return the minimum difference of accuracies that McNemar's exact test detects with 80% power (two-sided, 5%).

    >>> round(detectable_difference(0.1, 1000), 3)
    0.029

    Args:
        discordant: share of discordant facts; a larger difference raises it to the difference.
        total: number of facts.

    Returns:
        in (0, 1]; None if not even a difference of 1 is detected.

    Cost: some 40 sums over the probable numbers of discordant facts.
    """
    return _smallest(lambda loss: power_of_mcnemar(loss, discordant, total), 0.0)


def detectable_loss(discordant: float, total: int, margin: float) -> float | None:
    """Return the minimum loss detected to exceed the margin with 80% power, see :func:`detectable_difference`."""
    return _smallest(lambda loss: power_of_lost(loss, discordant, total, margin), margin)


def power_of_mcnemar(loss: float, discordant: float, total: int) -> float:
    """Return the probability that McNemar's exact test finds the second model worse, given the true loss."""

    def fewest(sums: NDArray[np.int64]) -> NDArray[np.int64]:
        critical: NDArray[np.int64] = np.asarray(stats.binom.isf(SIGNIFICANCE / 2, sums, 0.5)).astype(np.int64) + 1
        return critical

    return _power(fewest, loss, discordant, total)


def power_of_lost(loss: float, discordant: float, total: int, margin: float) -> float:
    """Return the probability that the lower bound of the loss exceeds the margin, given the true loss."""
    return _power_of_bound(float(stats.norm.ppf(BOUND_CONFIDENCE)), loss, discordant, total, margin)


def power_of_kept(loss: float, discordant: float, total: int, margin: float) -> float:
    """Return the probability that the upper bound of the loss is within the margin, given the true loss."""
    return 1 - _power_of_bound(-float(stats.norm.ppf(BOUND_CONFIDENCE)), loss, discordant, total, margin)


def facts_needed(loss: float, discordant: float, margin: float, verdicts: int = 1) -> int | None:
    """Return about how many facts decide with 80% power if the loss exceeds the margin, given the true loss.

    >>> facts_needed(0.0, 0.1, 0.02), facts_needed(0.0, 0.1, 0.02, verdicts=10)
    (1642, 3448)

    Args:
        verdicts: number of independent losses, with so many facts each, that must all be decided; dependent ones are
            decided together more often.

    Returns:
        exact to about 1%; None if no number below ten million suffices.
    """
    distance = abs(loss - margin)
    if distance == 0:
        return None
    power = power_of_kept if loss < margin else power_of_lost
    aim = POWER ** (1 / verdicts)
    total = 1.0
    while total <= _MOST_FACTS and power(loss, discordant, int(total), margin) < aim:
        total = max(total + 1, total * 2)
    least, enough = total / 2, total
    while enough - least > max(1.0, enough * 0.002):
        middle = (least + enough) / 2
        if power(loss, discordant, int(middle), margin) < aim:
            least = middle
        else:
            enough = middle
    return int(enough) if enough <= _MOST_FACTS else None


def _bounds(
    lost: Counts, gained: Counts, total: Counts, quantile: "Floats | float", correction: float
) -> tuple[Floats, Floats]:
    lost, gained, total, quantile = np.broadcast_arrays(lost, gained, total, quantile)
    below, _ = _crossing(lambda loss: score_statistic(lost, gained, total, loss, correction) > quantile, lost.shape)
    _, above = _crossing(lambda loss: score_statistic(lost, gained, total, loss, correction) >= -quantile, lost.shape)
    return below, above


def _crossing(is_below: "Callable[[Floats], NDArray[np.bool_]]", shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the adjacent numbers in [-1, 1] between which a condition turns from true to false (bisection)."""
    low, high = np.full(shape, -1.0), np.full(shape, 1.0)
    for _ in range(52):
        middle = (low + high) / 2
        below = is_below(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low, high


def _power_of_bound(quantile: float, loss: float, discordant: float, total: int, margin: float) -> float:
    """Return the probability that the score at the margin exceeds a quantile, given the true loss."""

    def fewest(sums: NDArray[np.int64]) -> NDArray[np.int64]:
        # The smallest number of lost facts for each number of discordant ones, by bisection; one more if there is none.
        low, high = np.full_like(sums, -1), sums + 1
        while (high - low > 1).any():
            middle = (low + high) // 2
            detected = score_statistic(middle, sums - middle, total, margin, CORRECTION) > quantile
            is_open = high - low > 1
            low, high = np.where(is_open & ~detected, middle, low), np.where(is_open & detected, middle, high)
        return high

    return _power(fewest, loss, discordant, total)


def _power(
    fewest: "Callable[[NDArray[np.int64]], NDArray[np.int64]]", loss: float, discordant: float, total: int
) -> float:
    """Return the probability that at least ``fewest`` facts are lost, over the probable numbers of discordant ones."""
    discordant = max(discordant, abs(loss))
    if discordant == 0:
        return float(fewest(np.array([0]))[0] <= 0)
    expected = total * discordant
    reach = _TAILS * np.sqrt(expected) + 20
    sums = np.arange(max(0, int(expected - reach)), min(total, int(expected + reach)) + 1)
    probabilities = stats.binom.pmf(sums, total, discordant)
    detected = stats.binom.sf(fewest(sums) - 1, sums, (1 + loss / discordant) / 2)
    return float((probabilities * detected).sum())


def _smallest(power: Callable[[float], float], above: float) -> float | None:
    """Return the smallest loss above a margin that is detected with ``POWER``."""
    low, high = above, 1.0
    if power(high) < POWER:
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def holm_levels(p_values: Floats, level: float) -> Floats:
    """Return the level of each p-value: smaller ones are tested first, at stricter levels.

    Holm, Scandinavian Journal of Statistics 6 (1979).

    With k p-values, the smallest is tested at level / k, the next at level / (k - 1), up to the first that is not
    below its level; this one and all greater ones have its level. A p-value below its level is significant.

    >>> holm_levels(np.array([0.04, 0.001, 0.2]), 0.05).round(4).tolist()
    [0.025, 0.0167, 0.025]

    Args:
        p_values: shape (hypotheses,) or (repetitions, hypotheses); each repetition is a family of its own.
        level: of the whole family, in (0, 1).

    Returns:
        the shape of ``p_values``.
    """
    count = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1, kind="stable")
    ranked = np.take_along_axis(p_values, order, axis=-1)
    steps: Floats = level / (count - np.arange(count, dtype=np.float64))
    # Number of p-values before the first that fails.
    passed = np.logical_and.accumulate(ranked < steps, axis=-1).sum(axis=-1, keepdims=True)
    places = np.minimum(np.arange(count), np.minimum(passed, count - 1))
    levels = np.empty_like(ranked)
    np.put_along_axis(levels, order, steps[places], axis=-1)
    return levels


def directional_levels(p_values: Floats, level: float) -> Floats:
    """Return Holm's levels where each p-value is the smaller of two one-sided ones for opposite verdicts.

    A right verdict by chance raises the levels of the others. At the boundary of both verdicts, two independent
    p-values then err with the probability level + level² / 4, more of them with at most level. So for several p-values
    Holm's level is reduced to 2 (√(1 + level) - 1), which makes the former equal to level.

    >>> directional_levels(np.array([0.2, 0.001]), 0.05).round(4).tolist()
    [0.0494, 0.0247]

    Args:
        p_values, level: as in :func:`holm_levels`.
    """
    if p_values.shape[-1] > 1:
        level = 2 * (math.sqrt(1 + level) - 1)
    return holm_levels(p_values, level)
