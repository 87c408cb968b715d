"""Split a source's streams into batches of records, in the same way for loads and imports."""

import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from kgprobe.graph.driver import MESSAGE_BYTES, encoded_bytes
from kgprobe.graph.record_rows import Problem, distinct
from kgprobe.records import Placed, Rejected
from kgprobe.sanitize import visible
from kgprobe.sources.contract import Source

T = TypeVar("T")

STAGES = ("relations", "entities", "facts")

# Limits of a batch and of a record. A batch and one more record together fit into a message.
BATCH_RECORDS = 10_000
BATCH_BYTES = RECORD_BYTES = MESSAGE_BYTES // 2

# Bytes of a row besides the record's fields: names of columns, numbers.
_ROW_BYTES = 100

_WAIT_SECONDS = 1.0


class RecordBatch(NamedTuple):
    """Records that are written together.

    Attributes:
        places: accepted records, by id.
        problems: rejected records.
        records: number of records read.
        position: number of records of the stream up to the end of the batch.
        last: True if the stream ends with the batch.
    """

    places: Mapping[str, Placed]
    problems: list[Problem]
    records: int
    position: int
    last: bool


def problem_message(problem: Problem, source: Source) -> str:
    """Return a message about a rejected record, with a full stop."""
    file = problem.place.file or source.name
    return visible(f"{file}, {problem.place.unit} {problem.place.line}: {problem.reason.rstrip('.')}.")


def read_batches(source: Source, stage: str, skip: int = 0) -> Iterator[RecordBatch]:
    """Yield the batches of a stage after the first ``skip`` records; at least one, the last one marked as such."""
    stream: Iterator[Placed] = getattr(source, stage)()
    position = sum(1 for _ in itertools.islice(stream, skip))
    overhead = encoded_bytes([source.name, source.fingerprint]) + _ROW_BYTES
    last = False
    while not last:
        records, last = _next_records(stream, overhead)
        position += len(records)
        places, problems = distinct(records)
        yield RecordBatch(places, problems, len(records), position, last)


def _next_records(stream: Iterator[Placed], overhead: int) -> tuple[list[Placed], bool]:
    """Return the records of the next batch, and True if the stream has ended.

    Args:
        overhead: additional bytes that are sent with each record.
    """
    records: list[Placed] = []
    size = 0
    for placed in stream:
        record = placed.record
        if not isinstance(record, Rejected):
            try:
                bytes_ = encoded_bytes(record) + overhead
            except UnicodeEncodeError:
                placed = _reject(placed, "a text in it contains half a character (a lone surrogate)")
            else:
                if bytes_ > RECORD_BYTES:
                    placed = _too_large(placed, record.id, bytes_)
                else:
                    size += bytes_
        records.append(placed)
        if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
            return records, False
    return records, True


def _reject(placed: Placed, reason: str) -> Placed:
    return placed._replace(record=Rejected(reason))


def _too_large(placed: Placed, id_: str, size: int) -> Placed:
    reason = (
        f"{id_[:80]} has {size / 1e6:,.1f} MB; a record can have up to {RECORD_BYTES / 1e6:.1f} MB: shorten its texts"
    )
    return _reject(placed, reason)


def prefetched(things: Iterator[T], waiting: Callable[[], None]) -> Iterator[T]:
    """Yield the same things; a thread prepares the next one while the current one is used.

    Args:
        waiting: called every ``_WAIT_SECONDS`` while waiting, for example for the first thing.
    """
    ready: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(maxsize=1)
    abandoned = threading.Event()

    def read() -> None:
        try:
            for thing in things:
                if not put((thing,)):
                    return
            put(None)
        except BaseException as error:
            put(error)

    def put(item: tuple[T] | BaseException | None) -> bool:
        while not abandoned.is_set():
            try:
                ready.put(item, timeout=0.2)
            except queue.Full:
                continue
            return True
        return False

    reader = threading.Thread(target=read, name="kgprobe-reader", daemon=True)
    reader.start()
    try:
        while True:
            try:
                item = ready.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                waiting()
                continue
            if isinstance(item, BaseException):
                raise item
            if item is None:
                return
            yield item[0]
    finally:
        abandoned.set()
        reader.join()
