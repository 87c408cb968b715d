"""What a figure of a whole graph is estimated from: sums of all facts' predictions, and the facts that have labels."""

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
    """All that an estimate needs of the predictions: of 100 million facts, five numbers.

    >>> sum_predictions([0.0, 1.0]) + sum_predictions([0.5])
    PredictionSums(count=3, mean=0.5, squares=0.5, least=0.0, most=1.0)

    Attributes:
        count: of facts.
        mean: of their predictions.
        squares: the sum of squared deviations from it.
        least: the lowest prediction.
        most: the highest.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def __add__(self, other: "PredictionSums") -> "PredictionSums":
        """Those of both; in whatever order parts come, without the loss of digits that sums of squares have."""
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
        """With the number of facts less one as its divisor; 0 of one fact."""
        return self.squares / (self.count - 1) if self.count > 1 else 0.0


def sum_predictions(predictions: "Floats | Sequence[float]") -> PredictionSums:
    """The sums of some predictions; those of a stream are added up part by part.

    Raises:
        ArgumentError: one is not finite.
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
    """The sums of each group (a relation, a type) in one pass.

    Args:
        predictions: shape (facts,).
        groups: of each fact, from 0, below ``number``.

    Returns:
        one of each group, empty sums where it has no fact.

    Raises:
        ArgumentError: a prediction is not finite, or a group cannot be.
    """
    values = numbers_of("predictions", predictions)
    if len(groups) != len(values) or (len(groups) and not (groups.min() >= 0 and groups.max() < number)):
        raise ArgumentError("groups", f"must be one a prediction, each from 0 and below {number}.")
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
        labels: shape (labelled,): 0 or 1, or a figure such as M(t).
        predictions: of the same facts, made without looking at their own labels (cross-fitted).
        probabilities: with which each was drawn, in (0, 1], given what was known before; None where all facts are
            equally probable.
        subjects: whatever names them, numbers or texts; None where facts that share one were drawn apart from each
            other and the estimate speaks of this graph.
        objects: likewise.
    """

    labels: Floats
    predictions: Floats
    probabilities: Floats | None = None
    subjects: NDArray[Any] | None = None
    objects: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """See that there is one of everything for each fact."""
        for name in ("labels", "predictions", "probabilities"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, numbers_of(name, values))
        for name in ("predictions", "probabilities", "subjects", "objects"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.labels):
                raise ArgumentError(name, f"has {len(values)} values; {len(self.labels)} are expected, one a label.")
        chances = self.probabilities
        if chances is not None and not ((chances > 0) & (chances <= 1)).all():
            raise ArgumentError("probabilities", "must be above 0, and at most 1.")

    def where(self, chosen: NDArray[np.bool_]) -> "LabelledFacts":
        """Those of a part of the graph (a relation, a type); estimate with the sums of that part's predictions."""
        columns = (self.labels, self.predictions, self.probabilities, self.subjects, self.objects)
        return LabelledFacts(*(None if column is None else column[chosen] for column in columns))  # type: ignore[arg-type]


def numbers_of(name: str, values: "Floats | Sequence[float]") -> Floats:
    """Finite numbers in one dimension, as an array.

    Args:
        name: the argument's, for the message.

    Raises:
        ArgumentError: they are none.
    """
    numbers: Floats = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ArgumentError(name, f"has {numbers.ndim} dimensions; 1 is expected.")
    if not np.isfinite(numbers).all():
        raise ArgumentError(name, f"has {numbers[~np.isfinite(numbers)][0]}; finite numbers are expected.")
    return numbers
