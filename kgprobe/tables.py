"""A table before it is drawn: the same on the terminal, on a page, as JSON and as pandas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.stats.proportions import Mean, Percent, Points, Share

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the same columns, and what is to be said of them.

    Attributes:
        key: its name in JSON, in snake_case.
        title: for people.
        rows: cells by column: texts, numbers, None, or numbers with an interval. The first row has all columns.
        notes: sentences below the table.
        groups_by: the column whose repeated cells a person need not read again; None for none.
    """

    key: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    groups_by: str | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.rows[0]) if self.rows else []

    def to_dict(self) -> dict[str, Any]:
        """Title, rows and notes; an interval's ends stand beside its value (``win rate_low``)."""
        return {"title": self.title, "rows": [flat_row(row) for row in self.rows], "notes": list(self.notes)}

    def to_frame(self) -> "pd.DataFrame":
        """The rows in pandas, with columns for the ends of intervals."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame([flat_row(row) for row in self.rows])

        return frame


def flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which an interval's ends stand beside its value."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Percent):
            flat[name] = value.value
        elif isinstance(value, (Share, Mean, Points)):
            flat |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat
