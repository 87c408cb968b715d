"""Split a source's streams into batches of records, in the same way for loads and imports."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
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
    """Return the records of the next batch, each sent with ``overhead`` bytes, and True if the stream has ended."""
    records: list[Placed] = []
    size = 0
    for placed in stream:
        record = placed.record
        if not isinstance(record, Rejected):
            try:
                bytes_ = encoded_bytes(record) + overhead
            except UnicodeEncodeError:
                reason = "a text in it contains half a character (a lone surrogate)"
                placed = placed._replace(record=Rejected(reason))
            else:
                if bytes_ <= RECORD_BYTES:
                    size += bytes_
                else:
                    placed = placed._replace(
                        record=Rejected(
                            f"{record.id[:80]} has {bytes_ / 1e6:,.1f} MB; a record can have up to"
                            f" {RECORD_BYTES / 1e6:.1f} MB: shorten its texts"
                        )
                    )
        records.append(placed)
        if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
            return records, False
    return records, True


def prefetched(things: Iterator[T], waiting: Callable[[], None]) -> Iterator[T]:
    """Yield the same things; a thread prepares the next one while the current one is used.

    Args:
        waiting: called every ``_WAIT_SECONDS`` while waiting, for example for the first thing.
    """
    with ThreadPoolExecutor(1, "kgprobe-reader") as reader:
        ready = reader.submit(next, things, None)
        while True:
            while not wait([ready], _WAIT_SECONDS).done:
                waiting()
            thing = ready.result()
            if thing is None:
                return
            ready = reader.submit(next, things, None)
            yield thing
