"""Rows of results, and tables of them without layout, for the terminal, pages, JSON and pandas.

A row is a frozen dataclass that annotates each field once: its name is the key of JSON and the column of a data frame,
its :class:`Heading` is what people read. Rows, columns, frames and tables follow from these.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from kgprobe.base.intervals import Mean, Percent, Points, Share

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

_INTERVALS = (Share, Mean, Points)


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
        return {"title": self.title, "rows": list(map(flat_row, self.rows)), "notes": list(self.notes)}

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame, with columns for the ends of intervals."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(list(map(flat_row, self.rows)))
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
        names: list[str] = []
        row: Any = cls
        for name, hint in _hints(row).items():
            names += [name, f"{name}_low", f"{name}_high"] if _is_interval(hint) else [name]
        return names

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column; JSON-compatible."""
        flat = flat_fields(self)  # type: ignore[arg-type]
        return {name: flat.get(name) for name in self.columns()}

    def cells(self, **names: str) -> dict[str, Any]:
        """Return the cells of a table by heading; ``names`` replace those in braces in headings."""
        return headed_cells(self, **names)


def row_dicts(rows: Sequence[ResultRow]) -> list[dict[str, Any]]:
    """Return rows for programs."""
    return [row.to_dict() for row in rows]


def row_frame(rows: Sequence[ResultRow], kind: type[ResultRow]) -> "pd.DataFrame":
    """Return rows of a class in pandas; without rows, its columns."""
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(row_dicts(rows), columns=kind.columns())
    return frame


def row_table(
    key: str,
    title: str,
    rows: Sequence[ResultRow],
    notes: Sequence[str] = (),
    *,
    limit: int | None = None,
    **names: str,
) -> Table:
    """Return rows as a table for people.

    Args:
        limit: maximum number of shown rows; if there are more, a note gives the total.
        names: replace names in braces in headings.
    """
    shown = rows[:limit]
    return Table(key, title, [row.cells(**names) for row in shown], [*notes, *more_note(len(rows), shown)])


def headed_cells(record: object, **names: str) -> dict[str, Any]:
    """Return the cells of a dataclass by heading; ``names`` replace those in braces in headings."""
    cells = {}
    row: Any = type(record)
    for name, hint in _hints(row).items():
        for heading in getattr(hint, "__metadata__", ()):
            if not isinstance(heading, Heading):
                continue
            value = getattr(record, name)
            if value is None:
                value = heading.none
            elif heading.cell is not None:
                value = heading.cell(value)
            cells[heading.text.format(**names)] = value
    return cells


def flat_fields(record: "DataclassInstance", without: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass; the ends of an interval follow its value, and rows are dictionaries."""
    values = {}
    for own in fields(record):
        if own.name not in without:
            values[own.name] = _json_value(getattr(record, own.name))
    return flat_row(values)


def more_note(total: int, shown: Sequence[object]) -> list[str]:
    """Return a note on rows that are not shown; empty if all are."""
    return [f"{len(shown)} of {total:,}."] if total > len(shown) else []


def _json_value(value: Any) -> Any:
    """Return rows as dictionaries, also in lists and mappings; other values as they are."""
    if isinstance(value, ResultRow):
        return value.to_dict()
    if isinstance(value, Mapping):
        return flat_row(value)
    if isinstance(value, (list, tuple)):
        return list(map(_json_value, value))
    return value


# Reading annotations takes longer than making a row.
@cache
def _hints(row: type) -> dict[str, Any]:
    return get_type_hints(row, include_extras=True)


def _is_interval(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return not set(_INTERVALS).isdisjoint(kinds)
