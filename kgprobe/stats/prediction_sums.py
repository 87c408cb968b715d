"""Inputs of prediction-powered estimates: sums of all facts' predictions, and the labelled facts."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import ArgumentError
from kgprobe.stats.clustered_variance import Floats

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class PredictionSums:
    """Sums of predictions that suffice for an estimate: five numbers for any number of facts.

    >>> sum_predictions([0.0, 1.0]) + sum_predictions([0.5])
    PredictionSums(count=3, mean=0.5, squares=0.5, least=0.0, most=1.0)

    Attributes:
        count: number of facts.
        mean: of their predictions.
        squares: sum of squared deviations from the mean.
        least: the lowest prediction.
        most: the highest prediction.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def __add__(self, other: "PredictionSums") -> "PredictionSums":
        """Return the sums of both parts, without the cancellation of plain sums of squares."""
        count = self.count + other.count
        if count == 0:
            return self
        apart = other.mean - self.mean
        return PredictionSums(
            count,
            self.mean + apart * other.count / count,
            self.squares + other.squares + apart * apart * self.count * other.count / count,
            min(self.least, other.least),
            max(self.most, other.most),
        )

    @property
    def variance(self) -> float:
        """Sample variance (divisor count - 1); 0 for a single fact."""
        return self.squares / (self.count - 1) if self.count > 1 else 0.0


def sum_predictions(predictions: "Floats | Sequence[float]") -> PredictionSums:
    """Return the sums of predictions; add those of parts for a stream.

    Raises:
        ArgumentError: a prediction is not finite.
    """
    values = numbers_of("predictions", predictions)
    if not len(values):
        return PredictionSums()
    mean = float(values.mean())
    apart = values - mean
    return PredictionSums(len(values), mean, float(apart @ apart), float(values.min()), float(values.max()))


def sum_predictions_by(
    predictions: "Floats | Sequence[float]", groups: NDArray[np.int64], number: int
) -> list[PredictionSums]:
    """Return the sums of each group (a relation, a type) in one pass.

    Args:
        predictions: shape (facts,).
        groups: group of each fact, from 0, below ``number``.

    Returns:
        one for each group; a group without facts has empty sums.

    Raises:
        ArgumentError: a prediction is not finite, or a group is out of range.
    """
    values = numbers_of("predictions", predictions)
    if len(groups) != len(values) or (len(groups) and not (groups.min() >= 0 and groups.max() < number)):
        raise ArgumentError("groups", f"must be one per prediction, each from 0 and below {number}.")
    counts = np.bincount(groups, minlength=number)
    means = np.bincount(groups, weights=values, minlength=number) / np.maximum(counts, 1)
    squares = np.bincount(groups, weights=(values - means[groups]) ** 2, minlength=number)
    least, most = np.full(number, math.inf), np.full(number, -math.inf)
    np.minimum.at(least, groups, values)
    np.maximum.at(most, groups, values)
    columns = (counts, means, squares, least, most)
    return [PredictionSums(int(n), *map(float, rest)) for n, *rest in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class LabelledFacts:
    """Facts that were drawn and labelled.

    Attributes:
        labels: shape (labelled,): 0 or 1, or a number such as M(t).
        predictions: of the same facts, made without their own labels (cross-fitted).
        probabilities: inclusion probability of each, in (0, 1], given everything known before; None if they are equal.
        subjects: numbers or texts; None if facts were drawn one by one and not by subjects.
        objects: the same for objects.
    """

    labels: Floats
    predictions: Floats
    probabilities: Floats | None = None
    subjects: NDArray[Any] | None = None
    objects: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """Raise ArgumentError if columns differ in length or values are out of range."""
        for name in ("labels", "predictions", "probabilities"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, numbers_of(name, values))
        for name in ("predictions", "probabilities", "subjects", "objects"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.labels):
                raise ArgumentError(name, f"has {len(values)} values; {len(self.labels)} are expected, one per label.")
        chances = self.probabilities
        if chances is not None and not ((chances > 0) & (chances <= 1)).all():
            raise ArgumentError("probabilities", "must be above 0, and at most 1.")

    def where(self, chosen: NDArray[np.bool_]) -> "LabelledFacts":
        """Return the facts of a part of the graph (a relation, a type), for the sums of that part's predictions."""
        columns = (self.labels, self.predictions, self.probabilities, self.subjects, self.objects)
        return LabelledFacts(*(None if column is None else column[chosen] for column in columns))  # type: ignore[arg-type]


def numbers_of(name: str, values: "Floats | Sequence[float]") -> Floats:
    """Return finite numbers in one dimension as an array.

    Args:
        name: of the argument, for the message.

    Raises:
        ArgumentError: values are not finite, or not in one dimension.
    """
    numbers: Floats = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ArgumentError(name, f"has {numbers.ndim} dimensions; 1 is expected.")
    if not np.isfinite(numbers).all():
        raise ArgumentError(name, f"has {numbers[~np.isfinite(numbers)][0]}; finite numbers are expected.")
    return numbers
