"""Proportions and means with confidence intervals, and probabilities of success by guessing."""

import math
from bisect import bisect_left
from collections.abc import Sequence

from kgprobe.base.intervals import Share, percent_text

# Two-sided confidence of Wilson's score intervals and of bootstraps.
CONFIDENCE = 0.95


def against_guessing(rate: Share, guessed: float | None) -> str:
    """Return a comparison of a share of right answers with guessing, to end a sentence; empty if it is unknown.

    >>> against_guessing(share(17, 100), 0.05), against_guessing(share(17, 100), 0.11)
    ('; guessing 5%', '; guessing 11%: no more than guessing can be told')
    """
    if guessed is None:
        return ""
    verdict = "" if rate.low > guessed else ": no more than guessing can be told"
    if rate.high < guessed:
        verdict = ": less than guessing"
    return f"; guessing {percent_text(guessed)}{verdict}"


def mean_of_shares(first: Share, second: Share) -> Share:
    """Return the mean of two independent shares, with an interval from theirs (square and add: Newcombe, 1998).

    >>> print(mean_of_shares(share(3, 4), share(1, 4)))
    50% [25, 75]
    """
    low = math.hypot(first.value - first.low, second.value - second.low) / 2
    high = math.hypot(first.high - first.value, second.high - second.value) / 2
    mean = (first.value + second.value) / 2
    return Share(mean, mean - low, mean + high)


def share(count: int, total: int) -> Share:
    """Return a share and its Wilson interval; ``total`` is at least 1.

    >>> print(share(3, 4))
    75% [30, 95]
    """
    from scipy import stats

    interval = stats.binomtest(count, total).proportion_ci(CONFIDENCE, method="wilson")
    return Share(count / total, float(interval.low), float(interval.high))


def mean_share(values: Sequence[float]) -> Share:
    """Return the mean of numbers in [0, 1], at least one, with Wilson's interval.

    If all are 0 or 1, this is the interval of a share; numbers in between vary less, so it is conservative.

    >>> print(mean_share([1, 0.5, 1, 0.5]))
    75% [30, 95]
    """
    from scipy import stats

    total, mean = len(values), math.fsum(values) / len(values)
    z = float(stats.norm.ppf((1 + CONFIDENCE) / 2))
    middle, reach = wilson(mean, total, z)
    return Share(mean, max(0.0, min(mean, middle - reach)), min(1.0, max(mean, middle + reach)))


def exact_interval(right: float, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share: its coverage is at least ``confidence``.

    >>> low, high = exact_interval(179, 256)
    >>> round(low, 3), round(high, 3)
    (0.639, 0.755)

    Args:
        right: number of right answers, at most ``total``; a fraction interpolates.
        total: number of answers, at least 1.
        confidence: two-sided, in (0, 1).
    """
    from scipy import special

    miss = (1 - confidence) / 2
    low = float(special.betaincinv(right, total - right + 1, miss)) if right else 0.0
    high = float(special.betaincinv(right + 1, total - right, 1 - miss)) if right < total else 1.0
    return low, high


def answers_for_width(mean: float, width: float) -> int:
    """Return the smallest number of answers about uniformly drawn facts whose Clopper-Pearson interval has a width.

    >>> answers_for_width(0.7, 0.1)
    341

    Args:
        mean: share of right answers, in [0, 1].
        width: of the interval at most, in (0, 1).
    """

    def narrowness(total: int) -> float:
        low, high = exact_interval(mean * total, total)
        return low - high

    # More than the normal interval of a mean of one half needs.
    numbers = range(1, math.ceil(10 / width**2) + 10)
    return numbers[bisect_left(numbers, -width, key=narrowness)]


def wilson(mean: float, total: float, z: float) -> tuple[float, float]:
    """Return the centre and the half width of Wilson's interval.

    Args:
        mean: a share, in [0, 1].
        total: number of answers, or the effective number of independent ones; above 0.
        z: quantile of the normal distribution, or of Student's t.
    """
    middle = (mean + z**2 / (2 * total)) / (1 + z**2 / total)
    reach = z / (1 + z**2 / total) * math.sqrt(mean * (1 - mean) / total + z**2 / (4 * total**2))
    return middle, reach


def more_than_half(chances: Sequence[float]) -> float:
    """Return the probability that more than half of independent attempts succeed, given the probability of each.

    >>> more_than_half([0.5, 0.5]), more_than_half([0.5, 0.5, 0.5])
    (0.25, 0.5)

    Cost: the square of the number of attempts.
    """
    return at_least(len(chances) // 2 + 1, chances)


def at_least(count: int, chances: Sequence[float]) -> float:
    """Return the probability that at least ``count`` independent attempts succeed, given the probability of each.

    >>> at_least(2, [0.5, 0.5]), at_least(1, [0.1]), at_least(0, [])
    (0.25, 0.1, 1.0)

    Cost: the square of the number of attempts.
    """
    # Probability of each number of successes among the attempts so far (Poisson binomial).
    successes = [1.0]
    for chance in chances:
        successes = [
            missed * (1 - chance) + hit * chance for missed, hit in zip([*successes, 0], [0, *successes], strict=True)
        ]
    return sum(successes[count:])


def unseen_share(total: int) -> float:
    """Return the upper 95% bound of the share of a kind that is absent from a random sample.

    This is Wilson's upper bound for 0 of ``total``. Without it a bootstrap of a sample of equal values has width 0.

    >>> round(unseen_share(5), 2)
    0.43
    """
    return share(0, total).high
