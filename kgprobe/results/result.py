"""Base of all results: rows for programs, tables for people, a summary, files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, partial
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar, get_args

import msgspec

from kgprobe.answers.settings import digest_of
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.sanitize import counted, spreadsheet_cell
from kgprobe.base.tables import (
    INTERNAL,
    ResultRow,
    Table,
    data_frame,
    field_columns,
    field_hints,
    flat_fields,
    flat_row,
    headed_cells,
    json_value,
    more_note,
    read_fields,
)
from kgprobe.graph.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.results.rendering.checks import Check
    from kgprobe.results.rendering.dotted_map import DottedMap
    from kgprobe.results.rendering.plots import CategoryPlot, HeatMap, Plot

# Facts in a list that people read; programs get all of them.
SHOWN_FACTS = 10

# Remedy for files of results that cannot be read.
REPEAT = "Repeat the command that made it to write it again."

Own = TypeVar("Own", bound="StoredResult")
Text: TypeAlias = str | Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table of the rows of a :class:`Result`: part of the annotation of the field, or property, that has the rows.

    Texts may name attributes of the result in braces, such as ``{base}`` or ``{margin:.0%}``, also in the headings of
    the rows; or they are functions of the result.

    Attributes:
        title: heading of the table; None for rows that only programs read.
        note: text below it.
        where: condition for its rows; None takes all.
        show: maximum number of rows; a note gives the total.
        by: function of the result and a row that returns the title of the row's own table; rows with one title follow
            each other.
        across: attributes of a row that have the heading of a column of its own, and the cell in it; rows with equal
            other cells are one.
        groups_by, detail, shaded: as of a :class:`~kgprobe.base.tables.Table`.
        optional: leave out columns without a value.
        main: True for the rows of the result itself; by default, those of the first field.
        last: True for the last table of the result.
    """

    title: Text | None = None
    note: Text = ""
    _: KW_ONLY
    where: Callable[[Any], bool] | None = None
    show: int | None = None
    by: Callable[[Any, Any], str] | None = None
    across: tuple[str, str] | None = None
    groups_by: str | None = None
    detail: bool = False
    shaded: bool = False
    optional: bool = False
    main: bool = False
    last: bool = False

    def tables(self, result: "Result", name: str) -> list[Table]:
        """Return the rows of a field as a table, or as one for each title; none without rows."""
        if self.title is None:
            return []
        rows = [row for row in result.rows_of(name) if self.where is None or self.where(row)]
        by = self.by or (lambda _, __: _formatted(self.title or "", result))
        note = _formatted(self.note, result)
        tables = []
        for title, group in groupby(rows, partial(by, result)):
            own = list(group)
            cells = [row.cells(_Attributes(result)) if isinstance(row, ResultRow) else row for row in own[: self.show]]
            if self.across is not None:
                own = cells = _spread(own, cells, attrgetter(*self.across))
            if self.optional:
                empty = [name for name in cells[0] if all(row[name] is None for row in cells)]
                cells = [dict(filter(lambda cell: cell[0] not in empty, row.items())) for row in cells]
            notes = [*filter(None, [note]), *more_note(len(own), cells)]
            tables.append(Table(name, title, cells, notes, self.groups_by, self.detail, self.shaded))
        return tables


