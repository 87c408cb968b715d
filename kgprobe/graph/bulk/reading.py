"""Read the facts of a source as columns; those of large files in another process, while the entities are read here.

The process appends its batches to a file, and ends with the process that started it.
"""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
    """Facts of a batch as columns, and the batch without its records.

    Attributes:
        not_loaded: numbers of statements that the source has not loaded so far, by kind.
    """

    facts: pa.Table
    batch: RecordBatch
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
        yield FactBatch(_columns(batch.places), batch._replace(places={}), not_loaded_of(source))


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
    command = [sys.executable, "-c", "from kgprobe.graph.bulk.reading import main; main()", str(path), str(os.getpid())]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # In a session of its own, as Ctrl-C ends this process, which ends the other.
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True) as process:
        try:
            assert process.stdin is not None  # noqa: S101
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(pickled)
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


def _written_batches(source: Any, path: Path, process: subprocess.Popen[bytes]) -> Iterator[FactBatch]:
    """Yield the batches of a file that a process appends to."""
    last = False
    with path.open("rb") as file:
        while not last:
            has_ended = process.poll() is not None
            begin = file.tell()
            try:
                content = pickle.load(file)  # noqa: S301
            except (EOFError, pickle.UnpicklingError) as error:
                if has_ended:
                    raise KgprobeError(
                        disk_is_full(path.parent)
                        or f"The process that read the facts of {source.name} ended with code {process.returncode}."
                        " Its last message is above; repeat the command."
                    ) from error
                file.seek(begin)
                time.sleep(_WAIT_SECONDS)
                continue
            if isinstance(content, KgprobeError):
                raise content
            positions, batch = content
            for reading, position in zip(source.readings.values(), positions, strict=True):
                reading.position = max(reading.position, position)
            last = batch.batch.last
            yield batch
    path.unlink()


@collecting_rarely()
def main() -> None:
    """Append the batches of facts of the source on stdin to a file, with the positions of its files."""
    path, parent = sys.argv[1:]
    source = pickle.load(sys.stdin.buffer)  # noqa: S301
    with open(path, "ab") as file:
        try:
            for batch in _fact_batches(source):
                if os.getppid() != int(parent):
                    return
                positions = [reading.position for reading in source.readings.values()]
                pickle.dump((positions, batch), file)
                file.flush()
        except KgprobeError as error:
            pickle.dump(error, file)
