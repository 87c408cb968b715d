"""Beliefs that count answers, and the sampling rules that draw by them.

Section 2.1 of the parameterized-graph paper (KGLens); docs/methods/rounds.md. Every askable fact has theta ~
Beta(alpha, beta), the probability that the model fails on it; untouched facts share Beta(1, 1), the uniform
distribution.

Thompson sampling draws each fact's theta and takes the highest. The highest draws among the untouched facts are order
statistics of uniforms, assigned to these facts at random. A round costs its touched facts and its batch. The
rules ``uniform`` and ``sequential`` (the paper's Monte Carlo and iteration) cost their batch.
"""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.errors import UnknownNameError
from kgprobe.beliefs.register import SAMPLING_RULES

# Central posterior mass of a credible interval of theta.
CREDIBILITY = 0.90

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RoundChoice:
    """The facts of a round.

    Attributes:
        positions: all different, shape (drawn,).
        probabilities: inclusion probability of each given all earlier answers, in (0, 1], shape (drawn,); NaN where
            unknown.
        smallest: the smallest inclusion probability of any fact that the round could have drawn; NaN where unknown.
    """

    positions: Positions
    probabilities: Floats
    smallest: float


@dataclass(slots=True)
class Beliefs:
    """The Beta parameters of the touched facts of a run, in the order of their positions.

    Attributes:
        count: number of askable facts, touched or not; positions run below it.
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
        """Return beliefs about ``count`` untouched facts."""
        return cls(count, np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, np.bool_))

    def update(self, positions: Positions, alpha: Floats, beta: Floats, askable: NDArray[np.bool_]) -> None:
        """Set parameters of some facts, touched before or not.

        Args:
            positions: distinct, any order, shape (facts,); negative ones (facts that cannot be asked) are ignored.
            alpha, beta, askable: shape (facts,).
        """
        inside = positions >= 0
        merged = np.union1d(self.positions, positions[inside])
        before, places = np.searchsorted(merged, self.positions), np.searchsorted(merged, positions[inside])
        for name, values in (("alpha", alpha), ("beta", beta), ("askable", askable)):
            column = np.empty(len(merged), values.dtype)
            column[before] = getattr(self, name)
            column[places] = values[inside]
            setattr(self, name, column)
        self.positions = merged

    def parameters(self, positions: Positions) -> tuple[Floats, Floats]:
        """Return alpha and beta of facts, touched or not, both of shape (facts,)."""
        alpha, beta = np.ones(len(positions)), np.ones(len(positions))
        _, places, touched = np.intersect1d(positions, self.positions, assume_unique=True, return_indices=True)
        alpha[places], beta[places] = self.alpha[touched], self.beta[touched]
        return alpha, beta

    def choose(self, sampling: str, size: int, number: int, generator: np.random.Generator) -> RoundChoice:
        """Draw the facts of a round.

        Returns:
            ``size`` facts, or fewer if fewer are askable. A sequential round leaves out the facts that are not.
        """
        rules = {name: rule.counts for name, rule in SAMPLING_RULES.items() if rule.counts}
        if sampling not in rules:
            raise UnknownNameError(
                f"sampling={sampling!r} cannot draw by counts of answers; choose {', '.join(rules)}."
            )
        rule: Callable[..., RoundChoice] = resolve_name(rules[sampling])
        return rule(self, size, number, generator)

    def thompson(self, size: int, _number: int, generator: np.random.Generator) -> RoundChoice:
        """Take the facts with the highest draws of theta, highest first; their probabilities are unknown."""
        candidates = self.positions[self.askable]
        theta = generator.beta(self.alpha[self.askable], self.beta[self.askable])
        untouched = self.count - len(self.positions)
        untouched_theta = highest_uniforms(untouched, min(size, untouched), generator)
        top = np.argsort(-np.concatenate([theta, untouched_theta]), kind="stable")[:size]
        is_untouched = top >= len(theta)
        chosen = np.empty(len(top), np.int64)
        chosen[~is_untouched] = candidates[top[~is_untouched]]
        chosen[is_untouched] = self._outside(self.positions, int(is_untouched.sum()), generator)
        return _with_unknown_probabilities(chosen)

    def uniform(self, size: int, _number: int, generator: np.random.Generator) -> RoundChoice:
        """Draw facts uniformly, in random order."""
        left_out = self.positions[~self.askable]
        askable = self.count - len(left_out)
        chosen = self._outside(left_out, min(size, askable), generator)
        chance = len(chosen) / askable if len(chosen) else np.nan
        return RoundChoice(chosen, np.full(len(chosen), chance), chance)

    def sequential(self, size: int, number: int, _generator: np.random.Generator) -> RoundChoice:
        """Take all facts in turn, each once before any is asked again; their probabilities are unknown."""
        turn = turn_of(self.count, min(size, self.count), number)
        return _with_unknown_probabilities(turn[~np.isin(turn, self.positions[~self.askable])])

    def has_askable(self) -> bool:
        """Return True if a fact is left to ask."""
        return self.count > len(self.positions) or bool(self.askable.any())

    def width(self) -> float:
        """Return the mean width of the 90% credible interval of theta over all facts that can be asked, in [0, 1].

        An untouched fact counts with 0.9, the width for the uniform distribution. NaN if nothing can be asked.

        Cost: that of the intervals of the touched facts.
        """
        low, high = credible_interval(self.alpha[self.askable], self.beta[self.askable])
        untouched = self.count - len(self.positions)
        total = len(low) + untouched
        return float(((high - low).sum() + CREDIBILITY * untouched) / total) if total else float("nan")

    def _outside(self, left_out: Positions, size: int, generator: np.random.Generator) -> Positions:
        """Draw distinct positions uniformly, in random order, except for ``left_out`` (ascending)."""
        if 2 * (len(left_out) + size) > self.count:
            remaining = np.ones(self.count, np.bool_)
            remaining[left_out] = False
            return generator.choice(np.flatnonzero(remaining), size, replace=False)
        chosen: dict[int, None] = {}
        while len(chosen) < size:
            tried = generator.integers(self.count, size=2 * (size - len(chosen)) + 4)
            chosen |= dict.fromkeys(tried[~np.isin(tried, left_out)].tolist())
        return np.array(list(chosen)[:size], dtype=np.int64)


def _with_unknown_probabilities(positions: Positions) -> RoundChoice:
    return RoundChoice(positions, np.full(len(positions), np.nan), np.nan)


def turn_of(count: int, size: int, number: int) -> Positions:
    """Return the positions of a sequential round, which cycles through all of ``count`` facts."""
    return ((number - 1) * size + np.arange(size, dtype=np.int64)) % max(1, count)


def credible_interval(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Return the central 90% of Beta distributions; of very skewed ones, the nearest 90% that contain the mean.

    >>> import numpy as np
    >>> low, high = credible_interval(np.array([2.0, 0.01]), np.array([1.0, 4.0]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.2236, 0.0], [0.9747, 0.0025])

    Args:
        alpha, beta: shape (facts,), above 0.

    Returns:
        lower and upper bounds, each of shape (facts,), in [0, 1].

    Cost: sorts the facts; the bounds are computed once for each different pair of parameters.
    """
    pairs, places = np.unique(np.stack([alpha, beta]), axis=1, return_inverse=True)
    mean = pairs[0] / pairs.sum(axis=0)
    below = stats.beta.cdf(mean, *pairs)
    tail = np.clip((1 - CREDIBILITY) / 2, below - CREDIBILITY, below)
    low, high = np.asarray(stats.beta.ppf([tail, tail + CREDIBILITY], *pairs), dtype=np.float64)
    # The quantile of the mean's own probability may differ from it in the last digits.
    low, high = np.minimum(low, mean), np.maximum(high, mean)
    return low[places], high[places]


def highest_uniforms(count: int, size: int, generator: np.random.Generator) -> Floats:
    """Draw the highest ``size`` of ``count`` independent uniforms on (0, 1), highest first, without the others.

    The highest of m uniforms is distributed as V^(1/m); given it, the next is the highest of m - 1 uniforms below it.

    Returns:
        shape (size,), descending; ``size`` is at most ``count``.
    """
    remaining = count - np.arange(size)
    return np.exp(np.cumsum(np.log1p(-generator.random(size)) / remaining))
