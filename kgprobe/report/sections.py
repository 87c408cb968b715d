"""Sections of pages: of findings, studies, comparisons and reports."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgprobe.tables import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page.

    Attributes:
        kind: name of its template in the folder ``pages/parts``.
        title: its heading; empty for none.
        values: values for the template.
        notes: sentences below.
        short: its name in the table of contents; empty for its title.
        of: label of its result; empty if it has several.
        listed: True if it is in the table of contents.
    """

    kind: str
    title: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    short: str = ""
    of: str = ""
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Card:
    """A highlighted number with its description.

    Attributes:
        figure: the formatted number.
        value: the number, with the bounds of its interval if it has one.
    """

    figure: str
    says: str
    value: float
    low: float | None = None
    high: float | None = None


def table_section(table: Table, shaded: Sequence[str] = ()) -> Section:
    """Return a section with a table under its title.

    Args:
        shaded: columns of shares whose cells are shaded by value; those with intervals always are.
    """
    return Section("table", table.title, {"table": table, "shaded": shaded}, short=re.split("[:,(]", table.title)[0])
