"""Which facts a round asks: those that probably fail, random ones, or one after the other.

Section 2.1 of the parameterized-graph paper (KGLens); docs/methods/rounds.md. Every askable fact has theta ~
Beta(alpha, beta), the probability that the model fails on it; untouched facts share Beta(1, 1), the uniform
distribution.

Thompson sampling draws each fact's theta and takes the highest. The highest draws among the untouched are order
statistics of uniforms, and which facts they fall on is a uniform choice: a round costs its touched facts and its batch,
whatever the size of the graph. Monte Carlo and iteration, which the paper compares with, cost their batch.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import UnknownNameError

# The central posterior mass that a credible interval of theta holds.
CREDIBILITY = 0.90

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(slots=True)
class Beliefs:
    """The Beta parameters of the touched facts of a run, in the order of their positions.

    Attributes:
        count: how many askable facts there are, touched or not; positions run below it.
        positions: of touched facts, ascending, shape (touched,).
        alpha, beta: shape (touched,), at least 1.
        askable: shape (touched,); False for a fact that turned out not to be askable: it is not drawn again.
    """

    count: int
    positions: Positions
    alpha: Floats
    beta: Floats
    askable: NDArray[np.bool_]

    @classmethod
    def untouched(cls, count: int) -> "Beliefs":
        """No fact of ``count`` has been touched."""
        return cls(count, np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, np.bool_))

    def update(self, positions: Positions, alpha: Floats, beta: Floats, askable: NDArray[np.bool_]) -> None:
        """Take over parameters of some facts, touched before or not.

        Args:
            positions: distinct, any order, shape (facts,); negative ones, which are no askable facts, are left out.
            alpha, beta, askable: shape (facts,).
        """
        order = np.argsort(positions, kind="stable")
        order = order[positions[order] >= 0]
        new = positions[order]
        places = np.searchsorted(self.positions, new)
        inside = np.minimum(places, max(0, len(self.positions) - 1))
        known = (self.positions[inside] == new) if len(self.positions) else np.zeros(len(new), np.bool_)
        for name, values in (("alpha", alpha), ("beta", beta), ("askable", askable)):
            column = getattr(self, name)
            column[places[known]] = values[order][known]
            setattr(self, name, np.insert(column, places[~known], values[order][~known]))
        self.positions = np.insert(self.positions, places[~known], new[~known])

    def choose(self, sampling: str, size: int, number: int, generator: np.random.Generator) -> Positions:
        """The positions of the facts that a round asks.

        Args:
            sampling: ``thompson``, ``monte-carlo`` or ``iteration``.
            size: how many.
            number: of the round, from 1 on.

        Returns:
            distinct, shape (size,), or fewer: where fewer facts are askable, and in an iteration also where some of
            those whose turn it is are not.

        Raises:
            UnknownNameError: there is no such sampling.
        """
        if sampling == "thompson":
            return self._highest(size, generator)
        if sampling == "monte-carlo":
            return self._random(size, generator)
        if sampling == "iteration":
            return self._next(size, number)
        raise UnknownNameError(
            f"Beliefs that count answers know no sampling {sampling!r}; there are thompson, monte-carlo, iteration."
        )

    def has_askable(self) -> bool:
        """Whether there is a fact left to ask."""
        return self.count > len(self.positions) or bool(self.askable.any())

    def count_askable(self) -> int:
        """How many facts there are to ask, as far as is known."""
        return self.count - int((~self.askable).sum())

    def width(self) -> float:
        """How broad the 90% credible interval of theta is, in [0, 1]: the mean over all facts that can be asked.

        Those untouched count with the 0.9 of the uniform distribution. NaN where nothing can be asked.

        Cost: that of the intervals of the touched facts.
        """
        low, high = credible_interval(self.alpha[self.askable], self.beta[self.askable])
        fresh = self.count - len(self.positions)
        total = len(low) + fresh
        return float(((high - low).sum() + CREDIBILITY * fresh) / total) if total else float("nan")

    def _highest(self, size: int, generator: np.random.Generator) -> Positions:
        """The facts with the highest draws of theta, highest first."""
        candidates = self.positions[self.askable]
        theta = generator.beta(self.alpha[self.askable], self.beta[self.askable])
        fresh = self.count - len(self.positions)
        fresh_theta = highest_uniforms(fresh, min(size, fresh), generator)
        everything = np.concatenate([theta, fresh_theta])
        top = np.argsort(-everything, kind="stable")[:size]
        among_fresh = top >= len(theta)
        chosen = np.empty(len(top), np.int64)
        chosen[~among_fresh] = candidates[top[~among_fresh]]
        chosen[among_fresh] = self._outside(self.positions, int(among_fresh.sum()), generator)
        return chosen

    def _random(self, size: int, generator: np.random.Generator) -> Positions:
        """Facts drawn uniformly, in random order."""
        left_out = self.positions[~self.askable]
        return self._outside(left_out, min(size, self.count - len(left_out)), generator)

    def _next(self, size: int, number: int) -> Positions:
        """The facts whose turn it is: going round through all, each once before any is asked again."""
        turn = turn_of(self.count, min(size, self.count), number)
        return turn[~np.isin(turn, self.positions[~self.askable])]

    def _outside(self, left_out: Positions, size: int, generator: np.random.Generator) -> Positions:
        """Distinct positions but for those left out (ascending), uniformly, in random order."""
        if 2 * (len(left_out) + size) > self.count:
            remaining = np.ones(self.count, np.bool_)
            remaining[left_out] = False
            return generator.choice(np.flatnonzero(remaining), size, replace=False)
        chosen: dict[int, None] = {}
        while len(chosen) < size:
            tried = generator.integers(self.count, size=2 * (size - len(chosen)) + 4)
            places = np.minimum(np.searchsorted(left_out, tried), max(0, len(left_out) - 1))
            hit = left_out[places] == tried if len(left_out) else np.zeros(len(tried), np.bool_)
            chosen |= dict.fromkeys(tried[~hit].tolist())
        return np.array(list(chosen)[:size], dtype=np.int64)


def turn_of(count: int, size: int, number: int) -> Positions:
    """The positions of the facts whose turn it is in a round of an iteration: going round through all of ``count``."""
    return ((number - 1) * size + np.arange(size, dtype=np.int64)) % max(1, count)


def credible_interval(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """The central 90% of Beta distributions.

    Args:
        alpha, beta: shape (facts,), above 0.

    Returns:
        lower and upper bounds, each of shape (facts,), in [0, 1].

    Cost: sorts the facts; the bounds are found once for each different pair of parameters, of which answers, being
    counted, leave few.
    """
    pairs, places = np.unique(np.stack([alpha, beta]), axis=1, return_inverse=True)
    tail = (1 - CREDIBILITY) / 2
    low, high = (np.asarray(stats.beta.ppf(mass, *pairs), dtype=np.float64) for mass in (tail, 1 - tail))
    return low[places], high[places]


def highest_uniforms(count: int, size: int, generator: np.random.Generator) -> Floats:
    """The highest ``size`` of ``count`` independent uniforms on (0, 1), highest first, without drawing the others.

    The highest of m uniforms is distributed as V^(1/m); given it, the next is the highest of m - 1 uniforms below it.

    Returns:
        shape (size,), descending; ``size`` is at most ``count``.
    """
    remaining = count - np.arange(size)
    return np.exp(np.cumsum(np.log1p(-generator.random(size)) / remaining))
