"""Split a source's streams into batches of records, and convert these to rows, in the same way for loads and imports.

Names that print alike become equal, duplicates are rejected, dates are parsed, facts are grouped by subject. This needs
no graph, so that a load does it while the engine writes the previous batch.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from itertools import chain, product, starmap
from operator import attrgetter, ne
from typing import NamedTuple, TypeVar

from kgprobe.base.dates import UNKNOWN, calendar_date, first_day, last_day
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation, Texts, is_english, property_in
from kgprobe.base.sanitize import visible
from kgprobe.graph.client import Row
from kgprobe.graph.derive import Additions, additions_of
from kgprobe.graph.driver import MESSAGE_BYTES, encoded_bytes
from kgprobe.sources.contract import Source
from kgprobe.sources.values import plain_name

T = TypeVar("T")

# Entities first: Neo4j lists nodes in the order of their creation.
STAGES = ("entities", "relations", "facts")
# Order of the numbers of records that a load stores.
KINDS = ("relations", "entities", "facts")

# Limits of a batch and of a record. A batch and one more record together fit into a message.
BATCH_RECORDS = 10_000
BATCH_BYTES = RECORD_BYTES = MESSAGE_BYTES // 2

# An engine's text index holds up to 32,766 bytes of an entity's label; the index of relations by label in Neo4j about
# 8,160 bytes.
LABEL_BYTES = {Entity: 30_000, Relation: 8_000}

# Bytes of a row besides the record's fields: names of columns, numbers.
_ROW_BYTES = 100

_WAIT_SECONDS = 1.0


class Problem(NamedTuple):
    """A rejected record: its kind of problem for the counts, its place, and the reason as text."""

    kind: str
    place: Placed
    reason: str


@dataclass(frozen=True, slots=True)
class EntityRows:
    """Entities of a batch.

    Attributes:
        rows: rows for ``load/entities``.
        types: distinct types of each entity that has any, by its id.
        type_ids: distinct types of all entities.
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
        rows: rows for ``load/standing_facts`` and ``load/new_facts``.
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


def _split(properties: Row, remove_missing: bool) -> dict[str, Row]:
    """Return the properties with a value, and the empty ones; none are empty if they replace existing values."""
    empty = {} if remove_missing else {name: value for name, value in properties.items() if value in (None, "", (), [])}
    return {"properties": {name: value for name, value in properties.items() if name not in empty}, "empty": empty}


def _texts_in_properties(texts: Texts) -> Row:
    """Return the texts of all languages as properties, see :func:`~kgprobe.base.records.property_in`."""
    properties: Row = {}
    for language, by_name in texts.items():
        for name, text in by_name.items():
            if text:
                properties[property_in(name, language)] = text if isinstance(text, str) else list(text)
    return properties


def relation_rows(places: Mapping[str, Placed], source: str, remove_missing: bool = False) -> list[Row]:
    """Return rows for ``load/relations``, with the name of their source.

    Args:
        remove_missing: let empty properties replace existing values.
    """
    rows: list[Row] = []
    for place in places.values():
        if isinstance(place.record, Relation):
            properties = asdict(place.record) | {"source": source}
            properties |= _texts_in_properties(properties.pop("texts"))
            if remove_missing and properties["active"] is None:
                properties["active"] = True
            rows.append({"id": properties.pop("id"), **_split(properties, remove_missing)})
    return rows


# A letter: a literal without one, such as 1.5 or 1990, is the same in all languages.
_LETTER = re.compile(r"[^\W\d_]")


def entity_rows(
    places: Mapping[str, Placed], source: str, load: str, languages: Sequence[str] = (), remove_missing: bool = False
) -> EntityRows:
    """Return the rows of entities with their source and load.

    Args:
        languages: codes of the languages of the source; with several, names in each are stored.
    """
    several = languages if len(languages) > 1 else ()
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
        if remove_missing:
            properties |= dict.fromkeys(starmap(property_in, product(("label", "aliases", "description"), several)))
        if entity.datatype is not None and not entity.texts:
            same = [code for code in several if is_english(code) or not _LETTER.search(entity.label)]
            properties |= {property_in("label", code): entity.label for code in same}
        properties |= _texts_in_properties(entity.texts)
        rows.append({"index": len(rows), "id": id_, "line": place.line, **_split(properties, remove_missing)})
    type_ids = list(dict.fromkeys(chain.from_iterable(types_of.values())))
    return EntityRows(places, rows, types_of, type_ids, literals)


