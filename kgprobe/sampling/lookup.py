"""Look-up of facts by names, and summaries of the pools of distractors."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from operator import attrgetter, itemgetter
from typing import NamedTuple

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import close_relations, entities_called, names_of_relations, no_entity
from kgprobe.sampling.distractors import EXCLUDED, FormerObjects, judged
from kgprobe.sampling.facts import AskedFact, existing_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import PoolEntities, object_pool
from kgprobe.sources.values import plain_name

# Separators behind the subject's id in ids of facts: of tables, and of Wikidata.
_AFTER_SUBJECT = (" ", "$")
_BETWEEN = "|"

# Maximum number of pairs of entities with the names of a subject and an object.
_PAIRS = 10_000
_SIMILAR = 1_000
_SHOWN = 5

_HOW = (
    "A fact is named by its id, or by subject, relation and object, each by its id or a name: 'Q142 P36 Q90',"
    " 'France | capital | Paris'."
)


class _Reading(NamedTuple):
    """An interpretation of a name: subject and object are ids or names; the relation is an id."""

    subject: str
    relation: str
    object: str


def find_fact(graph: Graph, name: str, as_of: int) -> FactKey:
    """Return the fact of a name.

    A name is the fact's id; or its subject, relation and object, each by id, label or alias, separated by ``|``, or by
    spaces if that is unambiguous. Case does not matter.

    ``as_of`` (``yyyymmdd``) selects the current one of several terms of a triple.

    Raises:
        UnknownNameError: no fact has the name, or several have it; the message lists the candidates.

    Cost: a walk through the facts of the subject; a scan of the entities if they are named by labels, and of the facts
    if the name is the id of a fact that does not begin with its subject's id.
    """
    subjects = [name.split(mark)[0] for mark in _AFTER_SUBJECT if mark in name]
    existing = existing_facts(graph, [FactKey(subject, name) for subject in subjects])
    if existing:
        return existing[0]
    relations = names_of_relations(graph)
    readings = list(_readings(name, relations))
    texts = set(map(attrgetter("subject"), readings)) | set(map(attrgetter("object"), readings))
    for ids in entities_called(graph, texts):
        rows = _triples(graph, name, readings, ids)
        if rows:
            return _select(name, rows, as_of)
    rows = graph.read("sample/by_id", fact=name)
    if not rows:
        raise UnknownNameError(_explain_missing(graph, name, readings, relations))
    if len(rows) > 1:
        listed = ", ".join(map(itemgetter("subject"), rows))
        raise UnknownNameError(
            f"Facts of several subjects have the id {name!r}: {listed}. Name one by subject, relation and object."
        )
    return FactKey(rows[0]["subject"], rows[0]["fact"])


def find_facts(graph: Graph, names: FactKey | str | Iterable[FactKey | str], as_of: int) -> list[FactKey]:
    """Return the facts of names or keys, in their order."""
    keys = keys_of(graph, [names] if isinstance(names, (str, FactKey)) else names, as_of)
    existing = set(existing_facts(graph, keys))
    for key in keys:
        if key not in existing:
            raise UnknownNameError(f"The graph has no fact {key.fact!r} of a subject {key.subject!r}.")
    return keys


def keys_of(graph: Graph, listed: Iterable[FactKey | str], as_of: int) -> list[FactKey]:
    """Return the keys of a list of keys and names; see :func:`find_fact`."""
    if not isinstance(listed, Iterable):
        raise ArgumentError("facts", f"is {listed!r}; keys or names of facts are expected.")
    keys = []
    for entry in listed:
        if not isinstance(entry, (str, FactKey)):
            raise ArgumentError("facts", f"has {entry!r}; keys or names of facts are expected.")
        keys.append(find_fact(graph, entry, as_of) if isinstance(entry, str) else entry)
    return keys


def _readings(text: str, relations: Mapping[str, Sequence[str]]) -> Iterator[_Reading]:
    """Yield the interpretations of a name, those with the longest names of relations first."""
    parts = list(map(str.strip, text.split(_BETWEEN)))
    if len(parts) == 3:
        subject, relation, object_ = parts
        ids = relations.get(plain_name(relation).lower(), ())
        yield from (_Reading(subject, identifier, object_) for identifier in ids)
        return
    text = plain_name(text)
    for name in sorted(relations, key=len, reverse=True):
        for match in re.finditer(rf"(?i)(?<=\S) {re.escape(name)} (?=\S)", text):
            subject, object_ = text[: match.start()].strip(), text[match.end() :].strip()
            yield from (_Reading(subject, identifier, object_) for identifier in relations[name])


def _triples(graph: Graph, name: str, readings: Sequence[_Reading], entities: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return the facts of all interpretations of a name; UnknownNameError if too many entities have these names."""
    triples: set[tuple[str, str, str]] = set()
    for reading in readings:
        ends = product(entities.get(reading.subject, ()), entities.get(reading.object, ()))
        triples.update((subject, reading.relation, object_) for subject, object_ in ends)
    if len(triples) > _PAIRS:
        raise UnknownNameError(f"{name!r} may mean {len(triples):,} pairs of entities; name them by their ids.")
    rows = []
    for index, (subject, relation, object_) in enumerate(sorted(triples)):
        rows.append({"index": index, "subject": subject, "relation": relation, "object": object_})
    return graph.read("sample/triples", rows=rows) if rows else []


