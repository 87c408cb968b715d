"""Streams of relations, entities and facts into the graph: in batches, idempotent, resumable, in bounded memory.

Each batch is one transaction that also moves the ``Load`` node on, so a load that was killed goes on where it stood.
While the engine writes one batch, the next is read and made into rows: nothing is left to do between two transactions.
"""

import gc
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.record_batches import STAGES, Batch, prefetched, problem_message, read_batches
from kgprobe.graph.record_rows import Problem, entity_rows, fact_rows, relation_rows
from kgprobe.graph.relabelling import relabel
from kgprobe.graph.schema import apply_schema
from kgprobe.graph.write import Written, write_entities, write_facts, write_relations
from kgprobe.records import Placed, Rejected
from kgprobe.sources.contract import Source

# A batch is some tens of thousands of objects, none of them in a cycle: to look for cycles as often as Python does
# takes half as long as it takes to make them.
_ALLOCATIONS_PER_COLLECTION = 100_000

# In place of its stage, what a load says that was imported and is not finished.
IMPORTED = "imported"

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

    def leave_out(self, problems: Iterable[Problem], source: Source, report_problem: Callable[[str], None]) -> None:
        """Count records that are left out, and tell of each."""
        for problem in problems:
            self.problems[problem.kind] += 1
            message = problem_message(problem, source)
            if isinstance(problem.place.record, Rejected) and problem.place.record.broken_off:
                self.broken.append(message)
            report_problem(f"{message} Skipped; `strict` stops here.")


class _Ready(NamedTuple):
    """A batch, and what writes it within a transaction."""

    batch: Batch
    write: Write


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
    with collecting_rarely():
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
    if state["stage"] == IMPORTED:
        raise KgprobeError(
            f"{source.name} was imported into this graph, which is not whole yet: `kgprobe graph finish-import` makes"
            " it so."
        )
    report = LoadReport(resumed=state["stage"] != "relations" or state["position"] > 0)
    relations: set[str] = set()
    labels: dict[str, str] = {}
    for stage in STAGES[STAGES.index(state["stage"]) :]:
        skip = state["position"] if stage == state["stage"] else 0
        if stage == "facts":
            labels |= relabel(graph)
        make_write = partial(_write_of, stage, source, relations, labels)
        ready = (_Ready(batch, make_write(batch.places)) for batch in read_batches(source, stage, skip))
        for batch, write in prefetched(ready, partial(report_progress, stage, 0)):
            if strict and batch.problems:
                raise KgprobeError(problem_message(batch.problems[0], source))
            written = graph.transaction(partial(_write_batch, batch, write, stage, source, strict))
            # Remembered only now that the transaction stands: the driver may have run it more than once.
            relations |= written.relations
            report.written[stage] += written.written
            report.outside += written.outside
            report.leave_out([*batch.problems, *written.problems], source, report_problem)
            report.records[stage] += batch.records
            report_progress(stage, batch.records)
    return report


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Look for cycles less often than Python does: there are none in what a load makes."""
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


def _write_batch(
    batch: Batch, write: Write, stage: str, source: Source, strict: bool, transaction: Transaction
) -> Written:
    finished = batch.last and stage == STAGES[-1]
    next_stage = STAGES[STAGES.index(stage) + 1] if batch.last and not finished else stage
    position = 0 if next_stage != stage else batch.position
    transaction.run("load/advance", id=source.fingerprint, stage=next_stage, position=position, finished=finished)
    written = write(transaction)
    if strict and written.problems:
        raise KgprobeError(problem_message(written.problems[0], source))
    return written
