"""How often a model is right over a whole graph: what was predicted of all facts, corrected by what rounds drew.

docs/methods/graph-estimate.md. Before each round there are predictions of all facts, made from the answers
that came before; the round draws facts with known probabilities. Its answers tell how far the predictions are off,
each weighted by how seldom its fact is drawn. Whatever the predictions are, the errors of rounds that follow from one
another are a martingale: each has mean 0 given all that came before it, and their variances add. Active inference:
Zrnic and Candès (2024), arXiv 2403.03208; a round counts as many times as facts were drawn in it.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import ArgumentError
from kgprobe.stats.design_based import DrawnSum, Estimate, with_interval
from kgprobe.stats.proportions import CONFIDENCE, exact_interval

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Fewer draws tell nothing of how far they spread.
_LEAST = 3
# Of fewer answers about uniformly drawn facts, the predictions of this run's learner make an interval wider:
# benchmarks.floors.
CORRECTED_FROM = 512


@dataclass(frozen=True, slots=True)
class RoundDraws:
    """The facts that a round drew, each once at most, and their answers.

    Attributes:
        positions: of the facts, shape (drawn,).
        chances: inclusion probability of each, given everything known before the round; in (0, 1].
        smallest: the smallest inclusion probability of any fact that the round could have drawn; in (0, 1], at most
            the smallest of ``chances``.
        right: whether it was answered right.
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
    """Predictions of all facts and draws, round by round, and what they come to.

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
        """Begin without predictions and draws.

        Args:
            count: number of facts.
            corrected_from: where every round was drawn uniformly, predictions correct the answers from this number of
                answers on.
        """
        self.count, self.draws, self.corrected_from = count, 0, corrected_from
        # Sums over rounds, each as often as it drew: of what was predicted, and of whether a fact may be askable.
        self._predicted, self._askable = np.zeros(count), np.zeros(count)
        self._now = np.zeros(count)
        self._gone: Positions = np.empty(0, np.int64)
        self._since = 0
        # The largest weight that an answer about any fact could have had.
        self._heaviest = 0.0
        # Whether each round gave all facts the same inclusion probability.
        self._uniform = True
        self._rounds: list[tuple[Positions, Floats, Floats, Floats, Bools]] = []

    def predict(self, right: Floats) -> None:
        """Predictions that hold until the next ones: how probably each fact is answered right, shape (facts,).

        Cost: some passes over all facts.
        """
        self._settle()
        self._now = right.copy()
        self._now[self._gone] = 0.0

    def add(self, draws: RoundDraws) -> None:
        """Take over a round. Cost: linear in its draws."""
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
        # From the next round on they are not drawn, so nothing is predicted of them either.
        self._predicted[gone] += self._since * self._now[gone]
        self._askable[gone] += self._since
        self._now[gone] = 0.0
        self._gone = np.union1d(self._gone, gone)

    def rate(self, members: Bools | None = None, confidence: float = CONFIDENCE) -> Estimate | None:
        """Return how often the model is right, the mean over all facts that can be asked, or over some of them.

        Predictions correct the answers, unless every round was drawn uniformly and there are fewer answers than
        ``corrected_from``: then it is the plain share of right answers with its Clopper-Pearson interval.

        Args:
            members: which, shape (facts,).

        Returns:
            None where fewer than 3 of them were drawn, or they may all not be askable. Its ``labels_worth`` is how many
            questions about facts drawn uniformly, without predictions, would have had its standard error.

        Raises:
            ArgumentError: ``members`` are not as many as there are facts.

        Cost: a pass over the facts, and some over the draws.
        """
        if members is not None and len(members) != self.count:
            raise ArgumentError("members", f"are {len(members):,}; {self.count:,} are expected, one a fact.")
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
            return _plain_share(int(right.sum()), answered, forecast / population, confidence)
        value = (forecast + float(weights @ errors)) / there
        heaviest = self._largest_weight(weights, len(predicted) - len(np.unique(positions)))
        drawn = DrawnSum(
            value,
            weights * (errors - value * lost) / there,
            0.0,
            highest_term=heaviest / there,
            lowest_term=-heaviest / there,
            weight=1.0,
            raw=forecast / population,
            label_variance=max(0.0, value * (1 - value)),
        )
        return with_interval(drawn, confidence, 0.0, 1.0)

    def _largest_weight(self, weights: Floats, left: int) -> float:
        """Return the largest weight that an unseen error among some facts can have.

        Any of them may have had the smallest inclusion probability of its round, so this is the largest weight of any
        fact of the graph, drawn or not. The ``left`` facts that were never drawn have errors of at most 1 each, in all
        predictions; an interval leaves room for three times the largest weight at an end.
        """
        return max(float(weights.max()), min(self._heaviest, self.draws * left / 3))

    def _settle(self) -> None:
        """Count what was predicted since it was last counted."""
        if self._since:
            here = np.ones(self.count)
            here[self._gone] = 0.0
            self._predicted += self._since * self._now
            self._askable += self._since * here
            self._since = 0


def _plain_share(right: int, answered: int, predicted: float, confidence: float) -> Estimate:
    """Return a share of uniformly drawn facts as an estimate in which predictions have no weight."""
    value = right / answered
    low, high = exact_interval(right, answered, confidence)
    error = math.sqrt(value * (1 - value) / answered)
    return Estimate(value, low, high, error, error, 0.0, predicted, answered, float(answered))
