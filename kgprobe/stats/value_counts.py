"""Counts of facts by a feature of their entities and by metrics: exact thirds and correlations from a stream.

Memory grows with distinct values, not with facts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.stats.prediction_powered import PredictionSums

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comoments:
    """Sums over pairs of numbers, from a stream.

    Means and products of deviations are merged by the pairwise update of Chan, Golub and LeVeque (1979), which does not
    lose digits where values are large and their spread is small.

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


FEATURES = ("subject_degree", "object_degree", "subject_popularity", "object_popularity")
TAIL, TORSO, HEAD = "tail", "torso", "head"
_THIRDS = (TAIL, TORSO, HEAD)
# Number of uncounted rows before they are merged into the counts.
_WAITING = 1 << 20
_COUNT = "count"


@dataclass(frozen=True, slots=True)
class Thirds:
    """Lower bounds of the torso and of the head; infinite if a third has no fact."""

    torso: float
    head: float

    def of(self, value: float) -> str | None:
        """Return the third of a value; None for NaN."""
        if np.isnan(value):
            return None
        return HEAD if value >= self.head else TORSO if value >= self.torso else TAIL


def thirds_of(values: Floats) -> Thirds:
    """Return the bounds of the thirds of facts.

    Args:
        values: of each fact; NaN where unknown.
    """
    counts = ValueCounts("value", ())
    counts.add(values, pd.DataFrame(index=range(len(values))))
    return counts.thirds()


class ValueCounts:
    """Counts of facts by the values of a feature and of metrics."""

    def __init__(self, feature: str, metrics: Sequence[str]) -> None:
        self._feature = feature
        self._metrics = list(metrics)
        self._waiting: list[pd.DataFrame] = []
        self._counted = 0

    def add(self, values: Floats, metrics: pd.DataFrame) -> None:
        """Add facts.

        Args:
            values: of each fact; NaN where unknown.
            metrics: one row per fact, without NaN.
        """
        part = metrics.copy()
        part[self._feature] = values
        part[_COUNT] = 1
        self._waiting.append(self._merged([part]))
        if self.kept > max(_WAITING, 2 * self._counted):
            self._waiting = [self._merged(self._waiting)]
            self._counted = self.kept

    @property
    def kept(self) -> int:
        """Number of stored rows."""
        return sum(map(len, self._waiting))

    def thirds(self) -> Thirds:
        """Return thirds of the facts with known values; equal values go to the third of their median position."""
        counts = self._known().groupby(self._feature)[_COUNT].sum()
        values, numbers = counts.index.to_numpy(np.float64), counts.to_numpy(np.int64)
        # Whole numbers: 2 · middle · 3 against 2 · all and 4 · all.
        middles = 3 * (2 * np.cumsum(numbers) - numbers)
        ends = [values[middles >= part * 2 * numbers.sum()] for part in (1, 2)]
        return Thirds(*(float(end[0]) if len(end) else np.inf for end in ends))

    def by_third(self, thirds: Thirds) -> Iterator[tuple[str | None, int, Mapping[str, PredictionSums]]]:
        """Yield head, torso, tail and unknown values (None), each with its number of facts and sums of metrics."""
        table = self._table()
        names = table[self._feature].map(thirds.of)
        for name in (*reversed(_THIRDS), None):
            part = table[names.isna() if name is None else names == name]
            number = int(part[_COUNT].sum())
            if number:
                yield name, number, {metric: _sums(part[metric], part[_COUNT]) for metric in self._metrics}

    def rank_correlation(self, metric: str) -> tuple[int, float | None]:
        """Return the number of facts and Spearman's rank correlation with midranks for ties; None if undefined."""
        known = self._known()
        counts = known[_COUNT].to_numpy(np.float64)
        number = int(counts.sum())
        # The mean of midranks does not depend on ties.
        mean = (number + 1) / 2
        x, y = _midranks(known[self._feature], counts) - mean, _midranks(known[metric], counts) - mean
        scale = float(np.sqrt((counts @ (x * x)) * (counts @ (y * y)))) if number else 0.0
        return number, float(np.clip((counts @ (x * y)) / scale, -1, 1)) if scale > 0 else None

    def _known(self) -> pd.DataFrame:
        known: pd.DataFrame = self._table().dropna(subset=[self._feature])
        return known

    def _table(self) -> pd.DataFrame:
        if len(self._waiting) != 1:
            empty = pd.DataFrame(columns=[self._feature, *self._metrics, _COUNT], dtype=np.float64)
            self._waiting = [self._merged(self._waiting) if self._waiting else empty]
        return self._waiting[0]

    def _merged(self, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
        keys = [self._feature, *self._metrics]
        counts: pd.Series[Any] = pd.concat(parts).groupby(keys, dropna=False)[_COUNT].sum()
        merged: pd.DataFrame = counts.reset_index()
        return merged


def _midranks(values: "pd.Series[Any]", counts: Floats) -> Floats:
    codes, distinct = pd.factorize(values, sort=True)
    numbers = np.bincount(codes, weights=counts, minlength=len(distinct))
    ranks: Floats = (np.cumsum(numbers) - (numbers - 1) / 2)[codes]
    return ranks


def _sums(values: "pd.Series[Any]", counts: "pd.Series[Any]") -> PredictionSums:
    numbers, weights = values.to_numpy(np.float64), counts.to_numpy(np.float64)
    count, total = int(weights.sum()), float(weights @ numbers)
    squares = float(weights @ (numbers - total / count) ** 2)
    return PredictionSums(count, total, squares, float(numbers.min()), float(numbers.max()))
