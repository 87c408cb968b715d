"""Facts out of the lines that lie together by subject: each once, with the time that intermediate nodes say."""

from collections.abc import Iterator, Mapping, Sequence

from kgprobe.records import Fact, Placed, Rejected
from kgprobe.sources.values import check_interval, fact_id

from ..wikidata_time import interval
from .literals import Value, date_bound, value_id
from .preparing import LITERAL, Prepared

Interval = tuple[str | None, str | None]
_OPEN: Interval = (None, None)


def read_facts(prepared: Prepared) -> Iterator[Placed]:
    """The facts, subject by subject as they lie together.

    A fact that two triples state (one of them of a page that redirects) is given once. One that is stated with a time
    and without is given with it.
    """
    for lines in prepared.facts:
        rows = [line.split("\t", 4) for line in lines]
        intervals = _intervals(rows)
        dated = {
            (subject, relation, object_)
            for subject, relation, _, node, object_ in rows
            if node and intervals.get(node, _OPEN) != _OPEN
        }
        known: set[str] = set()
        for subject, relation, place, node, object_ in rows:
            if ":" not in relation:
                continue
            bounds = intervals.get(node, _OPEN) if node else _OPEN
            if dated and bounds == _OPEN and (subject, relation, object_) in dated:
                continue
            record = _fact(subject, relation, object_, node, bounds)
            if isinstance(record, Fact):
                if record.id in known:
                    continue
                known.add(record.id)
            line, file = prepared.line_and_file(place)
            yield Placed(line, record, file)


def _intervals(rows: Sequence[Sequence[str]]) -> Mapping[str, Interval]:
    """When intermediate nodes say that they began and ended; nodes that say nothing of it are left out."""
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
