"""A folder of import files: its manifest, its CSV files, the arguments of the import, and the steps that finish it.

Rows on a single line are in one CSV file, which neo4j-admin reads in parallel, those with line breaks in another. Texts
are in quotation marks, elements of arrays are separated by a control character. A text can contain any characters:
quotation marks are doubled, backslashes have no meaning. An empty column is a missing value, ``""`` the empty text.
Arrays that are empty, contain only the empty text, or contain the delimiter cannot be written: their column is empty,
and :func:`array_fits` returns False. A row has a place, a number with which it can be read or erased.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.graph.client import Graph, apply_schema
from kgprobe.graph.driver import batches
from kgprobe.graph.ingest import IMPORTED
from kgprobe.graph.record_batches import KINDS
from kgprobe.graph.rows import column_by

_INDEX_SECONDS = 3600
_NUMBERS_AT_ONCE = 50_000
_ROWS_AT_ONCE = 1_000

_MANIFEST = "bulk.json"
EXTRA_ENTITIES, EXTRA_RELATIONS = "entities.jsonl", "relations.jsonl"
ARRAY_DELIMITER = "\x1f"
# Form for the command line.
ARRAY_DELIMITER_NAME = "U+001F"

_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))(?:,|\Z)')


def quoted(text: str) -> str:
    """Return a text as a column."""
    return '"' + text.replace('"', '""') + '"'


def optional(text: str | None) -> str:
    """Return a text or a missing value as a column."""
    return "" if text is None else quoted(text)


def array_fits(texts: Sequence[str]) -> bool:
    """Return True if a non-empty array can be written as a column."""
    return ARRAY_DELIMITER not in "".join(texts) and (len(texts) > 1 or texts[0] != "")


def array(texts: Sequence[str]) -> str:
    """Return an array as a column, empty if it cannot be written."""
    return quoted(ARRAY_DELIMITER.join(texts)) if texts and array_fits(texts) else ""


def decimal(number: float | None) -> str:
    """Return a number as a column of Java's doubles."""
    # JSON's names of infinite numbers and NaN are those of Java.
    return "" if number is None else json.dumps(float(number))


def columns_of(row: str) -> list[str]:
    """Return the columns of a row without its line break; missing values become empty texts."""
    columns = []
    position = 0
    while True:
        match = _FIELD.match(row, position)
        if match is None:
            raise ValueError(f"not a row of kgprobe: {row[position : position + 80]!r}")
        quoted_text, plain = match.groups()
        columns.append(plain if quoted_text is None else quoted_text.replace('""', '"'))
        position = match.end()
        if not match[0].endswith(",") or position == len(row) + 1:
            return columns
        if position == len(row):
            return [*columns, ""]


def spill_file(folder: Path) -> IO[bytes]:
    """Return a temporary file in a folder, without a name; closing it deletes it."""
    return TemporaryFile(dir=folder)


# A place is an offset; this bit marks the second file.
_LINES_BIT = 1 << 62


class RowFiles:
    """Two files of rows with the same header."""

    def __init__(self, folder: Path, name: str, header: str) -> None:
        self._folder = folder
        self._header = header.encode() + b"\n"
        self._names = (f"{name}.csv", f"{name}-lines.csv")
        self._open = ExitStack()
        self._files = [self._open.enter_context((folder / each).open("wb+")) for each in self._names]
        for file in self._files:
            file.write(self._header)
        self._ends = [len(self._header)] * 2

    def add(self, rows: Sequence[bytes]) -> NDArray[np.uint64]:
        """Write rows in UTF-8 without final line breaks, and return their places."""
        content = b"\n".join(rows)
        if b"\r" not in content and content.count(b"\n") == max(len(rows) - 1, 0):
            self._files[0].write(content + b"\n" if rows else b"")
            lengths = np.fromiter(map(len, rows), np.uint64, len(rows)) + np.uint64(1)
            ends = np.cumsum(lengths, dtype=np.uint64) + np.uint64(self._ends[0])
            self._ends[0] += int(lengths.sum())
            begins: NDArray[np.uint64] = ends - lengths
            return begins
        places = []
        for row in rows:
            second = b"\n" in row or b"\r" in row
            self._files[second].write(row + b"\n")
            places.append(self._ends[second] | (_LINES_BIT if second else 0))
            self._ends[second] += len(row) + 1
        return np.array(places, np.uint64)

    def read(self, place: int) -> str:
        """Return the row at a place."""
        file = self._files[bool(place & _LINES_BIT)]
        file.seek(place & ~_LINES_BIT)
        row = file.readline()
        # A line break inside quotation marks belongs to the row.
        while row.count(b'"') % 2:
            row += file.readline()
        return row[:-1].decode()

    def erase(self, place: int) -> None:
        """Replace a row by blank lines, which the import skips."""
        length = len(self.read(place).encode())
        file = self._files[bool(place & _LINES_BIT)]
        file.seek(place & ~_LINES_BIT)
        file.write(b"\n" * length)

    def close(self) -> list[str]:
        """Close the files, and return the names of the first and of the second if it has rows."""
        self._open.close()
        if self._ends[1] > len(self._header):
            return list(self._names)
        (self._folder / self._names[1]).unlink()
        return [self._names[0]]

    def remove(self) -> None:
        """Close and delete the files."""
        for name in self.close():
            (self._folder / name).unlink()


