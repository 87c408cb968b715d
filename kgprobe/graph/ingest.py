"""Streams of relations, entities and facts into the graph: in batches, idempotent, resumable, in bounded memory.

Each batch is one transaction that also moves the ``Load`` node on, so a load that was killed goes on where it stood.
While the engine writes one batch, the next is read and made into rows: nothing is left to do between two transactions.
"""

import gc
import itertools
import queue
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes
from kgprobe.graph.record_rows import Problem, distinct, entity_rows, fact_rows, relation_rows
from kgprobe.graph.relabelling import relabel
from kgprobe.graph.schema import apply_schema
from kgprobe.graph.write import Written, write_entities, write_facts, write_relations
from kgprobe.records import Placed, Rejected
from kgprobe.sources.contract import Source
from kgprobe.texts import visible

STAGES = ("relations", "entities", "facts")

# A batch ends at whichever limit comes first. A record is within the second, too: what a statement is sent of a batch
# is less than the two together, and so less than a message may be.
BATCH_RECORDS = 10_000
BATCH_BYTES = RECORD_BYTES = MESSAGE_BYTES // 2

# What stands beside a record's own fields in a row: names of columns, numbers.
_ROW_BYTES = 100

# A batch is some tens of thousands of objects, none of them in a cycle: to look for cycles as often as Python does
# takes half as long as it takes to make them.
_ALLOCATIONS_PER_COLLECTION = 100_000

_WAIT_SECONDS = 1.0

Write = Callable[[Transaction], Written]


@dataclass(slots=True)
class LoadReport:
    """What a load did.

    Attributes:
        records: read per stage, this time (a resumed load counts from where it went on).
        written: taken over per stage.
        problems: how many records were left out, by reason: ``unreadable``, ``duplicate``, ``missing``.
        broken: the messages about files that broke off, whose rest is lost.
        outside: facts left out because the source is only a part of a whole and their object is not in it.
        resumed: whether an interrupted load went on.
    """

    records: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    outside: int = 0
    resumed: bool = False


class _Batch(NamedTuple):
    """Records that are ready to be written.

    Attributes:
        write: does so within a transaction.
        problems: what was seen to be left out already.
        records: how many were read.
        position: in its stream, behind the last of them.
        last: whether the stream ends there.
    """

    write: Write
    problems: list[Problem]
    records: int
    position: int
    last: bool


def load(
    graph: Graph,
    source: Source,
    *,
    strict: bool = False,
    report_problem: Callable[[str], None] = lambda message: None,
    report_progress: Callable[[str, int], None] = lambda stage, records: None,
) -> LoadReport:
    """Write a source into the graph. Doing it again changes nothing; after an interruption it goes on.

    The cost is that of the records and of the facts at their entities: no query walks the whole graph.

    Args:
        strict: the first record that would be left out is an error instead; its batch is not written.
        report_problem: called with a message for each record that is left out.
        report_progress: called after each batch with its stage and its number of records; and, while a batch is long
            in coming, every second with none.

    Raises:
        KgprobeError: under ``strict``; or the graph failed for longer than the driver's retries, and then
            everything before the current batch is in the graph and the same call goes on.
    """
    with _collecting_rarely():
        return _load(graph, source, strict, report_problem, report_progress)


def _load(
    graph: Graph,
    source: Source,
    strict: bool,
    report_problem: Callable[[str], None],
    report_progress: Callable[[str, int], None],
) -> LoadReport:
    apply_schema(graph)
    state = graph.write("load/begin", id=source.fingerprint, source=source.name, uid=secrets.token_hex(8))[0]
    report = LoadReport(resumed=state["stage"] != "relations" or state["position"] > 0)
    relations: set[str] = set()
    labels: dict[str, str] = {}
    for stage in STAGES[STAGES.index(state["stage"]) :]:
        skip = state["position"] if stage == state["stage"] else 0
        if stage == "facts":
            labels |= relabel(graph)
        make_write = partial(_write_of, stage, source, relations, labels)
        waiting = partial(report_progress, stage, 0)
        for batch in _prefetched(_batches(source, stage, skip, make_write), waiting):
            if strict and batch.problems:
                raise KgprobeError(_message(batch.problems[0], source))
            written = graph.transaction(partial(_write_batch, batch, stage, source, strict))
            # Remembered only now that the transaction stands: the driver may have run it more than once.
            relations |= written.relations
            report.written[stage] += written.written
            report.outside += written.outside
            for problem in [*batch.problems, *written.problems]:
                report.problems[problem.kind] += 1
                if isinstance(problem.place.record, Rejected) and problem.place.record.broken_off:
                    report.broken.append(_message(problem, source))
                report_problem(f"{_message(problem, source)} Skipped; `strict` stops here.")
            report.records[stage] += batch.records
            report_progress(stage, batch.records)
    return report


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    before = gc.get_threshold()
    rarely = max(before[0], _ALLOCATIONS_PER_COLLECTION) if before[0] else 0
    gc.set_threshold(rarely, *before[1:])
    try:
        yield
    finally:
        # Unless somebody else has set it since, say the end of a load in another thread.
        if gc.get_threshold()[0] == rarely:
            gc.set_threshold(*before)


