"""Robustness of a measure to flawed sentences: its agreement between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods/studies.md. Robustness is Kendall's τ between the values of a
measure on the flawed sentences and on the corrected ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.stats.proportions import CONFIDENCE, unseen_share

Floats = NDArray[np.float64]

# Values of τ that differ by no more count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Robustness:
    """A measure's agreement with itself.

    Attributes:
        tau: Kendall's τ-b in [-1, 1]; NaN where one side has the same value everywhere, or there are fewer than 2
            pairs.
        low, high: the bootstrap's 95% percentile interval over pairs, see :func:`robustness`; NaN where ``tau`` is.
        pairs: number of pairs with both values.
        left_out: number of pairs without one of them.
        undefined: the share of bootstrap samples without a τ; the interval leaves them out.
    """

    tau: float
    low: float
    high: float
    pairs: int
    left_out: int
    undefined: float


def robustness(flawed: Floats, corrected: Floats, *, samples: int = 2000, seed: int = 0) -> Robustness:
    """Return Kendall's τ-b between a measure's values on flawed and corrected sentences, with a bootstrap interval.

    If all pairs are in the same order, τ is 1 in every bootstrap sample, even with few pairs. The interval then extends
    to the τ with as many discordant pairs as chance could have hidden, see
    :func:`~kgprobe.stats.proportions.unseen_share`; pairs in opposite order are treated alike.

    Cost: samples x pairs², in one matrix product.

    Args:
        flawed, corrected: values in the order of the pairs, NaN where there is none; shape (pairs,).
        samples: number of bootstrap samples.
        seed: of the samples.
    """
    kept = ~(np.isnan(flawed) | np.isnan(corrected))
    pairs, left_out = int(kept.sum()), int((~kept).sum())
    # Two pairs of values are concordant by the product of the signs of their differences: infinities, too.
    first, second = _signs(flawed[kept]), _signs(corrected[kept])
    (tau,) = _taus(first, second, np.ones((1, pairs)))
    if np.isnan(tau):
        return Robustness(np.nan, np.nan, np.nan, pairs, left_out, np.nan)
    # A bootstrap sample is given by the number of times that each pair is drawn.
    draws = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), size=samples).astype(np.float64)
    taus = _taus(first, second, draws)
    defined = taus[~np.isnan(taus)]
    if len(defined) and np.ptp(defined) > _ROUNDING:
        low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    else:
        # τ is a mean over two pairs at a time; this is the share of these with at least one unseen pair.
        unseen = 1 - (1 - unseen_share(pairs)) ** 2
        low, high = tau - unseen * (1 + tau), tau + unseen * (1 - tau)
    return Robustness(float(tau), float(low), float(high), pairs, left_out, float(np.isnan(taus).mean()))


def _signs(values: Floats) -> Floats:
    signs: Floats = (values[:, None] > values).astype(np.float64) - (values[:, None] < values)
    return signs


def _taus(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return τ-b of samples that contain the i-th pair ``weights[:, i]`` times; NaN where it is undefined."""
    sums = [
        np.einsum("si,si->s", weights @ matrix, weights) for matrix in (first * second, first * first, second * second)
    ]
    product = sums[1] * sums[2]
    taus: Floats = np.divide(sums[0], np.sqrt(product), out=np.full(len(weights), np.nan), where=product > 0)
    return taus
