"""The base of all results: rows for programs, tables for people, a summary, a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.files import make_folder, replacing
from kgprobe.graph.rows import Rows
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.tables import Table, flat_row

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Result:
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

    def to_frame(self) -> "pd.DataFrame":
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


def flat_fields(one: "DataclassInstance") -> dict[str, Any]:
    """The fields of a result, the ends of intervals beside their values."""
    return flat_row({field.name: getattr(one, field.name) for field in fields(one)})


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


# Facts in a list that is shown.
SHOWN_FACTS = 10


def more_note(total: int, shown: Sequence[object]) -> list[str]:
    """Return a note on rows that are not shown; empty if all are."""
    return [f"{len(shown)} of {total:,}."] if total > len(shown) else []


def points(share: float) -> str:
    """A difference of shares, in points.

    >>> points(-0.0123)
    '1.2 points'
    """
    return f"{100 * abs(share):.1f} points"