class BulkCounts(msgspec.Struct, frozen=True):
    """Counts of written and rejected records, as in a load."""

    written: Mapping[str, int]
    problems: Mapping[str, int]
    broken: Sequence[str]
    outside: int
    not_loaded: Mapping[str, int] = msgspec.field(default_factory=dict)
    folded: int = 0


class BulkFiles(msgspec.Struct, frozen=True):
    """Manifest of a complete folder of files for ``neo4j-admin database import``.

    Attributes:
        node_files, relationship_files: files of nodes, and files of relationships by type.
        line_files: files whose rows may contain line breaks.
        next_number: first number for entities that are loaded later.
        counts: expected numbers of nodes by label and of relationships by type.
    """

    source: str
    fingerprint: str
    node_files: Sequence[str]
    relationship_files: Mapping[str, Sequence[str]]
    line_files: Sequence[str]
    next_number: int
    counts: Mapping[str, int]
    records: BulkCounts = msgspec.field(name="told")

    def arguments(self, database: str) -> list[str]:
        """Return the arguments of neo4j-admin, which must run in the folder."""
        # Since 2025 the import needs paths with a parent: "./entities.csv" instead of "entities.csv".
        multiline = [f"--multiline-fields={','.join(f'./{name}' for name in self.line_files)}"]
        relationships = []
        for type_, names in self.relationship_files.items():
            relationships += [f"--relationships={type_}=./{name}" for name in names]
        return [
            *("database", "import", "full", database, "--overwrite-destination", "--id-type=integer"),
            # Fail at a bad row instead of leaving it out.
            "--bad-tolerance=0",
            f"--array-delimiter={ARRAY_DELIMITER_NAME}",
            "--read-buffer-size=16m",
            *(["--multiline-fields-format=v2", *multiline] if self.line_files else []),
            *(f"--nodes=./{name}" for name in self.node_files),
            *relationships,
        ]

    def save(self, folder: Path) -> None:
        """Write the manifest, after all other files."""
        (folder / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))


def read_bulk_files(folder: Path) -> BulkFiles:
    """Return the manifest of a folder."""
    try:
        return msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=BulkFiles)
    except (OSError, msgspec.DecodeError) as error:
        raise KgprobeError(
            f"{folder} contains no complete import files of kgprobe. Write them with `kgprobe load NAME --bulk-files"
            " FOLDER` or kgprobe.write_bulk."
        ) from error


def finish(graph: Graph, folder: Path, on_progress: OnProgress = no_progress) -> BulkFiles:
    """Complete a graph that was imported from a folder of files, and check its counts.

    Creates constraints and indexes, empty lists, and the few properties that the files cannot contain. Repeating the
    call changes nothing. Until it has succeeded, the load counts as unfinished.

    Cost: the indexes, and one visit of each entity.

    Args:
        on_progress: called with the number of completed entities.
    """
    files = read_bulk_files(folder)
    state = graph.read("bulk/state", id=files.fingerprint)
    if not state:
        raise ArgumentError("graph", f"was not imported from the files in {folder}; import them first.")
    if state[0]["stage"] != IMPORTED:
        return files
    title = f"Completing {files.source}"
    on_progress(StepProgress("indexing", 0, files.next_number, "entities", title))
    apply_schema(graph)
    graph.write("bulk/await_indexes", seconds=_INDEX_SECONDS)
    for kind, path in (("relation", folder / EXTRA_RELATIONS), ("entity", folder / EXTRA_ENTITIES)):
        with path.open("rb") as file:
            for lines in batches(file, len, _ROWS_AT_ONCE):
                graph.write(f"copy/{kind}", rows=list(map(msgspec.json.decode, lines)))
    for first in range(0, files.next_number, _NUMBERS_AT_ONCE):
        for query in ("bulk/no_aliases", "bulk/no_types"):
            graph.write(query, first=first, behind=first + _NUMBERS_AT_ONCE)
        completed = min(first + _NUMBERS_AT_ONCE, files.next_number)
        on_progress(StepProgress("completing", completed, files.next_number, "entities", title))
    actual = column_by("name", "count", graph.read("bulk/counts"))
    wrong = [name for name, count in files.counts.items() if actual[name] != count]
    if wrong:
        details = "; ".join(f"{name}: {actual[name]:,} instead of {files.counts[name]:,}" for name in wrong)
        raise KgprobeError(f"The graph differs from the import files. {details}.")
    created = [files.records.written.get(stage, 0) for stage in KINDS]
    time = datetime.now(timezone.utc).isoformat(timespec="seconds")
    graph.write("bulk/finish", id=files.fingerprint, created=created, time=time)
    return files
