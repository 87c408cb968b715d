"""Probability that a model knows each fact, asked or not: the hierarchical learner on the answers of one way of asking.

docs/methods/labels.md, docs/methods/learner.md. A judge's predictions enter the learner as a predictor, whose
coefficient the answers decide: this calibrates them. Predictions are compared with held-out answers
(:func:`cross_validate`).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.beliefs.draw import credible_interval
from kgprobe.beliefs.effects import Effects
from kgprobe.beliefs.hierarchical_model import MAX_DEGREE, HierarchicalModel, beta_parameters
from kgprobe.beliefs.summary import BeliefWord, belief_words
from kgprobe.running.learning import HierarchicalBeliefs
from kgprobe.sampling.columns.graph_columns import AskableFacts
from kgprobe.sampling.lists import places_among
from kgprobe.stats.proportions import at_least

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Positions = NDArray[np.int64]

# Parts into which the answered facts are divided for held-out predictions, and fewest facts to do so.
FOLDS = 5
FEWEST_HELD_OUT = 50
# Groups of equally many facts in the calibration, and simulations of calibrated predictions.
_BINS = 10
_SIMULATIONS = 1_000


@dataclass(frozen=True, slots=True)
class AnsweredRounds:
    """Answers by position.

    Attributes:
        rounds: positions of distinct facts, and True for a wrong answer, for each measurement.
        positions: all answered facts, ascending.
        by_luck: probability of as many right verdicts by guessing.
    """

    rounds: Sequence[tuple[Positions, Bools]]
    positions: Positions
    right: Positions
    wrong: Positions
    by_luck: Floats

    @classmethod
    def of(cls, facts: AskableFacts, measurements: Sequence[pd.DataFrame]) -> "AnsweredRounds":
        """Return the answers of measurements. Cost: one pass over the facts of the graph for each of them.

        Args:
            measurements: see :meth:`~kgprobe.answers.table.Answers.by_fact`.
        """
        rounds = []
        chances: defaultdict[str, list[float]] = defaultdict(list)
        for measured in measurements:
            positions = facts.positions(measured.index.tolist())
            known = positions >= 0
            for fact, own in measured["chances"].items():
                chances[str(fact)] += own
            rounds.append((positions[known], (measured["right"] == 0).to_numpy()[known]))
        positions = np.unique(np.concatenate([places for places, _ in rounds])).astype(np.int64)
        counts = np.zeros((len(positions), 2), np.int64)
        for places, wrong in rounds:
            counts[np.searchsorted(positions, places), wrong.astype(np.int64)] += 1
        right, wrong_ = counts.T
        luck_of = cache(at_least)
        by_luck = []
        for key, count in zip(facts.keys(positions), right.tolist(), strict=True):
            by_luck.append(luck_of(count, tuple(chances[key.fact])))
        return cls(rounds, positions, right, wrong_, np.array(by_luck))


@dataclass(frozen=True, slots=True)
class Predicted:
    """Probabilities of some facts; each of shape (facts,).

    Attributes:
        known: expected probability of a right answer, 1 - E[theta].
        low, high: its 90% credible interval.
        has_answers: True for a fact with answers in the way of asking.
    """

    known: Floats
    low: Floats
    high: Floats
    words: Sequence[BeliefWord]
    has_answers: Bools


class Predictions:
    """The learner, fitted on the answers of one way, with the counts of these."""

    def __init__(self, facts: AskableFacts, answered: AnsweredRounds, predictors: Sequence[Floats] = ()) -> None:
        """Fit the learner. Cost: some passes over all facts; see :mod:`kgprobe.beliefs.hierarchical_model`.

        At least one fact has answers; predictors of difficulty are standardised, of shape (facts,).
        """
        beliefs = HierarchicalBeliefs(facts, MAX_DEGREE, predictors)
        self.effects = beliefs.effects
        self._model = fitted(self.effects, answered.rounds)
        self._answered = answered

    def of(self, positions: Positions) -> Predicted:
        """Return the probabilities of facts. Cost: linear in these, some microseconds each."""
        alpha, beta = beta_parameters(self._model.posterior(positions))
        theta = alpha / (alpha + beta)
        low, high = credible_interval(alpha, beta)
        places = places_among(self._answered.positions, positions)
        has_answers = places >= 0
        right = np.where(has_answers, self._answered.right[places], 0)
        wrong = np.where(has_answers, self._answered.wrong[places], 0)
        by_luck = np.where(has_answers, self._answered.by_luck[places], 1.0)
        words = belief_words(right, wrong, theta, low, high, by_luck)
        return Predicted(1 - theta, 1 - high, 1 - low, words, has_answers)


def fitted(
    effects: Effects, rounds: Sequence[tuple[Positions, Bools]], among: Positions | None = None
) -> HierarchicalModel:
    """Return the hierarchical model after rounds of answers about the facts at ``among`` (ascending; None for all)."""
    model = HierarchicalModel.of(effects)
    for positions, wrong in rounds:
        kept = slice(None) if among is None else np.isin(positions, among)
        model.learn(positions[kept], wrong[kept])
    return model


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """Facts with similar predictions: their mean predicted probability, and their mean share of right answers."""

    facts: int
    predicted: float
    observed: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Comparison of predicted probabilities with held-out answers.

    Attributes:
        folds: number of parts; the answers of each were predicted from those of the others.
        predicted: mean predicted probability.
        observed: mean share of right answers.
        error: calibration error: mean difference between predicted and observed means over ten groups of facts by
            predicted probability.
        error_by_luck: the error that calibrated predictions exceed with a probability of 5%.
        brier: mean squared difference of predictions from shares of right answers.
        brier_of_mean: the same with the mean share as the only prediction.
    """

    facts: int
    folds: int
    predicted: float
    observed: float
    error: float
    error_by_luck: float
    brier: float
    brier_of_mean: float
    groups: Sequence[CalibrationGroup]


