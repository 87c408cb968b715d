"""What every study comes to: a verdict, rows of data, plots to draw, and sentences about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Study:
    """One analysis, done.

    Attributes:
        name: as on the command line.
        title: what was studied, on what.
        verdict: what was found, in a sentence or two: for whom has no time for more.
        data: every number behind table and plot, in rows of the same columns.
        table: the rows that a reader sees first.
        plots: in the order in which a reader sees them.
        notes: what the numbers say, and what was left out, in sentences.
        config: what the numbers depend on; JSON-compatible.
    """

    name: str
    title: str
    verdict: str
    data: Sequence[Mapping[str, Any]]
    table: Sequence[Mapping[str, Any]]
    plots: Sequence[Plot | CategoryPlot]
    notes: Sequence[str] = ()
    config: Mapping[str, Any] = field(default_factory=dict)


def line_of(name: str, curve: Curve) -> Line:
    """A curve over n = 1, 2, … with its band if it has one."""
    numbers = list(range(1, len(curve.mean) + 1))
    band = () if np.isnan(curve.low).any() else (curve.low.tolist(), curve.high.tolist())
    return Line(name, numbers, curve.mean.tolist(), *band)
