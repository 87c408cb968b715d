"""Rows of a conversion in DuckDB, and the import files that are written from them.

The rules of a load apply to the same batches: within a batch an id counts once. An id of an earlier batch (of a fact:
with the same subject) is a duplicate, unless it is on the same line; then the later record replaces the earlier one (in
a load, which keeps what a record has no value for, not the properties that only the earlier one has).

DuckDB takes at most 1 GB of memory, and writes the rest to a folder that is deleted at the end.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import disk_is_full
from kgprobe.base.records import Entity, Fact, Placed
from kgprobe.graph.bulk.bulk_files import ARRAY_DELIMITER, EXTRA_ENTITIES, LINES
from kgprobe.graph.client import Row
from kgprobe.graph.record_batches import EntityRows, Problem, absent, duplicate
from kgprobe.sources.contract import Source

# Names of files, and the number of their rows.
Written: TypeAlias = tuple[list[str], int]

_MEMORY = "1GB"
_FACTS_AT_ONCE = 4_000_000


@contextmanager
def staging_database(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in a folder, and delete its files at the end."""
    place = folder / "staging"
    place.mkdir()
    settings: dict[str, Any] = {"threads": 1, "memory_limit": _MEMORY, "temp_directory": str(place / "spilled")}
    try:
        with duckdb.connect(place / "rows.duckdb", config=settings) as database:
            # Without an end: nothing is logged, and nothing is kept.
            database.execute("BEGIN")
            yield database
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise KgprobeError(disk_is_full(folder) or f"{folder} cannot be written: {error}.") from error
    except RuntimeError as error:
        # DuckDB's error after Ctrl-C.
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(
    database: duckdb.DuckDBPyConnection,
    statement: str,
    waiting: pa.Table | None = None,  # noqa: ARG001
) -> duckdb.DuckDBPyConnection:
    """Run a statement; it reads the table ``waiting`` from the argument, as a registered one is kept until the end."""
    return database.execute(statement)


def literal(text: object) -> str:
    """Return a text as a literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def write_rows(
    database: duckdb.DuckDBPyConnection, folder: Path, name: str, query: str, waiting: pa.Table | None = None
) -> Written:
    """Write rows to two CSV files: those on a single line, which neo4j-admin reads in parallel, and the others, if any.

    Texts are in quotation marks and can contain any characters: quotation marks are doubled, backslashes have no
    meaning. An empty column is a missing value, ``""`` the empty text. Elements of arrays are separated by a control
    character. Arrays that are empty, contain only the empty text, or contain the delimiter cannot be written: their
    column is empty, and :func:`array_fits` returns False.
    """
    columns = run(database, f"DESCRIBE {query}", waiting).fetchall()
    texts = [f'"{column}"' for column, type_, *_ in columns if type_ == "VARCHAR"]
    breaks = " OR ".join(f"contains({text}, chr({code}))" for text in texts for code in (10, 13)) or "false"
    force = f", FORCE_QUOTE ({', '.join(texts)})" if texts else ""
    counts = {}
    for file, condition in ((f"{name}.csv", "IS NOT TRUE"), (f"{name}{LINES}", "IS TRUE")):
        copy = f"COPY (FROM ({query}) WHERE ({breaks}) {condition}) TO {literal(folder / file)}"
        ((counts[file],),) = run(database, f"{copy} (FORMAT csv, HEADER, NULLSTR ''{force})", waiting).fetchall()
    if not counts[file]:
        (folder / file).unlink()
        del counts[file]
    return list(counts), sum(counts.values())


def array_fits(texts: Sequence[str]) -> bool:
    """Return True if an array can be written as a column."""
    return bool(texts) and ARRAY_DELIMITER not in "".join(texts) and (len(texts) > 1 or texts[0] != "")


def _column(value: Any) -> str | None:
    """Return the column of a text, an array or a number; None for a missing value, and for what cannot be written."""
    if isinstance(value, list):
        return ARRAY_DELIMITER.join(value) if array_fits(value) else None
    # JSON's names of infinite numbers and NaN are those of Java.
    return json.dumps(float(value)) if isinstance(value, int | float) else value


# Empty lists of these are written by the end of the import.
_LISTS = ("aliases", "types")


def _extra_properties(values: Row) -> str | None:
    """Return the properties that cannot be columns, as JSON: integer popularities, and some arrays."""
    extra = {}
    for name, value in values.items():
        is_list = isinstance(value, list) and not array_fits(value) and bool(value or name not in _LISTS)
        if is_list or (name == "popularity" and isinstance(value, int)):
            extra[name] = value
    return msgspec.json.encode(extra).decode() if extra else None


# Types of properties in the header of the import.
_KINDS = {
    "label": "",
    "aliases": ":string[]",
    "description": "",
    "types": ":string[]",
    "popularity": ":double",
    "value": "",
    "datatype": "",
    "source": "",
    "load": "",
}
_FURTHER: dict[type, str] = {str: "", list: ":string[]"}

_TABLES = """
CREATE TABLE entities (
    place BIGINT, batch INTEGER, origin BIGINT, id VARCHAR, line BIGINT, file VARCHAR, unit VARCHAR, extra VARCHAR,
    literal BOOLEAN, {texts}
);
CREATE TABLE links (entity BIGINT, type VARCHAR);
CREATE TABLE facts (
    subject BIGINT, object BIGINT, id VARCHAR, relation VARCHAR, rank VARCHAR, start VARCHAR, "from" BIGINT,
    start_date VARCHAR, "end" VARCHAR, until BIGINT, ended BOOLEAN, end_date VARCHAR, line BIGINT, file VARCHAR,
    unit VARCHAR
)
"""
# The first record of an id that occurs again gives its number and its line.
_REPEATED = """
CREATE TEMP TABLE repeated AS
SELECT id, min(place) AS first, arg_min(line, place) AS line, arg_min(batch, place) AS batch,
    bool_or(literal) AS literal
