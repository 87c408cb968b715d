"""What follows from facts and types and is kept beside them, so that no query has to count.

An entity's ``degree`` is its number of facts, where a fact of an entity with itself is one. ``OBJECT_OF`` links it to
the relations that it is an object of, and ``INSTANCE_OF`` to its types; ``size`` of a relation and of a type is the
number of these links. All of it follows what comes and goes, in the transaction that writes it: nothing walks the whole
graph.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Row, Transaction
from kgprobe.records import Fact


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
    _run(transaction, "load/stale_beliefs", rows_by_subject(changed))


def follow_types(
    transaction: Transaction, types: Mapping[str, Sequence[str]], former: Mapping[str, Sequence[str]]
) -> None:
    """Keep the links of entities to their types.

    Args:
        types: of entities that are new or have others than before, by id of the entity; none twice.
        former: those that entities had which have others now.
    """
    left: list[Row] = []
    for entity, before in former.items():
        gone = dict.fromkeys(set(before).difference(types.get(entity, ())), True)
        if gone:
            left.append({"id": entity, "types": gone})
    added: list[Row] = []
    for entity, now in types.items():
        known = set(former.get(entity, ()))
        if new := [type_id for type_id in now if type_id not in known]:
            added.append({"id": entity, "types": new})
    _run(transaction, "load/former_types", left)
    _run(transaction, "load/instances", added)


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
