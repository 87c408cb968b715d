"""Correct, truthful, informative: metrics of a model's judgements of facts and of their negatives.

Section 3.3 of the paper on evaluating with large graphs; docs/methods/statements.md. For a fact t with the negatives
N(t), each metric is ``pos(t) · (1 - mean of neg over N(t))``. Vectorized over facts, for graphs of
millions of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.outcome import Verdict

Floats = NDArray[np.float64]
Judgements = NDArray[np.int8]
Integers = NDArray[np.int64]

# The judgements of a statement, by position; ``NONE`` is a missing judgement.
JUDGEMENTS = ("true", "false", "unknown")
TRUE, FALSE, UNKNOWN = 0, 1, 2
NONE = -1
# The classes of a judgement by its correctness, by position; the classes of the paper's judge.
CORRECTNESS = ("right", "wrong", "unknown")


def correctness_of(judgements: Integers, truths: NDArray[np.bool_]) -> Integers:
    """Return positions in ``CORRECTNESS`` of judgements of statements; applied again, it returns the judgements.

    >>> correctness_of(np.array([TRUE, TRUE, UNKNOWN]), np.array([True, False, False])).tolist()
    [0, 1, 2]

    Args:
        judgements: positions in ``JUDGEMENTS``, shape (statements,).
        truths: True for a fact's statement, False for a negative's, shape (statements,).
    """
    return np.where(truths | (judgements == UNKNOWN), judgements, TRUE + FALSE - judgements)


@dataclass(frozen=True, slots=True)
class FactMetrics:
    """Metrics of each fact, in [0, 1], shape (facts,); NaN where a fact, or all of its negatives, were not judged.

    Each is 0 if its condition on the fact fails, else 1 minus a share of negatives.

    Attributes:
        correct: the fact is judged true; 1 minus the share of negatives that are not judged false.
        truthful: the fact is not judged false; 1 minus the share of negatives that are judged true.
        informative: the fact is not judged unknown; 1 minus the share of negatives that are judged unknown.
    """

    correct: Floats
    truthful: Floats
    informative: Floats


def metrics_of(facts: Judgements, negatives: Judgements) -> FactMetrics:
    """Return the metrics of facts by the judgements of their statements and negatives.

    >>> metrics_of(np.array([TRUE, UNKNOWN]), np.array([[FALSE, TRUE], [FALSE, NONE]])).correct
    array([0.5, 0. ])

    Cost: a few passes over the negatives.

    Args:
        facts: ``TRUE``, ``FALSE``, ``UNKNOWN`` or ``NONE`` for each fact, shape (facts,).
        negatives: the same for its negatives, shape (facts, negatives); ``NONE`` where a fact has fewer.
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
    """Return correct, truthful and informative of one fact, each in [0, 1]; NaN without the required judgements.

    >>> metrics_of_fact(TRUE, [FALSE, TRUE])
    {'correct': 0.5, 'truthful': 0.5, 'informative': 1.0}
    """
    metrics = metrics_of(np.array([fact], np.int8), np.array([negatives], np.int8))
    return {name: float(getattr(metrics, name)[0]) for name in ("correct", "truthful", "informative")}


def bias_of(fact: int, negatives: Sequence[int]) -> float:
    """Return the share of a fact's statements that are judged true minus the share of true ones.

    >>> bias_of(TRUE, [TRUE, FALSE, FALSE])
    0.25

    Judgements are positions in ``JUDGEMENTS``; ``NONE`` is left out. The result is in [-1, 1]; NaN if the fact, or
    every negative, was not judged.
    """
    judged = len(negatives) - list(negatives).count(NONE)
    if fact == NONE or not judged:
        return math.nan
    return ([fact, *negatives].count(TRUE) - 1) / (1 + judged)


# Stored with the settings that results depend on.
RIGHT_MEANS = "fact judged true, negatives judged false"


def verdict_of(fact: int, negatives: Sequence[int]) -> Verdict:
    """Return the verdict on a fact: right if it is judged true and all of its judged negatives false.

    A model that judges everything true is never right.

    Judgements are positions in ``JUDGEMENTS``, or ``NONE``; negatives with ``NONE`` are left out.
    """
    judged = set(negatives) - {NONE}
    if fact == NONE or not judged:
        return Verdict.OFF_FORMAT
    if fact == UNKNOWN:
        return Verdict.REFUSED
    return Verdict.RIGHT if fact == TRUE and judged == {FALSE} else Verdict.WRONG
