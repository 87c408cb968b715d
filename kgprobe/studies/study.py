"""What every study comes to: a verdict, rows of data, plots to draw, and sentences about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgprobe.report.plots import CategoryPlot, Plot


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
