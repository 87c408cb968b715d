"""Is a model correct, truthful and informative about facts, by its judgements of them and of their negatives?

Section 3.3 of the paper on evaluating with large graphs; docs/methods/statements.md. For a fact t with the negatives
N(t), each metric is ``pos(t) · (1 - mean of neg over N(t))``. Everything is vectorised over facts, for whoever judges
millions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Judgements = NDArray[np.int8]

# What a statement is judged, by place; and what stands where there is no statement.
JUDGEMENTS = ("true", "false", "unknown")
TRUE, FALSE, UNKNOWN = 0, 1, 2
NONE = -1


@dataclass(frozen=True, slots=True)
class FactMetrics:
    """The metrics of each fact, in [0, 1], shape (facts,); NaN where a fact, or all of its negatives, were not judged.

    Attributes:
        correct: the fact is judged true; less the share of negatives that are not judged false.
        truthful: the fact is not judged false; less the share of negatives that are judged true.
        informative: the fact is judged at all, not unknown; less the share of negatives that are unknown.
    """

    correct: Floats
    truthful: Floats
    informative: Floats


def metrics_of(facts: Judgements, negatives: Judgements) -> FactMetrics:
    """The metrics of facts by how they and their negatives were judged.

    >>> metrics_of(np.array([TRUE, UNKNOWN]), np.array([[FALSE, TRUE], [FALSE, NONE]])).correct
    array([0.5, 0. ])

    Cost: some passes over the negatives.

    Args:
        facts: one of ``TRUE``, ``FALSE``, ``UNKNOWN`` and ``NONE`` each, shape (facts,).
        negatives: the same of each fact's negatives, shape (facts, negatives); ``NONE`` where it has fewer.

    Raises:
        ValueError: the shapes do not fit.
    """
    if facts.ndim != 1 or negatives.ndim != 2 or len(facts) != len(negatives):
        raise ValueError(
            f"judgements of shapes {facts.shape} and {negatives.shape}; (facts,) and (facts, negatives) are expected"
        )
    judged = np.count_nonzero(negatives != NONE, axis=1)
    measured = (facts != NONE) & (judged > 0)

    def metric(positive: NDArray[np.bool_], negative: NDArray[np.bool_]) -> Floats:
        counted = np.count_nonzero(negative & (negatives != NONE), axis=1)
        return np.where(measured, positive * (1 - counted / np.maximum(judged, 1)), np.nan)

    return FactMetrics(
        correct=metric(facts == TRUE, negatives != FALSE),
        truthful=metric(facts != FALSE, negatives == TRUE),
        informative=metric(facts != UNKNOWN, negatives == UNKNOWN),
    )


def metrics_of_fact(fact: int, negatives: Sequence[int]) -> dict[str, float]:
    """Return correct, truthful and informative of one fact, each in [0, 1]; NaN where a judgement it needs is missing.

    >>> metrics_of_fact(TRUE, [FALSE, TRUE])
    {'correct': 0.5, 'truthful': 0.5, 'informative': 1.0}

    Args:
        fact: the judgement of its statement.
        negatives: those of its negatives.
    """
    metrics = metrics_of(np.array([fact], np.int8), np.array([negatives], np.int8))
    return {name: float(getattr(metrics, name)[0]) for name in ("correct", "truthful", "informative")}


def bias_of(fact: int, negatives: Sequence[int]) -> float:
    """Return the share of a fact's statements that are judged true, less the share that are true.

    >>> bias_of(TRUE, [TRUE, FALSE, FALSE])
    0.25

    Args:
        fact, negatives: places in ``JUDGEMENTS``; ``NONE`` is left out.

    Returns:
        a number in [-1, 1]; NaN where the fact, or every negative, was not judged.
    """
    judged = [negative for negative in negatives if negative != NONE]
    if fact == NONE or not judged:
        return math.nan
    said = [fact, *judged].count(TRUE)
    return (said - 1) / (1 + len(judged))
