"""How sure a model is of what it chose among given answers, and whether it is right where it is sure.

docs/methods/choices.md. The confidence of an answer is its probability among those that were compared: softmax of
their log-probabilities. Accuracy@K is the accuracy over the facts whose chosen answer has a confidence of at least K.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from kgprobe.stats.proportions import Share, share

Floats = NDArray[np.float64]

# The K of accuracy@K that tables show.
THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))


@dataclass(frozen=True, slots=True)
class AccuracyAt:
    """Accuracy@K of some facts.

    Attributes:
        threshold: K, in [0, 1].
        facts: how many have a confidence of at least K.
        accuracy: the share of these that are right, with its interval; None where there are none.
    """

    threshold: float
    facts: int
    accuracy: Share | None


def normalized(log_probabilities: ArrayLike) -> Floats:
    """The probability of each answer among those compared: they add up to 1.

    >>> normalized([-1000.0, -1000.0]).tolist()
    [0.5, 0.5]

    Args:
        log_probabilities: natural logarithms, also unnormalized; -inf is an answer that cannot be. Shape (…, answers),
            at least one answer.

    Returns:
        probabilities of the same shape. Of answers none of which can be, each is as probable as another.
    """
    values = np.asarray(log_probabilities, dtype=np.float64)
    possible = np.where(np.isneginf(values).all(axis=-1, keepdims=True), 0.0, values)
    probabilities: Floats = softmax(possible, axis=-1)
    return probabilities


def accuracy_at(
    confidences: Sequence[float] | Floats,
    right: Sequence[bool] | NDArray[np.bool_],
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[AccuracyAt]:
    """Accuracy@K for each K of ``thresholds``, in their order.

    >>> [(at.threshold, at.facts, at.accuracy.value) for at in accuracy_at([0.4, 0.9], [False, True], [0.1, 0.9])]
    [(0.1, 2, 0.5), (0.9, 1, 1.0)]

    Args:
        confidences: of the answer that was chosen, in [0, 1]; shape (facts,).
        right: whether it was right; shape (facts,).
        thresholds: what a confidence has to reach to count, in [0, 1].
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=bool)
    rows = []
    for threshold in thresholds:
        reached = sure >= threshold
        facts = int(reached.sum())
        rows.append(AccuracyAt(threshold, facts, share(int(hits[reached].sum()), facts) if facts else None))
    return rows
