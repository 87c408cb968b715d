"""Thompson sampling of facts: draw each fact's failure probability, take the highest.

Section 2.1 of the parameterized-graph paper (KGLens); docs/methods.md, 2. Every askable fact has theta ~ Beta(alpha,
beta), the probability that the model fails on it; untouched facts share Beta(1, 1), the uniform distribution. So the
highest draws among the untouched are order statistics of uniforms, and which facts they fall on is a uniform choice: a
round costs its touched facts and its batch, whatever the size of the graph.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    def draw(self, size: int, generator: np.random.Generator) -> Positions:
        """The positions of the facts with the highest draws of theta, highest first.

        Returns:
            shape (size,), or fewer where fewer facts are askable.
        """
        candidates = self.positions[self.askable]
        theta = generator.beta(self.alpha[self.askable], self.beta[self.askable])
        fresh = self.count - len(self.positions)
        fresh_theta = highest_uniforms(fresh, min(size, fresh), generator)
        everything = np.concatenate([theta, fresh_theta])
        top = np.argsort(-everything, kind="stable")[:size]
        among_fresh = top >= len(theta)
        chosen = np.empty(len(top), np.int64)
        chosen[~among_fresh] = candidates[top[~among_fresh]]
        chosen[among_fresh] = self._fresh(int(among_fresh.sum()), generator)
        return chosen

    def _fresh(self, size: int, generator: np.random.Generator) -> Positions:
        """Distinct untouched positions, uniformly, in random order."""
        if len(self.positions) > self.count // 2:
            untouched = np.ones(self.count, np.bool_)
            untouched[self.positions] = False
            return generator.choice(np.flatnonzero(untouched), size, replace=False)
        chosen: dict[int, None] = {}
        while len(chosen) < size:
            tried = generator.integers(self.count, size=2 * (size - len(chosen)) + 4)
            places = np.minimum(np.searchsorted(self.positions, tried), max(0, len(self.positions) - 1))
            touched = self.positions[places] == tried if len(self.positions) else np.zeros(len(tried), np.bool_)
            chosen |= dict.fromkeys(tried[~touched].tolist())
        return np.array(list(chosen)[:size], dtype=np.int64)


def highest_uniforms(count: int, size: int, generator: np.random.Generator) -> Floats:
    """The highest ``size`` of ``count`` independent uniforms on (0, 1), highest first, without drawing the others.

    The highest of m uniforms is distributed as V^(1/m); given it, the next is the highest of m - 1 uniforms below it.

    Returns:
        shape (size,), descending; ``size`` is at most ``count``.
    """
    remaining = count - np.arange(size)
    return np.exp(np.cumsum(np.log1p(-generator.random(size)) / remaining))
