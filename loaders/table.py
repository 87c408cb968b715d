"""``kgprobe load table``: our own plain format, for graphs that come from anywhere.

A table of names of subjects, relations and objects is the short way. Names are also ids: those that are equal, or print
alike, are one entity. The separator is a comma, tab or semicolon (Excel with decimal commas), detected from the header,
or the one that Excel's first line ``sep=;`` names. Else entities and relations are JSON objects, one a line; facts
are tab-separated rows under a header. Each of the three is optional, and may be plain, .gz, .bz2 or .zst. ``--help``
lists the columns and keys.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.options import option
from kgprobe.base.progress import print_message
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import FileSource, InputFile, decoded_lines, fingerprint, open_input
from kgprobe.sources.rows import read_rows, separator_of
from kgprobe.sources.values import check_id, check_interval, fact_id, plain_name, tidy, tidy_all
from kgprobe.verbalize.templates.file import read_relations

from .wikidata_model import ITEM_ID, PROPERTY_ID

REQUIRED = ("subject", "relation", "object")
NAMED_OPTIONAL = ("start", "end")

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
    """Return the header: the columns' names in lower case, and the separator."""
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


OPTIONAL = ("start", "end", "id", "rank")
RANKS = ("preferred", "normal", "deprecated")


class _EntityLine(Struct):
    id: str
    label: str | None = None
    aliases: list[str] | None = None
    description: str | None = None
    types: list[str] | None = None
    popularity: Annotated[float, Meta(ge=0)] | None = None
    value: str | None = None
    datatype: str | None = None


_decode_entity = msgspec.json.Decoder(_EntityLine).decode


@dataclass(slots=True, kw_only=True)
class TableSource(FileSource):
    """Up to three files as a source; see :class:`kgprobe.sources.contract.Source`."""

    header: Header | None

    def relations(self) -> Iterator[Placed]:
        """Yield the relations, with their sentences and questions."""
        if "relations" in self.readings:
            yield from read_relations(self.readings["relations"])

    def entities(self) -> Iterator[Placed]:
        """Yield the entities and literals."""
        if "entities" in self.readings:
            yield from decoded_lines(self.readings["entities"], _entity)

    def facts(self) -> Iterator[Placed]:
        """Yield the facts, without those of deprecated rank."""
        if self.header is None:
            return
        reading = self.readings["facts"]
        for number, cells in self.header.rows(reading):
            fact = cells if isinstance(cells, Rejected) else _fact(cells, self.header.columns)
            if fact is not None:
                yield Placed(number, fact, reading.name)


def _entity(line: bytes) -> Iterator[Entity]:
    read = _decode_entity(line)
    if (read.value is None) != (read.datatype is None):
        raise ValueError("a literal has a value and a datatype; one of them is missing")
    if read.popularity is not None and not math.isfinite(read.popularity):
        raise ValueError("the popularity is not a finite number")
    label = tidy(read.label or "")
    yield Entity(
        id=check_id(read.id),
        label=label,
        aliases=tidy_all(read.aliases or (), without=label),
        description=tidy(read.description or ""),
        types=tuple(dict.fromkeys(check_id(type_, "id of a type") for type_ in read.types or ())),
        popularity=read.popularity,
        value=read.value,
        datatype=read.datatype,
    )


def _report_unread(name: str, header: Header, read: Sequence[str], hint: str = "") -> None:
    """Print the columns of a file that are not loaded."""
    unread = [column for column in header.columns if column and column not in read]
    if unread:
        plural = "" if len(unread) == 1 else "s"
        place = f"{name}, line {header.line}"
        print_message(f"{place}: not loaded: column{plural} {', '.join(unread)}; read are {', '.join(read)}.{hint}")


