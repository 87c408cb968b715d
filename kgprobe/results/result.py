"""Base of all results: rows for programs, tables for people, a summary, files.

A row is a frozen dataclass that annotates each field once: its name is the key of JSON and the column of a data frame,
its :class:`Heading` is what people read. Rows, columns, frames and tables follow from these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from kgprobe.files import make_folder, replacing
from kgprobe.graph.rows import Rows
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.stats.proportions import Mean, Points, Share
from kgprobe.tables import Table, flat_row

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

# Facts in a list that people read; programs get all of them.
SHOWN_FACTS = 10
_INTERVALS = (Share, Mean, Points)
# Annotations of each class of rows: reading them takes longer than making a row.
_HINTS: dict[type, dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a field in tables, and the cell that is made of its value.

    Attributes:
        text: the heading.
        cell: maps the value to the cell; None shows the value itself.
    """

    text: str
    cell: Callable[[Any], Any] | None = None


class ResultRow:
    """Base of a row: a frozen dataclass whose fields are columns.

    A field with a :class:`Heading` appears in tables. An interval (``Share``, ``Mean``, ``Points``, or None in its
    place) becomes three columns for programs: ``name``, ``name_low`` and ``name_high``.

    >>> @dataclass(frozen=True, slots=True)
    ... class Known(ResultRow):
    ...     relation: str
    ...     label: Annotated[str, Heading("relation")]
    ...     known: Annotated[Share | None, Heading("known")]
    >>> Known.columns()
    ['relation', 'label', 'known', 'known_low', 'known_high']
    >>> row = Known("P36", "capital", Share(0.5, 0.25, 0.75))
    >>> row.to_dict()
    {'relation': 'P36', 'label': 'capital', 'known': 0.5, 'known_low': 0.25, 'known_high': 0.75}
    >>> row.cells()
    {'relation': 'capital', 'known': Share(value=0.5, low=0.25, high=0.75)}
    """

    __slots__ = ()

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of all columns, in order."""
        names: list[str] = []
        for name, hint in _hints(cls).items():
            names += [name, f"{name}_low", f"{name}_high"] if _is_interval(hint) else [name]
        return names

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column; JSON-compatible."""
        flat = flat_fields(self)  # type: ignore[arg-type]
        return {name: flat.get(name) for name in self.columns()}

    def cells(self) -> dict[str, Any]:
        """Return the cells of a table by heading."""
        cells = {}
        for name, hint in _hints(type(self)).items():
            heading = _heading(hint)
            if heading is not None:
                value = getattr(self, name)
                cells[heading.text] = value if heading.cell is None else heading.cell(value)
        return cells


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


def row_dicts(rows: Sequence[ResultRow]) -> list[dict[str, Any]]:
    """Return rows for programs."""
    return [row.to_dict() for row in rows]


def row_table(key: str, title: str, rows: Sequence[ResultRow], notes: Sequence[str] = ()) -> Table:
    """Return rows as a table for people."""
    return Table(key, title, [row.cells() for row in rows], notes)


def flat_fields(record: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a dataclass; the ends of an interval follow its value."""
    return flat_row({field.name: getattr(record, field.name) for field in fields(record)})


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


def _hints(row: type) -> dict[str, Any]:
    if row not in _HINTS:
        _HINTS[row] = get_type_hints(row, include_extras=True)
    return _HINTS[row]


def _heading(hint: Any) -> Heading | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((extra for extra in get_args(hint)[1:] if isinstance(extra, Heading)), None)


def _is_interval(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return any(kind in _INTERVALS for kind in (hint, *get_args(hint)))