def _spread(
    rows: Sequence[Any], cells: Sequence[Mapping[str, Any]], own: Callable[[Any], tuple[str, Any]]
) -> list[dict[str, Any]]:
    """Return the cells of rows as fewer, wider ones: each row has a column of its own, and those with equal cells join.

    Args:
        own: returns the heading of a row's own column, and the cell in it.
    """
    columns = dict.fromkeys(heading for heading, _ in map(own, rows))
    wide: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row, shared in zip(rows, cells, strict=True):
        heading, cell = own(row)
        wide.setdefault(tuple(shared.values()), {**shared, **columns})[heading] = cell
    return list(wide.values())


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

    A subclass is a frozen dataclass. Its fields are the values for programs. A field with rows, or a property that
    makes rows, is annotated with its :class:`Listing`, or with several. Tables, data frames, CSV and JSON, text and
    page follow from these: first the properties, then the fields, in their order, then fields that are results.

    Attributes:
        notes: remarks on unusual cases, in sentences that name arguments in backquotes.
        properties: names of properties that are among the values for programs.
        file: name of the page and of the JSON, without ending.
    """

    notes: Annotated[Sequence[str], INTERNAL] = ()

    properties: ClassVar[Sequence[str]] = ()
    file: ClassVar[str] = "result"

    @property
    def columns(self) -> Sequence[str]:
        """Names of a row's values, in order, also without rows."""
        main = self._main()
        if main is not None and main.row is None:
            return list(dict.fromkeys(chain.from_iterable(self.rows())))
        return field_columns(type(self) if main is None or main.row is None else main.row)

    def records(self) -> Sequence[Any]:
        """Return the rows as objects, in order."""
        main = self._main()
        return [self] if main is None else self.rows_of(main.name)

    def rows_of(self, name: str) -> Sequence[Any]:
        """Return the rows of a field as objects."""
        rows = getattr(self, name)
        return rows if isinstance(rows, Sequence) else [rows] * (rows is not None)

    def headed(self) -> dict[str, Any]:
        """Return the fields with a heading, as a row of a table."""
        return headed_cells(self, _Attributes(self))

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows for programs, by column; JSON-compatible."""
        return list(map(_flat, self.records()))

    def tables(self) -> list[Table]:
        """Return the tables for people, with names in place of ids; none if the summary says everything."""
        tables = []
        for each in listed_fields(type(self)):
            for listing in each.listings:
                tables += listing.tables(self, each.name)
        for _, other in self._nested():
            tables += other.tables()
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

    @property
    def plots(self) -> "Sequence[Plot | CategoryPlot | HeatMap | DottedMap]":
        """The plots of the page."""
        return []

    def checks(self) -> "list[Check]":
        """Return the verdicts of a comparison with a margin; empty without a margin."""
        return []

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows in pandas."""
        return data_frame(self.rows(), self.columns)

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return all rows in pandas, by the name of their CSV file without ending."""
        frames: dict[str, pd.DataFrame] = {}
        for each in listed_fields(type(self)):
            columns = None if each.row is None else field_columns(each.row)
            frames[each.name] = data_frame(list(map(_flat, self.rows_of(each.name))), columns)
        for name, other in self._nested():
            frames |= {f"{name}_{own}": frame for own, frame in other.frames().items()}
        return frames or {self.file: self.to_frame()}

    def write_csv(self, path: Path) -> None:
        """Write the rows as CSV for spreadsheets, replacing a file.

        Raises:
            KgprobeError: it cannot be written.
        """
        write_frame(self.to_frame(), path)

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

    def _nested(self) -> "list[tuple[str, Result]]":
        """Return the fields that are results themselves, by name."""
        values = [(name, getattr(self, name)) for name in field_hints(type(self))]
        return [(name, value) for name, value in values if isinstance(value, Result)]

    def _main(self) -> "_ListedField | None":
        """Return the field with the rows of the result itself; None for a result that is one row."""
        listed = listed_fields(type(self))
        for each in listed:
            if any(listing.main for listing in each.listings):
                return each
        return next((each for each in listed if each.row is not None), None)


def _flat(row: Any) -> dict[str, Any]:
    """Return a row for programs."""
    return flat_row(row) if isinstance(row, Mapping) else flat_fields(row)


@dataclass(frozen=True, slots=True)
class _ListedField:
    """A field or property with rows: its name, the class of its rows (None for mappings), and its tables."""

    name: str
    row: type[ResultRow] | None
    listings: Sequence[Listing]


def _read_listed(kind: type) -> list[_ListedField]:
    """Return the properties and fields of a result that have rows, in order."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and value.fget is not None:
                hints[name] = value.fget.__annotations__.get("return")
    listed = []
    for name, hint in {**hints, **field_hints(kind)}.items():
        listings = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Listing)]
        if listings:
            rows = get_args(hint)[0]
            row: Any = next(iter(get_args(rows)), rows)
            listed.append(_ListedField(name, row if hasattr(row, "columns") else None, listings))
    return sorted(listed, key=lambda each: each.listings[0].last)


