"""What every study comes to: rows of data, plots to draw, and sentences about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgprobe.probes.distractors.curves import Curve


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a plot.

    Attributes:
        x, y: of each point.
        low, high: of its band; empty where there is none.
        points: marks instead of a line.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    points: bool = False


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
class Study:
    """One analysis, done.

    Attributes:
        name: as on the command line.
        title: what was studied, on what.
        data: every number behind table and plot, in rows of the same columns.
        table: the rows that a reader sees first.
        plots: in the order in which a reader sees them.
        notes: what the numbers say, and what was left out, in sentences.
        config: what the numbers depend on; JSON-compatible.
    """

    name: str
    title: str
    data: Sequence[Mapping[str, Any]]
    table: Sequence[Mapping[str, Any]]
    plots: Sequence[Plot]
    notes: Sequence[str] = ()
    config: Mapping[str, Any] = field(default_factory=dict)


def line_of(name: str, curve: Curve) -> Line:
    """A curve over n = 1, 2, … with its band."""
    numbers = list(range(1, len(curve.mean) + 1))
    return Line(name, numbers, curve.mean.tolist(), curve.low.tolist(), curve.high.tolist())
