"""Agreement of a measure with human scores: options chosen on some facts, agreement computed on others.

Section 4.2 of the distractor paper; docs/methods/studies.md. A measure has configurations (a number of distractors, a
number of beams, an aggregation). Each fold of a cross-validation selects the configuration with the highest Kendall's τ
on the other folds and reports its τ on its own facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError

Floats = NDArray[np.float64]

# The grid of the paper: numbers of distractors, which are also the n of precision@n, and numbers of beams.
COUNTS = (1, 2, 5, 10, *range(20, 201, 20))
BEAMS = (1, 2, 5, 10, 20, 30, 50, 100)


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold.

    Attributes:
        best: position of the best configuration on the other folds; the first of equals.
        training: its τ on the other folds.
        tau: its τ on this fold.
        facts: number of facts in the fold.
    """

    best: int
    training: float
    tau: float
    facts: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The agreement of a measure with human scores.

    Attributes:
        mean: mean τ of the folds, in [-1, 1]; higher is better.
        deviation: their standard deviation, with folds - 1 in the denominator.
        facts: number of facts used.
        left_out: number of facts without a human score, or without a value in some configuration.
    """

    mean: float
    deviation: float
    folds: tuple[Fold, ...]
    facts: int
    left_out: int


def calibrate(values: Floats, scores: Floats, *, folds: int = 3, seed: int = 0) -> Calibration:
    """Select a measure's configuration and compute its agreement with human scores, by cross-validation.

    A fact without a value in some configuration is left out of all, so that configurations share their facts. Folds
    are assigned before that: measures of the same facts with the same seed share their folds. Each row must be another
    fact; a repeated fact could be in training and test folds at once.

    Cost: folds x configurations x facts · log facts.

    Args:
        values: the measure of each fact, higher for better known; NaN where it has none. Shape (facts, configurations).
        scores: human scores, higher for better known; NaN where there is none. Shape (facts,).
        folds: number of folds, at least 2.
        seed: of the facts' order.

    Raises:
        KgprobeError: configurations are missing, or a fold would have fewer than 2 facts.
    """
    if values.ndim != 2 or values.shape[1] == 0 or scores.shape != values.shape[:1]:
        raise KgprobeError(
            f"Values of shape {values.shape} and scores of shape {scores.shape} cannot be calibrated: the shapes must"
            " be (facts, configurations) and (facts,)."
        )
    if folds < 2:
        raise KgprobeError(f"Cross-validation needs at least 2 folds, not {folds}.")
    fold_of = np.empty(len(scores), dtype=np.int64)
    fold_of[np.random.default_rng(seed).permutation(len(scores))] = np.arange(len(scores)) % folds
    kept = ~(np.isnan(scores) | np.isnan(values).any(axis=1))
    scored = tuple(_score_fold(values[kept], scores[kept], fold_of[kept] == fold) for fold in range(folds))
    taus = np.array([fold.tau for fold in scored])
    return Calibration(
        mean=float(taus.mean()),
        deviation=float(taus.std(ddof=1)),
        folds=scored,
        facts=int(kept.sum()),
        left_out=int((~kept).sum()),
    )


def agreement(values: Floats, scores: Floats) -> float:
    """Return Kendall's τ-b, or 0 where all values or all scores are equal.

    Args:
        values, scores: shape (facts,), without NaN.
    """
    tau = float(stats.kendalltau(values, scores).statistic)
    return 0.0 if np.isnan(tau) else tau


def configurations(**options: Sequence[object]) -> list[dict[str, object]]:
    """Return all combinations of options, the last one varying fastest: the columns of a grid."""
    return [dict(zip(options, values, strict=True)) for values in product(*options.values())]


def _score_fold(values: Floats, scores: Floats, own: NDArray[np.bool_]) -> Fold:
    if own.sum() < 2 or (~own).sum() < 2:
        raise KgprobeError(
            f"A fold of {int(own.sum())} facts of {len(own)} is too small for τ, which needs at least 2 on both sides."
        )
    training = [agreement(column, scores[~own]) for column in values[~own].T]
    best = int(np.argmax(training))
    return Fold(best, training[best], agreement(values[own, best], scores[own]), int(own.sum()))
