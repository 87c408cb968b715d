"""An estimate as a known number plus a sum over what was drawn, with its interval.

docs/methods/prediction-powered.md. However a figure comes about, what is random in it is one term for each thing
drawn; :mod:`.prediction_powered` and :mod:`kgprobe.beliefs.corrected_rates` say which terms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kgprobe.errors import ArgumentError
from kgprobe.stats.clustered_variance import Clusters, Floats, clustered_variance, clusters_of, distances

# Labels as far from their predictions as can be, that may have stayed unseen. With 1, the bounds are those of Fay and
# Feuer, which never miss more often than they say and are up to a tenth wider; with half, 90% can be 85%. With this,
# without predictions and at whatever rate, it is 88% at least, and below 89% for one rate in 300.
_UNSEEN = 0.75


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval, and what it was made of.

    Attributes:
        value: within what labels can be.
        low: the lower end of the interval.
        high: the upper one.
        standard_error: with clusters, where there are any.
        plain_error: the standard error if facts that share a subject or an object were independent.
        weight: λ, what predictions count; in the first of several parts or rounds.
        raw: the mean of all predictions, uncorrected: how far it is from ``value`` is the predictions' bias.
        labelled: the number of labels.
        labels_worth: so many labels of facts drawn with equal probability, without predictions, would have had this
            standard error; None where it is 0, and of ratios.
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
class Drawn:
    """An estimate as a sum over what was drawn.

    Attributes:
        terms: about mean 0, shape (labelled,); their squares add up to what the draw adds to the variance.
        outside: what else adds to it.
        most: what a term can be at most.
        least: what it can be at least.
        uniform_variance: of the mean of one label, drawn with equal probability.
        subjects: what was drawn together shares them, whatever names them; None where nothing was.
        objects: likewise.
    """

    value: float
    terms: Floats
    outside: float
    most: float
    least: float
    weight: float
    raw: float
    uniform_variance: float | None = None
    subjects: NDArray[Any] | None = None
    objects: NDArray[Any] | None = None


def sum_of_draws(
    parts: Sequence[Drawn], shares: Sequence[float], confidence: float, lowest: float, highest: float
) -> Estimate:
    """The sum of what was drawn, each part times its share, with its interval.

    Args:
        confidence: of the interval, two-sided, in (0, 1).
        lowest: what the figure can be at least.
        highest: what it can be at most.
    """
    value = sum(share * part.value for part, share in zip(parts, shares, strict=True))
    terms = np.concatenate([share * part.terms for part, share in zip(parts, shares, strict=True)])
    ends = [sorted((share * part.least, share * part.most)) for part, share in zip(parts, shares, strict=True)]
    squared = [share * share for share in shares]
    outside = sum(square * part.outside for part, square in zip(parts, squared, strict=True))
    plain = max(0.0, float(terms @ terms) + outside)
    clusters = _clusters(parts)
    variance, freedom, alike = plain, len(terms) - 1.0, 1.0
    if clusters is not None:
        variance = max(plain, clustered_variance(terms, clusters))
        freedom = max(1.0, min(freedom, clusters.effective - 1))
        alike = clusters.likeness if not terms.any() else 1.0
    # What a variable of Student's t exceeds as often as a normal one exceeds what it is asked for.
    miss = float(special.ndtr(-special.stdtrit(freedom, 0.5 + confidence / 2)))
    most, least = alike * max(high for _, high in ends), alike * min(low for low, _ in ends)
    below = above = math.inf
    if variance < math.inf:
        below, above = distances(terms, variance, most, least, miss, _UNSEEN)
    uniform = [
        square * part.uniform_variance / len(part.terms)
        for part, square in zip(parts, squared, strict=True)
        if part.uniform_variance is not None
    ]
    low, middle, high = (min(max(end, lowest), highest) for end in (value - below, value, value + above))
    return Estimate(
        middle,
        low,
        high,
        standard_error=math.sqrt(variance),
        plain_error=math.sqrt(plain),
        weight=parts[0].weight,
        raw=sum(share * part.raw for part, share in zip(parts, shares, strict=True)),
        labelled=len(terms),
        labels_worth=len(terms) * sum(uniform) / variance if variance > 0 and len(uniform) == len(parts) else None,
    )


def _clusters(parts: Sequence[Drawn]) -> Clusters | None:
    ways = []
    for name in ("subjects", "objects"):
        names = [getattr(part, name) for part in parts]
        told = [column for column in names if column is not None]
        if told and len(told) < len(names):
            raise ArgumentError(name, "are told of some facts and not of others.")
        ways.append(np.concatenate(told) if told else None)
    return clusters_of(*ways)
