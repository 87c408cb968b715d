"""Base of all results: rows for programs, tables for people, a summary, files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.files import make_folder, replacing
from kgprobe.graph.rows import Rows
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.tables import Heading as Heading
from kgprobe.tables import ResultRow as ResultRow
from kgprobe.tables import Table
from kgprobe.tables import flat_fields as flat_fields
from kgprobe.tables import row_dicts as row_dicts
from kgprobe.tables import row_table as row_table

if TYPE_CHECKING:
    import pandas as pd

# Facts in a list that people read; programs get all of them.
SHOWN_FACTS = 10


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Result:
    """Result of a call; prints as text, and as tables in a notebook.

    Attributes:
        notes: remarks on unusual cases, in sentences that name arguments in backquotes.
    """

    notes: Sequence[str] = ()

    @property
    def columns(self) -> Sequence[str]:
        """Names of a row's values, in order, also without rows."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows for programs, by column; JSON-compatible."""
        raise NotImplementedError

    def tables(self) -> list[Table]:
        """Return the tables for people, with names in place of ids."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the result in a sentence or two; empty if the rows say everything."""
        return ""

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows in pandas."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows(), columns=[*self.columns])
        return frame

    def __len__(self) -> int:
        return len(self.rows())

    def __repr__(self) -> str:
        parts = ["\n".join(self.notes)]
        for table in self.tables():
            rows = Rows(tuple(table.columns), tuple(map(dict, table.rows)))
            parts.append(f"{table.title}\n{rows!r}" if table.title else repr(rows))
        parts.append(self.summary())
        return "\n\n".join(filter(None, parts))

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html("\n".join(filter(None, [*self.notes, self.summary()])), self.tables())


def write_result_files(folder: Path, whole: str, content: Mapping[str, Any], facts: str, frame: "pd.DataFrame") -> None:
    """Write a result into a folder, which is made: everything as JSON, its facts as CSV.

    Args:
        whole, facts: names of the two files.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    with replacing(folder / whole) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    write_frame(folder / facts, frame)


def write_frame(path: Path, frame: "pd.DataFrame") -> None:
    """Write a data frame as CSV; formulas of spreadsheets are quoted."""
    with replacing(path) as unfinished:
        frame.map(spreadsheet_cell).to_csv(unfinished, index=False)


def more_note(total: int, shown: Sequence[object]) -> list[str]:
    """Return a note on rows that are not shown; empty if all are."""
    return [f"{len(shown)} of {total:,}."] if total > len(shown) else []


def points(share: float) -> str:
    """Return a difference of shares in percentage points.

    >>> points(-0.0123)
    '1.2 points'
    """
    return f"{100 * abs(share):.1f} points"