def fact_among(
    graph: Graph, name: str, subjects: Sequence[str], relations: Sequence[str], objects: Sequence[str], as_of: int
) -> FactKey | None:
    """Return the fact of one of these subjects, relations and objects (ids); None if there is none.

    ``as_of`` (``yyyymmdd``) selects the current one of several facts; UnknownNameError if several remain.
    """
    readings = [_Reading("subject", relation, "object") for relation in relations]
    rows = _triples(graph, name, readings, {"subject": subjects, "object": objects})
    return _select(name, rows, as_of) if rows else None


def _is_current(row: Row, as_of: int) -> bool:
    is_over = row["ended"] or (row["until"] is not None and row["until"] < as_of)
    return not is_over and (row["from"] is None or row["from"] <= as_of)


def _select(name: str, rows: Sequence[Row], as_of: int) -> FactKey:
    """Return the only current fact, or the only fact; raise UnknownNameError if there are several."""
    for candidates in ([row for row in rows if _is_current(row, as_of)], rows):
        if len(candidates) == 1:
            return FactKey(candidates[0]["subject"], candidates[0]["fact"])
    listed = "; ".join(f"{row['fact']!r} ({row['start'] or '…'} to {row['end'] or '…'})" for row in rows[:_SHOWN])
    listed += "; …" if len(rows) > _SHOWN else ""
    raise UnknownNameError(f"{name!r} is more than one fact; name it by its id: {listed}.")


def _explain_missing(
    graph: Graph, name: str, readings: Sequence[_Reading], relations: Mapping[str, Sequence[str]]
) -> str:
    """Return a message about a missing fact, with similar ones."""
    missing = f"The graph has no fact {name!r}."
    if not readings:
        parts = list(map(str.strip, name.split(_BETWEEN if _BETWEEN in name else " ")))
        if len(parts) != 3:
            return f"{missing} {_HOW}"
        return f"{missing} No relation is called {parts[1]!r}{close_relations(parts[1], relations)}. {_HOW}"
    reading = readings[0]
    *_, entities = entities_called(graph, {reading.subject, reading.object})
    for text in (reading.subject, reading.object):
        if not entities.get(text):
            missing += f" {no_entity(graph, text)}."
    subjects = entities.get(reading.subject)
    return f"{missing} {_describe_subject(graph, subjects[0], reading.relation)}" if subjects else missing


def _describe_subject(graph: Graph, subject: str, relation: str) -> str:
    """Return a sentence about the objects of a subject in a relation, or about its other relations."""
    labels = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}
    [entity] = graph.read("sample/labels", ids=[subject])
    rows = graph.read("sample/held", subject=subject, limit=_SIMILAR)
    own = [f"{row['label']} ({row['id']})" for row in rows if row["relation"] == relation]
    if own:
        objects = f"{', '.join(own[:_SHOWN])}{', …' if len(own) > _SHOWN else ''}"
        return f"As {labels[relation]}, {entity['label']} ({subject}) has {objects}."
    others = dict.fromkeys(str(labels.get(row["relation"], row["relation"])) for row in rows)
    return f"{entity['label']} ({subject}) has no {labels[relation]}; it has {', '.join(others) or 'no fact at all'}."


@dataclass(frozen=True, slots=True)
class PoolSummary:
    """The entities of the kind of a fact's object.

    Attributes:
        kind: ``of the type city``, or ``that are objects of capital`` for an object without a type.
        left_out: phrases about entities that are not distractors: ``the object itself``, ``2 right as well``.
    """

    kind: str
    typed: bool
    size: int
    left_out: Sequence[str]


# Phrases by the reasons that the query returns.
_LEFT_OUT = {
    "itself": "the object itself",
    "right": "{:,} right as well, now or at another time",
    "namesake": "{:,} with a name of its",
    "nameless": "{:,} without a name",
}


def describe_pool(graph: Graph, fact: AskedFact, former: FormerObjects = EXCLUDED) -> PoolSummary:
    """Summarise the pool of a fact's distractors.

    Cost: a look-up for each entity of the object's types; without a type, for each object of the relation.

    Former objects that the rule admits are not left out.
    """
    types = fact.object_types
    kind = f"that are objects of {fact.relation_label or fact.relation}"
    if types:
        kind = "of the type " + " or ".join(map(attrgetter("label"), types))
    entities = PoolEntities(graph)
    lists = set(object_pool(fact).lists)
    members = entities.members(lists)
    numbers = sorted(set(chain.from_iterable(members[each].tolist() for each in lists)))
    [candidates] = judged(entities, [(fact, former)], [(0, numbers)])
    counts = Counter(map(itemgetter(1), candidates))
    left_out = [phrase.format(counts[reason]) for reason, phrase in _LEFT_OUT.items() if reason in counts]
    return PoolSummary(kind, bool(types), len(numbers), left_out)
