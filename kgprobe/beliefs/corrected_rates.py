"""Accuracy over a whole graph: predictions of all facts, corrected by the answers of rounds.

docs/methods/graph-estimate.md. Predictions of all facts before a round follow from earlier answers; the round draws
facts with known probabilities. Its answers correct the predictions, each divided by its fact's inclusion probability.
For any predictions, the errors of successive rounds are a martingale: each has mean 0 given all earlier answers, and
their variances add. Active inference: Zrnic and Candès (2024), arXiv 2403.03208. Rounds are weighted by their draws.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError
from kgprobe.stats.design_based import DrawnSum, Estimate, with_interval
from kgprobe.stats.proportions import CONFIDENCE, exact_interval

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Names of the arrays of draws in a state.
_COLUMNS = ("draws_positions", "draws_weights", "draws_errors", "draws_lost", "draws_right")
# Minimum number of draws for a variance.
_LEAST = 3
# With fewer answers about uniformly drawn facts, predictions of the run's own learner widen the interval
# (benchmarks.floors).
CORRECTED_FROM = 512


@dataclass(frozen=True, slots=True)
class RoundDraws:
    """The facts that a round drew, each once at most, and their answers.

    Attributes:
        positions: of the facts, shape (drawn,).
        chances: inclusion probability of each, given everything known before the round; in (0, 1].
        smallest: the smallest inclusion probability of any fact that the round could have drawn; in (0, 1], at most
            the smallest of ``chances``.
        answered: False for a question without an answer. Missing answers must not depend on the facts.
        askable: False for a fact that cannot be asked; the graph's rate excludes it, and later rounds do not draw it.
    """

    positions: Positions
    chances: Floats
    smallest: float
    right: Bools
    answered: Bools
    askable: Bools


class CorrectedRates:
    """Predictions and draws round by round, and the accuracy that they give.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> rates = CorrectedRates(10_000)
    >>> rates.predict(np.full(10_000, 0.4))
    >>> drawn, yes = random.choice(10_000, 500, replace=False), np.ones(500, np.bool_)
    >>> rates.add(RoundDraws(drawn, np.full(500, 0.05), 0.05, random.random(500) < 0.6, yes, yes))
    >>> print(rates.rate())
    0.596 [0.549, 0.645]

    Memory: 16 bytes for each fact, 40 for each draw.
    """

    def __init__(self, count: int, corrected_from: int = 0) -> None:
        """Start without predictions and draws.

        Args:
            corrected_from: number of answers from which predictions are used if all rounds were drawn uniformly.
        """
        self.count, self.draws, self.corrected_from = count, 0, corrected_from
        # Sums over rounds, weighted by their draws: of predictions, and of 1 for facts not known as unaskable.
        self._predicted, self._askable = np.zeros(count), np.zeros(count)
        self._now = np.zeros(count)
        self._gone: Positions = np.empty(0, np.int64)
        self._since = 0
        # Largest weight of an answer about any fact, drawn or not.
        self._heaviest = 0.0
        # True if each round gave all facts the same inclusion probability.
        self._uniform = True
        self._rounds: list[tuple[Positions, Floats, Floats, Floats, Bools]] = []

    def predict(self, right: Floats) -> None:
        """Set the predicted probability of a right answer for each fact, shape (facts,), until the next prediction.

        Cost: some passes over all facts.
        """
        self._settle()
        self._now = right.copy()
        self._now[self._gone] = 0.0

    def add(self, draws: RoundDraws) -> None:
        """Add a round. Cost: linear in its draws."""
        drawn = len(draws.positions)
        if not drawn:
            return
        known = ~draws.askable | draws.answered
        if known.any():
            positions = draws.positions[known]
            scale = drawn * drawn / float(known.sum())
            weights = scale / draws.chances[known]
            self._heaviest = max(self._heaviest, scale / draws.smallest)
            self._uniform &= bool(np.allclose(draws.chances, draws.smallest))
            askable = draws.askable[known].astype(np.float64)
            errors = draws.right[known] * askable - self._now[positions]
            right = draws.right[known] & draws.askable[known]
            self._rounds.append((positions, weights, errors, askable - 1, right))
            self.draws += drawn
            self._since += drawn
        gone = draws.positions[~draws.askable]
        # Later rounds do not draw them, so their predictions are 0.
        self._predicted[gone] += self._since * self._now[gone]
        self._askable[gone] += self._since
        self._now[gone] = 0.0
        self._gone = np.union1d(self._gone, gone)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return predictions and draws as arrays."""
        columns = map(np.concatenate, zip(*self._rounds, strict=True))
        rounds = dict(zip(_COLUMNS, columns, strict=True)) if self._rounds else {}
        return {
            "predicted": self._predicted,
            "now": self._now,
            "gone": self._gone,
            "gone_askable": self._askable[self._gone],
            "drawn": np.array([self.draws, self._since, self._heaviest, self._uniform]),
            **rounds,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Set a state that :meth:`state` returned for as many facts."""
        self._predicted, self._now, self._gone = state["predicted"], state["now"], state["gone"]
        draws, since, self._heaviest, uniform = state["drawn"].tolist()
        self.draws, self._since, self._uniform = int(draws), int(since), bool(uniform)
        self._askable = np.full(self.count, draws - since)
        self._askable[self._gone] = state["gone_askable"]
        if _COLUMNS[0] in state:
            positions, weights, errors, lost, right = map(state.__getitem__, _COLUMNS)
            self._rounds = [(positions, weights, errors, lost, right)]

    def rate(self, members: Bools | None = None, confidence: float = CONFIDENCE) -> Estimate | None:
        """Return the accuracy over all facts that can be asked, or over some of them.

        If every round was drawn uniformly and there are fewer answers than ``corrected_from``, this is the plain share
        of right answers with its Clopper-Pearson interval, without predictions.

        Args:
            members: True for the facts to include, shape (facts,).

        Returns:
            None if fewer than 3 of them were drawn, or possibly none can be asked.

        Cost: a pass over the facts, and some over the draws.
        """
        if members is not None and len(members) != self.count:
            raise ArgumentError("members", f"are {len(members):,}; {self.count:,} are expected, one per fact.")
        self._settle()
        if not self._rounds:
            return None
        positions, weights, errors, lost, right = map(np.concatenate, zip(*self._rounds, strict=True))
        predicted, askable = self._predicted, self._askable
        if members is not None:
            inside = members[positions]
            predicted, askable = predicted[members], askable[members]
            positions, weights, errors = positions[inside], weights[inside], errors[inside]
            lost, right = lost[inside], right[inside]
        forecast, population = float(predicted.sum()), float(askable.sum())
        there = population + float(weights @ lost)
        if len(weights) < _LEAST or there <= 0:
            return None
        answered = int((lost == 0).sum())
        if self._uniform and 0 < answered < self.corrected_from:
            # Predictions have no weight.
            plain = int(right.sum()) / answered
            low, high = exact_interval(int(right.sum()), answered, confidence)
            error = math.sqrt(plain * (1 - plain) / answered)
            return Estimate(plain, low, high, error, error, 0.0, forecast / population, answered, float(answered))
        value = (forecast + float(weights @ errors)) / there
        # Any fact may have had the smallest inclusion probability of its round, and may never have been drawn by it: a
        # fact that another round drew says nothing about the predictions of this one.
        largest = self._heaviest / there
        drawn = DrawnSum(
            value,
            weights * (errors - value * lost) / there,
            0.0,
            highest_term=largest,
            lowest_term=-largest,
            weight=1.0,
            raw=forecast / population,
            label_variance=max(0.0, value * (1 - value)),
        )
        return with_interval(drawn, confidence, 0.0, 1.0)

    def _settle(self) -> None:
        """Add the current predictions to the sums, weighted by the draws since the last call."""
        if self._since:
            self._predicted += self._since * self._now
            self._askable += self._since
            self._askable[self._gone] -= self._since
            self._since = 0