def cross_validate(
    effects: Effects, answered: AnsweredRounds, seed: int, on_progress: OnProgress = no_progress
) -> Calibration | None:
    """Compare predictions of held-out facts with their answers; None for fewer than 50 facts.

    Cost: the fit of the learner, five times.
    """
    count = len(answered.positions)
    if count < FEWEST_HELD_OUT:
        return None
    generator = np.random.default_rng([seed, count])
    fold_of = generator.permutation(count) % FOLDS
    alpha, beta = np.empty(count), np.empty(count)
    for fold in range(FOLDS):
        held_out = fold_of == fold
        model = fitted(effects, answered.rounds, answered.positions[~held_out])
        alpha[held_out], beta[held_out] = beta_parameters(model.posterior(answered.positions[held_out]))
        on_progress(StepProgress("Checking held-out answers", fold + 1, FOLDS, "fits"))
    answers = answered.right + answered.wrong
    return _calibration(alpha, beta, answered.right, answers, generator)


def _calibration(
    alpha: Floats, beta: Floats, right: Positions, answers: Positions, generator: np.random.Generator
) -> Calibration:
    predicted, observed = beta / (alpha + beta), right / answers
    groups = np.array_split(np.argsort(predicted, kind="stable"), _BINS)
    by_luck = []
    for _ in range(_SIMULATIONS):
        drawn = generator.binomial(answers, generator.beta(beta, alpha)) / answers
        by_luck.append(_error(predicted, drawn, groups))
    return Calibration(
        facts=len(predicted),
        folds=FOLDS,
        predicted=float(predicted.mean()),
        observed=float(observed.mean()),
        error=_error(predicted, observed, groups),
        error_by_luck=float(np.quantile(by_luck, 0.95)),
        brier=float(((predicted - observed) ** 2).mean()),
        brier_of_mean=float(observed.var()),
        groups=[
            CalibrationGroup(len(group), float(predicted[group].mean()), float(observed[group].mean()))
            for group in groups
        ],
    )


def _error(predicted: Floats, observed: Floats, groups: Sequence[Positions]) -> float:
    differences = [abs(float((predicted[group] - observed[group]).sum())) for group in groups]
    return sum(differences) / len(predicted)
