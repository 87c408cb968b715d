"""Confidence of a model in its choice among given answers, and its accuracy where it is confident.

docs/methods/choices.md, and section 2 of the latent-knowledge paper. The confidence in an answer is the softmax of the
log-probabilities over the compared answers. Accuracy@K is the accuracy over the facts whose chosen answer has a
confidence of at least K.
"""

from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from kgprobe.base.intervals import Share
from kgprobe.base.tables import Heading, ResultRow, Table
from kgprobe.probes.outcome import AGREEMENT, RatedAnswer
from kgprobe.stats.proportions import share

Floats = NDArray[np.float64]

# The values of K in tables of accuracy@K.
THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))
# Fewer repeated answers have no agreement.
FEWEST = 3
# Label of the row over all relations.
ALL = "all"


@dataclass(frozen=True, slots=True)
class AccuracyAt(ResultRow):
    """Accuracy@K: K, in [0, 1], the facts with at least this confidence, and the right share; None without facts."""

    threshold: Annotated[float, Heading("confidence", "{:g} or more".format)]
    facts: Annotated[int, Heading("facts")]
    accuracy: Annotated[Share | None, Heading("accuracy")]


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


def agreement_of(answers: Sequence[Hashable | None], right: Container[Hashable]) -> RatedAnswer:
    """Return the most frequent of repeated answers, with its share as the confidence; the first one of a tie.

    >>> agreement_of(["Rome", "Bonn", "Bonn", None], ["Rome"])
    RatedAnswer(source='agreement', confidence=0.5, right=False, reason=None)

    None is an abstention, which has no confidence if it is the most frequent answer.
    """
    if len(answers) < FEWEST:
        return RatedAnswer(AGREEMENT, None, reason=f"fewer than {FEWEST} answers")
    ((answer, count),) = Counter(answers).most_common(1)
    if answer is None:
        return RatedAnswer(AGREEMENT, None, reason="most answers abstain")
    return RatedAnswer(AGREEMENT, count / len(answers), answer in right)


def accuracy_at(
    confidences: Sequence[float] | Floats,
    right: Sequence[bool] | NDArray[np.bool_],
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[AccuracyAt]:
    """Return accuracy@K for each K of ``thresholds``, in their order.

    >>> [(at.threshold, at.facts, at.accuracy.value) for at in accuracy_at([0.4, 0.9], [False, True], [0.1, 0.9])]
    [(0.1, 2, 0.5), (0.9, 1, 1.0)]

    ``confidences`` are those in the chosen answer, in [0, 1], shape (facts,); ``right`` is True if that is right.
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=bool)
    rows = []
    for threshold in thresholds:
        reached = hits[sure >= threshold]
        accuracy = share(int(reached.sum()), len(reached)) if len(reached) else None
        rows.append(AccuracyAt(threshold, len(reached), accuracy))
    return rows


def by_relation(results: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the results of each relation, sorted by id, and over all relations if there are several."""
    groups = [(str(relation), group) for relation, group in results.groupby("relation")]
    return [*groups, (ALL, results)] if len(groups) > 1 else groups


def mean_by_fact(keys: Sequence[Hashable], values: Floats) -> Floats:
    """Return the means of the values of each fact, which may be asked several times, in the order of the facts.

    ``keys`` are the facts of the questions; values of shape (questions, …) give a result of (different facts, …).
    """
    of_questions, facts = pd.factorize(pd.Series(list(keys), dtype=object))
    sums = np.zeros((len(facts), *values.shape[1:]))
    np.add.at(sums, of_questions, values)
    means: Floats = (sums.T / np.bincount(of_questions)).T
    return means


def mean_of(values: "pd.Series[Any]") -> float:
    """Return the mean of at least one value."""
    return float(sum(values) / len(values))


def share_of(values: "pd.Series[Any]") -> Share:
    """Return the share of the values, at least one, that are True."""
    return share(int(values.sum()), len(values))


def confidence_tables(results: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> list[Table]:
    """Return accuracy and mean confidence by relation and over all, and accuracy@K.

    Args:
        results: of at least one fact: ``relation`` (id), ``is_right`` (True if the right answer has the best score),
            ``choices`` (number of compared answers), and ``probability`` of the right answer and ``confidence`` of the
            best answer, both normalized over the choices.
    """
    choices = pd.DataFrame(results)
    rows = []
    for relation, group in by_relation(choices):
        row = {
            "relation": relation,
            "facts": len(group),
            "most choices": int(group["choices"].max()),
            "accuracy": share_of(group["is_right"]),
            "by guessing": mean_of(1 / group["choices"]),
            "confidence in the best": mean_of(group["confidence"]),
            "in the right one": mean_of(group["probability"]),
        }
        rows.append(row)
    note = (
        "Confidence is the share that an answer has of the probability of all that were compared (softmax of their"
        " scores); its mean."
    )
    levels = accuracy_at(choices["confidence"].to_numpy(), choices["is_right"].to_numpy())
    return [
        Table("relations", "Accuracy by relation", rows, [note, *notes]),
        Table(
            "confidence",
            "Accuracy where the model is confident (accuracy@K)",
            [level.cells() for level in levels],
        ),
    ]
