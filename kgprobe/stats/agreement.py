"""Agreement of measures by Kendall's τ, with scores and with themselves; agreement of annotators by κ.

Sections 4.2 and 4.3 of the distractor paper; docs/methods/studies.md. A measure has configurations (a number of
distractors, a number of beams, an aggregation). Calibration compares it with human scores: each fold of a
cross-validation selects the configuration with the highest τ on the other folds and reports its τ on its own facts.
Robustness compares its values on flawed sentences with those on their corrections.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.stats.proportions import CONFIDENCE, unseen_share

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Values of τ that differ by no more count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold.

    Attributes:
        best: position of the best configuration on the other folds; the first of equals.
        training: its τ on the other folds.
        tau: its τ on this fold.
        members: positions of the fold's facts.
    """

    best: int
    training: float
    tau: float
    members: tuple[int, ...]

    @property
    def facts(self) -> int:
        """Number of facts in the fold."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """The agreement of a measure with human scores.

    Attributes:
        mean: mean τ of the folds, in [-1, 1]; higher is better.
        deviation: their standard deviation, with folds - 1 in the denominator.
        facts: number of facts with a human score and with a value in all configurations.
    """

    mean: float
    deviation: float
    folds: tuple[Fold, ...]
    facts: int


def calibrate(values: Floats, scores: Floats, *, folds: int = 3, seed: int = 0) -> HumanAgreement:
    """Select a measure's configuration and compute its agreement with human scores, by cross-validation.

    A fact without a value in some configuration is left out of all, so that configurations share their facts. Folds
    are assigned before that: measures of the same facts with the same seed share their folds. Each row must be another
    fact; a repeated fact could be in training and test folds at once.

    Cost: folds x configurations x facts · log facts.

    Args:
        values: the measure of each fact, higher for better known; NaN where it has none. Shape (facts, configurations).
        scores: human scores, higher for better known; NaN where there is none. Shape (facts,).
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
    places = np.flatnonzero(kept)
    values, scores, fold_of = values[kept], scores[kept], fold_of[kept]
    scored = []
    for fold in range(folds):
        own = fold_of == fold
        facts = int(own.sum())
        if min(facts, len(own) - facts) < 2:
            raise KgprobeError(
                f"A fold of {facts} facts of {len(own)} is too small for τ, which needs at least 2 on both sides."
            )
        training = [agreement(column, scores[~own]) for column in values[~own].T]
        best = int(np.argmax(training))
        scored.append(
            Fold(best, training[best], agreement(values[own, best], scores[own]), tuple(places[own].tolist()))
        )
    taus = np.array([fold.tau for fold in scored])
    return HumanAgreement(float(taus.mean()), float(taus.std(ddof=1)), tuple(scored), len(scores))


def fold_taus(calibration: HumanAgreement, columns: Sequence[Floats], scores: Floats) -> Floats:
    """Return Kendall's τ-b of other values with the scores on the facts of each fold, shape (folds,).

    Args:
        columns: values for each fold, each of shape (facts,).
        scores: as for :func:`calibrate`.
    """
    taus = []
    for fold, values in zip(calibration.folds, columns, strict=True):
        members = list(fold.members)
        taus.append(agreement(values[members], scores[members]))
    return np.array(taus)


def agreement(values: Floats, scores: Floats) -> float:
    """Return Kendall's τ-b, or 0 where all values or all scores are equal.

    Args:
        values, scores: shape (facts,), without NaN.
    """
    tau = float(stats.kendalltau(values, scores).statistic)
    return 0.0 if np.isnan(tau) else tau


def calibrate_on_common(
    measured: Mapping[str, Floats], scores: Floats, folds: int, seed: int
) -> tuple[dict[str, HumanAgreement], list[str]]:
    """Return the calibration of measures on their common facts, and a sentence on each measure left out.

    If too few common facts remain for the folds, the measures with the fewest values are left out one by one.
    """
    left = dict(measured)
    dropped: list[str] = []
    while left:
        common = common_facts(left.values())
        try:
            ranked = {}
            for name, values in left.items():
                ranked[name] = calibrate(np.where(common[:, None], values, np.nan), scores, folds=folds, seed=seed)
        except KgprobeError:
            fewest = fewest_values(left)
            del left[fewest]
            dropped.append(f"{fewest} is not ranked: with it, {int(common.sum()):,} facts would be left for all.")
        else:
            return ranked, dropped
    return {}, dropped


def common_facts(measured: Iterable[Floats]) -> NDArray[np.bool_]:
    """Return a mask of the facts that have a value of all measures in each configuration."""
    common: NDArray[np.bool_] = np.all(~np.isnan(np.hstack(list(measured))), axis=1)
    return common


def fewest_values(measured: Mapping[str, Floats]) -> str:
    """Return the name of the measure that has values for the fewest facts."""
    return min(measured, key=lambda name: int(common_facts([measured[name]]).sum()))


@dataclass(frozen=True, slots=True)
class Robustness:
    """A measure's agreement with itself.

    Attributes:
        tau: Kendall's τ-b in [-1, 1]; NaN where one side has the same value everywhere, or there are fewer than 2
            pairs.
        low, high: the bootstrap's 95% percentile interval over pairs, see :func:`robustness`; NaN where ``tau`` is.
        left_out: number of pairs without one of them.
    """

    tau: float
    low: float
    high: float
    pairs: int
    left_out: int


