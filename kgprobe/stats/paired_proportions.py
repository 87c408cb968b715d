"""Two models on the same facts, right or wrong on each: how far apart their accuracies are, and what can be told.

docs/methods/comparison.md. Of ``total`` facts, ``lost`` are right in the first and wrong in the second, ``gained`` the
other way around, and both together are discordant; the loss is (lost - gained) / total. Exact test: McNemar,
Psychometrika 12 (1947). Intervals: Tango, Statistics in Medicine 17 (1998). Facts are taken as independent of each
other. Counts may be arrays; they broadcast.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.stats.proportions import CONFIDENCE

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = "NDArray[np.int64] | int"

# How probably a difference is found that is as large as what is called detectable.
POWER = 0.8
# Of one-sided bounds.
BOUND_CONFIDENCE = 0.95
# Facts by which one-sided bounds are taken further out. Without it, of losses that are just the margin up to 8% are
# called lost where few facts are discordant, and with half a fact up to 5.4%; with this, at most 5% of samples of 100
# facts or more.
CORRECTION = 0.75
# Two-sided, of McNemar's test.
SIGNIFICANCE = 0.05

_BOUND = float(stats.norm.ppf(BOUND_CONFIDENCE))
_MOST_FACTS = 10**7
# Standard deviations of the number of discordant facts that are looked at, and some for where it is small.
_TAILS = 8.0


def mcnemar(lost: Counts, gained: Counts) -> Floats:
    """The two-sided p-value of McNemar's exact test: as many lost as gained, given their sum; 1 where there is none.

    >>> float(mcnemar(6, 0)), float(mcnemar(3, 3))
    (0.03125, 1.0)
    """
    lost, gained = np.asarray(lost), np.asarray(gained)
    p: Floats = np.minimum(1.0, 2 * stats.binom.cdf(np.minimum(lost, gained), lost + gained, 0.5))
    return p


def score_statistic(
    lost: Counts, gained: Counts, total: Counts, loss: "Floats | float", correction: float = 0.0
) -> Floats:
    """Tango's score for a true loss: standard normal if it is the true one; falls along ``loss``.

    Args:
        loss: in [-1, 1].
        correction: facts by which lost - gained is taken to be nearer to what is expected.
    """
    out, back, count, delta = (np.asarray(value, dtype=np.float64) for value in (lost, gained, total, loss))
    # The most likely share of gained facts if this is the loss: the greater root of a quadratic.
    b = (2 * count - out + back) * delta - out - back
    c = -back * delta * (1 - delta)
    share = (np.sqrt(np.maximum(b * b - 8 * count * c, 0)) - b) / (4 * count)
    variance = count * (2 * share + delta * (1 - delta))
    away = out - back - count * delta
    away = np.sign(away) * np.maximum(np.abs(away) - correction, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score: Floats = np.where(away == 0, 0.0, away / np.sqrt(np.maximum(variance, 0)))
    return score


def loss_interval(lost: Counts, gained: Counts, total: Counts) -> tuple[Floats, Floats]:
    """The ends of Tango's two-sided 95% interval of the loss, each in [-1, 1].

    >>> low, high = loss_interval(12, 4, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.002, 0.166)
    """
    quantile = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    return _bounds(lost, gained, total, quantile, 0.0)


def loss_bounds(lost: Counts, gained: Counts, total: Counts) -> tuple[Floats, Floats]:
    """One-sided 95% bounds of the loss, each by itself, by Tango's score with ``CORRECTION``."""
    return _bounds(lost, gained, total, _BOUND, CORRECTION)


def detectable_difference(discordant: float, total: int) -> float | None:
    """The smallest difference of accuracies that McNemar's exact test finds with 80% power (two-sided, 5%).

    >>> round(detectable_difference(0.1, 1000), 3)
    0.029

    Args:
        discordant: the share of discordant facts; a difference that is larger makes all of them, and as many,
            discordant.
        total: how many facts there are.

    Returns:
        in (0, 1]; None where even a difference of 1 would not be found.

    Cost: some 40 sums over the numbers of discordant facts that are probable.
    """
    return _smallest(lambda loss: power_of_mcnemar(loss, discordant, total), 0.0)


def detectable_loss(discordant: float, total: int, margin: float) -> float | None:
    """The smallest loss that is found to exceed the margin with 80% power; see :func:`detectable_difference`."""
    return _smallest(lambda loss: power_of_lost(loss, discordant, total, margin), margin)


