"""The distractor measure of some facts on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.analysis.curves import CONFIDENCE, Curve
from kgprobe.report.rows import visible

# The n that a table shows; a curve has all of them.
SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def shown_numbers(count: int) -> list[int]:
    """Which n a table shows, of 1 to ``count``, the last included."""
    return [*(n for n in SHOWN if n < count), count]


def measure_table(title: str, min_at_n: Curve, avg_at_n: Curve, notes: Sequence[str]) -> RenderableType:
    """A table of both aggregations at some n, and what else is to be known.

    Args:
        title: what was measured.
        min_at_n, avg_at_n: means over facts, with bands.
        notes: sentences below the table.
    """
    table = Table(title=f"Mean over facts, with {CONFIDENCE:.0%} bands", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("n", justify="right")
    table.add_column("Min@n", justify="right")
    table.add_column("by chance", justify="right")
    table.add_column("Avg@n", justify="right")
    for n in shown_numbers(len(min_at_n.mean)):
        table.add_row(str(n), _cell(min_at_n, n), f"{1 / (n + 1):.3f}", _cell(avg_at_n, n))
    return Group(Text(visible(title), style="bold"), table, *(Text(visible(note)) for note in notes))


def curve_rows(curve: Curve) -> list[dict[str, Any]]:
    """A curve as rows of ``n``, ``mean``, ``low``, ``high``."""
    return [
        {"n": n, "mean": float(mean), "low": float(low), "high": float(high)}
        for n, (mean, low, high) in enumerate(zip(curve.mean, curve.low, curve.high, strict=True), start=1)
    ]


def reasons_note(unaskable: Mapping[str, int], shown: int = 8) -> str:
    """Why facts could not be asked, the most frequent reasons first."""
    listed = "; ".join(f"{count:,}: {reason}" for reason, count in list(unaskable.items())[:shown])
    more = f"; and {len(unaskable) - shown} more reasons" if len(unaskable) > shown else ""
    return f"Not askable: {listed}{more}"


def _cell(curve: Curve, n: int) -> str:
    return f"{curve.mean[n - 1]:.3f} [{curve.low[n - 1]:.3f}, {curve.high[n - 1]:.3f}]"