listed_fields: Callable[[type], list[_ListedField]] = cache(_read_listed)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StoredResult(Result):
    """Base of results that are stored: a page, JSON and CSV in a folder.

    Attributes:
        config: the compared results and their settings.
        read_from: the folder that it was read from; None for a result that was computed.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    read_from: Annotated[Path | None, INTERNAL] = field(default=None, compare=False)

    @property
    def folder(self) -> Path:
        """Folder of the files; results of the same configuration share it."""
        return self.read_from or home() / "comparisons" / digest_of(self.config)

    if TYPE_CHECKING:

        @property
        def title(self) -> str:
            """Title of the page."""

    def page(self, folder: Path | None = None) -> Path:
        """Write a page, everything as JSON, and the rows as CSV; return the page's path.

        Args:
            folder: target of the files, which is made; None is that of the result.

        Raises:
            KgprobeError: a file cannot be written.
        """
        from kgprobe.results.rendering.plots import write_plots_page

        if folder is None and self.read_from is not None and (stored := self.folder / f"{self.file}.html").exists():
            return stored
        folder = folder or self.folder
        self.write_files(folder)
        path, plots, tables = folder / f"{self.file}.html", self.plots, self.tables()
        return write_plots_page(path, self.title, self.summary(), plots, tables, self.notes, self.config)

    def stored_page(self, folder: Path | None = None) -> Path:
        """Return the path of the page that was read, or copy it and the files into a folder.

        Raises:
            KgprobeError: the page was deleted, or a file cannot be written.
        """
        path = self.folder / f"{self.file}.html"
        if not path.exists():
            raise KgprobeError(f"{path} does not exist. {REPEAT}")
        if folder is None:
            return path
        self.write_files(folder)
        with replacing(folder / path.name) as unfinished:
            unfinished.write_bytes(path.read_bytes())
        return folder / path.name


def read_result(kind: type[Own], folder: Path, content: Mapping[str, Any]) -> Own:
    """Return a stored result, equal to what was written.

    Args:
        content: its JSON.

    Raises:
        KgprobeError: the JSON lacks a field, or a value has another type.
    """
    try:
        return replace(read_fields(kind, content), read_from=folder)
    except (TypeError, AttributeError, msgspec.ValidationError) as error:
        path = folder / f"{kind.file}.json"
        raise KgprobeError(f"{path} is damaged, or of another version: {error}. {REPEAT}") from error


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
        write_frame(frame, folder / f"{name}.csv")


def write_frame(frame: "pd.DataFrame", path: Path) -> None:
    """Write rows as CSV for spreadsheets, replacing a file.

    Raises:
        KgprobeError: it cannot be written.
    """
    with replacing(path) as unfinished:
        # As objects: whole numbers with gaps would become fractions.
        frame.astype(object).map(spreadsheet_cell).to_csv(unfinished, index=False)


def read_frame(path: Path, truths: Sequence[str]) -> "pd.DataFrame":
    """Return the rows of a CSV file as texts, with None for empty cells; columns named in ``truths`` are True or False.

    Raises:
        KgprobeError: the file is missing or damaged.
    """
    import pandas as pd

    try:
        texts = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""]).astype(object)
        frame: pd.DataFrame = texts.where(texts.notna(), None)
        for name in truths:
            frame[name] = frame[name] == "True"
    except (OSError, ValueError, KeyError) as error:
        raise KgprobeError(f"{path} is missing or damaged: {error}. {REPEAT}") from error
    return frame


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
