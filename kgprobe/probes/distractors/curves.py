"""Mean Min@n and Avg@n over facts as curves in n, with bootstrap bands.

docs/methods/distractors.md: K(f) is the mean over a fact's cloze sentences; a curve is the mean of K over the asked
facts. A fact with fewer than n distractors counts with the distractors it has.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.intervals import Mean
from kgprobe.stats.proportions import CONFIDENCE, unseen_share

Floats = NDArray[np.float64]

_REPLICATES, _REPLICATES_AT_ONCE = 1000, 200
# With more facts the bootstrap is normal, and takes minutes.
_MOST_RESAMPLED = 100_000

# The values of n in tables; curves have every n.
SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean over facts for n = 1, 2, …, with a band; each of shape (n,). A single fact has NaN bounds."""

    mean: Floats
    low: Floats
    high: Floats


def mean_curve(values: Floats, seed: int = 0, *, least: float = 0.0) -> Curve:
    """Return the mean over facts with a 95% band; a single fact has no band.

    The band is the percentile bootstrap over facts. If all values are equal, the bootstrap band has no width, although
    chance may have hidden facts with other values. So the band is extended to the means that would result if the
    largest hidden share (:func:`~kgprobe.stats.proportions.unseen_share`) had the minimum, or the maximum, value. For
    values that are all 1 this is Wilson's interval.

    Cost: 1,000 x facts x n, in blocks of bounded memory. With more than 100,000 facts, the band is that of the
    normal distribution, to which the bootstrap converges.

    Args:
        values: K(f), shape (facts, n), at least one fact.
        seed: random seed; the same seed resamples the same facts for curves over equally many facts.
        least: minimum possible value, -1 for differences; the maximum is 1.
    """
    facts = len(values)
    mean: Floats = values.mean(axis=0)
    if facts == 1:
        return Curve(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    unseen = unseen_share(facts)
    lowest, highest = mean - unseen * (mean - least), mean + unseen * (1 - mean)
    if facts > _MOST_RESAMPLED:
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * values.std(axis=0) / math.sqrt(facts)
        return Curve(mean, np.minimum(mean - reach, lowest), np.maximum(mean + reach, highest))
    generator = np.random.default_rng(seed)
    means = np.empty((_REPLICATES, values.shape[1]))
    for first in range(0, _REPLICATES, _REPLICATES_AT_ONCE):
        block = means[first : first + _REPLICATES_AT_ONCE]
        # The mean of a sample depends only on how often each fact is drawn.
        block[:] = generator.multinomial(facts, np.full(facts, 1 / facts), size=len(block)) @ values / facts
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return Curve(mean, np.minimum(low, lowest), np.maximum(high, highest))


def shown_numbers(count: int) -> list[int]:
    """Return the values of n that a table shows, up to and including ``count``."""
    return [*(n for n in SHOWN if n < count), count]


def mean_at(curve: Curve, n: int) -> Mean:
    """Return a curve's mean at n, with its band if there is one."""
    low, high = (None if np.isnan(bound[n - 1]) else float(bound[n - 1]) for bound in (curve.low, curve.high))
    return Mean(float(curve.mean[n - 1]), low, high)
