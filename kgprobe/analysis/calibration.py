"""How well a measure agrees with people, its options chosen on other facts than those it is judged on.

Section 4.2 of the distractor paper; docs/methods/studies.md. A measure comes in configurations (a number of
distractors, a number of beams, an aggregation). In each fold of a cross-validation, the configuration with the
highest Kendall's τ on the other folds' facts is judged by its τ on the fold's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError

Floats = NDArray[np.float64]

# The grid of the paper: numbers of distractors and n of precision@n; of beams.
COUNTS = (1, 2, 5, 10, *range(20, 201, 20))
BEAMS = (1, 2, 5, 10, 20, 30, 50, 100)


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold.

    Attributes:
        best: the position of the configuration that was best on the other folds; of equals the first.
        training: its τ there.
        tau: its τ on this fold.
        facts: how many the fold has.
    """

    best: int
    training: float
    tau: float
    facts: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """A measure's agreement with people.

    Attributes:
        mean: of the folds' τ, in [-1, 1]; higher is better.
        deviation: their standard deviation, with folds - 1 in the denominator.
        facts: how many facts it was judged on.
        left_out: how many have no human score, or no value in some configuration.
    """

    mean: float
    deviation: float
    folds: tuple[Fold, ...]
    facts: int
    left_out: int


def calibrate(values: Floats, scores: Floats, *, folds: int = 3, seed: int = 0) -> Calibration:
    """Choose a measure's configuration and judge it against people, by cross-validation.

    A fact without a value in some configuration is left out of all, so that every configuration is judged on the same
    facts. Facts are dealt to folds before that: measures of the same facts, with the same seed, share their folds. Each
    row is another fact: one that stood in two rows could be in two folds, and so in training and in what is judged.

    Cost: folds x configurations x facts · log facts.

    Args:
        values: the measure of each fact, higher for better known; NaN where it has none. Shape (facts, configurations).
        scores: what people found, higher for better known; NaN where nobody was asked. Shape (facts,).
        folds: how many, at least 2.
        seed: of the facts' order.

    Raises:
        KgprobeError: there is no configuration, or a fold would have fewer than 2 facts.
    """
    if values.ndim != 2 or values.shape[1] == 0 or scores.shape != values.shape[:1]:
        raise KgprobeError(
            f"Values of shape {values.shape} and scores of shape {scores.shape} cannot be calibrated; (facts,"
            " configurations) and (facts,) could."
        )
    if folds < 2:
        raise KgprobeError(f"Cross-validation with {folds} folds judges nothing; 2 or more do.")
    dealt = np.empty(len(scores), dtype=np.int64)
    dealt[np.random.default_rng(seed).permutation(len(scores))] = np.arange(len(scores)) % folds
    kept = ~(np.isnan(scores) | np.isnan(values).any(axis=1))
    judged = [_fold(values[kept], scores[kept], dealt[kept] == fold) for fold in range(folds)]
    taus = np.array([fold.tau for fold in judged])
    return Calibration(
        mean=float(taus.mean()),
        deviation=float(taus.std(ddof=1)),
        folds=tuple(judged),
        facts=int(kept.sum()),
        left_out=int((~kept).sum()),
    )


def agreement(values: Floats, scores: Floats) -> float:
    """Kendall's τ-b; 0 where all values, or all scores, are the same: then they put nothing into an order.

    Args:
        values, scores: shape (facts,), without NaN.
    """
    tau = float(stats.kendalltau(values, scores).statistic)
    return 0.0 if np.isnan(tau) else tau


def configurations(**options: Sequence[object]) -> list[dict[str, object]]:
    """All combinations of options, the last one varying fastest: a grid's columns."""
    grid: list[dict[str, object]] = [{}]
    for name, values in options.items():
        grid = [{**before, name: value} for before in grid for value in values]
    return grid


def _fold(values: Floats, scores: Floats, own: NDArray[np.bool_]) -> Fold:
    if own.sum() < 2 or (~own).sum() < 2:
        raise KgprobeError(
            f"A fold of {int(own.sum())} facts of {len(own)} has no order to agree on; it takes 2 on both sides."
        )
    training = [agreement(column, scores[~own]) for column in values[~own].T]
    best = int(np.argmax(training))
    return Fold(best, training[best], agreement(values[own, best], scores[own]), int(own.sum()))
