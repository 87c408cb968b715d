"""Facts by name: a table with names of subject, relation and object, which become entities and relations.

Names are also ids: equal names are one entity. The separator is a comma, tab or semicolon (Excel with decimal commas),
detected from the header.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgprobe.errors import KgprobeError
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.lines import InputFile
from kgprobe.sources.values import check_id, check_interval, fact_id, tidy

from .wikidata_model import ITEM_ID, PROPERTY_ID

REQUIRED = ("subject", "relation", "object")
OPTIONAL = ("start", "end")

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon"}


@dataclass(slots=True)
class NamedTable:
    """The table as a source; see :class:`kgprobe.sources.contract.Source`. Remembers the names.

    Errors in rows are reported once, with the facts.
    """

    name: str
    fingerprint: str
    total: int
    readings: dict[str, InputFile]
    columns: Sequence[str]
    delimiter: str
    partial: bool = False

    @property
    def done(self) -> int:
        """Bytes of ``total`` read so far, on disk."""
        return sum(reading.position for reading in self.readings.values())

    def relations(self) -> Iterator[Placed]:
        """Yield a relation for each name, without sentences."""
        known: set[str] = set()
        for line, fact in self._rows("relations"):
            if isinstance(fact, Fact) and fact.relation not in known:
                known.add(fact.relation)
                yield Placed(line, Relation(fact.relation, label=fact.relation), self.name)

    def entities(self) -> Iterator[Placed]:
        """Yield an entity for each name."""
        known: set[str] = set()
        for line, fact in self._rows("entities"):
            if isinstance(fact, Rejected):
                continue
            for name in (fact.subject, fact.object):
                if name not in known:
                    known.add(name)
                    yield Placed(line, Entity(name, label=name), self.name)

    def facts(self) -> Iterator[Placed]:
        """Yield one fact per row."""
        for line, fact in self._rows("facts"):
            yield Placed(line, fact, self.name)

    def _rows(self, stream: str) -> Iterator[tuple[int, Fact | Rejected]]:
        for number, line in self.readings[stream].lines():
            if isinstance(line, Rejected):
                yield number, line
            elif number > 1 and line.strip(b" \t,;"):
                yield number, _fact(line, self.columns, self.delimiter)


def read_header(file: InputFile) -> tuple[list[str], str]:
    """Return the columns' names in lower case, and the separator.

    Raises:
        KgprobeError: the first line does not name the three columns that a fact needs, or names one twice.
    """
    text = first_line(file)
    columns, best = [""], ","
    for delimiter in _DELIMITERS:
        cells = [cell.strip().strip('"').strip().lower() for cell in text.split(delimiter)]
        if len(set(REQUIRED).intersection(cells)) > len(set(REQUIRED).intersection(columns)):
            columns, best = cells, delimiter
    check_columns(file, columns, OPTIONAL, "commas, tabs or semicolons")
    return columns, best


def first_line(file: InputFile) -> str:
    """Return the first line of a file.

    Raises:
        KgprobeError: the line cannot be read.
    """
    # A reading of its own: the stream's position is still at the beginning.
    _, line = next(InputFile(file.path, file.size).lines(), (1, b""))
    if isinstance(line, Rejected):
        raise KgprobeError(f"{file.name}, line 1: {line.reason}.")
    return line.decode("utf-8", errors="replace")


def check_columns(file: InputFile, columns: Sequence[str], optional: Sequence[str], separators: str) -> None:
    """Validate the names of the columns.

    Raises:
        KgprobeError: one of the three columns that a fact needs is missing, or a name is repeated.
    """
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise KgprobeError(
            f"{file.name}, line 1: no header; the first line names the columns, separated by {separators}:"
            f" {', '.join(REQUIRED)}, and where there are any {', '.join(optional)}. Missing: {', '.join(missing)}."
        )
    for name in (*REQUIRED, *optional):
        if columns.count(name) > 1:
            raise KgprobeError(f"{file.name}, line 1: two columns are called {name}.")


def cells_by_column(cells: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row by their columns.

    Raises:
        ValueError: there are more or fewer cells than columns.
    """
    if len(cells) != len(columns):
        plural = "" if len(cells) == 1 else "s"
        raise ValueError(f"{len(cells)} column{plural} where {len(columns)} are expected ({', '.join(columns)})")
    return dict(zip(columns, cells, strict=True))


def _fact(line: bytes, columns: Sequence[str], delimiter: str) -> Fact | Rejected:
    try:
        (cells,) = csv.reader([line.decode("utf-8")], delimiter=delimiter, strict=True)
        row = cells_by_column([*map(tidy, cells)], columns)
        subject, relation, object_ = (check_id(row[name], f"name of the {name}") for name in REQUIRED)
        if ITEM_ID.fullmatch(subject) and PROPERTY_ID.fullmatch(relation):
            # As names, they would take the place of the labels that these have.
            return Rejected(f"{subject} and {relation} are ids, not names; a table of ids is one for `facts`")
        start, end = row.get("start") or None, row.get("end") or None
        check_interval(start, end)
        return Fact(fact_id(subject, relation, object_, start), subject, relation, object_, start=start, end=end)
    except UnicodeDecodeError as error:
        return Rejected(f"not UTF-8: {error.reason} at byte {error.start + 1}")
    except csv.Error as error:
        return Rejected(f"no row of a table parted by {_DELIMITERS[delimiter]}s: {error}")
    except ValueError as error:
        return Rejected(str(error))