FROM entities GROUP BY id HAVING count(*) > 1;
CREATE TEMP TABLE kept AS
SELECT max(entities.place) AS place, first, repeated.batch AS batch, repeated.literal AS literal
FROM entities JOIN repeated USING (id) WHERE entities.line = repeated.line GROUP BY ALL;
CREATE TEMP TABLE dropped AS
SELECT place FROM entities SEMI JOIN repeated USING (id) ANTI JOIN kept USING (place)
"""
_DUPLICATES = """
SELECT entities.id, entities.line, file, unit, repeated.line
FROM entities JOIN repeated USING (id) WHERE entities.line <> repeated.line ORDER BY place
"""
# As in a load, the repeated records at the end of a batch use no numbers.
_NUMBERS = """
CREATE TEMP TABLE batches AS
SELECT batch, unused, (sum(unused) OVER (ORDER BY batch) - unused)::BIGINT AS unused_before
FROM (
    SELECT entities.batch AS batch,
        max(place) - coalesce(max(place) FILTER (first IS NULL OR place = first), min(place) - 1) AS unused
    FROM entities LEFT JOIN repeated USING (id) GROUP BY entities.batch
)
"""
# Types without a record become entities after the last record, in the order of their first occurrence.
_TYPES = """
UPDATE entities SET origin = first, batch = kept.batch, literal = kept.literal
FROM kept WHERE kept.place = entities.place;
DELETE FROM entities WHERE place IN (FROM dropped);
CREATE TEMP TABLE named AS SELECT type AS id, min(rowid) AS first FROM links GROUP BY type;
INSERT INTO entities (place, id)
SELECT {read} + row_number() OVER (ORDER BY first) - 1, id FROM named ANTI JOIN entities USING (id) ORDER BY first;
CREATE TEMP TABLE types AS SELECT id, place FROM named JOIN entities USING (id);
DELETE FROM links WHERE entity IN (FROM dropped)
"""
# Facts with a subject and id that occur again: the first one with an object in the source counts, with the later ones
# on its line. Later ones on other lines are duplicates, also those with an object outside.
_REPEATED_FACTS = """
CREATE TEMP TABLE hashes AS SELECT hash(subject, id) AS hash FROM facts GROUP BY 1 HAVING count(*) > 1;
CREATE TEMP TABLE repeated_facts AS
SELECT *, place > first AND line <> first_line AS duplicate,
    max(place) FILTER (inside AND line = first_line) OVER (PARTITION BY subject, id) AS kept
