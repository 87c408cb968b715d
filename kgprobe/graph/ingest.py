"""Load entities, relations and facts into the graph: in batches, idempotent, resumable, in bounded memory.

Each batch is one transaction that also advances the ``KgprobeLoad`` node, so that a killed load continues where it was
interrupted. While the engine writes a batch, the next one is read and converted to rows. At the end, facts get the
labels of their relations, which Neo4j Browser shows as captions of edges.
"""

import gc
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from itertools import islice

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Placed, Rejected
from kgprobe.graph.client import Graph, Transaction, apply_schema
from kgprobe.graph.derive import rows_by_subject
from kgprobe.graph.record_batches import (
    KINDS,
    STAGES,
    Problem,
    RecordBatch,
    entity_rows,
    fact_rows,
    prefetched,
    problem_message,
    read_batches,
    relation_rows,
)
from kgprobe.graph.rows import column_by
from kgprobe.graph.write import WrittenBatch, write_entities, write_facts, write_relations
from kgprobe.sources.contract import Source, folded_by

# A batch has tens of thousands of objects without reference cycles. At Python's default frequency, garbage collection
# would take half as long as creating them.
_ALLOCATIONS_PER_COLLECTION = 100_000

# Stage of a load that was imported by neo4j-admin and is not finished.
IMPORTED = "imported"

Write = Callable[[Transaction], WrittenBatch]


