"""Rows of a conversion in DuckDB, and the import files that are written from them.

The rules of a load apply to the same batches: within a batch an id counts once. An id of an earlier batch (of a fact:
with the same subject) is a duplicate, unless it is on the same line; then the later record replaces the earlier one (in
a load, which keeps what a record has no value for, not the properties that only the earlier one has).

DuckDB takes at most 1 GB of memory, and writes the rest to a folder that is deleted at the end.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import disk_is_full
from kgprobe.base.records import Entity, Fact, Placed
from kgprobe.graph.bulk.bulk_files import ARRAY_DELIMITER, EXTRA_ENTITIES
from kgprobe.graph.bulk.reading import DATED
from kgprobe.graph.client import Row
from kgprobe.graph.record_batches import EntityRows, Problem, absent, duplicate
from kgprobe.sources.contract import Source

Numbers: TypeAlias = NDArray[np.int64]
# Names of files, and the number of their rows.
Written: TypeAlias = tuple[list[str], int]

_MEMORY = "1GB"
_ROWS_AT_ONCE = 50_000


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
    finally:
        shutil.rmtree(place, ignore_errors=True)


class RowFiles:
    """Two CSV files with the same header: rows on a single line, which neo4j-admin reads in parallel, and the others.

    Texts are in quotation marks and can contain any characters: quotation marks are doubled, backslashes have no
    meaning. An empty column is a missing value, ``""`` the empty text. Elements of arrays are separated by a control
    character. Arrays that are empty, contain only the empty text, or contain the delimiter cannot be written: their
    column is empty, and :func:`array_fits` returns False.
    """

    def __init__(self, folder: Path, name: str, header: str) -> None:
        self._paths = [folder / f"{name}.csv", folder / f"{name}-lines.csv"]
        self._header = header.encode() + b"\n"
        self._files = [path.open("wb") for path in self._paths]
        self._rows = 0
        for file in self._files:
            file.write(self._header)

    def add(self, columns: Mapping[str, Any]) -> None:
        """Write rows, from arrays by name."""
        rows = pa.table(dict(columns))
        broken = _rows_with_line_breaks(rows)
        parts = [rows] if broken is None else [rows.filter(pc.invert(broken)), rows.filter(broken)]
        for part, file in zip(parts, self._files, strict=False):
            pyarrow.csv.write_csv(part, file, pyarrow.csv.WriteOptions(include_header=False))
        self._rows += len(rows)

    def close(self) -> "Written":
        """Close the files; return the names of the first and of the second if it has rows, and the number of rows."""
        for file in self._files:
            file.close()
        if self._paths[1].stat().st_size > len(self._header):
            return [path.name for path in self._paths], self._rows
        self._paths[1].unlink()
        return [self._paths[0].name], self._rows


def _rows_with_line_breaks(rows: pa.Table) -> Any:
    """Return True for each row with a line break in a text; None if there are none."""
    broken = None
    for column in rows.columns:
        buffers = [chunk.buffers()[-1] for chunk in column.chunks] if pa.types.is_string(column.type) else []
        texts = [buffer.to_pybytes() for buffer in buffers if buffer is not None]
        if any(b"\n" in text or b"\r" in text for text in texts):
            mask = pc.fill_null(pc.match_substring_regex(column, "[\r\n]"), False)
            broken = mask if broken is None else pc.or_(broken, mask)
    return broken


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


class _Staged:
    """Tables of one stage."""

    def __init__(self, database: duckdb.DuckDBPyConnection, source: Source) -> None:
        self._database = database
        self._source = source

    def _run(self, statement: str, waiting: pa.Table | None = None) -> duckdb.DuckDBPyConnection:  # noqa: ARG002
        """Run a statement; it reads the table from the argument, as a registered one is kept until the end."""
        return self._database.execute(statement)

    def _stream(self, query: str) -> Iterator[pa.RecordBatch]:
        return iter(self._database.sql(query).to_arrow_reader(_ROWS_AT_ONCE))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._database.execute(query).fetchall()


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
_TYPE, _LITERAL = 1, 2
# Labels by flags.
_LABELS = ("Entity", "Entity\x1fType", "Entity\x1fLiteral", "Entity\x1fLiteral\x1fType")

# The first record of an id that occurs again gives its number and its line.
_REPEATED = """
CREATE TEMP TABLE repeated AS
SELECT id, min(place) AS first, arg_min(line, place) AS line, bool_or(literal) AS literal
FROM entities GROUP BY id HAVING count(*) > 1;
CREATE TEMP TABLE kept AS
SELECT max(entities.place) AS place, first, repeated.literal AS literal
FROM entities JOIN repeated USING (id) WHERE entities.line = repeated.line GROUP BY ALL;
CREATE TEMP TABLE dropped AS
SELECT place FROM entities SEMI JOIN repeated USING (id) ANTI JOIN kept USING (place)
"""
_DUPLICATES = """
SELECT entities.id, entities.line, file, unit, repeated.line
FROM entities JOIN repeated USING (id) WHERE entities.line <> repeated.line ORDER BY place
"""
_DROP = """
UPDATE entities SET origin = first, literal = kept.literal FROM kept WHERE kept.place = entities.place;
DELETE FROM entities WHERE place IN (FROM dropped)
"""
# Types without a record become entities after the last record, in the order of their first occurrence.
_TYPES = """
CREATE TEMP TABLE named AS SELECT type AS id, min(rowid) AS first FROM links GROUP BY type;
INSERT INTO entities (place, id)
SELECT {read} + row_number() OVER (ORDER BY first) - 1, id FROM named ANTI JOIN entities USING (id) ORDER BY first;
CREATE TEMP TABLE types AS SELECT id, place FROM named JOIN entities USING (id)
"""
_INSTANCES = """
SELECT entity, types.place AS type FROM links JOIN types ON types.id = links.type
WHERE entity NOT IN (FROM dropped) ORDER BY links.rowid
"""


class EntityTable(_Staged):
    """Entities of a source, then the types without a record.

    Attributes:
        read: number of records.
        next_number: first number for entities that are loaded later; None without records.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection, source: Source) -> None:
        super().__init__(database, source)
        self._kinds = dict(_KINDS)
        self._begins = [0]
        # Numbers left unused at the end of the batches before each batch.
        self._unused = np.zeros(1, np.int64)
        self.next_number: int | None = None
        columns = ", ".join(f"{name} VARCHAR" for name in ("file", "unit", "extra", *_KINDS))
        self._run(
            f"CREATE TABLE entities (place BIGINT, origin BIGINT, id VARCHAR, line BIGINT, literal BOOLEAN, {columns});"
            "CREATE TABLE links (entity BIGINT, type VARCHAR)"
        )

    @property
    def read(self) -> int:
        """Number of records."""
        return self._begins[-1]

    def add(self, batch: EntityRows) -> None:
        """Add a batch."""
        first, literals = self.read, set(batch.literals)
        places = {row["id"]: place for place, row in enumerate(batch.rows, start=first)}
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
            "origin": pa.array(places.values(), pa.int64()),
            "id": list(places),
            "line": [place.line for place in placed],
            "literal": [id_ in literals for id_ in places],
            "file": [place.file for place in placed],
            "unit": [place.unit for place in placed],
            "extra": pa.array(map(_extra_properties, properties), pa.string()),
        }
        for name in self._kinds:
            columns[name] = pa.array([_column(values.get(name)) for values in properties], pa.string())
        self._run("INSERT INTO entities BY NAME FROM waiting", pa.table(columns))
        links = [(places[id_], type_) for id_, types in batch.types.items() for type_ in types]
        if links:
            entities, types = zip(*links, strict=True)
            self._run("INSERT INTO links FROM waiting", pa.table({"entity": entities, "type": types}))
        self._begins.append(first + len(places))

    def resolve(self) -> list[Problem]:
        """Drop duplicates and add types without a record, after the last batch; return the duplicates."""
        self._run(_REPEATED)
        problems = []
        for id_, line, file, unit, before in self._rows(_DUPLICATES):
            problems.append(duplicate(id_, Placed(line, Entity(id_), file, unit), before))
        self._number()
        self._run(_DROP)
        self._run(_TYPES.format(read=self.read))
        return problems

    def _number(self) -> None:
        """Find the numbers that a load would not use: those of the repeated records at the end of a batch."""
        new = np.ones(self.read, bool)
        new[self._database.execute("FROM dropped UNION SELECT place FROM kept").fetchnumpy()["place"]] = False
        new[self._database.execute("SELECT first FROM repeated").fetchnumpy()["first"]] = True
        unused = [0]
        for begin, end in pairwise(self._begins):
            used = np.flatnonzero(new[begin:end])
            unused.append(unused[-1] + end - begin - (int(used[-1]) + 1 if len(used) else 0))
        self._unused = np.array(unused)
        self.next_number = self.read - unused[-1] or None

    def places_of(self, ids: pa.StringArray) -> Numbers:
        """Return the places of distinct ids, -1 for a missing one. Cost: a scan of all ids."""
        numbered = pa.table({"id": ids, "index": np.arange(len(ids))})
        matches = self._run("SELECT index, place FROM waiting JOIN entities USING (id)", numbered).fetchnumpy()
        places = np.full(len(ids), -1)
        places[matches["index"]] = matches["place"]
        return places

    def write_instances(self, folder: Path) -> Written:
        """Write the links of entities to types."""
        out = RowFiles(folder, "instances", ":START_ID(Entity),:END_ID(Entity)")
        for rows in self._stream(_INSTANCES):
            out.add({"entity": rows["entity"], "type": rows["type"]})
        return out.close()

    def write(self, folder: Path) -> Written:
        """Write all nodes, and the properties that these files cannot contain."""
        ((count,),) = self._rows("SELECT coalesce(max(place) + 1, 0) FROM entities")
        degrees, sizes = np.full((2, count), -1)
        for rows in self._stream(_DEGREES):
            degrees[rows["node"]] = rows["degree"]
        for rows in self._stream(_SIZES):
            sizes[rows["place"]] = rows["size"]
        texts = ",".join(f"{name}{kind}" for name, kind in self._kinds.items())
        out = RowFiles(folder, "entities", f":ID(Entity),id,{texts},line:long,number:long,degree:long,size:long,:LABEL")
        with (folder / EXTRA_ENTITIES).open("wb") as extra:
            for rows in self._stream("FROM entities"):
                places = rows["place"].to_numpy()
                origins = pc.fill_null(rows["origin"], 0).to_numpy()
                numbers = origins - self._unused[np.searchsorted(self._begins, origins, "right") - 1]
                literal = pc.fill_null(rows["literal"], False).to_numpy(zero_copy_only=False)
                degree, size = degrees[places], sizes[places]
                texts_of = {name: rows[name] for name in self._kinds}
                own = {
                    "line": rows["line"],
                    "number": pa.array(numbers, mask=places >= self.read),
                    "degree": pa.array(degree, mask=degree < 0),
                    "size": pa.array(size, mask=size < 0),
                    "labels": pa.array(_LABELS).take(pa.array(_LITERAL * literal | _TYPE * (size >= 0))),
                }
                out.add({"place": rows["place"], "id": rows["id"]} | texts_of | own)
                for row in rows.select(["id", "extra"]).filter(pc.is_valid(rows["extra"])).to_pylist():
                    line = {"id": row["id"], "properties": msgspec.Raw(row["extra"].encode())}
                    extra.write(msgspec.json.encode(line) + b"\n")
        return out.close()


