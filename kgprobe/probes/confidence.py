"""Confidence of a model in its choice among given answers, and its accuracy where it is confident.

docs/methods/choices.md. The confidence in an answer is the softmax of the log-probabilities over the compared
answers. Accuracy@K is the accuracy over the facts whose chosen answer has a confidence of at least K.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from kgprobe.stats.proportions import Share, share

Floats = NDArray[np.float64]

# The values of K in tables of accuracy@K.
THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))


@dataclass(frozen=True, slots=True)
class AccuracyAt:
    """Accuracy@K of some facts.

    Attributes:
        threshold: K, in [0, 1].
        facts: number of facts with a confidence of at least K.
        accuracy: share of these facts that are right, with its interval; None without such facts.
    """

    threshold: float
    facts: int
    accuracy: Share | None


def normalized(log_probabilities: ArrayLike) -> Floats:
    """Return the probability of each answer among the compared answers: softmax.

    >>> normalized([-1000.0, -1000.0]).tolist()
    [0.5, 0.5]

    Args:
        log_probabilities: natural logarithms, possibly unnormalized; -inf for an impossible answer. Shape
            (…, answers), at least one answer.

    Returns:
        Probabilities of the same shape, which add up to 1; uniform if all answers are impossible.
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
    """Return accuracy@K for each K of ``thresholds``, in their order.

    >>> [(at.threshold, at.facts, at.accuracy.value) for at in accuracy_at([0.4, 0.9], [False, True], [0.1, 0.9])]
    [(0.1, 2, 0.5), (0.9, 1, 1.0)]

    Args:
        confidences: confidence in the chosen answer, in [0, 1]; shape (facts,).
        right: True if the chosen answer is right; shape (facts,).
        thresholds: minimum confidences, in [0, 1].
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=bool)
    rows = []
    for threshold in thresholds:
        reached = sure >= threshold
        facts = int(reached.sum())
        rows.append(AccuracyAt(threshold, facts, share(int(hits[reached].sum()), facts) if facts else None))
    return rows
