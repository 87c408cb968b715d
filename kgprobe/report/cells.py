"""Cells of a table as people read them."""

import math
from typing import Any

from kgprobe.graph.values import cell
from kgprobe.stats.proportions import Mean, Percent, Points, Share
from kgprobe.tables import Table


def shown(value: Any) -> str:
    """A value of a table: numbers with three decimals or their interval, a dash where there is none."""
    if value is None:
        return "—"
    if isinstance(value, (Share, Mean, Percent, Points)):
        return str(value)
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return cell(value)


def rounded(value: Any) -> str:
    """A value as it is, but for the digits of a number that nobody reads; very small ones keep two that say something.

    >>> rounded(0.00588235), rounded(0.000012345), rounded(1990), rounded(None)
    ('0.006', '1.2e-05', '1990', '')
    """
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.2g}" if 0 < abs(value) < 0.0005 else f"{value:,.3f}"
    return cell(value)


def is_number(value: Any) -> bool:
    """Whether a value stands on the right."""
    return isinstance(value, (int, float, Share, Mean, Percent, Points)) and not isinstance(value, bool)


def numeric_columns(table: Table) -> set[str]:
    """The columns of a table that hold numbers alone, or nothing."""
    return {name for name in table.columns if all(row.get(name) is None or is_number(row[name]) for row in table.rows)}


def share_columns(table: Table) -> set[str]:
    """The columns of a table that hold a share in any row."""
    return {name for name in table.columns if any(isinstance(row.get(name), Share) for row in table.rows)}