FROM (
    SELECT rowid AS place, subject, object, id, line, file, unit, object IS NOT NULL AS inside,
        min(rowid) FILTER (object IS NOT NULL) OVER same AS first,
        arg_min(line, rowid) FILTER (object IS NOT NULL) OVER same AS first_line
    FROM facts WHERE subject IS NOT NULL AND hash(subject, id) IN (FROM hashes)
    WINDOW same AS (PARTITION BY subject, id)
)
"""
_DUPLICATE_FACTS = "SELECT id, line, file, unit, first_line FROM repeated_facts WHERE duplicate ORDER BY place"
_DROP_DUPLICATES = "DELETE FROM facts WHERE rowid IN (SELECT place FROM repeated_facts WHERE duplicate)"
# Relations with a record, then the others in the order of their first fact, also of one with missing ends.
_RELATIONS = """
CREATE TEMP TABLE relations AS
SELECT row_number() OVER (ORDER BY min(place)) - 1 AS number, id, coalesce(any_value(label), id) AS label
FROM (FROM waiting UNION ALL SELECT min(rowid), relation, NULL FROM facts GROUP BY relation) GROUP BY id
"""
_ENDS = """
SELECT count(subject) FILTER (object IS NOT NULL), count(*) - count(subject), count(subject) FILTER (object IS NULL)
FROM facts
"""
_DROP_FACTS = """
DELETE FROM facts
WHERE subject IS NULL OR object IS NULL OR rowid IN (SELECT place FROM repeated_facts WHERE place <> kept)
"""
# As in a load, the ends of a replaced fact keep a degree of 0.
_DERIVED = """
CREATE TEMP TABLE degrees AS
SELECT node, sum(fact)::BIGINT AS degree
FROM (
    SELECT subject AS node, 1 AS fact FROM facts
    UNION ALL SELECT object, 1 FROM facts WHERE object <> subject
    UNION ALL SELECT unnest([subject, object]), 0 FROM repeated_facts
    WHERE place <> kept AND line = first_line AND inside
) GROUP BY node;
CREATE TEMP TABLE sizes AS
SELECT place, count(entity) AS size FROM types LEFT JOIN links ON type = types.id GROUP BY place;
CREATE TEMP TABLE objects (object BIGINT, number BIGINT)
"""
# In parts, as DuckDB would need more than its memory for all of 3*10^7 facts.
_OBJECTS = """
INSERT INTO objects
SELECT DISTINCT object, number FROM facts JOIN relations ON relations.id = relation WHERE object % {parts} = {part}
"""
_ENTITY_ROWS = """
SELECT entities.place AS ":ID(Entity)", id, {texts}, line AS "line:long", origin - unused_before AS "number:long",
    degree AS "degree:long", size AS "size:long",
    concat_ws(chr(31), 'Entity', if(literal, 'Literal', NULL), if(size IS NULL, NULL, 'Type')) AS ":LABEL"
FROM entities LEFT JOIN batches USING (batch) LEFT JOIN degrees ON node = entities.place LEFT JOIN sizes USING (place)
ORDER BY entities.place
"""
_RELATION_ROWS = """
SELECT relations.number AS ":ID(Relation)", id, count(object) AS "size:long", true AS "active:boolean",
    'Relation' AS ":LABEL"
FROM relations LEFT JOIN objects USING (number) GROUP BY ALL ORDER BY ALL
"""
_FACT_ROWS = """
SELECT subject AS ":START_ID(Entity)", object AS ":END_ID(Entity)", facts.id AS id, relation, label AS relation_label,
    rank, start, "from" AS "from:long", start_date AS "start_date:date", "end", until AS "until:long",
    ended AS "ended:boolean", end_date AS "end_date:date", line AS "line:long", {source} AS source, {load} AS load
