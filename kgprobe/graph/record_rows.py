"""Convert records to rows for the statements that write them.

Duplicates are rejected, dates are parsed, facts are grouped by subject. This needs no graph, so that a load does it
while the engine writes the previous batch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import NamedTuple

from kgprobe.dates import first_day, last_day
from kgprobe.graph.client import Row
from kgprobe.graph.derive import Additions, additions_of
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation


class Problem(NamedTuple):
    """A rejected record: its kind of problem for the counts, its place, and the reason as text."""

    kind: str
    place: Placed
    reason: str


@dataclass(frozen=True, slots=True)
class EntityRows:
    """Entities of a batch.

    Attributes:
        places: records with their places, by id.
        rows: rows for ``load/entities``.
        types: distinct types of each entity that has any, by its id.
        type_ids: distinct types of all entities.
        literals: ids of the entities that are literals.
    """

    places: Mapping[str, Placed]
    rows: Sequence[Row]
    types: Mapping[str, Sequence[str]]
    type_ids: Sequence[str]
    literals: Sequence[str]


@dataclass(frozen=True, slots=True)
class FactRows:
    """Facts of a batch.

    Attributes:
        places: records with their places, by id.
        facts: facts by id.
        rows: rows for ``load/standing_facts`` and ``load/new_facts``.
        relations: ids of the facts' relations.
        additions: changes of derived data if all facts are new.
    """

    places: Mapping[str, Placed]
    facts: Mapping[str, Fact]
    rows: Sequence[Row]
    relations: frozenset[str]
    additions: Additions


def distinct(records: Iterable[Placed]) -> tuple[dict[str, Placed], list[Problem]]:
    """Return the readable records by id without duplicates, and the problems of the others."""
    places: dict[str, Placed] = {}
    problems = []
    for place in records:
        if isinstance(place.record, Rejected):
            problems.append(Problem("unreadable", place, place.record.reason))
        elif place.record.id in places:
            problems.append(duplicate(place.record.id, place, places[place.record.id].line))
        else:
            places[place.record.id] = place
    return places, problems


def duplicate(id_: str, place: Placed, before: int) -> Problem:
    """Return the problem of a record with the same id as the record on line ``before``."""
    return Problem("duplicate", place, f"{id_} is already on {place.unit} {before}")


def absent(place: Placed, end: str) -> Problem:
    """Return the problem of a fact whose ``subject`` or ``object`` is not in the graph."""
    fact = place.record
    assert isinstance(fact, Fact)  # noqa: S101
    return Problem("missing", place, f"the {end} {getattr(fact, end)} of {fact.id!r} is not in the graph")


def relation_rows(places: Mapping[str, Placed], source: str) -> list[Row]:
    """Return rows for ``load/relations``, with the name of their source."""
    rows: list[Row] = []
    for place in places.values():
        if isinstance(place.record, Relation):
            properties = asdict(place.record) | {"source": source}
            rows.append({"id": properties.pop("id"), "properties": properties})
    return rows


def entity_rows(places: Mapping[str, Placed], source: str, load: str) -> EntityRows:
    """Return the rows of entities with their source and load."""
    rows: list[Row] = []
    types_of: dict[str, Sequence[str]] = {}
    literals = []
    for id_, place in places.items():
        entity = place.record
        if not isinstance(entity, Entity):
            continue
        types = list(dict.fromkeys(entity.types))
        if types:
            types_of[id_] = types
        if entity.datatype is not None:
            literals.append(id_)
        properties = {
            "label": entity.label,
            "aliases": list(entity.aliases),
            "description": entity.description,
            "types": types,
            "popularity": entity.popularity,
            "value": entity.value,
            "datatype": entity.datatype,
            "source": source,
            "load": load,
            "line": place.line,
        }
        rows.append({"index": len(rows), "id": id_, "line": place.line, "properties": properties})
    type_ids = list(dict.fromkeys(chain.from_iterable(types_of.values())))
    return EntityRows(places, rows, types_of, type_ids, literals)


def fact_row(fact: Fact, line: int) -> Row:
    """Return the properties of a fact without subject, id and missing values.

    Raises:
        ValueError: its start or end is not a date.
    """
    row: Row = {"object": fact.object, "relation": fact.relation, "rank": fact.rank, "line": line}
    if fact.start is not None:
        row |= {"start": fact.start, "from": first_day(fact.start)}
    if fact.end is not None:
        row |= {"end": fact.end, "until": last_day(fact.end)}
    return row


def fact_rows(places: Mapping[str, Placed]) -> FactRows:
    """Return the rows of facts, grouped by subject.

    Raises:
        ValueError: a start or end is not a date.
    """
    facts: dict[str, Fact] = {}
    subjects: dict[str, Row] = {}
    for id_, place in places.items():
        fact = place.record
        if not isinstance(fact, Fact):
            continue
        facts[id_] = fact
        subjects.setdefault(fact.subject, {})[id_] = fact_row(fact, place.line)
    rows: list[Row] = [{"subject": subject, "facts": by_id} for subject, by_id in subjects.items()]
    relations = frozenset(fact.relation for fact in facts.values())
    return FactRows(places, facts, rows, relations, additions_of(facts.values()))
