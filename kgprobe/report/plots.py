"""Descriptions of plots: lines, categories and heat maps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.probes.distractors.curves import Curve


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a plot.

    Attributes:
        x, y: coordinates of each point.
        low, high: bounds of its band, or of whiskers at points; empty where there are none.
        points: draw points instead of a line.
        labels: names of the points; empty for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    points: bool = False
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over one axis.

    Attributes:
        title: its heading.
        x_title, y_title: titles of the axes, with units.
        log_x: use a logarithmic x axis.
        y_range: bounds of the y axis; None fits the curves.
    """

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    log_x: bool = False
    y_range: tuple[float, float] | None = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Category:
    """A category with its value, for example a measure.

    Attributes:
        value: None where it has none.
        low, high: bounds of its whiskers; None where it has none.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CategoryPlot:
    """Values of categories, one below the other, the first on top.

    Attributes:
        title: its heading.
        value_title: title of the value axis, with the meaning of whiskers.
        value_range: bounds of that axis.
    """

    title: str
    value_title: str
    categories: Sequence[Category]
    value_range: tuple[float, float]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Numbers in rows and columns, each as a colour.

    Attributes:
        title: its heading.
        rows, columns: distinct names; the first row on top.
        values: one list per row; None for a missing number.
        value_title: title of the numbers.
        value_range: the numbers with the palest and the strongest colour; a negative minimum gives a diverging scale.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    value_title: str
    value_range: tuple[float, float] = (0.0, 1.0)


def line_of(name: str, curve: Curve) -> Line:
    """Return a curve over n = 1, 2, … with its band if it has one."""
    numbers = list(range(1, len(curve.mean) + 1))
    band = () if np.isnan(curve.low).any() else (curve.low.tolist(), curve.high.tolist())
    return Line(name, numbers, curve.mean.tolist(), *band)
