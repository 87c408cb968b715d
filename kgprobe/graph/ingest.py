"""Streams of relations, entities and facts into the graph: in batches, idempotent, resumable, in bounded memory.

Each batch is one transaction that also moves the ``Load`` node on, so a load that was killed goes on where it stood.
The next batch is read while the engine writes this one.
"""

import itertools
import queue
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeVar

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.schema import apply_schema
from kgprobe.intervals import first_day, last_day
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Source

T = TypeVar("T")

STAGES = ("relations", "entities", "facts")

# A batch ends at whichever limit comes first; the second keeps huge labels from making huge transactions.
BATCH_RECORDS = 10_000
BATCH_CHARACTERS = 8_000_000


@dataclass(slots=True)
class LoadReport:
    """What a load did.

    Attributes:
        records: read per stage, this time (a resumed load counts from where it went on).
        written: taken over per stage.
        problems: how many records were left out, by reason: ``unreadable``, ``duplicate``, ``missing``.
        outside: facts left out because the source is only a part of a whole and their object is not in it.
        resumed: whether an interrupted load went on.
    """

    records: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    outside: int = 0
    resumed: bool = False


class _Problem(NamedTuple):
    """Why a record is left out: one of the kinds that a report counts, and the reason in words."""

    kind: str
    place: Placed
    reason: str


class _Written(NamedTuple):
    """What a batch came to; ``relations`` are those that it has made sure of."""

    written: int = 0
    problems: Sequence[_Problem] = ()
    outside: int = 0
    relations: frozenset[str] = frozenset()


