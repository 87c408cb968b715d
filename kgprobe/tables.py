"""A table without layout, for the terminal, pages, JSON and pandas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.stats.proportions import Mean, Percent, Points, Share

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the same columns, a title and notes.

    Attributes:
        key: name in JSON, in snake_case.
        title: heading for people.
        rows: cells by column: texts, numbers, None, or numbers with an interval. The first row has all columns.
        notes: sentences below the table.
        groups_by: column whose repeated cells are left blank for people; None for none.
    """

    key: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    groups_by: str | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.rows[0]) if self.rows else []

    def to_dict(self) -> dict[str, Any]:
        """Return title, rows and notes; the ends of an interval follow its value (``win rate_low``)."""
        return {"title": self.title, "rows": [flat_row(row) for row in self.rows], "notes": list(self.notes)}

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame, with columns for the ends of intervals."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame([flat_row(row) for row in self.rows])
        return frame


def flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with an interval as three cells: value, low end, high end."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Percent):
            flat[name] = value.value
        elif isinstance(value, (Share, Mean, Points)):
            flat |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat
