"""Sums over a random draw: their variance where what was drawn shares a subject or an object, and their bounds.

docs/methods/prediction-powered.md. A figure that was estimated from a draw is a known number plus a sum of terms,
one for each thing drawn. Two-way clusters: Cameron, Gelbach and Miller, Journal of Business & Economic Statistics 29
(2011). Bounds of a weighted sum of rare things: Fay and Feuer, Statistics in Medicine 16 (1997); of what both adds and
takes away: Zou and Donner, Statistics in Medicine 27 (2008).
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
    """Which of the things drawn share a subject, an object, or both; made by :func:`clusters_of`.

    Attributes:
        ways: for each way to share, the cluster of each thing, from 0 up, shape (drawn,); and its sign, +1 or -1: what
            shares both is in both, and is taken away once.
        effective: how many equal clusters the draw is worth, by the way in which they are fewest: (Σ n)² / Σ n² over
            the numbers n of things in a cluster. At least 1.
        likeness: the mean number of things in the cluster of a thing, by the way in which it is largest; at least 1.
    """

    ways: tuple[tuple[Codes, int], ...]
    effective: float
    likeness: float


def clusters_of(subjects: NDArray[Any] | None, objects: NDArray[Any] | None) -> Clusters | None:
    """Clusters by subject, by object, or by both; None where neither is told.

    >>> clusters_of(np.array(["Q1", "Q1", "Q2"]), None).likeness
    1.6666666666666667

    Args:
        subjects: whatever names them, numbers or texts, shape (drawn,).
        objects: likewise.

    Cost: a sort of each.
    """
    told = [np.unique(names, return_inverse=True)[1] for names in (subjects, objects) if names is not None]
    if not told:
        return None
    squares = [float((np.bincount(codes).astype(np.float64) ** 2).sum()) for codes in told]
    total, most = len(told[0]), max(squares)
    ways = [(codes.astype(np.int64), 1) for codes in told]
    if len(told) == 2:
        both = told[0].astype(np.int64) * (int(told[1].max()) + 1) + told[1]
        ways.append((np.unique(both, return_inverse=True)[1].astype(np.int64), -1))
    return Clusters(tuple(ways), total * total / most, most / total)


def clustered_variance(terms: Floats, clusters: Clusters) -> float:
    """The variance of a sum of terms with mean 0, those of a cluster as correlated as they are: V_s + V_o - V_so.

    Each is the sum over clusters of the square of their terms' sum, times G / (G - 1) for G clusters.

    Args:
        terms: shape (drawn,).

    Returns:
        can be below 0, where those that share an entity are less alike than others; infinite with a single cluster.
    """
    variance = 0.0
    for codes, sign in clusters.ways:
        sums = np.bincount(codes, weights=terms)
        if len(sums) < 2:
            return math.inf
        variance += sign * len(sums) / (len(sums) - 1) * float(sums @ sums)
    return variance


def distances(
    terms: Floats, variance: float, most: float, least: float, miss: float, unseen: float
) -> tuple[float, float]:
    """How far below and above an estimate its interval reaches.

    Terms above 0 and below 0 are two sums of things that happen now and then. Each gets the bounds of a gamma variable
    with its mean and variance, to which are added, for what was not seen, ``unseen`` terms as large as there can be.
    The two are combined by squares. Of many small terms all of this is the normal interval; of few, it is lopsided as
    they are; of none, the bound is that of what could have stayed unseen.

    Args:
        terms: what each thing drawn adds to the estimate, shape (drawn,); with mean 0 or about it.
        variance: of their sum, from 0. The terms' squares are scaled to it.
        most: the largest that a term can be, from 0.
        least: the lowest that a term can be, to 0.
        miss: how probably each end is missed, in (0, 0.5).
        unseen: in terms.

    Returns:
        both from 0.
    """
    squares = float(terms @ terms)
    scale = variance / squares if squares > 0 else 1.0
    up = np.maximum(terms, 0)
    down = up - terms
    gained_more, gained_less = _gamma(float(up.sum()), scale * float(up @ up), unseen, scale * most, miss)
    lost_more, lost_less = _gamma(float(down.sum()), scale * float(down @ down), unseen, -scale * least, miss)
    return math.hypot(gained_less, lost_more), math.hypot(gained_more, lost_less)


def _gamma(total: float, variance: float, unseen: float, largest: float, miss: float) -> tuple[float, float]:
    """How far above and below a sum of positive terms its mean may lie."""
    mean, spread = total + unseen * largest, variance + unseen * largest * largest
    above = 0.0
    if spread > 0:
        shape = mean * mean / spread
        above = max(0.0, mean / shape * float(special.gammainccinv(shape, miss)) - total)
    below = 0.0
    if variance > 0:
        shape = total * total / variance
        below = total - total / shape * float(special.gammaincinv(shape, miss))
    return above, below
