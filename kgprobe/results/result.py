"""Base of all results: rows for programs, tables for people, a summary, files."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, partial
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, get_args

import msgspec

from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.sanitize import counted, spreadsheet_cell
from kgprobe.base.tables import (
    INTERNAL,
    ResultRow,
    Table,
    field_columns,
    field_hints,
    flat_fields,
    flat_row,
    headed_cells,
    json_value,
    more_note,
    row_dicts,
    row_frame,
    row_table,
)
from kgprobe.graph.rows import Rows
from kgprobe.running.settings import digest_of

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.results.rendering.checks import Check
    from kgprobe.results.rendering.plots import CategoryPlot, HeatMap, Plot

# Facts in a list that people read; programs get all of them.
SHOWN_FACTS = 10

Text: TypeAlias = str | Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table of the rows of a field of a :class:`Result`, whose annotation it is.

    Texts may name attributes of the result in braces, such as ``{base}`` or ``{margin:.0%}``, also in the headings of
    the rows; or they are functions of the result.

    Attributes:
        title: heading of the table; None for rows that only programs read.
        note: text below it.
        where: condition for its rows; None takes all.
        show: maximum number of rows; a note gives the total.
        by: function of the result and a row that returns the title of the row's table; rows with one title follow
            each other.
        cells: function that returns the rows of the table by heading; None takes those of the rows.
        key: name of the table; empty for the name of the field.
        groups_by, detail, shaded: as of a :class:`~kgprobe.tables.Table`.
        optional: leave out columns without a value.
        main: True for the rows of the result itself; by default, those of the first field.
    """

    title: Text | None = None
    note: Text = ""
    _: KW_ONLY
    where: Callable[[Any], bool] | None = None
    show: int | None = None
    by: Callable[[Any, Any], str] | None = None
    cells: Callable[[Any], Sequence[Mapping[str, Any]]] | None = None
    key: str = ""
    groups_by: str | None = None
    detail: bool = False
    shaded: Callable[[Any], Collection[str]] | None = None
    optional: bool = False
    main: bool = False

    def tables(self, result: "Result", name: str) -> list[Table]:
        """Return the rows of a field as a table, or as one for each title; none without rows."""
        if self.title is None:
            return []
        if self.cells is not None:
            return self._table(result, name, self.cells(result))
        rows = [row for row in result.rows_of(name) if self.where is None or self.where(row)]
        groups: Iterable[tuple[str, Iterable[ResultRow]]] = [("", rows)]
        if self.by is not None:
            groups = groupby(rows, partial(self.by, result))
        tables = []
        for title, group in groups:
            own = list(group)
            cells = [row.cells(_Attributes(result)) for row in own[: self.show]]
            tables += self._table(result, name, cells, more_note(len(own), cells), title)
        return tables

    def _table(
        self,
        result: "Result",
        name: str,
        cells: Sequence[Mapping[str, Any]],
        more: Sequence[str] = (),
        title: str = "",
    ) -> list[Table]:
        if not cells:
            return []
        if self.optional:
            used = {column for row in cells for column, value in row.items() if value is not None}
            cells = [{column: value for column, value in row.items() if column in used} for row in cells]
        title = title or _formatted(self.title or "", result)
        notes = [*filter(None, [_formatted(self.note, result)]), *more]
        shaded = () if self.shaded is None else self.shaded(result)
        return [Table(self.key or name, title, cells, notes, self.groups_by, self.detail, shaded)]


def _formatted(text: Text, result: "Result") -> str:
    """Return a text about a result."""
    return text(result) if callable(text) else text.format_map(_Attributes(result))


