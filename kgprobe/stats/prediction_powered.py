"""Prediction-powered estimates: a mean over a whole graph from predictions of all facts and labels of a few.

docs/methods/prediction-powered.md. The estimate is the mean of all predictions plus the mean error of the labelled
ones, each error divided by its fact's inclusion probability. Prediction-powered inference: Angelopoulos et al. (2023),
arXiv 2301.09633; its weight: PPI++, arXiv 2311.01453, 6; known unequal probabilities: Zrnic and Candès (2024), arXiv
2403.03208. Difference estimator of survey sampling: Särndal, Swensson and Wretman (1992), 6.3.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError
from kgprobe.stats.design_based import DrawnSum, Estimate, Floats, with_interval
from kgprobe.stats.proportions import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

# Errors below this share of the range of labels count as 0.
_NO_ERROR = 1e-12


@dataclass(frozen=True, slots=True)
class PredictionSums:
    """Sums of predictions that suffice for an estimate: five numbers for any number of facts.

    >>> sum_predictions([0.0, 1.0]) + sum_predictions([0.5])
    PredictionSums(count=3, total=1.5, squares=0.5, least=0.0, most=1.0)

    Attributes:
        total: sum of their predictions; that of zeros and ones is exact, however they are divided into parts.
        squares: sum of squared deviations from the mean.
    """

    count: int = 0
    total: float = 0.0
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
            self.total + other.total,
            self.squares + other.squares + apart * apart * self.count * other.count / count,
            min(self.least, other.least),
            max(self.most, other.most),
        )

    @property
    def mean(self) -> float:
        """Mean of the predictions; 0 without facts."""
        return self.total / max(self.count, 1)

    @property
    def variance(self) -> float:
        """Sample variance (divisor count - 1); 0 for a single fact."""
        return self.squares / (self.count - 1) if self.count > 1 else 0.0


def sum_predictions(predictions: "Floats | Sequence[float]") -> PredictionSums:
    """Return the sums of predictions; add those of parts for a stream."""
    values = numbers_of("predictions", predictions)
    if not len(values):
        return PredictionSums()
    total = float(values.sum())
    apart = values - total / len(values)
    return PredictionSums(len(values), total, float(apart @ apart), float(values.min()), float(values.max()))


def sum_predictions_by(
    predictions: "Floats | Sequence[float]", groups: NDArray[np.int64], number: int
) -> list[PredictionSums]:
    """Return the sums of each group (a relation, a type) in one pass.

    Args:
        predictions: shape (facts,).
        groups: group of each fact, from 0, below ``number``.

    Returns:
        one for each group; a group without facts has empty sums.
    """
    values = numbers_of("predictions", predictions)
    if len(groups) != len(values) or (len(groups) and not (groups.min() >= 0 and groups.max() < number)):
        raise ArgumentError("groups", f"must be one per prediction, each from 0 and below {number}.")
    counts = np.bincount(groups, minlength=number)
    totals = np.bincount(groups, weights=values, minlength=number)
    means = totals / np.maximum(counts, 1)
    squares = np.bincount(groups, weights=(values - means[groups]) ** 2, minlength=number)
    least, most = np.full(number, math.inf), np.full(number, -math.inf)
    np.minimum.at(least, groups, values)
    np.maximum.at(most, groups, values)
    columns = (counts, totals, squares, least, most)
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
    """Return finite numbers in one dimension as an array."""
    numbers: Floats = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ArgumentError(name, f"has {numbers.ndim} dimensions; 1 is expected.")
    if not np.isfinite(numbers).all():
        raise ArgumentError(name, f"has {numbers[~np.isfinite(numbers)][0]}; finite numbers are expected.")
    return numbers


@dataclass(frozen=True, slots=True)
class EstimatorOptions:
    """Options of the estimator.

    Attributes:
        confidence: of intervals, two-sided, in (0, 1).
        weight: λ, the weight of the predictions: 0 ignores them, 1 takes them as they are, a negative one reverses
            them. None minimizes the variance within ``weight_bounds``.
        weight_bounds: lowest and highest weight.
        cross_fitted: True if weight and mean error of each labelled fact come from the other labelled facts; False
            uses all of them, as in PPI++, which underestimates the error with few labels.
        centred: True if the mean error is subtracted, which removes the variance due to a random number of drawn
            facts; False gives the estimate of active statistical inference.
        population: ``finite`` estimates the mean of this graph's facts: the sums are those of all of them, and only
            the draw is random. ``super`` estimates the mean of the population of which the facts are a sample: the sums
            are those of other facts than the labelled ones, unless ``probabilities`` are given.
        lowest: lower bound of labels; -1 for the difference of two labels in [0, 1].
        highest: upper bound of labels.
    """

    confidence: float = CONFIDENCE
    weight: float | None = None
    weight_bounds: tuple[float, float] = (-1.0, 1.0)
    cross_fitted: bool = True
    centred: bool = True
    population: Literal["finite", "super"] = "finite"
    lowest: float = 0.0
    highest: float = 1.0

    def __post_init__(self) -> None:
        """Raise ArgumentError if values are out of range or do not go together."""
        if not 0 < self.confidence < 1:
            raise ArgumentError("confidence", f"is {self.confidence}; a number between 0 and 1 is expected.")
        if not self.lowest < self.highest:
            raise ArgumentError("highest", f"is {self.highest:g}; more than `lowest`, {self.lowest:g}, is expected.")
        if self.population == "super" and not self.centred and self.cross_fitted:
            raise ArgumentError("centred", "is False, as in active inference, which is not `cross_fitted`.")


DEFAULTS = EstimatorOptions()


def estimate_mean(facts: LabelledFacts, predictions: PredictionSums, options: EstimatorOptions = DEFAULTS) -> Estimate:
    """Estimate the mean label of all facts from labels of a few and predictions of all.

    >>> random = np.random.default_rng(0)
    >>> truth = random.random(100_000) < 0.3
    >>> judged = np.where(random.random(100_000) < 0.1, ~truth, truth).astype(float)
    >>> drawn = random.choice(100_000, 500, replace=False)
    >>> estimate = estimate_mean(LabelledFacts(truth[drawn], judged[drawn]), sum_predictions(judged))
    >>> print(estimate, f"predictions alone {estimate.raw:.3f}, worth {estimate.labels_worth:.0f} labels")
    0.318 [0.288, 0.348] predictions alone 0.339, worth 993 labels

    The classical estimate without predictions: ``EstimatorOptions(weight=0)``.

    Args:
        facts: at least 3.
        predictions: sums over all facts, including the labelled ones.

    Cost: some passes over the labelled facts, and a sort if they have clusters.
    """
    _check(facts, predictions, options)
    return with_interval(_drawn_sum(facts, predictions, options), options.confidence, options.lowest, options.highest)


def _drawn_sum(facts: LabelledFacts, predictions: PredictionSums, options: EstimatorOptions) -> DrawnSum:
    """Return the estimate as a sum over the labelled facts."""
    y, m = facts.labels, facts.predictions
    is_finite = options.population == "finite"
    is_apart = not is_finite and facts.probabilities is None
    n, count = len(y), predictions.count
    chances = np.full(n, n / count) if facts.probabilities is None else facts.probabilities
    w = np.full(n, count / n) if is_apart else 1 / chances
    weight, weights = _weights(facts, predictions, w, options)
    level, levels = _levels(y, m, w, weight, weights, options.cross_fitted) if options.centred else (0.0, np.zeros(n))
    errors = y - weights * m - levels
    # Rounding errors do not count as spread.
    errors[np.abs(errors) < _NO_ERROR * (options.highest - options.lowest)] = 0.0
    parts = w * errors / count
    if is_apart:
        value = float(weights.mean() * predictions.mean + levels.mean() + parts.sum())
    else:
        moved = (weights - weight) * m + levels - level
        value = float(weight * predictions.mean + level + moved.sum() / count + parts.sum())
    undrawn = 1 - chances if is_finite else np.ones(n)
    terms = parts * np.sqrt(undrawn * _freedom(n, options))
    outside = 0.0
    if is_apart:
        outside = weight * weight * predictions.variance / count
    elif not is_finite:
        outside = _rectified_variance(facts, predictions, w, weight, level, value) - float(terms @ terms)
    ends = sorted((weight * predictions.least, weight * predictions.most))
    scale = float((w * np.sqrt(undrawn)).max()) / count
    shares = w / w.sum()
    label_variance = float(shares @ (y - shares @ y) ** 2) * n / (n - 1)
    return DrawnSum(
        value,
        terms,
        outside,
        highest_term=scale * max(0.0, options.highest - ends[0] - level),
        lowest_term=scale * min(0.0, options.lowest - ends[1] - level),
        weight=weight,
        raw=predictions.mean,
        label_variance=label_variance * (1 - n / count if is_finite else 1.0),
        subjects=facts.subjects,
        objects=facts.objects,
    )


def _freedom(n: int, options: EstimatorOptions) -> float:
    """Return the factor that corrects the squares of terms for the estimated mean error."""
    if not options.centred:
        return 1.0
    return (n - 1) / n if options.cross_fitted else n / (n - 1)


def _weights(
    facts: LabelledFacts, predictions: PredictionSums, w: Floats, options: EstimatorOptions
) -> tuple[float, Floats]:
    """Return λ from all labelled facts, and λ for each of them (from the others if cross-fitted)."""
    y, m, n = facts.labels, facts.predictions, len(facts.labels)
    if options.weight is not None:
        return options.weight, np.full(n, options.weight)
    # The variance is the sum of squared errors over all facts, each times 1 / π - 1; over drawn ones, divided by π.
    importance = np.ones(n) if facts.probabilities is None else w * (w - 1)
    total = float(importance.sum())
    if total <= 0:
        # All labelled facts were drawn with certainty: predictions cannot lower the variance.
        return 0.0, np.zeros(n)
    y_mean, m_mean = (importance @ y / total, importance @ m / total) if options.centred else (0.0, 0.0)
    crossed, squared = importance * (y - y_mean) * (m - m_mean), importance * (m - m_mean) ** 2
    # Factor by which a sum over all changes without one fact.
    without = total / np.maximum(total - importance, total * 1e-12) if options.centred else np.ones(n)
    covariance, covariances = float(crossed.sum()), crossed.sum() - without * crossed
    if facts.probabilities is None and options.centred:
        # The variance of all predictions is more exact than that of the labelled facts' ones.
        variance = predictions.variance
        if options.population == "super":
            variance = (1 + n / predictions.count) * (predictions + sum_predictions(m)).variance
        scales, scale = np.full(n, variance * (n - 2)), variance * (n - 1)
    else:
        scale = float(squared.sum())
        scales = scale - without * squared
    low, high = options.weight_bounds
    tiny = 1e-12 * max(abs(predictions.least), abs(predictions.most)) ** 2 * total
    weight = float(np.clip(covariance / scale, low, high)) if scale > tiny else 0.0
    if not options.cross_fitted:
        return weight, np.full(n, weight)
    weights: Floats = np.clip(np.divide(covariances, scales, out=np.zeros(n), where=scales > tiny), low, high)
    return weight, weights


def _levels(
    y: Floats, m: Floats, w: Floats, weight: float, weights: Floats, cross_fitted: bool
) -> tuple[float, Floats]:
    """Return the mean error from all labelled facts, and for each of them (from the others if cross-fitted)."""
    total = float(w.sum())
    labels, predicted = float(w @ y), float(w @ m)
    level = (labels - weight * predicted) / total
    if not cross_fitted:
        return level, np.full(len(y), level)
    return level, (labels - w * y - weights * (predicted - w * m)) / (total - w)


def _rectified_variance(
    facts: LabelledFacts, predictions: PredictionSums, w: Floats, weight: float, level: float, value: float
) -> float:
    """Return the variance of the mean of corrected predictions: λm, and λm + (y - λm) / π for labelled facts."""
    guessed = weight * facts.predictions + level - value
    corrected = guessed + w * (facts.labels - weight * facts.predictions - level)
    off = weight * predictions.mean + level - value
    squares = weight * weight * predictions.squares + predictions.count * off * off
    squares += float(corrected @ corrected - guessed @ guessed)
    return squares / (predictions.count * (predictions.count - 1))


def _check(facts: LabelledFacts, predictions: PredictionSums, options: EstimatorOptions) -> None:
    """Raise ArgumentError if the mean cannot be estimated."""
    labels, count = facts.labels, predictions.count
    if len(labels) < 3:
        raise ArgumentError("facts", f"are {len(labels)}; at least 3 labelled ones are expected.")
    if not (options.lowest <= labels.min() and labels.max() <= options.highest):
        wrong = labels[(labels < options.lowest) | (labels > options.highest)][0]
        raise ArgumentError("labels", f"has {wrong}; {options.lowest:g} to {options.highest:g} is expected.")
    if options.population == "super":
        if facts.subjects is not None or facts.objects is not None:
            raise ArgumentError("population", "is 'super', which supports no clusters; use 'finite' with them.")
        if facts.probabilities is None:
            if count < 2:
                raise ArgumentError("predictions", f"are of {count} facts; at least 2 are expected.")
            return
    if count < len(labels):
        raise ArgumentError("predictions", f"are of {count} facts; all are expected, and {len(labels)} have labels.")
