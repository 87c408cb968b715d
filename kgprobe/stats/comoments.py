"""Pearson correlations from a stream of numbers, without keeping them.

Means and products of deviations are merged by the pairwise update of Chan, Golub and LeVeque (1979), which does not
lose digits where values are large and their spread is small.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comoments:
    """Sums over pairs of numbers.

    Attributes:
        count: number of pairs.
        means: of both numbers.
        products: sums of products of their deviations from the means: xx, yy, xy.
    """

    count: int = 0
    means: tuple[float, float] = (0.0, 0.0)
    products: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def with_pairs(self, x: Floats, y: Floats) -> "Comoments":
        """Return the sums with further pairs; pairs with NaN are left out.

        >>> Comoments().with_pairs(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])).pearson
        1.0
        """
        known = ~(np.isnan(x) | np.isnan(y))
        x, y = x[known], y[known]
        if not len(x):
            return self
        count = self.count + len(x)
        own = float(x.mean()), float(y.mean())
        dx, dy = x - own[0], y - own[1]
        weight = self.count * len(x) / count
        gap_x, gap_y = own[0] - self.means[0], own[1] - self.means[1]
        share = len(x) / count
        xx, yy, xy = self.products
        return Comoments(
            count,
            (self.means[0] + gap_x * share, self.means[1] + gap_y * share),
            (
                xx + float(dx @ dx) + gap_x * gap_x * weight,
                yy + float(dy @ dy) + gap_y * gap_y * weight,
                xy + float(dx @ dy) + gap_x * gap_y * weight,
            ),
        )

    @property
    def pearson(self) -> float | None:
        """Pearson's correlation, in [-1, 1]; None where a number is constant."""
        xx, yy, xy = self.products
        # Rounding leaves a constant with a spread of some last digits of its square.
        if xx <= self._rounding(0) or yy <= self._rounding(1):
            return None
        return float(np.clip(xy / np.sqrt(xx * yy), -1, 1))

    def _rounding(self, number: int) -> float:
        return float(self.count * (4 * np.finfo(np.float64).eps * self.means[number]) ** 2)
