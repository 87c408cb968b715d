"""Formatting of table cells for people."""

import math
from typing import Any

from kgprobe.graph.rows import cell
from kgprobe.stats.proportions import Mean, Percent, Points, Share
from kgprobe.tables import Table


def shown(value: Any) -> str:
    """Return a cell's text: numbers with three decimals or their interval, a dash for None."""
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
    """Return a value's text with three decimals; very small numbers have two significant digits.

    >>> rounded(0.00588235), rounded(0.000012345), rounded(1990), rounded(None)
    ('0.006', '1.2e-05', '1990', '')
    """
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.2g}" if 0 < abs(value) < 0.0005 else f"{value:,.3f}"
    return cell(value)


def is_number(value: Any) -> bool:
    """Return True for numbers, which are aligned to the right."""
    return isinstance(value, (int, float, Share, Mean, Percent, Points)) and not isinstance(value, bool)


def numeric_columns(table: Table) -> set[str]:
    """Return the columns that contain only numbers and None."""
    columns = set(table.columns)
    for row in table.rows:
        columns -= {name for name, value in row.items() if not (value is None or is_number(value))}
    return columns


def share_columns(table: Table) -> set[str]:
    """Return the columns that contain a share."""
    columns: set[str] = set()
    for row in table.rows:
        columns |= {name for name, value in row.items() if isinstance(value, Share)}
    return columns.intersection(table.columns)
