"""Entities and facts out of the grouped notes on them.

An entity has names, types, how often it is read; literals are entities, too. Each fact is given once, with the interval
of its intermediate node.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

from kgprobe.base.records import Entity, Fact, Placed, Rejected
from kgprobe.sources.values import check_interval, fact_id, tidy_all

from ..wikidata_time import interval
from .identifiers import name_of_thing, without_brackets, words
from .literals import Value, date_bound, value_entity, value_id
from .preparing import LITERAL, Prepared, value_of

# A text after the rank of its language.
Text: TypeAlias = tuple[int, str]


@dataclass(slots=True)
class _Notes:
    """All notes on one id.

    Attributes:
        place: first place.
        kept: True if it is an end of a fact or a class, or has a type; ids with only a label are dropped.
        texts: labels, aliases and descriptions, by their kinds in the notes.
        views: page views; None if unknown.
    """

    place: str
    kept: bool = False
    value: Value | None = None
    texts: defaultdict[str, list[Text]] = field(default_factory=lambda: defaultdict(list))
    types: tuple[str, ...] = ()
    views: float | None = None


def read_entities(prepared: Prepared) -> Iterator[Placed]:
    """Yield the ends of facts and the typed entities, each once, without redirects and disambiguation pages."""
    for lines in prepared.entities:
        notes = _notes_of(lines)
        kept = [id_ for id_, known in notes.items() if known.kept]
        for id_, resolved in zip(kept, prepared.pages.resolve(kept), strict=True):
            if resolved == id_:
                line, file = prepared.line_and_file(notes[id_].place)
                yield Placed(line, _entity(id_, notes[id_]), file)


def _notes_of(lines: Sequence[str]) -> dict[str, _Notes]:
    notes: dict[str, _Notes] = {}
    for line in lines:
        id_, kind, place, text = line.split("\t", 3)
        known = notes.get(id_)
        if known is None:
            known = notes[id_] = _Notes(place)
        known.kept = known.kept or kind in ("m", "v", "t")
        if kind == "v":
            known.value = value_of(text)
        elif kind == "t":
            known.types += (text,)
        elif kind == "p":
            known.views = (known.views or 0.0) + float(text)
        elif kind in ("l", "a", "d"):
            rank, _, name = text.partition(" ")
            known.texts[kind].append((int(rank), name))
    return notes


def _entity(id_: str, known: _Notes) -> Entity:
    if known.value is not None:
        return value_entity(known.value)
    is_page = id_.startswith("dbr")
    label = _best(known.texts["l"])
    if is_page:
        label = without_brackets(label) or name_of_thing(id_)
    names = [alias for _, alias in sorted(known.texts["a"], key=itemgetter(0))]
    return Entity(
        id=id_,
        label=label or words(id_),
        aliases=tidy_all(names, without=label) if names else (),
        description=_best(known.texts["d"]),
        types=tuple(dict.fromkeys(known.types)),
        popularity=known.views,
    )


def _best(texts: Sequence[Text]) -> str:
    """Return the text in the best language, the first of several."""
    return min(texts, key=itemgetter(0), default=(0, ""))[1]


Interval = tuple[str | None, str | None]
_OPEN: Interval = (None, None)


def read_facts(prepared: Prepared) -> Iterator[Placed]:
    """Yield the facts, subject by subject.

    A fact that several triples state, for example of a redirecting page, is given once; with an interval, if one of
    them has it.
    """
    for lines in prepared.facts:
        known: set[str] = set()
        for place, record in _facts_of([line.split("\t", 4) for line in lines]):
            if isinstance(record, Fact):
                if record.id in known:
                    continue
                known.add(record.id)
            line, file = prepared.line_and_file(place)
            yield Placed(line, record, file)


def _facts_of(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, Fact | Rejected]]:
    """Yield the facts of a partition with their places, without undated copies of dated facts."""
    intervals = _intervals(rows)
    # Rows without an intermediate node, whose id is empty, have no interval.
    dated = set()
    for subject, relation, _, node, object_ in rows:
        if intervals.get(node, _OPEN) != _OPEN:
            dated.add((subject, relation, object_))
    for subject, relation, place, node, object_ in rows:
        if ":" not in relation:
            continue
        bounds = intervals.get(node, _OPEN)
        if bounds != _OPEN or (subject, relation, object_) not in dated:
            yield place, _fact(subject, relation, object_, node, bounds)


def _intervals(rows: Sequence[Sequence[str]]) -> Mapping[str, Interval]:
    """Return the intervals of intermediate nodes that have one."""
    moments: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for _, relation, _, node, object_ in rows:
        if ":" not in relation and object_.startswith(LITERAL):
            bound = date_bound(value_of(object_))
            if bound is not None:
                times = moments.setdefault(node, {"start": [], "end": [], "point": []})
                times[relation].append((bound, bound))
    return {node: interval(times["start"], times["end"], times["point"]) for node, times in moments.items()}


def _fact(subject: str, relation: str, object_: str, node: str, bounds: Interval) -> Fact | Rejected:
    start, end = bounds
    if object_.startswith(LITERAL):
        object_ = value_id(value_of(object_))
    try:
        if bounds != _OPEN:
            check_interval(start, end)
        identifier = fact_id(subject, relation, object_, start)
    except ValueError as error:
        return Rejected(f"{node or subject}, {relation}: {error}")
    return Fact(identifier, subject, relation, object_, "normal", start, end)
