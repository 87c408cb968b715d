"""Parts of which all pages are made: a finding's, a study's, a comparison's and a report's."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgprobe.tables import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page.

    Attributes:
        kind: the template that draws it, of the folder ``pages/parts``.
        title: its heading; empty for none.
        values: what the template needs.
        notes: sentences below.
        short: what the list of contents calls it; empty for its title.
        of: the label of the result that it tells of; empty where it is of several.
        listed: whether it stands in the list of contents.
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
    """A figure that stands out, and what it says.

    Attributes:
        figure: as people read it.
        value: as it is, with the ends of its interval where it has one.
    """

    figure: str
    says: str
    value: float
    low: float | None = None
    high: float | None = None


def table_section(table: Table, shaded: Sequence[str] = ()) -> Section:
    """A table under its title.

    Args:
        shaded: columns of shares whose cells are the darker, the higher they are; those with intervals are in any case.
    """
    return Section("table", table.title, {"table": table, "shaded": shaded}, short=re.split("[:,(]", table.title)[0])