# As in a load, the ends of a replaced fact keep a degree of 0.
_DEGREES = """
SELECT node, sum(fact)::BIGINT AS degree
FROM (
    SELECT subject AS node, 1 AS fact FROM facts
    UNION ALL SELECT object, 1 FROM facts WHERE object <> subject
    UNION ALL SELECT unnest([subject, object]), 0 FROM repeated_facts
    WHERE place <> kept AND line = first_line AND inside
) GROUP BY node
"""
_SIZES = """
SELECT types.place AS place, count(entity) AS size
FROM types LEFT JOIN (FROM links WHERE entity NOT IN (FROM dropped)) AS link ON link.type = types.id GROUP BY 1
"""
_FACTS_HEADER = (
    ":START_ID(Entity),:END_ID(Entity),id,relation,relation_label,rank,start,from:long,start_date:date,end,until:long,"
    "ended:boolean,end_date:date,line:long,source,load"
)
# Facts with a subject and id that occur again: the first one with an object in the source counts, with the later ones
# on its line. Later ones on other lines are duplicates, also those with an object outside.
_REPEATED_FACTS = """
CREATE TEMP TABLE hashes AS SELECT hash(subject, id) AS hash FROM facts GROUP BY 1 HAVING count(*) > 1;
CREATE TEMP TABLE repeated_facts AS
SELECT *, min(place) FILTER (inside) OVER same AS first,
    max(place) FILTER (inside AND line = first_line) OVER same AS kept
FROM (
    SELECT rowid AS place, subject, object, id, relation, line, file, unit, object IS NOT NULL AS inside,
        arg_min(line, rowid) FILTER (object IS NOT NULL) OVER (PARTITION BY subject, id) AS first_line
    FROM facts WHERE hash(subject, id) IN (FROM hashes)
)
WINDOW same AS (PARTITION BY subject, id)
"""
_DUPLICATE_FACTS = """
SELECT id, relation, line, file, unit, inside, first_line
FROM repeated_facts WHERE place > first AND line <> first_line ORDER BY place
"""
_DROP_FACTS = """
DELETE FROM facts WHERE object IS NULL OR rowid IN (SELECT place FROM repeated_facts WHERE place <> kept)
"""


