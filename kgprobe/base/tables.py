"""Rows of results, and tables of them without layout, for the terminal, pages, JSON and pandas.

A row is a frozen dataclass that annotates each field once: its name is the key of JSON and the column of a data frame,
its :class:`Heading` is what people read. Rows, columns, frames and tables follow from these.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from kgprobe.base.intervals import Mean, Percent, Points, Share

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

_INTERVALS = (Share, Mean, Points)
# Annotation of fields that are not among the values for programs.
INTERNAL = "internal"


class Names(Protocol):
    """Texts by name, which replace names in braces in headings."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a text."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the same columns, a title and notes.

    Attributes:
        key: name in JSON, in snake_case.
        title: heading for people.
        rows: cells by column: texts, numbers, None, or numbers with an interval. The first row has all columns.
        notes: sentences below the table.
        groups_by: column whose repeated cells are left blank for people; None for none.
        detail: True if commands print it only with ``--full``.
        shaded: True if pages shade all fractions by value; shares with an interval always are.
    """

    key: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    groups_by: str | None = None
    detail: bool = False
    shaded: bool = False

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.rows[0]) if self.rows else []

    def to_dict(self) -> dict[str, Any]:
        """Return title, rows and notes; the ends of an interval follow its value (``win rate_low``)."""
        return {"title": self.title, "rows": list(map(flat_row, self.rows)), "notes": list(self.notes)}

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame, with columns for the ends of intervals."""
        return data_frame(list(map(flat_row, self.rows)))


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return rows in pandas; whole numbers with gaps stay whole numbers (``Int64``).

    >>> data_frame([{"n": 20, "beams": None}, {"n": None, "beams": None}])["n"].tolist()
    [20, <NA>]

    Args:
        columns: names of the columns, also without rows; None takes those of the rows.
    """
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(rows, columns=None if columns is None else list(columns))
    for name in frame.columns[frame.isna().any()]:
        values = [row.get(name) for row in rows]
        if {type(value) for value in values} == {int, type(None)}:
            frame[name] = pd.array(values, dtype="Int64")
    return frame


def flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with an interval as three cells: value, low end, high end."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Percent):
            flat[name] = value.value
        elif isinstance(value, _INTERVALS):
            flat |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a field in tables, and the cell that is made of its value.

    Attributes:
        text: the heading; a name in braces is replaced when the table is made.
        cell: maps the value to the cell; None shows the value itself.
        none: the cell in place of None, which is not mapped.
    """

    text: str
    cell: Callable[[Any], Any] | None = None
    none: str | None = None


class ResultRow:
    """Base of a row: a frozen dataclass whose fields are columns.

    A field with a :class:`Heading` appears in tables. An interval (``Share``, ``Mean``, ``Points``, or None in its
    place) becomes three columns for programs: ``name``, ``name_low`` and ``name_high``. A field may hold further rows.

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
        return field_columns(cls)

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column; JSON-compatible."""
        return flat_fields(self)

    def cells(self, names: Names | None = None) -> dict[str, Any]:
        """Return the cells of a table by heading; ``names`` replace those in braces in headings."""
        return headed_cells(self, names)


def row_dicts(rows: Iterable[ResultRow]) -> list[dict[str, Any]]:
    """Return rows for programs."""
    return [row.to_dict() for row in rows]


def headed_cells(record: object, names: Names | None = None) -> dict[str, Any]:
    """Return the cells of a dataclass by heading; ``names`` replace those in braces in headings."""
    cells = {}
    for name, hint in field_hints(type(record)).items():
        for heading in getattr(hint, "__metadata__", ()):
            if not isinstance(heading, Heading):
                continue
            value = getattr(record, name)
            if value is None:
                value = heading.none
            elif heading.cell is not None:
                value = heading.cell(value)
            cells[heading.text if names is None else heading.text.format_map(names)] = value
    return cells


def field_columns(kind: type) -> list[str]:
    """Return the names of a dataclass's values for programs, in order; an interval has three."""
    names: list[str] = []
    for name, hint in field_hints(kind).items():
        if INTERNAL not in getattr(hint, "__metadata__", ()):
            names += [name, f"{name}_low", f"{name}_high"] if _is_interval(hint) else [name]
    return names


def flat_fields(record: object) -> dict[str, Any]:
    """Return the values of a dataclass for programs, JSON-compatible; the ends of an interval follow its value."""
    values: dict[str, Any] = {}
    for name, hint in field_hints(type(record)).items():
        if INTERNAL not in getattr(hint, "__metadata__", ()):
            value = getattr(record, name)
            ends = {f"{name}_low": None, f"{name}_high": None} if value is None and _is_interval(hint) else {}
            values |= flat_row({name: json_value(value)}) | ends
    return values


def read_fields(kind: type[T], content: Mapping[str, Any]) -> T:
    """Return a dataclass from its values for programs, see :func:`flat_fields`, as they are in JSON.

    Raises:
        TypeError: a field is missing.
        msgspec.ValidationError: a value has another type.
    """
    values = {}
    for name, hint in field_hints(kind).items():
        if name in content:
            ends = (content.get(f"{name}_low"), content.get(f"{name}_high"))
            values[name] = _read_value(hint, content[name], ends)
    return kind(**values)


def _read_value(hint: Any, value: Any, ends: tuple[Any, Any] = (None, None)) -> Any:
    """Return a value of JSON as a field with this annotation has it; ``ends`` are those of an interval."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        if value is None:
            return None
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if hint is float and value is None:
        return math.nan
    if hint in _INTERVALS:
        return hint(value, *ends)
    if isinstance(hint, type) and is_dataclass(hint):
        return read_fields(hint, value)
    if get_origin(hint) is Mapping and _is_interval(get_args(hint)[1]):
        return _read_intervals(get_args(hint)[1], value)
    if hasattr(get_origin(hint), "tolist"):
        import numpy as np

        return np.array(value, dtype=np.float64)
    if get_origin(hint) in (list, Sequence):
        return [_read_value(get_args(hint)[0], each) for each in msgspec.convert(value, list[Any])]
    return msgspec.convert(value, hint)


def _read_intervals(hint: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return intervals by name, and numbers that have none."""
    ends = {f"{name}_{end}" for name in values for end in ("low", "high")}
    read = {name: value for name, value in values.items() if name not in ends}
    for name in read:
        if f"{name}_low" in values:
            read[name] = _read_value(hint, read[name], (values[f"{name}_low"], values[f"{name}_high"]))
    return read


def more_note(total: int, shown: Sequence[object]) -> list[str]:
    """Return a note on rows that are not shown; empty if all are."""
    return [f"{len(shown)} of {total:,}."] if total > len(shown) else []


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses, rows and results as dictionaries, NaN as None."""
    match value:
        case Enum():
            return value.value
        case PurePath():
            return str(value)
        case datetime():
            return value.isoformat(timespec="seconds")
        case Mapping():
            return flat_row({key: json_value(inner) for key, inner in value.items()})
        case list() | tuple():
            return list(map(json_value, value))
        case float():
            return None if math.isnan(value) else value
        case Share() | Mean() | Points() | Percent():
            return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return flat_fields(value)
    return json_value(value.tolist()) if hasattr(value, "tolist") else value


def _read_hints(kind: Any) -> dict[str, Any]:
    """Return the annotations of a dataclass's fields, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return {own.name: hints[own.name] for own in fields(kind)}


# Reading annotations takes longer than making a row.
field_hints: Callable[[type], dict[str, Any]] = cache(_read_hints)


def _is_interval(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return not set(_INTERVALS).isdisjoint(kinds)
