"""Base of all results: rows for programs, tables for people, a summary, files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.sanitize import counted, spreadsheet_cell
from kgprobe.base.tables import ResultRow, Table, flat_fields, row_dicts, row_frame, row_table
from kgprobe.graph.rows import Rows
from kgprobe.running.settings import digest_of

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.results.rendering.checks import Check
    from kgprobe.results.rendering.plots import HeatMap

# Facts in a list that people read; programs get all of them.
SHOWN_FACTS = 10


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Result:
    """Result of a call; prints as text, and as tables in a notebook. A subclass names the class of its rows, if any.

    Attributes:
        notes: remarks on unusual cases, in sentences that name arguments in backquotes.
        row, listed: class of the rows, and name of the field with them.
        key, heading: key and title of the table of the rows; no key if there is none.
    """

    notes: Sequence[str] = ()

    row: ClassVar[type[ResultRow]]
    listed: ClassVar[str]
    key: ClassVar[str] = ""
    heading: ClassVar[str] = ""

    @property
    def columns(self) -> Sequence[str]:
        """Names of a row's values, in order, also without rows."""
        return self.row.columns()

    def records(self) -> Sequence[ResultRow]:
        """Return the rows as objects, in order."""
        rows: Sequence[ResultRow] = getattr(self, self.listed)
        return rows

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows for programs, by column; JSON-compatible."""
        return row_dicts(self.records())

    def tables(self) -> list[Table]:
        """Return the tables for people, with names in place of ids; none if the summary says everything."""
        rows = self.records() if self.key else ()
        return [row_table(self.key, self.heading, rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """Return the result for programs: JSON-compatible values with stable keys."""
        return flat_fields(self, without=("notes",))

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
        from kgprobe.results.rendering.page import tables_html

        return tables_html("\n".join(filter(None, [*self.notes, self.summary()])), self.tables())


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one table, such as those about a fact."""

    title: str
    rows: Sequence[ResultRow]


def one_group(rows: Sequence[ResultRow]) -> list[RowGroup]:
    """Return rows as one table without a title; no table if there are none."""
    return [RowGroup("", rows)] if rows else []


@dataclass(frozen=True, slots=True, repr=False)
class RowResult(Result):
    """Result that consists of rows in groups.

    Attributes:
        groups: one table each, in order.
    """

    groups: Sequence[RowGroup]

    def records(self) -> list[ResultRow]:
        """Return the rows of all groups."""
        return list(chain.from_iterable(map(attrgetter("rows"), self.groups)))

    def tables(self) -> list[Table]:
        """Return one table for each group."""
        return [row_table(self.key, group.title, group.rows) for group in self.groups]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StoredComparison(Result):
    """Base of comparisons of stored results, which have a page of plots and tables, JSON and CSV in a folder.

    Attributes:
        config: the compared results and their settings.
        file: name of the page and of the JSON, without ending.
        files: classes of the rows of CSV files, by the field that has them.
    """

    config: Mapping[str, Any] = field(default_factory=dict)

    file: ClassVar[str]
    files: ClassVar[Mapping[str, type[ResultRow]]]

    @property
    def title(self) -> str:
        """Title of the page."""
        raise NotImplementedError

    @property
    def folder(self) -> Path:
        """Target of :meth:`page`."""
        return home() / "comparisons" / digest_of(self.config)

    def checks(self) -> "list[Check]":
        """Return the verdicts of a comparison with a margin; empty without a margin."""
        return []

    def plots(self) -> "list[HeatMap]":
        """Return the plots of the page."""
        return []

    def page_tables(self) -> list[Table]:
        """Return the tables of the page."""
        return self.tables()

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return the CSV files by name, without ending."""
        return {name: row_frame(getattr(self, name), kind) for name, kind in self.files.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys; the ends of an interval follow its value."""
        return {"summary": self.summary(), **flat_fields(self, without=("config",))}

    def write_files(self) -> None:
        """Write everything as JSON, with the compared results, and the facts as CSV.

        Raises:
            KgprobeError: a file cannot be written.
        """
        content = {**self.to_dict(), "config": self.config}
        write_result_files(self.folder, self.file, content, self.frames())

    def page(self) -> Path:
        """Write a page, everything as JSON, and the facts as CSV; return the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        from kgprobe.results.rendering.plots import write_plots_page

        self.write_files()
        page = self.folder / f"{self.file}.html"
        tables, notes = self.page_tables(), self.notes
        return write_plots_page(page, self.title, self.summary(), self.plots(), tables, notes, self.config)


def write_result_files(
    folder: Path, file: str, content: Mapping[str, Any], frames: "Mapping[str, pd.DataFrame]"
) -> None:
    """Write a result into a folder, which is made: everything as JSON, and tables as CSV.

    Args:
        file: name of the JSON file, without ending; ``frames`` has those of the tables.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    with replacing(folder / f"{file}.json") as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    for name, frame in frames.items():
        with replacing(folder / f"{name}.csv") as unfinished:
            frame.map(spreadsheet_cell).to_csv(unfinished, index=False)


def change_in_words(lost: int, gained: int, facts: int) -> str:
    """Return what changed from one result to another.

    >>> change_in_words(40, 6, 200)
    '17.0 points lost, 40 facts forgotten, 6 gained'

    Args:
        lost, gained: numbers of facts that only the first, and only the second, has right.
        facts: number of all facts.
    """
    change = f"{points((lost - gained) / facts)} {'lost' if lost >= gained else 'gained'}"
    return f"{change}, {counted(lost, 'fact')} forgotten, {gained:,} gained"


def points(share: float) -> str:
    """Return a difference of shares in percentage points.

    >>> points(-0.0123)
    '1.2 points'
    """
    return f"{100 * abs(share):.1f} points"
