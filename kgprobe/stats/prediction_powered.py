"""Figures of a whole graph from predictions of all of its facts and labels of a few: prediction-powered estimates.

docs/methods/prediction-powered.md. Predictions alone are biased as whoever made them is; labels alone are few. The
estimate is the mean of all predictions plus what labelled facts tell of their error, each weighted by how seldom it is
drawn. Prediction-powered inference: Angelopoulos et al. (2023), arXiv 2301.09633; its weight: PPI++, arXiv 2311.01453,
6; facts that are drawn with known, unequal probabilities: Zrnic and Candès (2024), arXiv 2403.03208. The difference
estimator of survey sampling: Särndal, Swensson and Wretman (1992), 6.3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kgprobe.errors import ArgumentError
from kgprobe.stats.clustered_variance import Floats
from kgprobe.stats.design_based import Drawn, Estimate, sum_of_draws
from kgprobe.stats.prediction_sums import LabelledFacts, PredictionSums, numbers_of, sum_predictions
from kgprobe.stats.proportions import CONFIDENCE

# Of what an estimate speaks: of this graph, of which all predictions are known; or of what its facts are a sample of.
Speaks = Literal["graph", "source"]
# Of the range of labels.
NO_ERROR = 1e-12


@dataclass(frozen=True, slots=True)
class Manner:
    """How figures are estimated.

    Attributes:
        confidence: of intervals, two-sided, in (0, 1).
        weight: what predictions count, λ; 0 leaves them out, 1 takes them at their word. None: what makes the variance
            least, within ``weights``. A weight below 0 reads predictions the other way round.
        weights: the lowest and the highest weight that may be chosen.
        cross_fitted: weight and level for each labelled fact are chosen by the other ones. Else by all of them, as
            PPI++ does, which takes the same error for smaller than it is where labels are few.
        levelled: errors are told about their own mean, which takes away what the number of facts drawn, where it is
            random, adds to the variance. Without it the estimate is that of active inference.
        speaks_of: ``graph``: the mean of this graph's facts; the sums are those of all of them, and only the draw of
            the labelled ones is random. ``source``: what facts are a sample of; the sums are those of others than the
            labelled facts, unless ``probabilities`` say how these were drawn out of them.
        lowest: what a label can be at least: 0; -1 for the difference of two.
        highest: what a label can be at most.
    """

    confidence: float = CONFIDENCE
    weight: float | None = None
    weights: tuple[float, float] = (-1.0, 1.0)
    cross_fitted: bool = True
    levelled: bool = True
    speaks_of: Speaks = "graph"
    lowest: float = 0.0
    highest: float = 1.0

    def __post_init__(self) -> None:
        """See that they can be."""
        if not 0 < self.confidence < 1:
            raise ArgumentError("confidence", f"is {self.confidence}; a number between 0 and 1 is expected.")
        if not self.lowest < self.highest:
            raise ArgumentError("highest", f"is {self.highest:g}; more than `lowest`, {self.lowest:g}, is expected.")
        if self.speaks_of == "source" and not self.levelled and self.cross_fitted:
            raise ArgumentError("levelled", "is False, as in active inference, which is not `cross_fitted`.")


PREDICTION_POWERED = Manner()


def estimate_mean(facts: LabelledFacts, predictions: PredictionSums, manner: Manner = PREDICTION_POWERED) -> Estimate:
    """The mean label of all facts, from labels of a few and predictions of all.

    >>> random = np.random.default_rng(0)
    >>> truth = random.random(100_000) < 0.3
    >>> judged = np.where(random.random(100_000) < 0.1, ~truth, truth).astype(float)
    >>> drawn = random.choice(100_000, 500, replace=False)
    >>> estimate = estimate_mean(LabelledFacts(truth[drawn], judged[drawn]), sum_predictions(judged))
    >>> print(estimate, f"predictions alone {estimate.raw:.3f}, worth {estimate.labels_worth:.0f} labels")
    0.318 [0.288, 0.348] predictions alone 0.339, worth 993 labels

    Without predictions: ``Manner(weight=0)``, the classical estimate.

    Args:
        facts: at least 3 of them.
        predictions: the sums of all facts' predictions, the labelled ones' included.

    Raises:
        ArgumentError: fewer labels; a label that cannot be; more labelled facts than facts; clusters where the estimate
            speaks of a source.

    Cost: some passes over the labelled facts, and a sort where they have clusters. Predictions cost nothing any more.
    """
    return _summed([_drawn(facts, predictions, manner)], [1.0], manner)


def estimate_difference(
    first: LabelledFacts,
    first_predictions: PredictionSums,
    second: LabelledFacts,
    second_predictions: PredictionSums,
    manner: Manner = PREDICTION_POWERED,
) -> Estimate:
    """How much higher the mean label is in one part of the graph than in another that has no fact with it in common.

    Two figures of the same facts, such as those of two models, are one figure: the mean of the difference of their
    labels, with the difference of their predictions; ``estimate_mean`` with ``Manner(lowest=-1)``.

    Returns:
        from ``lowest - highest`` to ``highest - lowest``. Facts of both parts that share an entity count as such.
    """
    span = manner.highest - manner.lowest
    parts = [_drawn(first, first_predictions, manner), _drawn(second, second_predictions, manner)]
    return _summed(parts, [1.0, -1.0], replace(manner, lowest=-span, highest=span))


def estimate_over_rounds(
    rounds: Sequence[tuple[LabelledFacts, PredictionSums]], shares: Sequence[float], manner: Manner = PREDICTION_POWERED
) -> Estimate:
    """The mean label of all facts, of several rounds, each with its own predictions and probabilities.

    Args:
        rounds: the facts that were asked in each, with the probability that each had when that round began; and the
            sums of all facts' predictions as they were then.
        shares: what each round counts, known before it was asked (such as its number of facts); they are scaled to 1.

    Raises:
        ArgumentError: see :func:`estimate_mean`; or shares that are not as many, below 0, or 0 altogether.
    """
    weights = numbers_of("shares", shares)
    if len(weights) != len(rounds) or not len(rounds) or (weights < 0).any() or weights.sum() == 0:
        raise ArgumentError("shares", f"must be {len(rounds)} numbers from 0, one a round, and not all 0.")
    return _summed([_drawn(*round_, manner) for round_ in rounds], (weights / weights.sum()).tolist(), manner)


def estimate_ratio(
    above: LabelledFacts,
    above_predictions: PredictionSums,
    below: LabelledFacts,
    below_predictions: PredictionSums,
    manner: Manner = PREDICTION_POWERED,
) -> Estimate:
    """One mean over another of the same labelled facts: of those that are one thing, the share that are another.

    Args:
        above: labels 1 for facts that are both, 0 for others.
        below: labels 1 for facts that are the one thing; the same facts in the same order.

    Returns:
        by linearization (the delta method): terms of the first less the ratio times those of the second.

    Raises:
        ArgumentError: not the same facts, or a mean of the second that may be 0 as far as its interval tells.
    """
    if len(above.labels) != len(below.labels):
        raise ArgumentError("below", f"has {len(below.labels)} facts; the {len(above.labels)} of `above` are expected.")
    top, bottom = _drawn(above, above_predictions, manner), _drawn(below, below_predictions, manner)
    least = _summed([bottom], [1.0], manner)
    if least.low <= 0:
        raise ArgumentError("below", f"has a mean of {least}; one that is surely above 0 is expected.")
    ratio = top.value / bottom.value
    joined = replace(
        top,
        value=ratio,
        terms=(top.terms - ratio * bottom.terms) / bottom.value,
        most=(top.most - ratio * bottom.least) / bottom.value,
        least=(top.least - ratio * bottom.most) / bottom.value,
        uniform_variance=None,
        raw=above_predictions.mean / below_predictions.mean if below_predictions.mean else math.nan,
    )
    return _summed([joined], [1.0], manner)


def _drawn(facts: LabelledFacts, predictions: PredictionSums, manner: Manner) -> Drawn:
    y, m = facts.labels, facts.predictions
    of_graph = manner.speaks_of == "graph"
    apart = not of_graph and facts.probabilities is None
    _refuse(facts, predictions, manner)
    n, count = len(y), predictions.count
    chances = np.full(n, n / count) if facts.probabilities is None else facts.probabilities
    w = np.full(n, count / n) if apart else 1 / chances
    whole, own = _weights(facts, predictions, w, manner)
    level, own_level = _levels(y, m, w, whole, own, manner.cross_fitted) if manner.levelled else (0.0, np.zeros(n))
    errors = y - own * m - own_level
    # What arithmetic leaves of errors that are none is not to pass for their spread.
    errors[np.abs(errors) < NO_ERROR * (manner.highest - manner.lowest)] = 0.0
    parts = w * errors / count
    if apart:
        value = float(own.mean() * predictions.mean + own_level.mean() + parts.sum())
    else:
        moved = (own - whole) * m + own_level - level
        value = float(whole * predictions.mean + level + moved.sum() / count + parts.sum())
    kept = 1 - chances if of_graph else np.ones(n)
    freedom = 1.0 if not manner.levelled else (n - 1) / n if manner.cross_fitted else n / (n - 1)
    terms = parts * np.sqrt(kept * freedom)
    outside = 0.0
    if apart:
        outside = whole * whole * predictions.variance / count
    elif not of_graph:
        outside = _rectified_variance(facts, predictions, w, whole, level, value) - float(terms @ terms)
    ends = sorted((whole * predictions.least, whole * predictions.most))
    scale = float((w * np.sqrt(kept)).max()) / count
    shares = w / w.sum()
    spread = float(shares @ (y - shares @ y) ** 2) * n / (n - 1)
    return Drawn(
        value,
        terms,
        outside,
        most=scale * max(0.0, manner.highest - ends[0] - level),
        least=scale * min(0.0, manner.lowest - ends[1] - level),
        weight=whole,
        raw=predictions.mean,
        uniform_variance=spread * (1 - n / count if of_graph else 1.0),
        subjects=facts.subjects,
        objects=facts.objects,
    )


def _weights(facts: LabelledFacts, predictions: PredictionSums, w: Floats, manner: Manner) -> tuple[float, Floats]:
    """λ by all labelled facts; and for each of them, by the others if it is cross-fitted."""
    y, m, n = facts.labels, facts.predictions, len(facts.labels)
    if manner.weight is not None:
        return manner.weight, np.full(n, manner.weight)
    # The variance is a sum of squared errors over all facts, each times 1 / π - 1; over those drawn, that over π.
    importance = np.ones(n) if facts.probabilities is None else w * (w - 1)
    total = float(importance.sum())
    if total <= 0:
        # All that are labelled were certain to be: their predictions are of no use.
        return 0.0, np.zeros(n)
    y_mean, m_mean = (importance @ y / total, importance @ m / total) if manner.levelled else (0.0, 0.0)
    crossed, squared = importance * (y - y_mean) * (m - m_mean), importance * (m - m_mean) ** 2
    # What the sums of all become without one of them.
    without = total / np.maximum(total - importance, total * 1e-12) if manner.levelled else np.ones(n)
    together, left = float(crossed.sum()), crossed.sum() - without * crossed
    if facts.probabilities is None and manner.levelled:
        # The predictions' variance is known better than from the labelled facts.
        variance = predictions.variance
        if manner.speaks_of == "source":
            variance = (1 + n / predictions.count) * (predictions + sum_predictions(m)).variance
        scales, scale = np.full(n, variance * (n - 2)), variance * (n - 1)
    else:
        scale = float(squared.sum())
        scales = scale - without * squared
    low, high = manner.weights
    tiny = 1e-12 * max(abs(predictions.least), abs(predictions.most)) ** 2 * total
    whole = float(np.clip(together / scale, low, high)) if scale > tiny else 0.0
    if not manner.cross_fitted:
        return whole, np.full(n, whole)
    own: Floats = np.clip(np.divide(left, scales, out=np.zeros(n), where=scales > tiny), low, high)
    return whole, own


def _levels(y: Floats, m: Floats, w: Floats, whole: float, own: Floats, cross_fitted: bool) -> tuple[float, Floats]:
    """The mean error under λ by all labelled facts; and for each of them, by the others if λ is."""
    total = float(w.sum())
    labels, predicted = float(w @ y), float(w @ m)
    level = (labels - whole * predicted) / total
    if not cross_fitted:
        return level, np.full(len(y), level)
    return level, (labels - w * y - own * (predicted - w * m)) / (total - w)


def _rectified_variance(
    facts: LabelledFacts, predictions: PredictionSums, w: Floats, whole: float, level: float, value: float
) -> float:
    """The variance of the mean of all facts' corrected predictions: λm, and of those labelled λm + (y - λm) / π."""
    guessed = whole * facts.predictions + level - value
    corrected = guessed + w * (facts.labels - whole * facts.predictions - level)
    off = whole * predictions.mean + level - value
    squares = whole * whole * predictions.squares + predictions.count * off * off
    squares += float(corrected @ corrected - guessed @ guessed)
    return squares / (predictions.count * (predictions.count - 1))


def _summed(parts: Sequence[Drawn], shares: Sequence[float], manner: Manner) -> Estimate:
    return sum_of_draws(parts, shares, manner.confidence, manner.lowest, manner.highest)


def _refuse(facts: LabelledFacts, predictions: PredictionSums, manner: Manner) -> None:
    labels, count = facts.labels, predictions.count
    if len(labels) < 3:
        raise ArgumentError("facts", f"are {len(labels)}; at least 3 labelled ones are expected.")
    if not (manner.lowest <= labels.min() and labels.max() <= manner.highest):
        wrong = labels[(labels < manner.lowest) | (labels > manner.highest)][0]
        raise ArgumentError("labels", f"has {wrong}; {manner.lowest:g} to {manner.highest:g} is expected.")
    if manner.speaks_of == "source":
        if facts.subjects is not None or facts.objects is not None:
            raise ArgumentError("speaks_of", "is 'source', which knows no clusters; 'graph' is expected with them.")
        if facts.probabilities is None:
            if count < 2:
                raise ArgumentError("predictions", f"are of {count} facts; at least 2 are expected.")
            return
    if count < len(labels):
        raise ArgumentError("predictions", f"are of {count} facts; all are expected, and {len(labels)} have labels.")