def fact_row(fact: Fact, line: int) -> Row:
    """Return the properties of a fact without subject, id and missing values.

    Raises:
        ValueError: its start or end is not a date.
    """
    row: Row = {"object": fact.object, "relation": fact.relation, "rank": fact.rank, "line": line}
    if fact.start is not None:
        row |= {"start": fact.start, "from": first_day(fact.start), "start_date": calendar_date(fact.start)}
    if fact.end == UNKNOWN:
        row |= {"end": fact.end, "ended": True}
    elif fact.end is not None:
        row |= {"end": fact.end, "until": last_day(fact.end), "end_date": calendar_date(fact.end)}
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
    relations = frozenset(map(attrgetter("relation"), facts.values()))
    return FactRows(places, facts, rows, relations, additions_of(facts.values()))


class RecordBatch(NamedTuple):
    """Records that are written together.

    Attributes:
        places: accepted records, by id.
        position: number of records of the stream up to the end of the batch.
        last: True if the stream ends with the batch.
        folded: number of names that were changed, see :func:`~kgprobe.sources.values.plain_name`.
    """

    places: Mapping[str, Placed]
    problems: list[Problem]
    records: int
    position: int
    last: bool
    folded: int = 0


def problem_message(problem: Problem, source: Source) -> str:
    """Return a message about a rejected record, with a full stop."""
    file = problem.place.file or source.name
    return visible(f"{file}, {problem.place.unit} {problem.place.line}: {problem.reason.rstrip('.')}.")


def read_batches(source: Source, stage: str, skip: int = 0) -> Iterator[RecordBatch]:
    """Yield the batches of a stage after the first ``skip`` records; at least one, the last one marked as such."""
    stream: Iterator[Placed] = getattr(source, stage)()
    position = sum(1 for _ in itertools.islice(stream, skip))
    overhead = encoded_bytes([source.name, source.fingerprint]) + _ROW_BYTES
    last = False
    while not last:
        records, last, folded = _next_records(stream, overhead)
        position += len(records)
        places, problems = distinct(records)
        yield RecordBatch(places, problems, len(records), position, last, folded)


def _next_records(stream: Iterator[Placed], overhead: int) -> tuple[list[Placed], bool, int]:
    """Return the records of the next batch, True if the stream has ended, and the number of changed names.

    Args:
        overhead: bytes that are sent with each record.
    """
    records: list[Placed] = []
    size = folded = 0
    for placed in stream:
        with_names, changed = _with_plain_names(placed)
        checked, bytes_ = _checked(with_names, overhead)
        records.append(checked)
        size += bytes_
        folded += changed
        if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
            return records, False, folded
    return records, True, folded


def _with_plain_names(placed: Placed) -> tuple[Placed, int]:
    """Return a record with names in their plain form, and the number of names that this changed."""
    record = placed.record
    if not isinstance(record, (Entity, Relation)) or "".join((record.label, *record.aliases)).isascii():
        return placed, 0
    label, *aliases = map(plain_name, (record.label, *record.aliases))
    changed = sum(map(ne, (label, *aliases), (record.label, *record.aliases)))
    if not changed:
        return placed, 0
    others = tuple(alias for alias in dict.fromkeys(aliases) if alias and alias != label)
    return placed._replace(record=replace(record, label=label, aliases=others)), changed


def _checked(placed: Placed, overhead: int) -> tuple[Placed, int]:
    """Return a record, rejected if it is too large for the graph, and the number of bytes that are sent for it."""
    record = placed.record
    if isinstance(record, Rejected):
        return placed, 0
    try:
        size = encoded_bytes(record) + overhead
    except UnicodeEncodeError:
        return placed._replace(record=Rejected("a text in it contains half a character (a lone surrogate)")), 0
    reason = ""
    if size > RECORD_BYTES:
        limit = f"{RECORD_BYTES / 1e6:.1f} MB"
        reason = f"{record.id[:80]} has {size / 1e6:,.1f} MB; a record can have up to {limit}: shorten its texts"
    elif isinstance(record, (Entity, Relation)) and _label_is_too_long(record, size):
        limit = f"{LABEL_BYTES[type(record)]:,} bytes"
        reason = f"the label of {record.id[:80]} is too long; a label can have up to {limit}: shorten it"
    return (placed._replace(record=Rejected(reason)), 0) if reason else (placed, size)


def _label_is_too_long(record: Entity | Relation, size: int) -> bool:
    limit = LABEL_BYTES[type(record)]
    # Nearly all records are shorter as a whole, so that their labels need not be measured.
    return size > limit and encoded_bytes(record.label) > limit


def prefetched(things: Iterator[T], waiting: Callable[[], None]) -> Iterator[T]:
    """Yield the same things; a thread prepares the next one while the current one is used."""

    def prepare() -> T | None:
        return next(things, None)

    with ThreadPoolExecutor(1, "kgprobe-reader") as reader:
        ready = reader.submit(prepare)
        while True:
            while not wait([ready], _WAIT_SECONDS).done:
                waiting()
            thing = ready.result()
            if thing is None:
                return
            ready = reader.submit(prepare)
            yield thing
