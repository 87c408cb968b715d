"""Rows of results, and tables of them without layout, for the terminal, pages, JSON and pandas.

A row is a frozen dataclass that annotates each field once: its name is the key of JSON and the column of a data frame,
its :class:`Heading` is what people read. Rows, columns, frames and tables follow from these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from kgprobe.stats.proportions import Mean, Percent, Points, Share

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

_INTERVALS = (Share, Mean, Points)
# Annotations of each class of rows: reading them takes longer than making a row.
_HINTS: dict[type, dict[str, Any]] = {}


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


def row_dicts(rows: Sequence[ResultRow]) -> list[dict[str, Any]]:
    """Return rows for programs."""
    return [row.to_dict() for row in rows]


def row_table(key: str, title: str, rows: Sequence[ResultRow], notes: Sequence[str] = ()) -> Table:
    """Return rows as a table for people."""
    return Table(key, title, [row.cells() for row in rows], notes)


def flat_fields(record: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a dataclass; the ends of an interval follow its value."""
    return flat_row({field.name: getattr(record, field.name) for field in fields(record)})


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