FROM facts JOIN relations ON relations.id = relation
"""
_INSTANCE_ROWS = """
SELECT entity AS ":START_ID(Entity)", place AS ":END_ID(Entity)"
FROM links JOIN types ON types.id = type ORDER BY links.rowid
"""
_OBJECT_ROWS = 'SELECT object AS ":START_ID(Entity)", number AS ":END_ID(Relation)" FROM objects ORDER BY ALL'


class Staging:
    """Entities and facts of a source in a database: first all entities, then all facts.

    Attributes:
        read: number of records of entities.
        next_number: first number for entities that are loaded later; None without records.
        written, missing, outside: numbers of facts, after the last one: those that are written, those with a missing
            end, and those with an object outside of a filtered source.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection, source: Source) -> None:
        self._database = database
        self._source = source
        self._kinds = dict(_KINDS)
        self._batches = 0
        self.read = self.written = self.missing = self.outside = 0
        self.next_number: int | None = None
        self._run(_TABLES.format(texts=", ".join(f"{name} VARCHAR" for name in _KINDS)))

    def _run(self, statement: str, waiting: pa.Table | None = None) -> list[tuple[Any, ...]]:
        return run(self._database, statement, waiting).fetchall()

    def add_entities(self, batch: EntityRows) -> None:
        """Add a batch of entities."""
        places = {row["id"]: place for place, row in enumerate(batch.rows, start=self.read)}
        if not places:
            return
        properties = [row["properties"] | row["empty"] for row in batch.rows]
        for values in properties:
            for name in sorted(values.keys() - self._kinds.keys() - {"line"}):
                self._kinds[name] = _FURTHER[type(values[name])]
                self._run(f'ALTER TABLE entities ADD COLUMN "{name}" VARCHAR')
        placed = list(batch.places.values())
        columns: dict[str, Any] = {
            "place": pa.array(places.values(), pa.int64()),
            "id": list(places),
            "line": [place.line for place in placed],
            "file": pa.array([place.file for place in placed], pa.string()),
            "unit": [place.unit for place in placed],
            "extra": pa.array(map(_extra_properties, properties), pa.string()),
        }
        for name in self._kinds:
            columns[name] = pa.array([_column(values.get(name)) for values in properties], pa.string())
        columns |= {"origin": columns["place"], "literal": pc.is_valid(columns["datatype"])}
        columns["batch"] = pa.repeat(self._batches, len(places))
        self._run("INSERT INTO entities BY NAME FROM waiting", pa.table(columns))
        links = [(places[id_], type_) for id_, types in batch.types.items() for type_ in types]
        if links:
            entities, types = zip(*links, strict=True)
            self._run("INSERT INTO links FROM waiting", pa.table({"entity": entities, "type": types}))
        self._batches += 1
        self.read += len(places)

    def resolve_entities(self) -> list[Problem]:
        """Drop duplicates and add types without a record, after the last batch; return the duplicates."""
        self._run(_REPEATED)
        problems = []
        for id_, line, file, unit, before in self._run(_DUPLICATES):
            problems.append(duplicate(id_, Placed(line, Entity(id_), file, unit), before))
        self._run(_NUMBERS)
        ((unused,),) = self._run("SELECT coalesce(sum(unused), 0)::BIGINT FROM batches")
        self.next_number = self.read - unused or None
        self._run(_TYPES.format(read=self.read))
        return problems

    def add_facts(self, rows: pa.Table) -> list[Problem]:
        """Add facts; return the problems of those with a missing end. Cost: a scan of the ids of all entities."""
        ends = pa.chunked_array([*rows["subject"].chunks, *rows["object"].chunks]).combine_chunks().dictionary_encode()
        ids = pa.table({"id": ends.dictionary, "index": np.arange(len(ends.dictionary))})
        query = "SELECT place FROM waiting LEFT JOIN entities USING (id) ORDER BY index"
        places = pa.array(run(self._database, query, ids).fetchnumpy()["place"])
        subject, object_ = (places.take(part) for part in (ends.indices[: len(rows)], ends.indices[len(rows) :]))
        lost = subject.is_null() if self._source.partial else pc.or_(subject.is_null(), object_.is_null())
        problems = []
        for known, row in zip(subject.filter(lost).is_valid(), rows.filter(lost).to_pylist(), strict=True):
            fact = Fact(row["id"], row["subject"], row["relation"], row["object"])
            place = Placed(row["line"], fact, row["file"], row["unit"])
            problems.append(absent(place, "object" if known.as_py() else "subject"))
        columns = {name: rows[name] for name in rows.column_names} | {"subject": subject, "object": object_}
        self._run("INSERT INTO facts BY NAME FROM waiting", pa.table(columns))
        return problems

    def resolve_facts(self, labels: Mapping[str, str]) -> list[Problem]:
        """Drop duplicates and facts with a missing end, after the last batch; return the duplicates.

        Args:
            labels: labels of the relations with a record, by id.
        """
        self._run(_REPEATED_FACTS)
        problems = []
        for id_, line, file, unit, before in self._run(_DUPLICATE_FACTS):
            problems.append(duplicate(id_, Placed(line, Fact(id_, "", "", ""), file, unit), before))
        self._run(_DROP_DUPLICATES)
        texts = {"id": pa.array(labels, pa.string()), "label": pa.array(labels.values(), pa.string())}
        self._run(_RELATIONS, pa.table({"place": np.arange(-len(labels), 0), **texts}))
        ((self.written, self.missing, without_object),) = self._run(_ENDS)
        if self._source.partial:
            self.outside = without_object
        else:
            self.missing += without_object
        self._run(_DROP_FACTS)
        return problems

    def write(self, folder: Path) -> dict[str, Written]:
        """Write nodes and relationships, by label and type, and the properties that these files cannot contain."""
        self._run(_DERIVED)
        parts = self.written // _FACTS_AT_ONCE + 1
        for part in range(parts):
            self._run(_OBJECTS.format(parts=parts, part=part))
        extra = "SELECT id, extra::JSON AS properties FROM entities WHERE extra IS NOT NULL ORDER BY place"
        self._run(f"COPY ({extra}) TO {literal(folder / EXTRA_ENTITIES)} (FORMAT json)")
        source, load = literal(self._source.name), literal(self._source.fingerprint)
        texts = ", ".join(f'"{name}" AS "{name}{kind}"' for name, kind in self._kinds.items())
        files = {
            "FACT": ("facts", _FACT_ROWS.format(source=source, load=load)),
            "OBJECT_OF": ("objects", _OBJECT_ROWS),
            "INSTANCE_OF": ("instances", _INSTANCE_ROWS),
            "Entity": ("entities", _ENTITY_ROWS.format(texts=texts)),
            "Relation": ("relations", _RELATION_ROWS),
        }
        return {kind: write_rows(self._database, folder, name, query) for kind, (name, query) in files.items()}
