"""Facts by name: a table with names of subject, relation and object, which become entities and relations.

Names are also ids: names that are equal, or print alike, are one entity. The separator is a comma, tab or semicolon
(Excel with decimal commas), detected from the header, or the one that Excel's first line ``sep=;`` names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.files import FileSource
from kgprobe.sources.lines import InputFile
from kgprobe.sources.rows import read_rows, separator_of
from kgprobe.sources.values import check_id, check_interval, fact_id, plain_name, tidy

from .wikidata_model import ITEM_ID, PROPERTY_ID

REQUIRED = ("subject", "relation", "object")
OPTIONAL = ("start", "end")

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table.

    Attributes:
        line: its line: 2 after a line ``sep=;``, else 1.
    """

    columns: Sequence[str]
    delimiter: str
    line: int

    def rows(self, file: InputFile) -> Iterator[tuple[int, list[str] | Rejected]]:
        """Yield the rows after the header with the number of their first line, without empty ones."""
        for number, cells in islice(read_rows(file, self.delimiter), self.line, None):
            if isinstance(cells, Rejected) or any(map(str.strip, cells)):
                yield number, cells


@dataclass(slots=True, kw_only=True)
class NamedTable(FileSource):
    """The table as a source; see :class:`kgprobe.sources.contract.Source`. Remembers the names.

    Errors in rows are reported once, with the facts.
    """

    header: Header
    _folded: set[str] = field(default_factory=set)

    @property
    def folded(self) -> int:
        """Number of different names that were changed, because they are ids."""
        return len(self._folded)

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
        for number, cells in self.header.rows(self.readings[stream]):
            yield number, cells if isinstance(cells, Rejected) else self._fact(cells)

    def _fact(self, cells: Sequence[str]) -> Fact | Rejected:
        try:
            row = cells_by_column([*map(tidy, cells)], self.header.columns)
            subject, relation, object_ = (self._name(row[name], name) for name in REQUIRED)
            if ITEM_ID.fullmatch(subject) and PROPERTY_ID.fullmatch(relation):
                # As names, they would take the place of the labels that these have.
                return Rejected(f"{subject} and {relation} are ids, not names; a table of ids is one for `facts`")
            start, end = row.get("start") or None, row.get("end") or None
            check_interval(start, end)
            return Fact(fact_id(subject, relation, object_, start), subject, relation, object_, start=start, end=end)
        except ValueError as error:
            return Rejected(str(error))

    def _name(self, text: str, column: str) -> str:
        name = check_id(plain_name(text), f"name of the {column}")
        if name != text:
            self._folded.add(text)
        return name


def read_header(file: InputFile, optional: Sequence[str], delimiters: Sequence[str] = tuple(_DELIMITERS)) -> Header:
    """Return the header: the columns' names in lower case, and the separator.

    Args:
        optional: columns that a table may have.
        delimiters: possible separators, unless the first line names it.

    Raises:
        KgprobeError: the header cannot be read, does not name the columns that a fact needs, or names one twice.
    """
    # A reading of its own: the stream's position is still at the beginning.
    again = InputFile(file.path, file.size)
    separator = separator_of(again)
    line = 1 if separator is None else 2
    header, fault = Header((), "", line), ""
    for delimiter in delimiters if separator is None else [separator]:
        _, cells = next(islice(read_rows(again, delimiter), line - 1, None), (line, list[str]()))
        if isinstance(cells, Rejected):
            fault = fault or cells.reason
            continue
        columns = [tidy(cell).lower() for cell in cells]
        if len(set(REQUIRED).intersection(columns)) > len(set(REQUIRED).intersection(header.columns)):
            header = Header(columns, delimiter, line)
    if fault and not header.columns:
        raise KgprobeError(f"{file.name}, line {line}: {fault}.")
    _check_columns(f"{file.name}, line {line}", header.columns, optional, [_DELIMITERS[each] for each in delimiters])
    return header


def _check_columns(place: str, columns: Sequence[str], optional: Sequence[str], separators: Sequence[str]) -> None:
    """Raise if one of the three columns that a fact needs is missing, or a name is repeated."""
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise KgprobeError(
            f"{place}: no header; the first line names the columns, separated by {' or '.join(separators)}:"
            f" {', '.join(REQUIRED)}, and where there are any {', '.join(optional)}. Missing: {', '.join(missing)}."
        )
    for name in (*REQUIRED, *optional):
        if columns.count(name) > 1:
            raise KgprobeError(f"{place}: two columns are called {name}.")


def cells_by_column(cells: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row by their columns.

    Raises:
        ValueError: there are more or fewer cells than columns.
    """
    if len(cells) != len(columns):
        plural = "" if len(cells) == 1 else "s"
        raise ValueError(f"{len(cells)} column{plural} where {len(columns)} are expected ({', '.join(columns)})")
    return dict(zip(columns, cells, strict=True))
