"""How little a measure minds flaws in a sentence: its agreement between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods/studies.md. Robustness is Kendall's τ between the values of a
measure on the flawed sentences and on the corrected ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.stats.proportions import CONFIDENCE, unseen_share

Floats = NDArray[np.float64]

# Samples whose τ differ by no more are all the same.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Robustness:
    """A measure's agreement with itself.

    Attributes:
        tau: Kendall's τ-b in [-1, 1]; NaN where one side has the same value everywhere, or there are fewer than 2
            pairs.
        low, high: the bootstrap's 95% percentile interval over pairs, where there is one: see :func:`robustness`; NaN
            where ``tau`` is.
        pairs: how many it is of.
        left_out: how many pairs have no value on one side or the other.
        undefined: the share of bootstrap samples without a τ, of which the interval knows nothing.
    """

    tau: float
    low: float
    high: float
    pairs: int
    left_out: int
    undefined: float


def robustness(flawed: Floats, corrected: Floats, *, samples: int = 2000, seed: int = 0) -> Robustness:
    """Kendall's τ-b between a measure's values on flawed and on corrected sentences, with a bootstrap interval.

    Of pairs that are all in the same order, few or many, every bootstrap sample says 1. There the interval reaches as
    far as τ would go if as many pairs as chance could have hidden (:func:`~kgprobe.stats.proportions.unseen_share`)
    were all in disorder; of those in opposite order likewise.

    Cost: samples x pairs², in one matrix product.

    Args:
        flawed, corrected: values in the order of the pairs, NaN where there is none; shape (pairs,).
        samples: how often pairs are drawn anew.
        seed: of the draws.
    """
    kept = ~(np.isnan(flawed) | np.isnan(corrected))
    pairs, left_out = int(kept.sum()), int((~kept).sum())
    # The concordance of two pairs of values is the product of the signs of their differences: infinities, too.
    first, second = (_signs(values[kept]) for values in (flawed, corrected))
    (tau,) = _taus(first, second, np.ones((1, pairs)))
    if np.isnan(tau):
        return Robustness(np.nan, np.nan, np.nan, pairs, left_out, np.nan)
    # How often each pair is drawn is all that τ needs to know.
    draws = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), size=samples).astype(np.float64)
    taus = _taus(first, second, draws)
    defined = taus[~np.isnan(taus)]
    if len(defined) and np.ptp(defined) > _ROUNDING:
        low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    else:
        # A τ is a mean over two pairs at a time, of which one at least is an unseen one.
        unseen = 1 - (1 - unseen_share(pairs)) ** 2
        low, high = tau - unseen * (1 + tau), tau + unseen * (1 - tau)
    return Robustness(float(tau), float(low), float(high), pairs, left_out, float(np.isnan(taus).mean()))


def _signs(values: Floats) -> Floats:
    signs: Floats = (values[:, None] > values).astype(np.float64) - (values[:, None] < values)
    return signs


def _taus(first: Floats, second: Floats, weights: Floats) -> Floats:
    """τ-b of samples in which the i-th pair of values stands ``weights[:, i]`` times; NaN where there is none."""
    sums = [
        np.einsum("si,si->s", weights @ matrix, weights) for matrix in (first * second, first * first, second * second)
    ]
    product = sums[1] * sums[2]
    taus: Floats = np.divide(sums[0], np.sqrt(product), out=np.full(len(weights), np.nan), where=product > 0)
    return taus