class FactTable(_Staged):
    """Facts of a source.

    Attributes:
        labels: labels of the relations with a record, by id.
        relations: number of facts of each relation, also with missing ends, plus one for a relation with a record; in
            the order of their numbers.
        written: number of written facts, without duplicates.
    """

    def __init__(
        self, database: duckdb.DuckDBPyConnection, source: Source, entities: EntityTable, labels: Mapping[str, str]
    ) -> None:
        super().__init__(database, source)
        self._entities = entities
        self._numbers = {id_: number for number, id_ in enumerate(labels)}
        self.labels = labels
        self.relations = Counter(dict.fromkeys(labels, 1))
        self.written = 0
        self._run(
            "CREATE TABLE facts (subject BIGINT, object BIGINT, relation INTEGER, id VARCHAR, rank VARCHAR,"
            ' start VARCHAR, "from" BIGINT, start_date VARCHAR, "end" VARCHAR, until BIGINT, ended BOOLEAN,'
            " end_date VARCHAR, line BIGINT, file VARCHAR, unit VARCHAR)"
        )

    def add(self, rows: pa.Table) -> tuple[list[tuple[int, Problem]], int]:
        """Add facts; return the problems by row, and the number of facts outside of a filtered source."""
        relations = rows["relation"].combine_chunks().dictionary_encode()
        ids = relations.dictionary.to_pylist()
        for id_, count in zip(ids, np.bincount(relations.indices, minlength=len(ids)).tolist(), strict=True):
            self.relations[id_] += count
            self._numbers.setdefault(id_, len(self._numbers))
        numbers = np.array([self._numbers[id_] for id_ in ids])
        ends = pa.chunked_array([*rows["subject"].chunks, *rows["object"].chunks]).combine_chunks().dictionary_encode()
        subjects, objects = np.split(self._entities.places_of(ends.dictionary)[ends.indices.to_numpy()], 2)
        known, inside = subjects >= 0, objects >= 0
        lost = ~known if self._source.partial else ~(known & inside)
        problems = []
        for index, row in zip(np.flatnonzero(lost).tolist(), rows.filter(pa.array(lost)).to_pylist(), strict=True):
            fact = Fact(row["id"], row["subject"], row["relation"], row["object"])
            end = "object" if known[index] else "subject"
            problems.append((index, absent(Placed(row["line"], fact, row["file"], row["unit"]), end)))
        columns = {name: rows[name] for name in rows.column_names} | {
            "subject": subjects,
            "object": pa.array(objects, mask=~inside),
            "relation": numbers[relations.indices],
        }
        self._run("INSERT INTO facts BY NAME FROM waiting WHERE subject >= 0", pa.table(columns))
        self.written += int(np.count_nonzero(known & inside))
        return problems, int(np.count_nonzero(known & ~inside)) * self._source.partial

    def resolve(self) -> tuple[list[Problem], int]:
        """Drop duplicates and facts outside, after the last batch; return the duplicates, and how many are outside."""
        self._run(_REPEATED_FACTS)
        problems, outside, ids = [], 0, list(self._numbers)
        for id_, relation, line, file, unit, inside, before in self._rows(_DUPLICATE_FACTS):
            fact = Fact(id_, "", ids[relation], "")
            problems.append(duplicate(id_, Placed(line, fact, file, unit), before))
            self.relations[fact.relation] -= 1
            self.written -= inside
            outside += not inside
        self._run(_DROP_FACTS)
        return problems, outside

    def write(self, folder: Path) -> Written:
        """Write the facts."""
        out = RowFiles(folder, "facts", _FACTS_HEADER)
        ids = pa.array(self._numbers, pa.string())
        labels = pa.array([self.labels.get(id_, id_) for id_ in self._numbers], pa.string())
        for rows in self._stream("FROM facts"):
            relations = rows["relation"]
            columns = {name: rows[name] for name in ("subject", "object", "id")}
            columns |= {"relation": ids.take(relations), "relation_label": labels.take(relations)}
            columns |= {name: rows[name] for name in ("rank", *DATED, "line")}
            columns["source"] = pa.repeat(self._source.name, len(rows))
            columns["load"] = pa.repeat(self._source.fingerprint, len(rows))
            out.add(columns)
        return out.close()

    def write_relations(self, folder: Path) -> tuple[Written, Written]:
        """Write the relations and the links of objects to them."""
        links = RowFiles(folder, "objects", ":START_ID(Entity),:END_ID(Relation)")
        sizes = np.zeros(len(self._numbers), np.int64)
        for rows in self._stream("SELECT DISTINCT object, relation FROM facts ORDER BY ALL"):
            links.add({"object": rows["object"], "relation": rows["relation"]})
            sizes += np.bincount(rows["relation"], minlength=len(sizes))
        used = [(number, id_) for id_, number in self._numbers.items() if self.relations[id_]]
        nodes = RowFiles(folder, "relations", ":ID(Relation),id,size:long,active:boolean,:LABEL")
        nodes.add(
            {
                "number": pa.array([number for number, _ in used], pa.int64()),
                "id": pa.array([id_ for _, id_ in used], pa.string()),
                "size": pa.array([sizes[number] for number, _ in used], pa.int64()),
                "active": pa.array([True] * len(used), pa.bool_()),
                "label": pa.array(["Relation"] * len(used), pa.string()),
            }
        )
        return nodes.close(), links.close()
