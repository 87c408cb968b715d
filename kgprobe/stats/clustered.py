"""Shares and losses of questions that come in clusters, such as the questions about one edit.

Questions of a cluster are not independent. The variance of a share is that of a ratio over clusters, and its interval
is Wilson's at the effective sample size, with Student's t for few clusters (after Korn and Graubard, Survey Methodology
24, 1998). docs/methods/edits.md.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.stats.paired_proportions import loss_bounds
from kgprobe.stats.proportions import CONFIDENCE, Points, Share, wilson

Floats: TypeAlias = NDArray[np.float64]


def clustered_share(right: Sequence[bool], clusters: Sequence[str]) -> Share:
    """Return the share of right answers with a 95% interval that is robust to dependence within clusters.

    >>> print(clustered_share([True, True, True, False], ["e1", "e2", "e3", "e4"]))
    75% [21, 97]
    >>> print(clustered_share([True, True, False, False], ["e1", "e1", "e2", "e2"]))
    50% [0, 100]

    If all answers are equal, a cluster counts as one answer. With a single cluster the interval is all of [0, 1].

    Args:
        right: of each question, at least one.
        clusters: the cluster of each question.
    """
    answers = np.asarray(right, dtype=np.float64)
    mean, codes = float(answers.mean()), _codes(clusters)
    count = int(codes.max()) + 1
    if count < 2:
        return Share(mean, 0.0, 1.0)
    simple, robust = mean * (1 - mean) / len(answers), _variance(answers - mean, codes)
    effective = float(count) if simple == 0 else len(answers) * simple / max(robust, simple)
    # Student's t instead of the normal quantile: the variance is estimated from the clusters.
    quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, count - 1))
    middle, reach = wilson(mean, effective, quantile)
    return Share(mean, max(0.0, min(mean, middle - reach)), min(1.0, max(mean, middle + reach)))


def clustered_loss(before: Sequence[bool], after: Sequence[bool], clusters: Sequence[str]) -> Points:
    """Return the share of right answers before, less that after, with one-sided 95% bounds by Tango's score.

    The counts of lost and gained answers are divided by the design effect of clusters whose answers change together, so
    a cluster counts as one answer. The effect is not estimated: clusters without or with few changes would make it too
    small, and a further lost answer could lower the upper bound.

    >>> print(clustered_loss([True] * 200, [True] * 200, [f"e{n}" for n in range(200)]))
    +0.0 [-2.0, +2.0]
    >>> print(clustered_loss([True] * 200, [True] * 200, [f"e{n // 2}" for n in range(200)]))
    +0.0 [-4.0, +4.0]

    Args:
        before, after: right answers to each question, at least one.
        clusters: the cluster of each question.
    """
    changes = np.asarray(before, dtype=np.float64) - np.asarray(after, dtype=np.float64)
    total, sizes = len(changes), np.bincount(_codes(clusters))
    # The design effect of an intra-cluster correlation of 1 (Kish); equal to the size of clusters of equal size.
    effect = float(sizes @ sizes) / total
    counts: list[Any] = [float((changes > 0).sum()), float((changes < 0).sum()), float(total)]
    low, high = loss_bounds(*(value / effect for value in counts))
    return Points(float(changes.mean()), float(low), float(high))


def _codes(clusters: Sequence[str]) -> NDArray[np.int64]:
    """Return numbers of clusters, from 0 up."""
    return np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)[1].astype(np.int64)


def _variance(deviations: Floats, codes: NDArray[np.int64]) -> float:
    """Return the cluster-robust variance of a mean, from the deviations from it."""
    sums = np.bincount(codes, weights=deviations)
    return len(sums) / (len(sums) - 1) * float(sums @ sums) / len(deviations) ** 2
