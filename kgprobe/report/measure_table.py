"""The distractor measure of some facts on the terminal."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.analysis.curves import CONFIDENCE, Curve, shown_numbers
from kgprobe.report.rows import visible


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


def reasons_note(reasons: Mapping[str, int], said: str = "Not askable", shown: int = 8) -> str:
    """Why facts have no answer, the most frequent reasons first.

    Args:
        reasons: how many facts each is of, as ordered.
        said: what is the matter with them.
    """
    listed = "; ".join(f"{count:,}: {reason}" for reason, count in list(reasons.items())[:shown])
    more = f"; and {len(reasons) - shown} more reasons" if len(reasons) > shown else ""
    return f"{said}: {listed}{more}"


def _cell(curve: Curve, n: int) -> str:
    return f"{curve.mean[n - 1]:.3f} [{curve.low[n - 1]:.3f}, {curve.high[n - 1]:.3f}]"