class _Batch(NamedTuple):
    records: Sequence[Placed]
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
        report_progress: called after each batch with its stage and its number of records.

    Raises:
        KgprobeError: under ``strict``; or the graph failed for longer than the driver's retries, and then
            everything before the current batch is in the graph and the same call goes on.
    """
    apply_schema(graph)
    state = graph.write("load/begin", id=source.fingerprint, source=source.name, uid=secrets.token_hex(8))[0]
    report = LoadReport(resumed=state["stage"] != "relations" or state["position"] > 0)
    work = _Work(graph, source, strict, report_problem, report)
    for stage in STAGES[STAGES.index(state["stage"]) :]:
        skip = state["position"] if stage == state["stage"] else 0
        for batch in _prefetched(_batches(getattr(source, stage)(), skip)):
            work.write(stage, batch)
            report.records[stage] += len(batch.records)
            report_progress(stage, len(batch.records))
    return report


def _batches(stream: Iterator[Placed], skip: int) -> Iterator[_Batch]:
    position = sum(1 for _ in itertools.islice(stream, skip))
    records: list[Placed] = []
    characters = 0
    for placed in stream:
        records.append(placed)
        if isinstance(placed.record, Entity):
            characters += (
                len(placed.record.label) + len(placed.record.description) + sum(map(len, placed.record.aliases))
            )
        if len(records) >= BATCH_RECORDS or characters >= BATCH_CHARACTERS:
            position += len(records)
            yield _Batch(records, position, last=False)
            records, characters = [], 0
    yield _Batch(records, position + len(records), last=True)


def _prefetched(batches: Iterator[_Batch]) -> Iterator[_Batch]:
    """The same batches, each read while the one before is being written."""
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
            item = ready.get()
            if isinstance(item, BaseException):
                raise item
            yield item
            if item.last:
                return
    finally:
        abandoned.set()
        reader.join()


@dataclass(slots=True)
class _Work:
    """One load: what all its batches share."""

    graph: Graph
    source: Source
    strict: bool
    report_problem: Callable[[str], None]
    report: LoadReport
    relations: set[str] = field(default_factory=set)

    def write(self, stage: str, batch: _Batch) -> None:
        good = self._sound(batch.records)
        write = {"relations": self._relations, "entities": self._entities, "facts": self._facts}[stage]
        finished = batch.last and stage == STAGES[-1]
        next_stage = STAGES[STAGES.index(stage) + 1] if batch.last and not finished else stage
        position = 0 if next_stage != stage else batch.position

        def work(transaction: Transaction) -> _Written:
            result = write(transaction, good) if good else _Written()
            if self.strict and result.problems:
                raise KgprobeError(self._message(result.problems[0]))
            transaction.run(
                "load/advance", id=self.source.fingerprint, stage=next_stage, position=position, finished=finished
            )
            return result

        # Remembered only once the transaction stands: the driver may run the work more than once.
        result = self.graph.transaction(work)
        self.relations |= result.relations
        self.report.written[stage] += result.written
        self.report.outside += result.outside
        for problem in result.problems:
            self._leave_out(problem)

    def _leave_out(self, problem: _Problem) -> None:
        message = self._message(problem)
        if self.strict:
            raise KgprobeError(message)
        self.report.problems[problem.kind] += 1
        self.report_problem(f"{message} Skipped; --strict stops here.")

    def _message(self, problem: _Problem) -> str:
        file = problem.place.file or self.source.name
        return f"{file}, line {problem.place.line}: {problem.reason.rstrip('.')}."

    def _sound(self, records: Sequence[Placed]) -> list[Placed]:
        """The records without the unreadable ones and without repetitions within the batch."""
        good: dict[str, Placed] = {}
        for placed in records:
            if isinstance(placed.record, Rejected):
                self._leave_out(_Problem("unreadable", placed, placed.record.reason))
            elif placed.record.id in good:
                before = good[placed.record.id].line
                self._leave_out(_Problem("duplicate", placed, _duplicate(placed.record.id, before)))
            else:
                good[placed.record.id] = placed
        return list(good.values())

    def _relations(self, transaction: Transaction, records: Sequence[Placed]) -> _Written:
        rows: list[Row] = []
        for _, relation in _of(Relation, records):
            properties = asdict(relation) | {"source": self.source.name}
            rows.append({"id": properties.pop("id"), "properties": properties})
        transaction.run("load/relations", rows=rows)
        return _Written(len(rows))

    def _entities(self, transaction: Transaction, records: Sequence[Placed]) -> _Written:
        rows: list[Row] = []
        links: list[tuple[str, str]] = []
        literals = []
        for place, entity in _of(Entity, records):
            types = list(dict.fromkeys(entity.types))
            rows.append(
                {
                    "index": len(rows),
                    "id": entity.id,
                    "line": place.line,
                    "properties": {
                        "label": entity.label,
                        "aliases": list(entity.aliases),
                        "description": entity.description,
                        "types": types,
                        "popularity": entity.popularity,
                        "value": entity.value,
                        "datatype": entity.datatype,
                        "source": self.source.name,
                        "load": self.source.fingerprint,
                        "line": place.line,
                    },
                }
            )
            links.extend((entity.id, type_id) for type_id in types)
            if entity.datatype is not None:
                literals.append(entity.id)
        type_ids = list(dict.fromkeys(type_id for _, type_id in links))
        for kind, ids in (("types", type_ids), ("literals", literals)):
            if ids:
                transaction.run(f"load/new_{kind}", ids=ids)
                transaction.run(f"load/{kind}", ids=ids)
        result = transaction.run("load/entities", load=self.source.fingerprint, rows=rows)[0]
        duplicates = {row["line"] for row in result["duplicates"]}
        if duplicates:
            kept = {row["id"] for row in rows if row["line"] not in duplicates}
            links = [link for link in links if link[0] in kept]
        if result["retyped"]:
            transaction.run("load/retyped", ids=result["retyped"])
        if links:
            transaction.run("load/instances", rows=[{"id": id_, "type": type_id} for id_, type_id in links])
        return _Written(len(rows) - len(duplicates), _duplicates(result, records))

    def _facts(self, transaction: Transaction, records: Sequence[Placed]) -> _Written:
        facts, problems, changed = self._standing(transaction, _of(Fact, records))
        unknown = {fact.relation for _, fact in facts} - self.relations
        if unknown:
            transaction.run("load/relations", rows=[{"id": relation, "properties": {}} for relation in unknown])
        rows = [
            {
                "index": index,
                "id": fact.id,
                "subject": fact.subject,
                "object": fact.object,
                "properties": {
                    "relation": fact.relation,
                    "rank": fact.rank,
                    "start": fact.start,
                    "end": fact.end,
                    "from": None if fact.start is None else first_day(fact.start),
                    "until": None if fact.end is None else last_day(fact.end),
                    "source": self.source.name,
                    "load": self.source.fingerprint,
                    "line": place.line,
                },
            }
            for index, (place, fact) in enumerate(facts)
        ]
        now = {fact.id: fact for _, fact in facts}
        moved = [former for former in changed if former["object"] != now[former["id"]].object]
        if moved:
            transaction.run("load/moved", rows=moved)
        if changed:
            transaction.run("load/stale_beliefs", rows=changed)
        result = transaction.run("load/facts", rows=rows)[0]
        created = [facts[index][1] for index in result["created"]]
        self._count(transaction, created, [*created, *(now[former["id"]] for former in changed)], moved)
        if changed:
            left = sorted({(former["object"], former["relation"]) for former in changed})
            transaction.run("load/former_objects", rows=[{"id": entity, "relation": name} for entity, name in left])
        outside = 0
        if result["matched"] < len(rows):
            missing, outside = self._missing(transaction, facts)
            problems += missing
        return _Written(result["matched"], problems, outside, frozenset(unknown))

    def _standing(
        self, transaction: Transaction, facts: Sequence[tuple[Placed, Fact]]
    ) -> tuple[list[tuple[Placed, Fact]], list[_Problem], list[Row]]:
        """What the graph says otherwise about the facts of a batch.

        Returns:
            the facts without those that this load wrote from another line already; these, as problems; and what the
            others replace, where object or relation changed since an earlier load: id, subject, object, relation.
        """
        subjects: dict[str, Row] = {}
        for place, fact in facts:
            row = {"object": fact.object, "relation": fact.relation, "line": place.line}
            subjects.setdefault(fact.subject, {})[fact.id] = row
        rows = [{"subject": subject, "facts": by_id} for subject, by_id in subjects.items()]
        duplicates, changed = {}, []
        for former in transaction.run("load/standing", load=self.source.fingerprint, rows=rows):
            if former["duplicate"]:
                duplicates[former["id"]] = former["line"]
            else:
                changed.append(former)
        problems = [
            _Problem("duplicate", place, _duplicate(fact.id, duplicates[fact.id]))
            for place, fact in facts
            if fact.id in duplicates
        ]
        kept = [(place, fact) for place, fact in facts if fact.id not in duplicates]
        return kept, problems, [former for former in changed if former["id"] not in duplicates]

    def _count(
        self, transaction: Transaction, created: Sequence[Fact], linked: Sequence[Fact], moved: Sequence[Row]
    ) -> None:
        """Keep what changed facts change: their entities' degrees and their relations' objects.

        Args:
            created: facts that are new at their ends.
            linked: those, and the ones whose relation is new.
            moved: facts that are gone from a subject and an object.
        """
        degrees = Counter(entity for fact in created for entity in {fact.subject, fact.object})
        degrees.subtract(entity for row in moved for entity in {row["subject"], row["object"]})
        changes = [{"id": entity, "added": added} for entity, added in degrees.items() if added]
        if changes:
            transaction.run("load/degrees", rows=changes)
        objects = dict.fromkeys((fact.object, fact.relation) for fact in linked)
        if objects:
            transaction.run("load/objects", rows=[{"id": entity, "relation": name} for entity, name in objects])

    def _missing(self, transaction: Transaction, facts: Sequence[tuple[Placed, Fact]]) -> tuple[list[_Problem], int]:
        """Which facts name an entity that is not in the graph, and how many of them the source accounts for."""
        ids = list(dict.fromkeys(entity for _, fact in facts for entity in (fact.subject, fact.object)))
        missing = {row["id"] for row in transaction.run("load/missing", ids=ids)}
        problems = []
        outside = 0
        for place, fact in facts:
            if fact.subject in missing:
                reason = f"the subject {fact.subject} of {fact.id!r} is not in the graph"
                problems.append(_Problem("missing", place, reason))
            elif fact.object in missing and self.source.partial:
                outside += 1
            elif fact.object in missing:
                reason = f"the object {fact.object} of {fact.id!r} is not in the graph"
                problems.append(_Problem("missing", place, reason))
        return problems, outside


def _of(kind: type[T], records: Sequence[Placed]) -> list[tuple[Placed, T]]:
    return [(placed, placed.record) for placed in records if isinstance(placed.record, kind)]


def _duplicate(id_: str, before: int) -> str:
    return f"{id_} stands on line {before} already"


def _duplicates(result: dict[str, Any], records: Sequence[Placed]) -> list[_Problem]:
    places = {placed.line: placed for placed in records} if result["duplicates"] else {}
    return [
        _Problem("duplicate", places[row["line"]], _duplicate(row["id"], row["before"])) for row in result["duplicates"]
    ]