@dataclass(frozen=True, slots=True)
class _Attributes:
    """Attributes of a result by name, for texts."""

    result: "Result"

    def __getitem__(self, name: str) -> Any:
        return getattr(self.result, name)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Result:
    """Result of a call; prints as text, and as tables in a notebook.

    A subclass is a frozen dataclass. Its fields are the values for programs; a field with rows is annotated with its
    :class:`Listing`, or with several. Tables, data frames, CSV and JSON, text and page follow from these, in the order
    of the fields.

    Attributes:
        notes: remarks on unusual cases, in sentences that name arguments in backquotes.
        properties: names of properties that are among the values for programs.
        own_figures: table of the result's own fields with a heading, before the other tables.
        file: name of the page and of the JSON, without ending.
    """

    notes: Annotated[Sequence[str], INTERNAL] = ()

    properties: ClassVar[Sequence[str]] = ()
    own_figures: ClassVar[Listing | None] = None
    file: ClassVar[str] = "result"

    @property
    def title(self) -> str:
        """Title of the page."""
        return re.sub("(?<=.)([A-Z])", lambda letter: f" {letter[0].lower()}", type(self).__name__)

    @property
    def columns(self) -> Sequence[str]:
        """Names of a row's values, in order, also without rows."""
        main = self._main()
        return field_columns(main.row if main is not None else type(self))

    def records(self) -> Sequence[Any]:
        """Return the rows as objects, in order."""
        main = self._main()
        return [self] if main is None else self.rows_of(main.name)

    def rows_of(self, name: str) -> Sequence[Any]:
        """Return the rows of a field as objects."""
        rows = getattr(self, name)
        return rows if isinstance(rows, Sequence) else [rows] * (rows is not None)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows for programs, by column; JSON-compatible."""
        return list(map(flat_fields, self.records()))

    def tables(self) -> list[Table]:
        """Return the tables for people, with names in place of ids; none if the summary says everything."""
        tables = []
        if self.own_figures is not None:
            own = headed_cells(self, _Attributes(self))
            tables += replace(self.own_figures, cells=self.own_figures.cells or (lambda _: [own])).tables(
                self, "own_figures"
            )
        for each in listed_fields(type(self)):
            for listing in each.listings:
                tables += listing.tables(self, each.name)
        return tables

    def to_dict(self) -> dict[str, Any]:
        """Return the result for programs: JSON-compatible values with stable keys."""
        summary = self.summary()
        content = {"summary": summary} if summary else {}
        figures = {name: json_value(getattr(self, name)) for name in self.properties}
        return {**content, **flat_row(figures), **flat_fields(self), "notes": list(self.notes)}

    def summary(self) -> str:
        """Return the result in a sentence or two; empty if the rows say everything."""
        return ""

    def plots(self) -> "Sequence[Plot | CategoryPlot | HeatMap]":
        """Return the plots of the page."""
        return []

    def checks(self) -> "list[Check]":
        """Return the verdicts of a comparison with a margin; empty without a margin."""
        return []

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows in pandas."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows(), columns=[*self.columns])
        return frame

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return all rows in pandas, by the name of their CSV file without ending."""
        frames = {}
        for own in listed_fields(type(self)):
            frames[own.name] = row_frame(self.rows_of(own.name), own.row)
            for listing in own.listings:
                if listing.cells is not None:
                    frames |= {table.key: table.to_frame() for table in listing.tables(self, own.name)}
        return frames or {self.file: self.to_frame()}

    def write_files(self, folder: Path) -> None:
        """Write everything as JSON, and the rows as CSV, into a folder, which is made.

        Raises:
            KgprobeError: a file cannot be written.
        """
        write_result_files(folder, self.file, self.to_dict(), self.frames())

    def __len__(self) -> int:
        return len(self.records())

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

    def _main(self) -> "_ListedField | None":
        """Return the field with the rows of the result itself; None for a result that is one row."""
        listed = listed_fields(type(self))
        main = [own for own in listed if any(listing.main for listing in own.listings)]
        return next(iter(main or listed), None)


@dataclass(frozen=True, slots=True)
class _ListedField:
    """A field with rows: its name, the class of its rows, and its tables."""

    name: str
    row: type[ResultRow]
    listings: Sequence[Listing]


def _read_listed(kind: type) -> list[_ListedField]:
    """Return the fields of a result that have rows, in order."""
    listed = []
    for name, hint in field_hints(kind).items():
        listings = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Listing)]
        if listings:
            rows = get_args(hint)[0]
            (row,) = get_args(rows) or (rows,)
            listed.append(_ListedField(name, row, listings))
    return listed


listed_fields: Callable[[type], list[_ListedField]] = cache(_read_listed)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StoredResult(Result):
    """Base of results that are stored: a page, JSON and CSV in a folder.

    Attributes:
        config: the compared results and their settings.
    """

    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Target of :meth:`page`."""
        return home() / "comparisons" / digest_of(self.config)

    def page(self) -> Path:
        """Write a page, everything as JSON, and the rows as CSV; return the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        from kgprobe.results.rendering.plots import write_plots_page

        self.write_files(self.folder)
        page = self.folder / f"{self.file}.html"
        return write_plots_page(page, self.title, self.summary(), self.plots(), self.tables(), self.notes, self.config)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class OldResult(Result):
    """Result with the rows of one field."""

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
        return {name: value for name, value in flat_fields(self).items() if name != "notes"}

    def __len__(self) -> int:
        return len(self.rows())


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one table, such as those about a fact."""

    title: str
    rows: Sequence[ResultRow]


def one_group(rows: Sequence[ResultRow]) -> list[RowGroup]:
    """Return rows as one table without a title; no table if there are none."""
    return [RowGroup("", rows)] if rows else []


@dataclass(frozen=True, slots=True, repr=False)
class RowResult(OldResult):
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
class StoredComparison(OldResult):
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
        return {
            "summary": self.summary(),
            **{name: value for name, value in flat_fields(self).items() if name != "config"},
            "notes": list(self.notes),
        }

    def write_all(self) -> None:
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

        self.write_all()
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
