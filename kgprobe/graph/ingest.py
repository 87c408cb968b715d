"""Load entities, relations and facts into the graph: in batches, idempotent, resumable, in bounded memory.

Each batch is one transaction that also advances the ``KgprobeLoad`` node, so that a killed load continues where it was
interrupted. New facts are created without a search; existing facts are found with one walk through the facts of each
subject, so that the cost depends on the rows and the facts at their subjects. While the engine writes a batch, the next
one is read and converted to rows. At the end, facts get the labels of their relations, which Neo4j Browser shows as
captions of edges.
"""

import gc
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Placed, Rejected
from kgprobe.graph.client import Graph, Row, Transaction, apply_schema
from kgprobe.graph.derive import (
    Additions,
    Former,
    additions_of,
    follow_changed_facts,
    follow_new_facts,
    follow_types,
    forget_beliefs,
    in_parts,
    rows_by_subject,
)
from kgprobe.graph.record_batches import (
    KINDS,
    STAGES,
    EntityRows,
    FactRows,
    Problem,
    RecordBatch,
    absent,
    duplicate,
    entity_rows,
    fact_rows,
    prefetched,
    problem_message,
    read_batches,
    relation_rows,
)
from kgprobe.graph.rows import column_by
from kgprobe.graph.twins import drop_twins, write_twins
from kgprobe.sources.contract import Source, folded_by, languages_of, not_loaded_of


class WrittenBatch(NamedTuple):
    """Result of writing a batch.

    Attributes:
        created, changed: numbers of records among them that are new, and that were there with other values.
        outside: number of facts whose object was left out by a filter of the source.
        relations: ids of relations that are certainly in the graph now.
        properties: names of the properties that were changed, of relations.
    """

    written: int = 0
    created: int = 0
    changed: int = 0
    problems: Sequence[Problem] = ()
    outside: int = 0
    relations: frozenset[str] = frozenset()
    properties: frozenset[str] = frozenset()


def write_relations(transaction: Transaction, rows: Sequence[Row]) -> WrittenBatch:
    """Write relations."""
    result = transaction.run("load/relations", rows=rows)[0]
    changed = result["changed"]
    properties = frozenset(chain.from_iterable(changed))
    return WrittenBatch(len(rows), result["created"], len(changed), properties=properties)


def write_entities(transaction: Transaction, batch: EntityRows, source: Source) -> WrittenBatch:
    """Write one or more entities, their types, and the links to them."""
    for kind, ids in (("types", batch.type_ids), ("literals", batch.literals)):
        for part in in_parts(ids):
            transaction.run(f"load/new_{kind}", ids=part)
            transaction.run(f"load/{kind}", ids=part)
    result = transaction.run("load/entities", load=source.fingerprint, rows=batch.rows)[0]
    before = column_by("id", "before", result["duplicates"])
    types = dict(batch.types)
    for unchanged in (*result["standing"], *before):
        types.pop(unchanged, None)
    follow_types(transaction, types, column_by("id", "types", result["retyped"]))
    problems = [duplicate(id_, batch.places[id_], line) for id_, line in before.items()]
    return WrittenBatch(len(batch.rows) - len(before), result["created"], result["changed"], problems)


def write_facts(
    transaction: Transaction, batch: FactRows, source: Source, known: Set[str], labels: Mapping[str, str]
) -> WrittenBatch:
    """Write facts between entities of the graph, and update derived data.

    Args:
        known: ids of relations that are certainly in the graph.
        labels: labels of relations, by id; the id is used for others.
    """
    common = {
        "source": source.name,
        "load": source.fingerprint,
        "labels": {id_: labels.get(id_, id_) for id_ in batch.relations},
    }
    existing = transaction.run("load/standing_facts", rows=batch.rows, **common)[0]
    before = column_by("id", "before", existing["duplicates"])
    unknown = frozenset(fact.relation for id_, fact in batch.facts.items() if id_ not in before) - known
    if unknown:
        transaction.run(
            "load/relations", rows=[{"id": relation, "properties": {}, "empty": {}} for relation in unknown]
        )
    moved, renamed = _change(transaction, batch, [Former(**row) for row in existing["changed"]])
    new = batch
    if left_out := {*existing["kept"], *before}:
        new = fact_rows({id_: place for id_, place in batch.places.items() if id_ not in left_out})
    created, additions, problems, outside = _create(transaction, new, source, common)
    follow_new_facts(transaction, additions)
    follow_changed_facts(transaction, moved, renamed, batch.facts)
    write_twins(transaction, batch.rows)
    duplicates = [duplicate(id_, batch.places[id_], line) for id_, line in before.items()]
    return WrittenBatch(
        len(existing["kept"]) + created,
        created - len(moved),
        existing["revised"] + len(moved) + len(renamed),
        [*duplicates, *problems],
        outside,
        unknown,
    )


