"""A source's streams cut into batches of records; whoever writes them, they are cut in the same places."""

import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes
from kgprobe.graph.record_rows import Problem, distinct
from kgprobe.records import Placed, Rejected
from kgprobe.sanitize import visible
from kgprobe.sources.contract import Source

T = TypeVar("T")

STAGES = ("relations", "entities", "facts")

# A batch ends at whichever limit comes first. A record is within the second, too: what a statement is sent of a batch
# is less than the two together, and so less than a message may be.
BATCH_RECORDS = 10_000
BATCH_BYTES = RECORD_BYTES = MESSAGE_BYTES // 2

# What stands beside a record's own fields in a row: names of columns, numbers.
_ROW_BYTES = 100

_WAIT_SECONDS = 1.0


class Batch(NamedTuple):
    """Records that go into the graph together.

    Attributes:
        places: the records that can be used, by id.
        problems: those that cannot.
        records: how many were read.
        position: in its stream, behind the last of them.
        last: whether the stream ends there.
    """

    places: Mapping[str, Placed]
    problems: list[Problem]
    records: int
    position: int
    last: bool


def problem_message(problem: Problem, source: Source) -> str:
    """Which record is left out, and why; a sentence."""
    file = problem.place.file or source.name
    return visible(f"{file}, {problem.place.unit} {problem.place.line}: {problem.reason.rstrip('.')}.")


def read_batches(source: Source, stage: str, skip: int = 0) -> Iterator[Batch]:
    """The stage's batches; the first ``skip`` records are left out. There is one at least, and the last one says so."""
    stream: Iterator[Placed] = getattr(source, stage)()
    position = sum(1 for _ in itertools.islice(stream, skip))
    beside = encoded_bytes([source.name, source.fingerprint]) + _ROW_BYTES
    last = False
    while not last:
        records, last = _next_records(stream, beside)
        position += len(records)
        places, problems = distinct(records)
        yield Batch(places, problems, len(records), position, last)


def _next_records(stream: Iterator[Placed], beside: int) -> tuple[list[Placed], bool]:
    """Records up to a batch's limits, and whether the stream ended before them.

    Args:
        beside: how many bytes are sent with each record, whatever it is.
    """
    records: list[Placed] = []
    size = 0
    for placed in stream:
        record = placed.record
        if not isinstance(record, Rejected):
            try:
                bytes_ = encoded_bytes(record) + beside
            except UnicodeEncodeError:
                placed = _rejected(placed, "a text of it has half a character (a lone surrogate)")
            else:
                if bytes_ > RECORD_BYTES:
                    placed = _too_large(placed, record.id, bytes_)
                else:
                    size += bytes_
        records.append(placed)
        if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
            return records, False
    return records, True


def _rejected(placed: Placed, reason: str) -> Placed:
    """In a record's place, why the graph cannot be sent it."""
    return placed._replace(record=Rejected(reason))


def _too_large(placed: Placed, id_: str, size: int) -> Placed:
    reason = (
        f"{id_[:80]} has {size / 1e6:,.1f} MB, more than the {RECORD_BYTES / 1e6:.1f} MB that a record may have;"
        " shorten its texts"
    )
    return _rejected(placed, reason)


def prefetched(things: Iterator[T], waiting: Callable[[], None]) -> Iterator[T]:
    """The same things, each made ready while the one before is being used.

    Args:
        waiting: called every ``_WAIT_SECONDS`` in which none comes: a source may read for long before its first.
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
