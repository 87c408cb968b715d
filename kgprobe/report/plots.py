"""Plots before they are drawn: lines, categories and heat maps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.probes.distractors.curves import Curve


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a plot.

    Attributes:
        x, y: of each point.
        low, high: of its band, or of whiskers at points; empty where there is none.
        points: marks instead of a line.
        labels: what points are called, one each; empty where nothing is written beside them.
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
        title: what it shows, for its heading.
        x_title, y_title: of the axes, with units where there are any.
        log_x: a logarithmic axis.
        y_range: the ends of the other; None fits the curves.
    """

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    log_x: bool = False
    y_range: tuple[float, float] | None = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Category:
    """One thing among others that have no order of numbers: a measure, say.

    Attributes:
        value: None where it has none.
        low, high: the ends of its whiskers; None where it has none.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CategoryPlot:
    """Values of categories, one below the other, the first on top.

    Attributes:
        title: what it shows, for its heading.
        value_title: of the axis of values; says what whiskers are.
        value_range: the ends of that axis.
    """

    title: str
    value_title: str
    categories: Sequence[Category]
    value_range: tuple[float, float]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Numbers in rows and columns, each as a colour.

    Attributes:
        title: what it shows, for its heading.
        rows, columns: names, each once; the first row on top.
        values: one list a row; None where there is no number.
        value_title: what a number is.
        value_range: the numbers with the palest and the strongest colour; below 0, another colour is the strongest.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    value_title: str
    value_range: tuple[float, float] = (0.0, 1.0)


def line_of(name: str, curve: Curve) -> Line:
    """A curve over n = 1, 2, … with its band if it has one."""
    numbers = list(range(1, len(curve.mean) + 1))
    band = () if np.isnan(curve.low).any() else (curve.low.tolist(), curve.high.tolist())
    return Line(name, numbers, curve.mean.tolist(), *band)
