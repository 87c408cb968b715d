"""Update data that are derived from facts and types, so that queries need not count.

``degree`` of an entity is its number of facts; a fact from an entity to itself counts once. ``OBJECT_OF`` links an
entity to the relations of which it is an object, ``INSTANCE_OF`` to its types; ``size`` of a relation or type is the
number of these links. They are updated in the transaction that writes the facts or types, without a walk through the
whole graph.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from kgprobe.base.records import Fact
from kgprobe.graph.client import Row, Transaction

# Types per statement: an entity may have hundreds of thousands, and an engine holds a statement's changes in memory.
TYPES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Additions:
    """Changes of derived data by new facts.

    Attributes:
        degrees: increases of degrees, rows for ``load/degrees``.
        objects: relations of objects, rows for ``load/objects``.
    """

    degrees: Sequence[Row]
    objects: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Former:
    """A fact before a change of its object or relation."""

    id: str
    subject: str
    object: str
    relation: str


def additions_of(facts: Iterable[Fact]) -> Additions:
    """Return the additions by new facts."""
    degrees: Counter[str] = Counter()
    objects = []
    for fact in facts:
        degrees[fact.subject] += 1
        if fact.object != fact.subject:
            degrees[fact.object] += 1
        objects.append((fact.object, fact.relation))
    return Additions([{"id": id_, "added": added} for id_, added in degrees.items()], _object_rows(objects))


def follow_new_facts(transaction: Transaction, additions: Additions) -> None:
    """Write the additions by new facts."""
    _run(transaction, "load/degrees", additions.degrees)
    _run(transaction, "load/objects", additions.objects)


def follow_changed_facts(
    transaction: Transaction, moved: Sequence[Former], renamed: Sequence[Former], facts: Mapping[str, Fact]
) -> None:
    """Update derived data at the former ends of changed facts, after the change.

    Args:
        moved: facts with another object, which count as new facts at their new place.
        renamed: facts with another relation between the same entities.
    """
    degrees = Counter(chain.from_iterable({former.subject, former.object} for former in moved))
    _run(transaction, "load/degrees", [{"id": id_, "added": -count} for id_, count in degrees.items()])
    _run(transaction, "load/objects", _object_rows((former.object, facts[former.id].relation) for former in renamed))
    left = _object_rows((former.object, former.relation) for former in [*moved, *renamed])
    _run(transaction, "load/former_objects", left)


def forget_beliefs(transaction: Transaction, changed: Sequence[Former]) -> None:
    """Delete the beliefs of all runs about changed facts, also that of the run in view on the facts."""
    rows: list[Row] = [{"subject": former.subject, "fact": former.id} for former in changed]
    _run(transaction, "load/stale_beliefs", rows)
    _run(transaction, "load/stale_view", rows)


def follow_types(
    transaction: Transaction, types: Mapping[str, Sequence[str]], former: Mapping[str, Sequence[str]]
) -> None:
    """Update the links of entities to their types."""
    gone = {entity: sorted(set(before).difference(types.get(entity, ()))) for entity, before in former.items()}
    for rows in _type_rows(gone):
        removed = [{"id": row["id"], "types": dict.fromkeys(row["types"], True)} for row in rows]
        _run(transaction, "load/former_types", removed)
    added: dict[str, Sequence[str]] = {}
    for entity, now in types.items():
        known = set(former.get(entity, ()))
        added[entity] = [type_id for type_id in now if type_id not in known]
    for rows in _type_rows(added):
        _run(transaction, "load/instances", rows)


def in_parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Return ids of types or literals in parts, one for each statement."""
    return (ids[begin : begin + TYPES_AT_ONCE] for begin in range(0, len(ids), TYPES_AT_ONCE))


def _type_rows(types: Mapping[str, Sequence[str]]) -> Iterator[list[Row]]:
    """Yield the rows of each statement; a row has an entity and a part of its types."""
    rows: list[Row] = []
    room = TYPES_AT_ONCE
    for entity, type_ids in types.items():
        for part in in_parts(type_ids):
            if len(part) > room:
                yield rows
                rows, room = [], TYPES_AT_ONCE
            rows.append({"id": entity, "types": list(part)})
            room -= len(part)
    if rows:
        yield rows


def rows_by_subject(facts: Iterable[tuple[str, str]]) -> list[Row]:
    """Return rows of facts, given by subject and id; one row for each subject, whose facts a statement walks once."""
    subjects: dict[str, dict[str, bool]] = defaultdict(dict)
    for subject, fact in facts:
        subjects[subject][fact] = True
    return [{"subject": subject, "facts": ids} for subject, ids in subjects.items()]


def _object_rows(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    relations: dict[str, dict[str, None]] = defaultdict(dict)
    for entity, relation in pairs:
        relations[entity][relation] = None
    return [{"id": entity, "relations": list(names)} for entity, names in relations.items()]


def _run(transaction: Transaction, query: str, rows: Sequence[Row]) -> None:
    if rows:
        transaction.run(query, rows=rows)
