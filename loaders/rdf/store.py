"""Statements on disk, joined and sorted by DuckDB within a bounded memory.

Tables, each in the order of reading:

- ``facts``: a subject, a relation and an object. ``stated``: those of an intermediate node.
- ``quoted``: statements that are only quoted (RDF 1.2); ``node`` is the quotation.
- ``blank``: statements with a blank node (``_:…``) at an end.
- ``times``: bounds of the validity of nodes.
- ``notes``: texts and types of entities, relations and literals, by kind: ``l`` a label, ``a`` an alias, ``d`` a
  description, ``t`` a type, ``v`` a literal with its datatype.
- ``redirects``: ids that another replaces; without a target, the id is no entity. ``same``: pairs of equal entities.
- ``views``: popularity. ``problems``: rejected statements.

A place is the number of a file and a line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kgprobe.base.errors import KgprobeError
from kgprobe.sources.values import tidy

from ..literals import NotLoaded
from ..wikidata_time import interval
from .vocabulary import BLANK_NODE

QUOTED = NotLoaded("quoted statement")
DISAMBIGUATION = NotLoaded("disambiguation page")

Row: TypeAlias = tuple[Any, ...]

# Rows of a table that wait to be written, as columns: some tens of megabytes. Inserts of more than 122,880 rows (a row
# group) do not go through DuckDB's log.
_WAITING = 250_000
_MEMORY = "1GB"
_BATCH = 8192
_LINE_BITS = 40

_TEXT, _NUMBER, _FLOAT = pa.string(), pa.int64(), pa.float64()
_FACT = {"s": _TEXT, "p": _TEXT, "place": _NUMBER, "o": _TEXT}
_TABLES = {
    "facts": _FACT,
    "stated": {**_FACT, "node": _TEXT},
    "quoted": {**_FACT, "node": _TEXT},
    "blank": _FACT,
    "times": {"node": _TEXT, "kind": _TEXT, "bound": _TEXT, "place": _NUMBER},
    "notes": {"id": _TEXT, "kind": _TEXT, "rank": _NUMBER, "place": _NUMBER, "text": _TEXT},
    "redirects": {"id": _TEXT, "target": _TEXT, "place": _NUMBER},
    "same": {"id": _TEXT, "target": _TEXT, "place": _NUMBER},
    "views": {"id": _TEXT, "place": _NUMBER, "count": _FLOAT},
    "intervals": {"node": _TEXT, "start": _TEXT, "stop": _TEXT},
    "problems": {"place": _NUMBER, "broken_off": pa.bool_(), "reason": _TEXT},
}
_SQL = {_TEXT: "VARCHAR", _NUMBER: "BIGINT", _FLOAT: "DOUBLE", pa.bool_(): "BOOLEAN"}

# Statements of a blank node become facts: s p [q o] is s p/q o, or s p o where q says nothing else.
PATH = " / "
_COLLAPSE = """
INSERT INTO stated
SELECT link.s, CASE WHEN part.p IN (link.p, 'rdf:value') THEN link.p ELSE link.p || ' / ' || part.p END,
    part.place, part.o, part.s
FROM blank link JOIN blank part ON link.o = part.s
WHERE NOT starts_with(link.s, '_:') AND NOT starts_with(part.o, '_:')
"""
_NOT_COLLAPSED = """
SELECT count(*) FROM blank
WHERE (starts_with(s, '_:') OR o NOT IN (SELECT node FROM stated))
    AND (starts_with(o, '_:') OR s NOT IN (SELECT node FROM stated))
