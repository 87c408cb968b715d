"""Records as rows of the statements that write them: without repetitions, dated, facts grouped by their subjects.

It needs no graph, so that a load can do it while the engine writes the batch before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from kgprobe.dates import first_day, last_day
from kgprobe.graph.client import Row
from kgprobe.graph.derive import Additions, additions_of
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation


class Problem(NamedTuple):
    """Why a record is left out: one of the kinds that a report counts, and the reason in words."""

    kind: str
    place: Placed
    reason: str


@dataclass(frozen=True, slots=True)
class RelationRows:
    """Relations of a batch, as ``load/relations`` takes them."""

    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class EntityRows:
    """Entities of a batch.

    Attributes:
        places: where each comes from, by id.
        rows: as ``load/entities`` takes them.
        types: of each entity that has any, by its id; none twice.
        type_ids: all of these, each once.
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
        places: where each comes from, by id.
        facts: by id.
        rows: as ``load/standing_facts`` and ``load/new_facts`` take them.
        relations: ids of all relations.
        additions: what follows if all of the facts are new.
    """

    places: Mapping[str, Placed]
    facts: Mapping[str, Fact]
    rows: Sequence[Row]
    relations: frozenset[str]
    additions: Additions


Rows = RelationRows | EntityRows | FactRows


def distinct(records: Iterable[Placed]) -> tuple[dict[str, Placed], list[Problem]]:
    """Records by id without the unreadable ones and without repetitions; and these, as problems."""
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
    """The problem of a record whose id stands on the line ``before`` already."""
    return Problem("duplicate", place, f"{id_} stands on {place.unit} {before} already")


def absent(place: Placed, end: str) -> Problem:
    """The problem of a fact whose ``subject`` or ``object`` is not in the graph."""
    fact = place.record
    assert isinstance(fact, Fact)  # noqa: S101
    return Problem("missing", place, f"the {end} {getattr(fact, end)} of {fact.id!r} is not in the graph")


def relation_rows(places: Mapping[str, Placed], source: str) -> RelationRows:
    """The rows of relations, by id; ``source`` is the name of where they come from."""
    rows: list[Row] = []
    for place in places.values():
        if isinstance(place.record, Relation):
            properties = asdict(place.record) | {"source": source}
            rows.append({"id": properties.pop("id"), "properties": properties})
    return RelationRows(rows)


def entity_rows(places: Mapping[str, Placed], source: str, load: str) -> EntityRows:
    """The rows of entities, by id; ``source`` and ``load`` say what they were loaded from."""
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
    type_ids = list(dict.fromkeys(type_id for types in types_of.values() for type_id in types))
    return EntityRows(places, rows, types_of, type_ids, literals)


def fact_row(fact: Fact, line: int) -> Row:
    """What is kept of a fact, without its subject and its id; what is left out has no value.

    Raises:
        ValueError: its start or its end is no date.
    """
    row: Row = {"object": fact.object, "relation": fact.relation, "rank": fact.rank, "line": line}
    if fact.start is not None:
        row |= {"start": fact.start, "from": first_day(fact.start)}
    if fact.end is not None:
        row |= {"end": fact.end, "until": last_day(fact.end)}
    return row


def fact_rows(places: Mapping[str, Placed]) -> FactRows:
    """The rows of facts, by id.

    Raises:
        ValueError: a start or an end is no date.
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