def _write_of(
    stage: str, source: Source, relations: Set[str], labels: Mapping[str, str], places: Mapping[str, Placed]
) -> Write:
    """What writes these records; all that can be done without the graph is done here.

    Args:
        relations: ids of those that are in the graph, when it comes to writing.
        labels: what relations are called, by id.
    """
    if not places:
        return lambda transaction: Written()
    if stage == "relations":
        return partial(write_relations, batch=relation_rows(places, source.name))
    if stage == "entities":
        return partial(write_entities, batch=entity_rows(places, source.name, source.fingerprint), source=source)
    return partial(write_facts, batch=fact_rows(places), source=source, known=relations, labels=labels)


def _write_batch(batch: _Batch, stage: str, source: Source, strict: bool, transaction: Transaction) -> Written:
    finished = batch.last and stage == STAGES[-1]
    next_stage = STAGES[STAGES.index(stage) + 1] if batch.last and not finished else stage
    position = 0 if next_stage != stage else batch.position
    transaction.run("load/advance", id=source.fingerprint, stage=next_stage, position=position, finished=finished)
    written = batch.write(transaction)
    if strict and written.problems:
        raise KgprobeError(_message(written.problems[0], source))
    return written


def _message(problem: Problem, source: Source) -> str:
    file = problem.place.file or source.name
    return visible(f"{file}, {problem.place.unit} {problem.place.line}: {problem.reason.rstrip('.')}.")


def _batches(
    source: Source, stage: str, skip: int, make_write: Callable[[Mapping[str, Placed]], Write]
) -> Iterator[_Batch]:
    """The stage's batches, made ready to be written; the first ``skip`` records are left out."""
    stream: Iterator[Placed] = getattr(source, stage)()
    position = sum(1 for _ in itertools.islice(stream, skip))
    beside = encoded_bytes([source.name, source.fingerprint]) + _ROW_BYTES
    last = False
    while not last:
        records, last = _next_records(stream, beside)
        position += len(records)
        places, problems = distinct(records)
        yield _Batch(make_write(places), problems, len(records), position, last)


def _next_records(stream: Iterator[Placed], beside: int) -> tuple[list[Placed], bool]:
    """Records up to a batch's limits, and whether the stream ended before them.

    Args:
        beside: how many bytes are sent with each record, whatever it is.
    """
    records: list[Placed] = []
    size = 0
    for placed in stream:
        fitting, bytes_ = _fitting(placed, beside)
        records.append(fitting)
        size += bytes_
        if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
            return records, False
    return records, True


def _fitting(placed: Placed, beside: int) -> tuple[Placed, int]:
    """The record, or why the graph cannot be sent it, and its bytes on the way there."""
    if isinstance(placed.record, Rejected):
        return placed, 0
    try:
        size = encoded_bytes(placed.record) + beside
    except UnicodeEncodeError:
        return placed._replace(record=Rejected("a text of it has half a character (a lone surrogate)")), 0
    if size > RECORD_BYTES:
        reason = (
            f"{placed.record.id[:80]} has {size / 1e6:,.1f} MB, more than the {RECORD_BYTES / 1e6:.1f} MB that a record"
            " may have; shorten its texts"
        )
        return placed._replace(record=Rejected(reason)), 0
    return placed, size


def _prefetched(batches: Iterator[_Batch], waiting: Callable[[], None]) -> Iterator[_Batch]:
    """The same batches, each read and made ready while the one before is being written.

    Args:
        waiting: called every ``_WAIT_SECONDS`` in which no batch comes: a source may read for long before its first.
    """
    ready: queue.Queue[_Batch | BaseException] = queue.Queue(maxsize=1)
    abandoned = threading.Event()

    def read() -> None:
        try:
            for batch in batches:
                if not put(batch):
                    return
        except BaseException as error:
            put(error)

    def put(item: _Batch | BaseException) -> bool:
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
            yield item
            if item.last:
                return
    finally:
        abandoned.set()
        reader.join()