"""
# Quotations of one statement with one bound each are one: YAGO has a line for the start and one for the end.
_QUOTE = """
DELETE FROM facts WHERE p IN ('schema:startDate', 'schema:endDate') AND s IN (SELECT node FROM quoted);
CREATE TEMP TABLE single AS
SELECT node, concat_ws(' ', s, p, o) AS statement FROM quoted
WHERE node IN (SELECT node FROM times GROUP BY node HAVING count(*) = 1);
UPDATE times SET node = statement FROM single WHERE single.node = times.node;
UPDATE quoted SET node = statement FROM single WHERE single.node = quoted.node;
INSERT INTO stated SELECT * FROM quoted SEMI JOIN facts USING (s, p, o)
"""
_NOT_QUOTED = "SELECT count(*) FROM quoted ANTI JOIN facts USING (s, p, o)"
_IDLE_TIMES = """
SELECT count(*) FROM times ANTI JOIN stated USING (node) ANTI JOIN quoted USING (node) WHERE starts_with(node, '_:')
"""
_NUMBERED = """
CREATE TEMP TABLE numbered AS
SELECT id, row_number() OVER (ORDER BY min(position), id) - 1 AS number
FROM (SELECT id, 2 * place AS position FROM same UNION ALL SELECT target, 2 * place + 1 FROM same) GROUP BY id
"""
_EDGES = """
SELECT a.number AS a, b.number AS b
FROM same JOIN numbered a ON a.id = same.id JOIN numbered b ON b.id = same.target
"""
_MERGE = """
INSERT INTO pages SELECT a.id, b.id, 0
FROM groups JOIN numbered a USING (number) JOIN numbered b ON b.number = groups.first WHERE a.id <> b.id
"""
_PAGES = """
CREATE TABLE pages AS SELECT id, arg_min(target, place) AS target, min(place) AS place FROM redirects GROUP BY id
"""
_OTHER_TARGETS = """
SELECT redirects.place, id, redirects.target, pages.target
FROM redirects JOIN pages USING (id) WHERE redirects.target <> pages.target ORDER BY redirects.place
"""
_UNRESOLVED = "SELECT count(*) FROM pages SEMI JOIN pages next ON next.id = pages.target"
_FOLLOW = """
CREATE OR REPLACE TABLE pages AS
SELECT pages.id, coalesce(next.target, pages.target) AS target, pages.place
FROM pages LEFT JOIN pages next ON next.id = pages.target
"""
_CIRCLES = """
SELECT redirects.place, id, redirects.target
FROM redirects JOIN pages USING (id, place) SEMI JOIN pages next ON next.id = pages.target ORDER BY redirects.place
"""
_RESOLVE = """
CREATE TABLE resolved AS
WITH together AS (
    SELECT s, p, place, o, '' AS node, NULL AS start, NULL AS stop FROM facts
    UNION ALL SELECT s, p, place, o, node, start, stop FROM stated LEFT JOIN intervals USING (node)
)
SELECT coalesce(subject.target, s) AS s, p, together.place, coalesce(object.target, o) AS o, node, start, stop
FROM together LEFT JOIN pages subject ON subject.id = s LEFT JOIN pages object ON object.id = o;
DROP TABLE facts
"""
_DISCARD = """
CREATE TEMP TABLE dated AS SELECT DISTINCT s, p, o FROM resolved WHERE start IS NOT NULL OR stop IS NOT NULL;
DELETE FROM resolved WHERE start IS NULL AND stop IS NULL AND (s, p, o) IN (FROM dated)
"""
_FACTS = "SELECT s, p, o, place, node, start, stop FROM resolved ORDER BY s, place"
_NOTES = """
WITH ends AS (
    SELECT s AS id, place FROM resolved
    UNION ALL SELECT o, place FROM resolved
    UNION ALL SELECT coalesce(target, text), notes.place FROM notes LEFT JOIN pages ON pages.id = text WHERE kind = 't'
)
SELECT id, 'm' AS kind, 0 AS rank, min(place) AS place, '' AS text FROM ends GROUP BY id
UNION ALL
SELECT coalesce(page.target, notes.id), kind, rank, notes.place, coalesce(type.target, text)
FROM notes LEFT JOIN pages page ON page.id = notes.id
    LEFT JOIN pages type ON type.id = text AND kind = 't'
