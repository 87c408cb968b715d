"""What follows from facts and types and is kept beside them, so that no query has to count.

An entity's ``degree`` is its number of facts, where a fact of an entity with itself is one. ``OBJECT_OF`` links it to
the relations that it is an object of, and ``INSTANCE_OF`` to its types; ``size`` of a relation and of a type is the
number of these links. All of it follows what comes and goes, in the transaction that writes it: nothing walks the whole
graph.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Row, Transaction
from kgprobe.records import Fact

# One entity may have hundreds of thousands of types; what an engine does in one statement it holds in memory.
TYPES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Additions:
    """What follows from new facts.

    Attributes:
        degrees: by how much those of entities rise, as ``load/degrees`` takes it.
        objects: which relations entities are an object of, as ``load/objects`` takes it.
    """

    degrees: Sequence[Row]
    objects: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Former:
    """A fact as it stood before its object or its relation changed."""

    id: str
    subject: str
    object: str
    relation: str


def additions_of(facts: Iterable[Fact]) -> Additions:
    """What follows if all of the facts are new."""
    degrees: Counter[str] = Counter()
    objects = []
    for fact in facts:
        degrees[fact.subject] += 1
        if fact.object != fact.subject:
            degrees[fact.object] += 1
        objects.append((fact.object, fact.relation))
    return Additions([{"id": id_, "added": added} for id_, added in degrees.items()], _object_rows(objects))


def follow_new_facts(transaction: Transaction, additions: Additions) -> None:
    """Keep what new facts add."""
    _run(transaction, "load/degrees", additions.degrees)
    _run(transaction, "load/objects", additions.objects)


def follow_changed_facts(
    transaction: Transaction, moved: Sequence[Former], renamed: Sequence[Former], facts: Mapping[str, Fact]
) -> None:
    """Keep what changed facts took with them, once they are as they are now.

    Args:
        moved: those with another object; where they are now, they are new facts.
        renamed: those with another relation between the same entities.
        facts: as they are now, by id.
    """
    degrees = Counter(entity for former in moved for entity in {former.subject, former.object})
    _run(transaction, "load/degrees", [{"id": id_, "added": -count} for id_, count in degrees.items()])
    _run(transaction, "load/objects", _object_rows((former.object, facts[former.id].relation) for former in renamed))
    left = _object_rows((former.object, former.relation) for former in [*moved, *renamed])
    _run(transaction, "load/former_objects", left)


def forget_beliefs(transaction: Transaction, changed: Sequence[Former]) -> None:
    """Remove what all runs believe about facts that say something else now."""
    _run(transaction, "load/stale_beliefs", [{"fact": former.id} for former in changed])


def follow_types(
    transaction: Transaction, types: Mapping[str, Sequence[str]], former: Mapping[str, Sequence[str]]
) -> None:
    """Keep the links of entities to their types.

    Args:
        types: of entities that are new or have others than before, by id of the entity; none twice.
        former: those that entities had which have others now.
    """
    gone = {entity: sorted(set(before).difference(types.get(entity, ()))) for entity, before in former.items()}
    for rows in _type_rows(gone):
        removed = [{"id": row["id"], "types": dict.fromkeys(row["types"], True)} for row in rows]
        _run(transaction, "load/former_types", removed)
    added: dict[str, Sequence[str]] = {}
    for entity, now in types.items():
        known = set(former.get(entity, ()))
        added[entity] = [type_id for type_id in now if type_id not in known] if known else now
    for rows in _type_rows(added):
        _run(transaction, "load/instances", rows)


def in_parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Ids of types or literals, as many at a time as a statement takes."""
    return (ids[begin : begin + TYPES_AT_ONCE] for begin in range(0, len(ids), TYPES_AT_ONCE))


def _type_rows(types: Mapping[str, Sequence[str]]) -> Iterator[list[Row]]:
    """Rows of entities with types, for one statement each: an entity stands once in them, with a part of its types."""
    rows: list[Row] = []
    room = TYPES_AT_ONCE
    for entity, all_of_it in types.items():
        for part in in_parts(all_of_it):
            if len(part) > room:
                yield rows
                rows, room = [], TYPES_AT_ONCE
            rows.append({"id": entity, "types": list(part)})
            room -= len(part)
    if rows:
        yield rows


def rows_by_subject(changed: Iterable[Former]) -> list[Row]:
    """Rows that name facts, one row a subject, so that a statement walks the facts of each subject once."""
    subjects: dict[str, dict[str, bool]] = {}
    for former in changed:
        subjects.setdefault(former.subject, {})[former.id] = True
    return [{"subject": subject, "facts": facts} for subject, facts in subjects.items()]


def _object_rows(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    relations: dict[str, dict[str, None]] = {}
    for entity, relation in pairs:
        relations.setdefault(entity, {})[relation] = None
    return [{"id": entity, "relations": list(names)} for entity, names in relations.items()]


def _run(transaction: Transaction, query: str, rows: Sequence[Row]) -> None:
    if rows:
        transaction.run(query, rows=rows)
