"""Read the facts of a source as columns; those of large files in another process, while the entities are read here.

The process appends its batches to a file, and ends with the process that started it.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import disk_is_full
from kgprobe.base.records import Fact, Placed
from kgprobe.graph.client import Row
from kgprobe.graph.ingest import collecting_rarely
from kgprobe.graph.record_batches import RecordBatch, fact_row, read_batches
from kgprobe.sources.contract import CountsFolded, Source, not_loaded_of
from kgprobe.sources.lines import FileSource

# Size of the input from which a second process is worth its start.
APART_BYTES = 8 * 2**20
_WAIT_SECONDS = 0.05
_LENGTH = 8

_UNDATED: Row = {}
# Columns of the validity of a fact.
DATED = {
    "start": pa.string(),
    "from": pa.int64(),
    "start_date": pa.string(),
    "end": pa.string(),
    "until": pa.int64(),
    "ended": pa.bool_(),
    "end_date": pa.string(),
}


class FactBatch(NamedTuple):
    """Facts of a batch as columns.

    Attributes:
        counts: the batch without its records.
        positions: positions of the source's files.
        not_loaded: numbers of statements that the source has not loaded so far, by kind.
    """

    rows: pa.Table
    counts: RecordBatch
    positions: Sequence[int]
    not_loaded: Mapping[str, int]


def source_batches(source: Source, stage: str) -> Iterator[RecordBatch]:
    """Yield the batches of a stage.

    Raises:
        KgprobeError: the source cannot be read; not to be confused with an error of the written folder.
    """
    try:
        yield from read_batches(source, stage)
    except OSError as error:
        raise KgprobeError(f"{source.name} cannot be read: {error.strerror or error}.") from error


def _columns(places: Mapping[str, Placed]) -> pa.Table:
    """Return the facts of a batch as columns."""
    placed = [place for place in places.values() if isinstance(place.record, Fact)]
    facts: list[Any] = [place.record for place in placed]
    columns: dict[str, Any] = {}
    for name in ("id", "subject", "relation", "object", "rank"):
        columns[name] = pa.array(map(attrgetter(name), facts), pa.string())
    for name, type_ in (("line", pa.int64()), ("file", pa.string()), ("unit", pa.string())):
        columns[name] = pa.array(map(attrgetter(name), placed), type_)
    rows = [_UNDATED if fact.start is None and fact.end is None else fact_row(fact, 0) for fact in facts]
    for name, type_ in DATED.items():
        columns[name] = pa.array([row.get(name) for row in rows], type_)
    return pa.table(columns)


def _fact_batches(source: Source) -> Iterator[FactBatch]:
    for batch in source_batches(source, "facts"):
        rows = _columns(batch.places)
        yield FactBatch(rows, batch._replace(places={}), _positions(source), not_loaded_of(source))


def _positions(source: Source) -> list[int]:
    return [reading.position for reading in source.readings.values()] if isinstance(source, FileSource) else []


@contextmanager
def reading_facts(source: Source, folder: Path) -> Iterator[Callable[[], Iterator[FactBatch]]]:
    """Begin to read the facts of a source; yield a function that returns their batches.

    Args:
        folder: folder of a file with the batches that are read in another process.
    """
    pickled = _pickled(source)
    if pickled is None:
        yield lambda: _fact_batches(source)
        return
    path = folder / "facts.batches"
    path.touch()
    # Not by multiprocessing, which imports the caller's script again.
    command = [sys.executable, "-c", "from kgprobe.graph.bulk.reading import main; main()", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdin is not None  # noqa: S101
            process.stdin.write(len(pickled).to_bytes(_LENGTH, "big") + pickled)
            process.stdin.flush()
            yield lambda: _written_batches(source, path, process)
        finally:
            process.kill()
            path.unlink(missing_ok=True)


def _pickled(source: Source) -> bytes | None:
    """Return a source for another process; None if it is small, or can be read in this process only."""
    is_file = isinstance(source, FileSource) and not isinstance(source, CountsFolded)
    if not is_file or source.total < APART_BYTES or os.cpu_count() == 1 or type(source).__module__ == "__main__":
        return None
    try:
        return pickle.dumps(source)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None


def _written_batches(source: Source, path: Path, process: subprocess.Popen[bytes]) -> Iterator[FactBatch]:
    last = False
    with path.open("rb") as file:
        while not last:
            length = int.from_bytes(_read(file, _LENGTH, path, process, source), "big")
            batch = pickle.loads(_read(file, length, path, process, source))  # noqa: S301
            if isinstance(batch, Exception):
                raise batch
            if isinstance(source, FileSource):
                for reading, position in zip(source.readings.values(), batch.positions, strict=True):
                    reading.position = max(reading.position, position)
            last = batch.counts.last
            yield batch


def _read(file: Any, size: int, path: Path, process: subprocess.Popen[bytes], source: Source) -> bytes:
    """Return the next bytes of a file that a process appends to."""
    content = bytearray()
    while True:
        has_ended = process.poll() is not None
        content += file.read(size - len(content))
        if len(content) == size:
            return bytes(content)
        if has_ended:
            raise KgprobeError(
                disk_is_full(path.parent)
                or f"The process that read the facts of {source.name} ended with code {process.returncode}. Its last"
                " message is above; repeat the command."
            )
        time.sleep(_WAIT_SECONDS)


@collecting_rarely()
def main() -> None:
    """Write the batches of facts of the source on stdin to a file, each after its length."""
    # Ctrl-C ends the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    length = int.from_bytes(sys.stdin.buffer.read(_LENGTH), "big")
    source = pickle.loads(sys.stdin.buffer.read(length))  # noqa: S301
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(sys.argv[1], "ab") as file:

        def write(thing: FactBatch | Exception) -> None:
            content = pickle.dumps(thing, protocol=5)
            file.write(len(content).to_bytes(_LENGTH, "big") + content)
            file.flush()

        try:
            for batch in _fact_batches(source):
                write(batch)
        except KgprobeError as error:
            write(error)
    os._exit(0)


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)
