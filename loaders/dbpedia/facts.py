"""Facts from the lines grouped by subject: each once, with the interval of its intermediate node."""

from collections.abc import Iterator, Mapping, Sequence

from kgprobe.records import Fact, Placed, Rejected
from kgprobe.sources.values import check_interval, fact_id

from ..wikidata_time import interval
from .literals import Value, date_bound, value_id
from .preparing import LITERAL, Prepared

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
    dated = {
        (subject, relation, object_)
        for subject, relation, _, node, object_ in rows
        if node and intervals.get(node, _OPEN) != _OPEN
    }
    for subject, relation, place, node, object_ in rows:
        if ":" not in relation:
            continue
        bounds = intervals.get(node, _OPEN) if node else _OPEN
        if bounds != _OPEN or (subject, relation, object_) not in dated:
            yield place, _fact(subject, relation, object_, node, bounds)


def _intervals(rows: Sequence[Sequence[str]]) -> Mapping[str, Interval]:
    """Return the intervals of intermediate nodes that have one."""
    moments: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for _, relation, _, node, object_ in rows:
        if ":" not in relation and object_.startswith(LITERAL):
            bound = date_bound(_value(object_))
            if bound is not None:
                times = moments.setdefault(node, {"start": [], "end": [], "point": []})
                times[relation].append((bound, bound))
    return {node: interval(times["start"], times["end"], times["point"]) for node, times in moments.items()}


def _fact(subject: str, relation: str, object_: str, node: str, bounds: Interval) -> Fact | Rejected:
    start, end = bounds
    if object_.startswith(LITERAL):
        object_ = value_id(_value(object_))
    try:
        if bounds != _OPEN:
            check_interval(start, end)
        identifier = fact_id(subject, relation, object_, start)
    except ValueError as error:
        return Rejected(f"{node or subject}, {relation}: {error}")
    return Fact(identifier, subject, relation, object_, "normal", start, end)


def _value(object_: str) -> Value:
    datatype, _, text = object_[len(LITERAL) :].partition("\t")
    return Value(text, datatype)