def robustness(flawed: Floats, corrected: Floats, *, samples: int = 2000, seed: int = 0) -> Robustness:
    """Return Kendall's τ-b between a measure's values on flawed and corrected sentences, with a bootstrap interval.

    With several configurations, τ is the mean over those that have one.

    If all pairs are in the same order, τ is 1 in every bootstrap sample, even with few pairs. The interval then extends
    to the τ with as many discordant pairs as chance could have hidden, see
    :func:`~kgprobe.stats.proportions.unseen_share`; pairs in opposite order are treated alike.

    Bootstrap samples without a τ are left out.

    Cost: configurations x samples x pairs², in matrix products.

    Args:
        flawed, corrected: values in the order of the pairs, NaN where there is none; shape (pairs,), or (pairs,
            configurations). A pair without a value in some configuration is left out of all.
    """
    if flawed.ndim == 1:
        flawed, corrected = flawed[:, None], corrected[:, None]
    kept = ~(np.isnan(flawed) | np.isnan(corrected)).any(axis=1)
    pairs, left_out = int(kept.sum()), int((~kept).sum())
    # A bootstrap sample is given by the number of times that each pair is drawn; the first is the sample itself.
    generator = np.random.default_rng(seed)
    draws = np.ones((1 + samples, pairs))
    if pairs:
        draws[1:] = generator.multinomial(pairs, np.full(pairs, 1 / pairs), size=samples)
    by_configuration = []
    for values, others in zip(flawed[kept].T, corrected[kept].T, strict=True):
        # Two pairs of values are concordant by the product of the signs of their differences: infinities, too.
        by_configuration.append(_taus(_signs(values), _signs(others), draws))
    taus = _mean_of_known(np.array(by_configuration))
    tau, defined = taus[0], taus[1:][~np.isnan(taus[1:])]
    if np.isnan(tau):
        return Robustness(np.nan, np.nan, np.nan, pairs, left_out)
    if len(defined) and np.ptp(defined) > _ROUNDING:
        low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    else:
        # τ is a mean over two pairs at a time; this is the share of these with at least one unseen pair.
        unseen = 1 - (1 - unseen_share(pairs)) ** 2
        low, high = tau - unseen * (1 + tau), tau + unseen * (1 - tau)
    return Robustness(float(tau), float(low), float(high), pairs, left_out)


def _mean_of_known(taus: Floats) -> Floats:
    """Return the means over the configurations, shape (samples,); NaN where none has a τ.

    Args:
        taus: shape (configurations, samples).
    """
    known = ~np.isnan(taus)
    counts = known.sum(axis=0)
    sums = np.where(known, taus, 0.0).sum(axis=0)
    means: Floats = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return means


def _signs(values: Floats) -> Floats:
    signs: Floats = (values[:, None] > values).astype(np.float64) - (values[:, None] < values)
    return signs


def _taus(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return τ-b of samples that contain the i-th pair ``weights[:, i]`` times; NaN where it is undefined."""
    sums = [
        np.einsum("si,si->s", weights @ matrix, weights) for matrix in (first * second, first * first, second * second)
    ]
    product = sums[1] * sums[2]
    taus: Floats = np.divide(sums[0], np.sqrt(product), out=np.full(len(weights), np.nan), where=product > 0)
    return taus


def cohen_kappa(first: Ints, second: Ints) -> float:
    """Return Cohen's κ of two annotators, in [-1, 1]; NaN if both give all items the same label, or without items.

    Cohen (1960): (p - e) / (1 - e), where p is the share of equal labels, and e its expectation if both annotators
    draw labels by their own frequencies.

    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 2)
    0.5

    Args:
        first, second: labels, shape (items,).
    """
    if not len(first):
        return float(np.nan)
    expected = sum(float((first == label).mean() * (second == label).mean()) for label in np.union1d(first, second))
    return _above_chance(float((first == second).mean()), expected)


def fleiss_kappa(labels: Ints) -> float:
    """Return Fleiss' κ of several annotators; NaN if all labels are the same, or without items.

    Fleiss (1971): (p - e) / (1 - e), where p is the mean share of pairs of annotators that give an item the same label,
    and e the sum of the squared frequencies of the labels.

    >>> round(fleiss_kappa(np.array([[0, 0, 0], [1, 1, 0]])), 2)
    0.25

    Args:
        labels: shape (items, annotators), at least two annotators.
    """
    items, annotators = labels.shape
    if not items:
        return float(np.nan)
    counts = np.stack([(labels == label).sum(axis=1) for label in np.unique(labels)], axis=1)
    agreed = (counts * (counts - 1)).sum(axis=1) / (annotators * (annotators - 1))
    frequencies = counts.sum(axis=0) / (items * annotators)
    return _above_chance(float(agreed.mean()), float((frequencies**2).sum()))


def _above_chance(observed: float, expected: float) -> float:
    return float(np.nan) if expected >= 1 - _ROUNDING else (observed - expected) / (1 - expected)
