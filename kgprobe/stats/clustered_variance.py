"""Cluster-robust variance of a sum over a random draw, and the bounds of its interval.

docs/methods/prediction-powered.md. Two-way clusters: Cameron, Gelbach and Miller, Journal of Business & Economic
Statistics 29 (2011). Bounds of a weighted sum of rare events: Fay and Feuer, Statistics in Medicine 16 (1997); of a
difference of two: Zou and Donner, Statistics in Medicine 27 (2008).
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of the drawn facts by subject, by object, or by both; made by :func:`clusters_of`.

    Attributes:
        ways: cluster of each fact, from 0 up, shape (drawn,), with a sign: +1 for subjects and for objects, -1 for
            pairs of both, which would count twice.
        effective: effective number of equal clusters, (Σ n)² / Σ n² over cluster sizes n; the smaller number of
            subjects and objects, at least 1.
        mean_size: mean size of a fact's cluster; the larger size of subjects and objects, at least 1.
    """

    ways: tuple[tuple[Codes, int], ...]
    effective: float
    mean_size: float


def clusters_of(subjects: NDArray[Any] | None, objects: NDArray[Any] | None) -> Clusters | None:
    """Return clusters by subject, by object, or by both; None if neither is given.

    >>> clusters_of(np.array(["Q1", "Q1", "Q2"]), None).mean_size
    1.6666666666666667

    Args:
        subjects: numbers or texts, shape (drawn,).
        objects: the same.

    Cost: a sort of each.
    """
    coded = [np.unique(names, return_inverse=True)[1] for names in (subjects, objects) if names is not None]
    if not coded:
        return None
    squares = [float((np.bincount(codes).astype(np.float64) ** 2).sum()) for codes in coded]
    total, most = len(coded[0]), max(squares)
    ways = [(codes.astype(np.int64), 1) for codes in coded]
    if len(coded) == 2:
        both = coded[0].astype(np.int64) * (int(coded[1].max()) + 1) + coded[1]
        ways.append((np.unique(both, return_inverse=True)[1].astype(np.int64), -1))
    return Clusters(tuple(ways), total * total / most, most / total)


def clustered_variance(terms: Floats, clusters: Clusters) -> float:
    """Return the cluster-robust variance of a sum of terms with mean 0: V_s + V_o - V_so.

    Each is the sum of squared cluster sums, times G / (G - 1) for G clusters.

    Args:
        terms: shape (drawn,).

    Returns:
        can be negative if terms of a cluster are negatively correlated; infinite with a single cluster.
    """
    variance = 0.0
    for codes, sign in clusters.ways:
        sums = np.bincount(codes, weights=terms)
        if len(sums) < 2:
            return math.inf
        variance += sign * len(sums) / (len(sums) - 1) * float(sums @ sums)
    return variance


def interval_reach(
    terms: Floats, variance: float, highest: float, lowest: float, tail: float, unseen: float
) -> tuple[float, float]:
    """Return the distances from an estimate to the lower and to the upper end of its interval, both from 0.

    Positive and negative terms are two sums of rare events. Each gets the bounds of a gamma variable with its mean and
    variance, after ``unseen`` terms of the largest possible size are added. The two are combined by squares. With many
    small terms this is the normal interval; with few it is as skewed as they are; with none it is the bound of the
    unseen terms.

    Args:
        terms: contribution of each drawn fact to the estimate, with mean about 0, shape (drawn,).
        variance: of their sum, from 0; the squares of the terms are scaled to it.
        highest: upper bound of a term, from 0.
        lowest: lower bound of a term, at most 0.
        tail: probability of missing each end, in (0, 0.5).
        unseen: number of unseen terms.
    """
    squares = float(terms @ terms)
    scale = variance / squares if squares > 0 else 1.0
    up = np.maximum(terms, 0)
    down = up - terms
    gain_above, gain_below = _gamma_reach(float(up.sum()), scale * float(up @ up), unseen, scale * highest, tail)
    loss_above, loss_below = _gamma_reach(float(down.sum()), scale * float(down @ down), unseen, -scale * lowest, tail)
    return math.hypot(gain_below, loss_above), math.hypot(gain_above, loss_below)


def _gamma_reach(total: float, variance: float, unseen: float, largest: float, tail: float) -> tuple[float, float]:
    """Return the distances from a sum of positive terms to the upper and to the lower bound of its mean."""
    mean, spread = total + unseen * largest, variance + unseen * largest * largest
    above = 0.0
    if spread > 0:
        shape = mean * mean / spread
        above = max(0.0, mean / shape * float(special.gammainccinv(shape, tail)) - total)
    below = 0.0
    if variance > 0:
        shape = total * total / variance
        below = total - total / shape * float(special.gammaincinv(shape, tail))
    return above, below
