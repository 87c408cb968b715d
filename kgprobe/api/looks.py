"""What calls that look at a graph give back: rows for programs, tables for people, notes on what is unusual."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.graph.rows import Rows
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Look:
    """What a call shows; prints as text, in a notebook as tables.

    Attributes:
        notes: what is unusual, in sentences that name arguments in backquotes.
    """

    notes: Sequence[str] = ()

    @property
    def columns(self) -> Sequence[str]:
        """The names of a row's values, in order, also where there is no row."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """One for each thing, by column; JSON-compatible."""
        raise NotImplementedError

    def tables(self) -> list[Table]:
        """The same for people, with names in place of ids."""
        raise NotImplementedError

    def summary(self) -> str:
        """What it comes to, in a sentence or two; empty where the rows say it all."""
        return ""

    def frame(self) -> "pd.DataFrame":
        """The rows in pandas."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows(), columns=[*self.columns])
        return frame

    def __len__(self) -> int:
        return len(self.rows())

    def __repr__(self) -> str:
        drawn = [
            "\n".join(filter(None, [table.title, repr(Rows(tuple(table.columns), tuple(map(dict, table.rows))))]))
            for table in self.tables()
        ]
        return "\n\n".join(filter(None, ["\n".join(self.notes), *drawn, self.summary()]))

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html("\n".join(filter(None, [*self.notes, self.summary()])), self.tables())