def _change(transaction: Transaction, batch: FactRows, changed: Sequence[Former]) -> tuple[list[Former], list[Former]]:
    """Move facts to their new objects, if these are in the graph, and forget the beliefs about changed facts.

    Returns:
        The moved facts, and the facts with another relation between the same entities.
    """
    renamed = []
    targets = {}
    for former in changed:
        target = batch.facts[former.id].object
        if target == former.object:
            renamed.append(former)
        else:
            targets[former] = target
    missing = _missing(transaction, targets.values())
    moved = [former for former, target in targets.items() if target not in missing]
    if moved:
        transaction.run("load/moved", rows=rows_by_subject((former.subject, former.id) for former in moved))
    drop_twins(transaction, rows_by_subject((former.subject, former.id) for former in [*moved, *renamed]))
    forget_beliefs(transaction, [*moved, *renamed])
    return moved, renamed


def _create(
    transaction: Transaction, batch: FactRows, source: Source, common: Mapping[str, object]
) -> tuple[int, Additions, list[Problem], int]:
    """Create facts; return their number, the additions, the problems, and the number of facts outside."""
    if not batch.rows:
        return 0, batch.additions, [], 0
    created: int = transaction.run("load/new_facts", rows=batch.rows, **common)[0]["created"]
    if created == len(batch.facts):
        return created, batch.additions, [], 0
    facts = batch.facts.values()
    missing = _missing(transaction, chain.from_iterable((fact.subject, fact.object) for fact in facts))
    problems = []
    outside = 0
    complete = []
    for id_, fact in batch.facts.items():
        if fact.subject in missing:
            problems.append(absent(batch.places[id_], "subject"))
        elif fact.object not in missing:
            complete.append(fact)
        elif source.partial:
            outside += 1
        else:
            problems.append(absent(batch.places[id_], "object"))
    return created, additions_of(complete), problems, outside


def _missing(transaction: Transaction, ids: Iterable[str]) -> set[str]:
    """Return the ids of entities that are not in the graph."""
    distinct = list(dict.fromkeys(ids))
    return {row["id"] for row in transaction.run("load/missing", ids=distinct)} if distinct else set()


# A batch has tens of thousands of objects without reference cycles. At Python's default frequency, garbage collection
# would take half as long as creating them.
_ALLOCATIONS_PER_COLLECTION = 100_000

# Stage of a load that was imported by neo4j-admin and is not finished.
IMPORTED = "imported"

# Messages about skipped records in a report; callers get each of them through ``on_problem``.
KEPT_PROBLEMS = 20

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
        not_loaded: statements of the source that are not loaded, by kind.
        messages: messages about the first rejected records.
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
    not_loaded: Mapping[str, int] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def reject(self, problems: Iterable[Problem], source: Source, report_problem: Callable[[str], None]) -> None:
        """Count and report rejected records."""
        for problem in problems:
            self.problems[problem.kind] += 1
            message = problem_message(problem, source)
            if isinstance(problem.place.record, Rejected) and problem.place.record.broken_off:
                self.broken.append(message)
            skipped = f"{message} Skipped; `strict` stops here."
            if len(self.messages) < KEPT_PROBLEMS:
                self.messages.append(skipped)
            report_problem(skipped)


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
    state = graph.write(
        "load/begin",
        id=source.fingerprint,
        source=source.name,
        uid=secrets.token_hex(8),
        languages=languages_of(source) or None,
    )[0]
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
    report.not_loaded = not_loaded_of(source)
    return report


def _writer(
    stage: str,
    source: Source,
    relations: Set[str],
    labels: Mapping[str, str],
    remove_missing: bool,
    places: Mapping[str, Placed],
) -> Write:
    """Return the function that writes records; their rows are made here, before the transaction."""
    if not places:
        return lambda transaction: WrittenBatch()
    if stage == "relations":
        return partial(write_relations, rows=relation_rows(places, source.name, remove_missing))
    if stage == "entities":
        rows = entity_rows(places, source.name, source.fingerprint, languages_of(source), remove_missing)
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
