"""One batch of rows into the graph, within a transaction that somebody else holds.

What is new is made without a search, and what stands is found with one walk through the facts of each subject: the cost
is that of the rows and of the facts at their subjects.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from kgprobe.graph.client import Transaction
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
from kgprobe.graph.record_rows import EntityRows, FactRows, Problem, RelationRows, absent, duplicate, fact_rows
from kgprobe.sources.contract import Source


class Written(NamedTuple):
    """What a batch came to.

    Attributes:
        written: records that are in the graph as they say.
        problems: the records that were left out, with the reason.
        outside: facts that a partial source left out with their objects.
        relations: ids of those that are certainly in the graph now.
    """

    written: int = 0
    problems: Sequence[Problem] = ()
    outside: int = 0
    relations: frozenset[str] = frozenset()


def write_relations(transaction: Transaction, batch: RelationRows) -> Written:
    """Write relations."""
    transaction.run("load/relations", rows=batch.rows)
    return Written(len(batch.rows))


def write_entities(transaction: Transaction, batch: EntityRows, source: Source) -> Written:
    """Write entities, the types that they name, and the links between them; at least one."""
    for kind, ids in (("types", batch.type_ids), ("literals", batch.literals)):
        for part in in_parts(ids):
            transaction.run(f"load/new_{kind}", ids=part)
            transaction.run(f"load/{kind}", ids=part)
    result = transaction.run("load/entities", load=source.fingerprint, rows=batch.rows)[0]
    before = {row["id"]: row["before"] for row in result["duplicates"]}
    unchanged = {*result["standing"], *before}
    types = {id_: types for id_, types in batch.types.items() if id_ not in unchanged} if unchanged else batch.types
    follow_types(transaction, types, {row["id"]: row["types"] for row in result["retyped"]})
    problems = [duplicate(id_, batch.places[id_], line) for id_, line in before.items()]
    return Written(len(batch.rows) - len(before), problems)


def write_facts(
    transaction: Transaction, batch: FactRows, source: Source, known: Set[str], labels: Mapping[str, str]
) -> Written:
    """Write facts between entities that are in the graph, and what follows from them.

    Args:
        known: ids of relations that are certainly in the graph.
        labels: what relations are called, by id; others are called by their ids.
    """
    its = {
        "source": source.name,
        "load": source.fingerprint,
        "labels": {id_: labels.get(id_, id_) for id_ in batch.relations},
    }
    standing = transaction.run("load/standing_facts", rows=batch.rows, **its)[0]
    before = {row["id"]: row["before"] for row in standing["duplicates"]}
    relations = batch.relations
    if before:
        relations = frozenset(fact.relation for id_, fact in batch.facts.items() if id_ not in before)
    if unknown := relations - known:
        transaction.run("load/relations", rows=[{"id": relation, "properties": {}} for relation in unknown])

    changed = [Former(**row) for row in standing["changed"]]
    renamed = [former for former in changed if former.object == batch.facts[former.id].object]
    moved = _can_move(transaction, batch, [former for former in changed if former not in renamed])
    if moved:
        transaction.run("load/moved", rows=rows_by_subject(moved))
    forget_beliefs(transaction, [*moved, *renamed])

    done = {*standing["kept"], *before}
    new = fact_rows({id_: place for id_, place in batch.places.items() if id_ not in done}) if done else batch
    created, additions, problems, outside = _create(transaction, new, source, its)
    follow_new_facts(transaction, additions)
    follow_changed_facts(transaction, moved, renamed, batch.facts)
    duplicates = [duplicate(id_, batch.places[id_], line) for id_, line in before.items()]
    return Written(len(standing["kept"]) + created, [*duplicates, *problems], outside, unknown)


def _can_move(transaction: Transaction, batch: FactRows, changed: Sequence[Former]) -> list[Former]:
    """Those whose new object is in the graph; the others stay as they were."""
    missing = _missing(transaction, (batch.facts[former.id].object for former in changed))
    return [former for former in changed if batch.facts[former.id].object not in missing]


def _create(
    transaction: Transaction, batch: FactRows, source: Source, its: Mapping[str, object]
) -> tuple[int, Additions, list[Problem], int]:
    """Make facts that are not in the graph: how many, what follows from them, which were left out, how many outside.

    Args:
        its: what is said of each, beside what stands in its row.
    """
    if not batch.rows:
        return 0, batch.additions, [], 0
    created: int = transaction.run("load/new_facts", rows=batch.rows, **its)[0]["created"]
    if created == len(batch.facts):
        return created, batch.additions, [], 0
    ends = (entity for fact in batch.facts.values() for entity in (fact.subject, fact.object))
    missing = _missing(transaction, ends)
    problems = []
    outside = 0
    for id_, fact in batch.facts.items():
        if fact.subject in missing:
            problems.append(absent(batch.places[id_], "subject"))
        elif fact.object in missing and source.partial:
            outside += 1
        elif fact.object in missing:
            problems.append(absent(batch.places[id_], "object"))
    there = (fact for fact in batch.facts.values() if fact.subject not in missing and fact.object not in missing)
    return created, additions_of(there), problems, outside


def _missing(transaction: Transaction, ids: Iterable[str]) -> set[str]:
    """Which of these entities are not in the graph."""
    asked = list(dict.fromkeys(ids))
    return {row["id"] for row in transaction.run("load/missing", ids=asked)} if asked else set()