WHERE page.id IS NULL OR $merge
UNION ALL
SELECT coalesce(target, id), 'p', 0, views.place, CAST(count AS VARCHAR)
FROM views LEFT JOIN pages USING (id) WHERE target IS DISTINCT FROM ''
ORDER BY id, rank, place
"""
# About the rows of both streams.
_SIZE = "SELECT 2 * (SELECT count(*) FROM resolved) + (SELECT count(*) FROM notes)"
_RELATIONS = "SELECT p, min(place) FROM resolved GROUP BY p ORDER BY 2, 1"
_TEXTS = """
SELECT id, kind, text FROM notes
WHERE kind IN ('l', 'a', 'd') AND id IN (SELECT unnest($ids)) ORDER BY rank, place
"""


class Store:
    """A database in a folder: first rows are added to ``rows``; after :meth:`finish`, the streams are read.

    Attributes:
        rows: values of the rows that are not written yet, by table; a flat list, which is fast to append to.
        database: the open database.
        not_loaded: numbers of statements that are not loaded, by kind.
        merge: True if equal entities are one; else the notes of replaced ids are dropped.
    """

    def __init__(self, folder: Path, *, merge: bool) -> None:
        self.rows: dict[str, list[Any]] = {table: [] for table in _TABLES}
        self._waiting: dict[str, list[pa.RecordBatch]] = {table: [] for table in _TABLES}
        self.not_loaded: Counter[str] = Counter()
        self.merge = merge
        self._folder = folder
        self._given, self._size = 0, 1
        with self._writing():
            self.database = duckdb.connect(
                folder / "statements.duckdb",
                config={"threads": 1, "memory_limit": _MEMORY, "temp_directory": str(folder / "spilled")},
            )
            for table, columns in _TABLES.items():
                types = ", ".join(f'"{name}" {_SQL[type_]}' for name, type_ in columns.items())
                self.database.execute(f"CREATE TABLE {table} ({types})")

    def write(self, least: int = _WAITING) -> None:
        """Turn many rows into columns, and write the tables of which so many rows wait."""
        for table, types in _TABLES.items():
            values, batches = self.rows[table], self._waiting[table]
            if len(values) >= min(least, _BATCH) * len(types):
                columns = {}
                for number, (name, type_) in enumerate(types.items()):
                    columns[name] = pa.array(values[number :: len(types)], type_)
                batches.append(pa.record_batch(columns))
                values.clear()
            if batches and sum(map(len, batches)) >= least:
                self._insert(table, batches)
                batches.clear()

    def report(self, place: int, reason: str, broken_off: bool = False) -> None:
        """Add a rejected statement."""
        self.rows["problems"].extend((place, broken_off, tidy(reason)))

    def finish(self) -> None:
        """Join nodes with their facts, resolve the facts' ends, and drop those that end in no entity."""
        self.write(least=1)
        with self._writing():
            self._run(_COLLAPSE)
            self._count(BLANK_NODE, _NOT_COLLAPSED)
            self._run(_QUOTE)
            self._count(QUOTED, _NOT_QUOTED)
            self._count(BLANK_NODE, _IDLE_TIMES)
            self._follow_redirects()
            self._merge_same()
            self._join_intervals()
            self._run(_RESOLVE)
            self._count(DISAMBIGUATION, "SELECT count(*) FROM resolved WHERE s = '' OR o = ''")
            self._run("DELETE FROM resolved WHERE s = '' OR o = ''")
            self._run(_DISCARD)
            self._size = max(1, self._one(_SIZE))
        self.write(least=1)

    def problems(self) -> Iterator[tuple[int, bool, str]]:
        """Yield place, whether the file is broken off, and reason of the rejected statements."""
        return self._stream("FROM problems ORDER BY place")

    def facts(self) -> Iterator[Row]:
        """Yield subject, relation, object, place, node, start and end, subject by subject, in the order of reading."""
        return self._stream(_FACTS, counted=True)

    def notes(self) -> Iterator[tuple[str, str, int, int, str]]:
        """Yield id, kind, rank, place and text by id, best first; kind ``m`` is an end of facts, ``p`` popularity."""
        self._given = 0
        return self._stream(_NOTES, {"merge": self.merge}, counted=True)

    def relations(self) -> dict[str, int]:
        """Return the first places of the relations with facts."""
        return dict(self._stream(_RELATIONS))

    def texts(self, ids: Iterable[str]) -> dict[str, dict[str, list[str]]]:
        """Return labels (``l``), aliases (``a``) and descriptions (``d``) of ids, best first."""
        texts: dict[str, dict[str, list[str]]] = {}
        for id_, kind, text in self._stream(_TEXTS, {"ids": list(ids)}):
            texts.setdefault(id_, {}).setdefault(kind, []).append(text)
        return texts

    def is_empty(self) -> bool:
        """Return True if nothing has been read that is loaded."""
        self.write(least=1)
        return not any(self._one(f"SELECT count(*) FROM {table}") for table in ("facts", "notes", "redirects"))  # noqa: S608

    @property
    def given(self) -> float:
        """Share of the two streams that has been read."""
        return min(1.0, self._given / self._size)

    def _follow_redirects(self) -> None:
        """Follow redirects of redirects to their ends, by doubling the steps; ids in circles stay themselves."""
        self._run(_PAGES)
        for place, id_, target, other in self._stream(_OTHER_TARGETS):
            message = f"{id_} {_said(target)}, but was said before to be one that {_said(other)}"
            self.report(place, message)
        before, unresolved = -1, self._one(_UNRESOLVED)
        # Each step resolves at least one, if it does not lead in a circle.
        while unresolved not in (0, before):
            self._run(_FOLLOW)
            before, unresolved = unresolved, self._one(_UNRESOLVED)
        for place, id_, target in self._stream(_CIRCLES):
            self.report(place, f"{id_} redirects to {target}, and that leads in a circle; it stands for itself")
        self._run("DELETE FROM pages WHERE target IN (SELECT id FROM pages)")

    def _merge_same(self) -> None:
        """Merge each group of equal entities into the one that is named first."""
        self._run(_NUMBERED)
        edges = self.database.execute(_EDGES).fetchnumpy()
        if not len(edges["a"]):
            return
        count = self._one("SELECT count(*) FROM numbered")
        graph = coo_array((np.ones(len(edges["a"])), (edges["a"], edges["b"])), shape=(count, count))
        _, groups = connected_components(graph, directed=False)
        _, first = np.unique(groups, return_index=True)
        self.database.register("groups", pa.table({"number": np.arange(count), "first": first[groups]}))
        self._run(_MERGE)

    def _join_intervals(self) -> None:
        """Write the intervals of the nodes that have one."""
        for node, times in groupby(self._stream("SELECT node, kind, bound FROM times ORDER BY ALL"), itemgetter(0)):
            bounds: dict[str, list[tuple[str, str]]] = {"start": [], "end": [], "point": []}
            for _, kind, bound in times:
                bounds[kind].append((bound, bound))
            self.rows["intervals"].extend((node, *interval(bounds["start"], bounds["end"], bounds["point"])))
            self.write()
        self.write(least=1)

    def _run(self, statement: str) -> None:
        self.database.execute(statement)

    def _one(self, query: str) -> int:
        # To the end: an open result blocks the connection.
        return int(self.database.execute(query).fetchall()[0][0])

    def _count(self, kind: NotLoaded, query: str) -> None:
        if number := self._one(query):
            self.not_loaded[kind.kind] += number

    def _stream(self, query: str, parameters: dict[str, Any] | None = None, *, counted: bool = False) -> Iterator[Row]:
        cursor = self.database.cursor()
        cursor.execute(query, parameters)
        while rows := cursor.fetchmany(_BATCH):
            yield from rows
            self._given += len(rows) * counted

    def _insert(self, table: str, batches: list[pa.RecordBatch]) -> None:
        with self._writing():
            self.database.register("waiting", pa.Table.from_batches(batches))
            self.database.execute(f"INSERT INTO {table} FROM waiting")
            self.database.unregister("waiting")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn errors of scratch files into messages."""
        try:
            yield
        except (duckdb.IOException, duckdb.OutOfMemoryException, OSError) as error:
            raise KgprobeError(
                f"{self._folder} cannot be written: {error}. While a load reads, it keeps about as much as the unpacked"
                " input there; KGPROBE_HOME names another place."
            ) from error


def _said(target: str) -> str:
    return f"redirects to {target}" if target else "tells pages apart"


def place_of(number: int, line: int) -> int:
    """Return the place of a line in a file."""
    return number << _LINE_BITS | line


def file_and_line(place: int) -> tuple[int, int]:
    """Return number of a file and line of a place."""
    return divmod(place, 1 << _LINE_BITS)
