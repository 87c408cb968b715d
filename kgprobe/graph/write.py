"""Write a batch of rows in a transaction of the caller.

New facts are created without a search; existing facts are found with one walk through the facts of each subject. The
cost depends on the rows and the facts at their subjects.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

from kgprobe.graph.client import Row, Transaction
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
from kgprobe.graph.record_batches import EntityRows, FactRows, Problem, absent, duplicate, fact_rows
from kgprobe.graph.rows import column_by
from kgprobe.graph.twins import drop_twins, write_twins
from kgprobe.sources.contract import Source


class WrittenBatch(NamedTuple):
    """Result of writing a batch.

    Attributes:
        written: number of records in the graph.
        created, changed: numbers of records among them that are new, and that were there with other values.
        problems: rejected records, with the reason.
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
