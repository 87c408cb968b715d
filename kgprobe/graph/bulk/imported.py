"""Read the import files of a graph again, as the finished graph has their entities and facts."""

import heapq
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.csv

from kgprobe.graph.bulk.bulk_files import ARRAY_DELIMITER, EXTRA_ENTITIES, read_bulk_files
from kgprobe.graph.client import Row

# The largest row of a file must fit.
_BLOCK_BYTES = 16 * 2**20

_ENTITY_COLUMNS = {
    ":ID(Entity)": pa.int64(),
    "id": pa.string(),
    "label": pa.string(),
    "aliases:string[]": pa.string(),
    "types:string[]": pa.string(),
    "popularity:double": pa.string(),
    "datatype": pa.string(),
    "number:long": pa.int64(),
    "degree:long": pa.int32(),
}
_FACT_COLUMNS = {
    ":START_ID(Entity)": pa.int64(),
    ":END_ID(Entity)": pa.int64(),
    "id": pa.large_string(),
    "relation": pa.large_string(),
    "from:long": pa.int64(),
    "until:long": pa.int64(),
    "ended:boolean": pa.bool_(),
}


def _rows(path: Path, columns: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with nodes or relationships; an empty column is null."""
    reader = pyarrow.csv.open_csv(
        path,
        pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=columns,
            include_columns=list(columns),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return (batch.rename_columns([re.split("[:(]", name.lstrip(":"))[0] for name in columns]) for batch in reader)


def imported_entities(folder: Path) -> Iterator[Row]:
    """Yield the entities of a folder in the order of their ids, as in the finished graph.

    A row has the columns of ``_ENTITY_COLUMNS``; ``ID`` is the id in the files of relationships.
    """

    def rows(path: Path) -> Iterator[Row]:
        for batch in _rows(path, _ENTITY_COLUMNS):
            yield from batch.to_pylist()

    files = [folder / name for name in read_bulk_files(folder).node_files if name.startswith("entities")]
    with (folder / EXTRA_ENTITIES).open("rb") as file:
        lines = map(msgspec.json.decode, file)
        extra = next(lines, None)
        for row in heapq.merge(*map(rows, files), key=itemgetter("ID")):
            for name in ("aliases", "types"):
                row[name] = row[name].split(ARRAY_DELIMITER) if row[name] is not None else []
            row["popularity"] = None if row["popularity"] is None else float(row["popularity"])
            if extra is not None and extra["id"] == row["id"]:
                row.update(extra["properties"])
                extra = next(lines, None)
            yield row


def imported_facts(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yield the facts of a folder; ``START_ID`` and ``END_ID`` are ids of :func:`imported_entities`."""
    for name in read_bulk_files(folder).relationship_files["FACT"]:
        yield from _rows(folder / name, _FACT_COLUMNS)