def power_of_mcnemar(loss: float, discordant: float, total: int) -> float:
    """How probably McNemar's exact test finds that the second is worse, if this is the true loss.

    Args:
        discordant: as in :func:`detectable_difference`.
    """

    def fewest(sums: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.asarray(stats.binom.isf(SIGNIFICANCE / 2, sums, 0.5)).astype(np.int64) + 1
        return found

    return _chance_of_at_least(fewest, loss, discordant, total)


def power_of_lost(loss: float, discordant: float, total: int, margin: float) -> float:
    """How probably the lower bound of the loss exceeds the margin, if this is the true loss."""

    def is_lost(lost: NDArray[np.int64], gained: NDArray[np.int64]) -> NDArray[np.bool_]:
        return score_statistic(lost, gained, total, margin, CORRECTION) > _BOUND

    return _chance_of_at_least(lambda sums: _fewest_lost(sums, is_lost), loss, discordant, total)


def power_of_kept(loss: float, discordant: float, total: int, margin: float) -> float:
    """How probably the upper bound of the loss is within the margin, if this is the true loss."""

    def is_not_kept(lost: NDArray[np.int64], gained: NDArray[np.int64]) -> NDArray[np.bool_]:
        return score_statistic(lost, gained, total, margin, CORRECTION) > -_BOUND

    return 1 - _chance_of_at_least(lambda sums: _fewest_lost(sums, is_not_kept), loss, discordant, total)


def facts_needed(loss: float, discordant: float, margin: float) -> int | None:
    """About how many facts decide, with 80% power, whether more than the margin is lost, if this is the true loss.

    >>> facts_needed(0.0, 0.1, 0.02)
    1642

    Args:
        discordant: as in :func:`detectable_difference`.

    Returns:
        within 1% or so; None where no number does, or none below ten million.
    """
    distance = abs(loss - margin)
    if distance == 0:
        return None
    power = power_of_kept if loss < margin else power_of_lost
    total = 1.0
    while total <= _MOST_FACTS and power(loss, discordant, int(total), margin) < POWER:
        total = max(total + 1, total * 2)
    least, enough = total / 2, total
    while enough - least > max(1.0, enough * 0.002):
        middle = (least + enough) / 2
        if power(loss, discordant, int(middle), margin) < POWER:
            least = middle
        else:
            enough = middle
    return int(enough) if enough <= _MOST_FACTS else None


def _bounds(lost: Counts, gained: Counts, total: Counts, quantile: float, correction: float) -> tuple[Floats, Floats]:
    lost, gained, total = np.broadcast_arrays(lost, gained, total)
    below, _ = _crossing(lambda loss: score_statistic(lost, gained, total, loss, correction) > quantile, lost.shape)
    _, above = _crossing(lambda loss: score_statistic(lost, gained, total, loss, correction) >= -quantile, lost.shape)
    return below, above


def _crossing(is_below: "Callable[[Floats], NDArray[np.bool_]]", shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Between which two numbers in [-1, 1], next to each other, something turns that is true and then false."""
    low, high = np.full(shape, -1.0), np.full(shape, 1.0)
    for _ in range(52):
        middle = (low + high) / 2
        below = is_below(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low, high


def _fewest_lost(
    sums: NDArray[np.int64],
    found: "Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]",
) -> NDArray[np.int64]:
    """For each number of discordant facts, how many are lost at least where something is found; else one more."""
    low, high = np.full_like(sums, -1), sums + 1
    while (high - low > 1).any():
        middle = (low + high) // 2
        there = found(middle, sums - middle)
        # Those that are done stay: their middle is their lower end.
        apart = high - low > 1
        low, high = np.where(apart & ~there, middle, low), np.where(apart & there, middle, high)
    return high


def _chance_of_at_least(
    fewest: "Callable[[NDArray[np.int64]], NDArray[np.int64]]", loss: float, discordant: float, total: int
) -> float:
    """How probably at least so many facts are lost, over all numbers of discordant facts that are probable."""
    discordant = max(discordant, abs(loss))
    if discordant == 0:
        return float(fewest(np.array([0]))[0] <= 0)
    expected = total * discordant
    around = _TAILS * np.sqrt(expected) + 20
    sums = np.arange(max(0, int(expected - around)), min(total, int(expected + around)) + 1)
    probable = stats.binom.pmf(sums, total, discordant)
    found = stats.binom.sf(fewest(sums) - 1, sums, (1 + loss / discordant) / 2)
    return float((probable * found).sum())


def _smallest(power: Callable[[float], float], above: float) -> float | None:
    """The smallest loss above a margin that is found with ``POWER``."""
    low, high = above, 1.0
    if power(high) < POWER:
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high
