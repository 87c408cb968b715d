"""Facts as people name them, and what the distractors of a fact are taken from."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import close_relations, entities_called, names_of_relations, no_entity
from kgprobe.sampling.keys import FactKey

# What stands between the subject's id and the rest in ids of facts: in those that tables get, in Wikidata's.
_AFTER_SUBJECT = (" ", "$")
_BETWEEN = "|"

# Pairs of entities that go by the names of a subject and an object; beyond, ids are asked for.
_PAIRS = 10_000
_SIMILAR = 1_000
_SHOWN = 5

_HOW = (
    "A fact is named by its id, or by subject, relation and object, each by its id or a name: 'Q142 P36 Q90',"
    " 'France | capital | Paris'."
)


class _Reading(NamedTuple):
    """What a name may say: subject and object are ids or names; the relation is an id."""

    subject: str
    relation: str
    object: str


def find_fact(graph: Graph, named: str, as_of: int) -> FactKey:
    """The fact of a name.

    A name is the fact's id; or its subject, its relation and its object, each by id, label or alias, with ``|`` between
    them, or with spaces where that leaves no doubt. Capitals do not matter.

    Args:
        as_of: of several terms of one triple, the one that is current at this date (``yyyymmdd``) is meant.

    Raises:
        UnknownNameError: there is no such fact, or more than one; the message says which there are.

    Cost: a walk through the facts of the subject; a scan of the entities where they are named by labels, and of the
    facts where the name is the id of one and does not begin with its subject's.
    """
    subjects = [named.split(mark)[0] for mark in _AFTER_SUBJECT if mark in named]
    rows = graph.read("sample/facts", rows=[{"subject": subject, "fact": named} for subject in subjects])
    if rows:
        return FactKey(rows[0]["subject"], rows[0]["fact"])
    relations = names_of_relations(graph)
    readings = list(_readings(named, relations))
    for ids in entities_called(graph, {text for reading in readings for text in (reading.subject, reading.object)}):
        rows = _triples(graph, named, readings, ids)
        if rows:
            return _the_one(named, rows, as_of)
    rows = graph.read("sample/by_id", fact=named)
    if not rows:
        raise UnknownNameError(_what_there_is(graph, named, readings, relations))
    if len(rows) > 1:
        listed = ", ".join(row["subject"] for row in rows)
        raise UnknownNameError(
            f"Facts of several subjects have the id {named!r}: {listed}. Name one by subject, relation and object."
        )
    return FactKey(rows[0]["subject"], rows[0]["fact"])


def find_facts(graph: Graph, named: FactKey | str | Iterable[FactKey | str], as_of: int) -> list[FactKey]:
    """The facts of names or keys, in their order.

    Args:
        named: one, or several; see :func:`find_fact`.

    Raises:
        ArgumentError: it is neither.
        UnknownNameError: there is no such fact, or more than one.
    """
    keys = keys_of(graph, [named] if isinstance(named, (str, FactKey)) else named, as_of)
    known = {row["fact"] for row in graph.read("sample/facts", rows=[key._asdict() for key in keys])}
    for key in keys:
        if key.fact not in known:
            raise UnknownNameError(f"The graph has no fact {key.fact!r} of a subject {key.subject!r}.")
    return keys


def keys_of(graph: Graph, listed: Iterable[FactKey | str], as_of: int) -> list[FactKey]:
    """The keys of a list, those of names looked up; see :func:`find_fact`.

    Raises:
        ArgumentError: it is no list, or something in it is neither.
        UnknownNameError: a name means no fact, or more than one.
    """
    if not isinstance(listed, Iterable):
        raise ArgumentError("facts", f"is {listed!r}; keys or names of facts are expected.")
    keys = []
    for one in listed:
        if not isinstance(one, (str, FactKey)):
            raise ArgumentError("facts", f"has {one!r}; keys or names of facts are expected.")
        keys.append(find_fact(graph, one, as_of) if isinstance(one, str) else one)
    return keys


def _readings(named: str, relations: Mapping[str, Sequence[str]]) -> Iterator[_Reading]:
    """Whatever a name may say, the longest names of relations first."""
    parts = [part.strip() for part in named.split(_BETWEEN)]
    if len(parts) == 3:
        subject, relation, object_ = parts
        yield from (_Reading(subject, identifier, object_) for identifier in relations.get(relation.lower(), ()))
        return
    for name in sorted(relations, key=len, reverse=True):
        for match in re.finditer(rf"(?i)(?<=\S) {re.escape(name)} (?=\S)", named):
            subject, object_ = named[: match.start()].strip(), named[match.end() :].strip()
            yield from (_Reading(subject, identifier, object_) for identifier in relations[name])


def _triples(
    graph: Graph, named: str, readings: Sequence[_Reading], entities: Mapping[str, Sequence[str]]
) -> list[Row]:
    """The facts that a name may mean.

    Raises:
        UnknownNameError: too many entities go by the names.
    """
    asked = {
        (subject, reading.relation, object_)
        for reading in readings
        for subject in entities.get(reading.subject, ())
        for object_ in entities.get(reading.object, ())
    }
    if len(asked) > _PAIRS:
        raise UnknownNameError(f"{named!r} may mean {len(asked):,} pairs of entities; name them by their ids.")
    rows = [
        {"index": index, "subject": subject, "relation": relation, "object": object_}
        for index, (subject, relation, object_) in enumerate(sorted(asked))
    ]
    return graph.read("sample/triples", rows=rows) if rows else []


def the_fact(
    graph: Graph, named: str, subjects: Sequence[str], relations: Sequence[str], objects: Sequence[str], as_of: int
) -> FactKey | None:
    """The fact of one of these subjects, relations and objects (ids); None where there is none.

    Args:
        named: what it is called in messages.
        as_of: of several, the one that is current at this date (``yyyymmdd``) is meant.

    Raises:
        UnknownNameError: there are several.
    """
    readings = [_Reading("subject", relation, "object") for relation in relations]
    rows = _triples(graph, named, readings, {"subject": subjects, "object": objects})
    return _the_one(named, rows, as_of) if rows else None


def _the_one(named: str, rows: Sequence[Row], as_of: int) -> FactKey:
    current = [
        row
        for row in rows
        if (row["from"] is None or row["from"] <= as_of) and (row["until"] is None or row["until"] >= as_of)
    ]
    for meant in (current, rows):
        if len(meant) == 1:
            return FactKey(meant[0]["subject"], meant[0]["fact"])
    listed = "; ".join(f"{row['fact']!r} ({row['start'] or '…'} to {row['end'] or '…'})" for row in rows[:_SHOWN])
    listed += "; …" if len(rows) > _SHOWN else ""
    raise UnknownNameError(f"{named!r} is more than one fact; name it by its id: {listed}.")


def _what_there_is(
    graph: Graph, named: str, readings: Sequence[_Reading], relations: Mapping[str, Sequence[str]]
) -> str:
    """That there is no such fact, and what comes close to it."""
    missing = f"The graph has no fact {named!r}."
    if not readings:
        parts = [part.strip() for part in named.split(_BETWEEN if _BETWEEN in named else " ")]
        if len(parts) != 3:
            return f"{missing} {_HOW}"
        return f"{missing} No relation is called {parts[1]!r}{close_relations(parts[1], relations)}. {_HOW}"
    reading = readings[0]
    *_, entities = entities_called(graph, {reading.subject, reading.object})
    for text in (reading.subject, reading.object):
        if not entities.get(text):
            missing += f" {no_entity(graph, text)}."
    subjects = entities.get(reading.subject)
    return f"{missing} {_held(graph, subjects[0], reading.relation)}" if subjects else missing


def _held(graph: Graph, subject: str, relation: str) -> str:
    """What a subject has in a relation, or in which relations it has anything."""
    labels = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}
    [named] = graph.read("sample/labels", ids=[subject])
    rows = graph.read("sample/held", subject=subject, limit=_SIMILAR)
    own = [f"{row['label']} ({row['id']})" for row in rows if row["relation"] == relation]
    if own:
        there = f"{', '.join(own[:_SHOWN])}{', …' if len(own) > _SHOWN else ''}"
        return f"As {labels[relation]}, {named['label']} ({subject}) has {there}."
    others = dict.fromkeys(str(labels.get(row["relation"], row["relation"])) for row in rows)
    return f"{named['label']} ({subject}) has no {labels[relation]}; it has {', '.join(others) or 'no fact at all'}."


@dataclass(frozen=True, slots=True)
class PoolSummary:
    """The entities of the kind of a fact's object.

    Attributes:
        kind: ``of the type city``, or ``that are objects of capital`` where the object has no type.
        typed: whether it has one.
        size: how many there are.
        left_out: which of them are no distractors: ``the object itself``, ``2 right as well``.
    """

    kind: str
    typed: bool
    size: int
    left_out: Sequence[str]


# By the reason that the query gives.
_LEFT_OUT = {
    "itself": "the object itself",
    "right": "{:,} right as well, now or at another time",
    "namesake": "{:,} with a name of its",
    "nameless": "{:,} without a name",
}


def describe_pool(graph: Graph, key: FactKey) -> PoolSummary:
    """What a fact's distractors are taken from, and what is no distractor there.

    Cost: a look-up for each entity of the object's types; without a type, for each object of the relation.
    """
    [target] = graph.read("sample/targets", rows=[key._asdict()])
    types = target["types"]
    if types:
        labels = {row["id"]: row["label"] for row in graph.read("sample/labels", ids=types)}
        kind = "of the type " + " or ".join(labels.get(type_, type_) for type_ in types)
        rows = graph.read("sample/members", ids=types)
    else:
        labels = {row["id"]: row["label"] for row in graph.read("sample/relations")}
        kind = f"that are objects of {labels.get(target['relation']) or target['relation']}"
        rows = graph.read("sample/objects", ids=[target["relation"]])
    numbers = sorted({number for row in rows for number in row["numbers"]})
    asked = [{**key._asdict(), "numbers": numbers}]
    rows = graph.read("sample/distractors", rows=asked, before=None, refused=True)
    counts = Counter(row["reason"] for row in rows)
    left_out = [phrase.format(counts[reason]) for reason, phrase in _LEFT_OUT.items() if reason in counts]
    return PoolSummary(kind, bool(types), len(numbers), left_out)
