"""Estimates as a constant plus a sum over a random draw, with confidence intervals.

docs/methods/prediction-powered.md. The only random part of such an estimate is one term for each drawn fact;
:mod:`.prediction_powered` and :mod:`kgprobe.beliefs.corrected_rates` define the terms.
"""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from scipy import special

from kgprobe.stats.clustered_variance import Floats, clustered_variance, clusters_of, interval_reach

# Number of unseen terms, each as large as can be. With 1, the bounds are those of Fay and Feuer, which are conservative
# and up to a tenth wider; with 0.5, 90% intervals can cover 85%. With 0.75 and without predictions, 90% intervals cover
# at least 88% at any rate, and less than 89% for 1 rate in 300.
_UNSEEN = 0.75


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its confidence interval.

    Attributes:
        value: within the range of labels.
        low: lower end of the interval.
        high: upper end of the interval.
        standard_error: clustered if there are clusters.
        plain_error: standard error if facts that share a subject or an object were independent.
        weight: λ, the weight of the predictions.
        raw: uncorrected mean of all predictions; its difference from ``value`` is the predictions' bias.
        labelled: number of labels.
        labels_worth: number of labels of uniformly drawn facts that give the same standard error without predictions;
            None if the standard error is 0.
    """

    value: float
    low: float
    high: float
    standard_error: float
    plain_error: float
    weight: float
    raw: float
    labelled: int
    labels_worth: float | None

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class DrawnSum:
    """An estimate before its interval: a sum over the drawn facts.

    Attributes:
        value: the estimate.
        terms: one for each drawn fact, with mean about 0, shape (labelled,); the sum of their squares is the variance
            due to the draw.
        outside: variance from other sources.
        highest_term: upper bound of a term.
        lowest_term: lower bound of a term.
        weight: λ, the weight of the predictions.
        raw: uncorrected mean of all predictions.
        label_variance: variance of one label of a uniformly drawn fact.
        subjects: cluster of each fact, numbers or texts; None if facts were not drawn by subjects.
        objects: the same for objects.
    """

    value: float
    terms: Floats
    outside: float
    highest_term: float
    lowest_term: float
    weight: float
    raw: float
    label_variance: float
    subjects: NDArray[Any] | None = None
    objects: NDArray[Any] | None = None


def with_interval(drawn: DrawnSum, confidence: float, lowest: float, highest: float) -> Estimate:
    """Return the estimate with its interval.

    Args:
        confidence: of the interval, two-sided, in (0, 1).
        lowest: lower bound of the estimate.
        highest: upper bound of the estimate.
    """
    terms = drawn.terms
    plain = max(0.0, float(terms @ terms) + drawn.outside)
    clusters = clusters_of(drawn.subjects, drawn.objects)
    variance, freedom, size = plain, len(terms) - 1.0, 1.0
    if clusters is not None:
        variance = max(plain, clustered_variance(terms, clusters))
        freedom = max(1.0, min(freedom, clusters.effective - 1))
        size = clusters.mean_size if not terms.any() else 1.0
    below = above = math.inf
    if variance < math.inf:
        # Tail probability at which a normal variable has the quantile of Student's t.
        tail = float(special.ndtr(-special.stdtrit(freedom, 0.5 + confidence / 2)))
        bounds = size * drawn.highest_term, size * drawn.lowest_term
        below, above = interval_reach(terms, variance, *bounds, tail, _UNSEEN)
    low, value, high = (
        min(max(end, lowest), highest) for end in (drawn.value - below, drawn.value, drawn.value + above)
    )
    return Estimate(
        value,
        low,
        high,
        standard_error=math.sqrt(variance),
        plain_error=math.sqrt(plain),
        weight=drawn.weight,
        raw=drawn.raw,
        labelled=len(terms),
        labels_worth=len(terms) * (drawn.label_variance / len(terms)) / variance if variance > 0 else None,
    )