@dataclass(slots=True)
class LoadCounts:
    """Counts of a load.

    Attributes:
        records: records read, by stage; a resumed load counts from the place of the interruption.
        written: records in the graph, by stage.
        created, changed: records among them that are new, and that were there with other values; by stage.
        properties: names of the properties of relations that were changed.
        problems: rejected records, by reason: ``unreadable``, ``duplicate``, ``missing``.
        broken: messages about damaged files, whose rest is lost.
        outside: facts left out because a filter of the source left out their object.
        resumed: True if an interrupted load was continued.
        folded: names that were changed, see :func:`~kgprobe.sources.values.plain_name`.
    """

    records: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    created: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    properties: set[str] = field(default_factory=set)
    problems: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    outside: int = 0
    resumed: bool = False
    folded: int = 0

    def reject(self, problems: Iterable[Problem], source: Source, report_problem: Callable[[str], None]) -> None:
        """Count and report rejected records."""
        for problem in problems:
            self.problems[problem.kind] += 1
            message = problem_message(problem, source)
            if isinstance(problem.place.record, Rejected) and problem.place.record.broken_off:
                self.broken.append(message)
            report_problem(f"{message} Skipped; `strict` stops here.")


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage less often: the objects of a load have no reference cycles."""
    before = gc.get_threshold()
    rarely = max(before[0], _ALLOCATIONS_PER_COLLECTION) if before[0] else 0
    gc.set_threshold(rarely, *before[1:])
    try:
        yield
    finally:
        # Unless it was changed since, for example by a load in another thread.
        if gc.get_threshold()[0] == rarely:
            gc.set_threshold(*before)


@collecting_rarely()
def load(
    graph: Graph,
    source: Source,
    *,
    strict: bool = False,
    remove_missing: bool = False,
    report_problem: Callable[[str], None] = lambda message: None,
    report_progress: Callable[[str, int], None] = lambda stage, records: None,
) -> LoadCounts:
    """Write a source to the graph. Repeating the call changes nothing, and continues an interrupted load.

    Entities and relations of the graph keep what the source has no value for, such as templates.

    The cost depends on the records and the facts at their entities: no query walks the whole graph.

    Args:
        strict: raise at the first rejected record; its batch is not written.
        remove_missing: remove the properties of entities and relations that the source has no value for.
        report_problem: called with a message for each rejected record.
        report_progress: called after each batch with its stage and number of records, and every second with 0 while
            waiting for a batch.

    Raises:
        KgprobeError: a record is rejected and ``strict`` is set; or the graph failed for longer than the driver's
            retries. Then all earlier batches are in the graph, and the same call continues.
    """
    apply_schema(graph)
    state = graph.write("load/begin", id=source.fingerprint, source=source.name, uid=secrets.token_hex(8))[0]
    if state["stage"] == IMPORTED:
        raise KgprobeError(
            f"{source.name} was imported into this graph, but the import is not finished: complete it with"
            " --finish-import, in Python kgprobe.finish_bulk."
        )
    report = LoadCounts(resumed=state["stage"] != STAGES[0] or state["position"] > 0)
    relations: set[str] = set()
    labels: dict[str, str] = {}
    for stage in STAGES[STAGES.index(state["stage"]) :]:
        skip = state["position"] if stage == state["stage"] else 0
        if stage == "facts":
            labels |= relabel(graph)
        make_write = partial(_writer, stage, source, relations, labels, remove_missing)
        ready = ((batch, make_write(batch.places)) for batch in read_batches(source, stage, skip))
        for batch, write in prefetched(ready, partial(report_progress, stage, 0)):
            if strict and batch.problems:
                raise KgprobeError(problem_message(batch.problems[0], source))
            written = graph.transaction(partial(_write_batch, batch, write, stage, source, strict))
            # Only after the commit: the driver may run the transaction more than once.
            relations |= written.relations
            report.written[stage] += written.written
            report.created[stage] += written.created
            report.changed[stage] += written.changed
            report.properties |= written.properties
            report.outside += written.outside
            report.reject([*batch.problems, *written.problems], source, report_problem)
            report.records[stage] += batch.records
            report.folded += batch.folded
            report_progress(stage, batch.records)
    report.folded += folded_by(source)
    return report


def _writer(
    stage: str,
    source: Source,
    relations: Set[str],
    labels: Mapping[str, str],
    remove_missing: bool,
    places: Mapping[str, Placed],
) -> Write:
    """Return the function that writes records; their rows are made here, before the transaction.

    Args:
        relations: ids of the relations in the graph at the time of writing.
        labels: labels of relations, by id.
    """
    if not places:
        return lambda transaction: WrittenBatch()
    if stage == "relations":
        return partial(write_relations, rows=relation_rows(places, source.name, remove_missing))
    if stage == "entities":
        rows = entity_rows(places, source.name, source.fingerprint, remove_missing)
        return partial(write_entities, batch=rows, source=source)
    return partial(write_facts, batch=fact_rows(places), source=source, known=relations, labels=labels)


def _write_batch(
    batch: RecordBatch, write: Write, stage: str, source: Source, strict: bool, transaction: Transaction
) -> WrittenBatch:
    finished = batch.last and stage == STAGES[-1]
    next_stage = STAGES[STAGES.index(stage) + 1] if batch.last and not finished else stage
    position = 0 if next_stage != stage else batch.position
    transaction.run("load/advance", id=source.fingerprint, stage=next_stage, position=position, finished=finished)
    written = write(transaction)
    if written.created or written.changed:
        time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        created, changed = (
            [count * (stage == other) for other in KINDS] for count in (written.created, written.changed)
        )
        transaction.run("load/count", id=source.fingerprint, created=created, changed=changed, time=time)
    if stage == "entities" and next_stage != stage:
        transaction.run("load/bookkeeping", id=source.fingerprint)
    if strict and written.problems:
        raise KgprobeError(problem_message(written.problems[0], source))
    return written


_FACTS_AT_ONCE = 5_000


def relabel(graph: Graph) -> dict[str, str]:
    """Update the facts of relations whose label has changed since the facts were written.

    A relation is marked until all its facts have its label; the next call continues an interrupted update.

    Cost: the relations; for a marked one, the facts at its objects and at the subjects of changed facts.

    Returns:
        The labels of all relations, by id.
    """
    relations = graph.read("load/relation_labels")
    for relation in relations:
        if relation["relabel"]:
            facts = graph.stream("load/mislabelled_facts", relation=relation["id"])
            while part := [(row["subject"], row["fact"]) for row in islice(facts, _FACTS_AT_ONCE)]:
                graph.write("load/relabelled_facts", label=relation["label"], rows=rows_by_subject(part))
            graph.write("load/relabelled", relation=relation["id"])
    return column_by("id", "label", relations)