def _fact(cells: Sequence[str], columns: Sequence[str]) -> Fact | Rejected | None:
    try:
        row = cells_by_column([*map(str.strip, cells)], columns)
        subject, relation, object_ = (check_id(row[name], f"id of the {name}") for name in REQUIRED)
        rank = row.get("rank") or "normal"
        if rank not in RANKS:
            raise ValueError(f"the rank {rank[:40]!r} is none of {', '.join(RANKS)}")
        start, end = row.get("start") or None, row.get("end") or None
        check_interval(start, end)
        identifier = check_id(row.get("id") or fact_id(subject, relation, object_, start))
    except ValueError as error:
        return Rejected(str(error))
    return Fact(identifier, subject, relation, object_, rank, start, end) if rank != "deprecated" else None


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of the loader; at least one file."""

    table: Path | None = option(
        None,
        "Facts by name, with a header: subject, relation, object, and where there are any start, end. Entities and"
        " relations are made of the names. Commas, tabs or semicolons part the cells.",
        positional=True,
    )
    entities: Path | None = option(
        None,
        "JSON lines: id, and where there are any label, aliases, description, types, popularity; for literals value and"
        " datatype.",
        metavar="FILE",
        common=True,
    )
    facts: Path | None = option(
        None,
        "Tab-separated, with a header: subject, relation, object, and where there are any start, end (2011, 2011-05,"
        " -0044; an unknown end: unknown), id, rank. Other columns are named, and not loaded.",
        metavar="FILE",
        common=True,
    )
    relations: Path | None = option(
        None,
        "JSON lines: id, and where there are any label, aliases, description, active, clozes, past_clozes,"
        " mined_clozes, statements, yes_no_questions, wh_questions (templates with [X] for the subject and [Y] for the"
        " object), reverse_clozes, reverse_past_clozes, reverse_wh_questions (which ask for [X]), sentences (whole"
        " templates, in an order that is kept), answers (ids to choose between); bear_templates and pararel_patterns"
        " are read as statements, and as clozes where [Y] comes last.",
        metavar="FILE",
        common=True,
    )


def _open(options: TableOptions) -> "TableSource | NamedTable":
    if options.table is not None:
        return _open_named(options, options.table)
    given = {"relations": options.relations, "entities": options.entities, "facts": options.facts}
    readings = {stream: open_input(path) for stream, path in given.items() if path is not None}
    if not readings:
        raise ArgumentError(
            "facts",
            "is not given, nor are `entities` and `relations`, nor a table of names: there is nothing to load.",
        )
    header = None
    if "facts" in readings:
        header = read_header(readings["facts"], OPTIONAL, "\t")
        _report_unread(readings["facts"].name, header, (*REQUIRED, *OPTIONAL))
    return TableSource(
        name=", ".join(reading.name for reading in readings.values()),
        fingerprint=fingerprint(list(readings.values()), {"streams": list(readings)}),
        readings=readings,
        header=header,
    )


def _open_named(options: TableOptions, path: Path) -> NamedTable:
    for other in ("entities", "facts", "relations"):
        if getattr(options, other) is not None:
            raise ArgumentError(
                other, "is for entities and relations with ids of their own; a table of names is loaded by itself."
            )
    # One object for each stream, as each has its own position.
    readings = {stream: open_input(path) for stream in ("relations", "entities", "facts")}
    header = read_header(readings["facts"], NAMED_OPTIONAL)
    hint = " Aliases, descriptions and types are keys of `entities`, together with `facts` with ids."
    _report_unread(path.name, header, (*REQUIRED, *NAMED_OPTIONAL), hint)
    return NamedTable(
        name=path.name,
        fingerprint=fingerprint([readings["facts"]], {"by": "name"}),
        readings=readings,
        header=header,
    )


loader = Loader(
    summary="""Load facts by name from a table, or entities, facts and relations with ids (plain, .gz, .bz2, .zst).

    \b
    kgprobe load table films.csv
    kgprobe load table --entities entities.jsonl.gz --facts facts.tsv.gz \\
        --relations relations.jsonl
    """,
    options=TableOptions,
    open=_open,
)
