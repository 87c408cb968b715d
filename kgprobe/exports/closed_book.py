"""Closed-book knowledge of the facts behind questions, to split the accuracy of a RAG system by it.

docs/guides/retrieval.md. A question names a fact (``fact``, an id; or ``subject``, ``relation`` and ``object``) or
``entities`` (or ``entity``), each by its id or name.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from kgprobe.exports.labels import Labels
from kgprobe.labelling.table import LabelledFact

# A fact by its id, or by lower-case ids or names of subject, relation and object.
_Key: TypeAlias = tuple[str, ...]
_TRIPLE = ("subject", "relation", "object")

# Keys that questions get, after PREFIX.
PREFIX = "closed_book_"
KEYS = ("known", "class", "belief", "basis", "facts", "missing")

# Returns those of some names that no entity of the graph has.
UnknownNames: TypeAlias = Callable[[Collection[str]], Collection[str]]

# Reasons for a question without labels.
NOT_NAMED = "names neither a fact nor entities"
NO_LABEL = "its fact has no label"
NO_FACTS = "its entities have no labelled facts"
UNKNOWN_NAME = "no entity of the graph has this name"
SEVERAL = "several labelled facts have these names"


@dataclass(slots=True)
class _Mean:
    """Mean of ``known`` over the labelled facts of an entity, or of several."""

    total: float = 0.0
    count: int = 0

    def add(self, known: float) -> None:
        """Add a fact."""
        self.total += known
        self.count += 1


@dataclass(slots=True)
class _Sought:
    """Facts and entities that the questions name, with their labels."""

    facts: dict[_Key, list[LabelledFact]] = field(default_factory=dict)
    entities: dict[str, _Mean] = field(default_factory=dict)

    def take(self, row: LabelledFact) -> None:
        """Keep a label if a question names its fact or one of its entities."""
        names = _names(row)
        keys = {(row.fact,), (row.subject, row.fact), *product(*names)}
        for key in keys & self.facts.keys():
            self.facts[key].append(row)
        for entity in (names[0] | names[2]) & self.entities.keys():
            self.entities[entity].add(row.known)


def with_closed_book(
    labels: Labels,
    questions: Sequence[Mapping[str, Any]],
    scheme: str | None = None,
    unknown_names: UnknownNames | None = None,
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return questions with what the model knows without retrieval, and the numbers of those without labels by reason.

    Each question keeps its keys and gets ``closed_book_known`` (probability that the model knows the fact, or its mean
    over the labelled facts of the entities), ``closed_book_class``, ``closed_book_belief``, ``closed_book_basis`` (None
    for entities), ``closed_book_facts`` (number of labels) and ``closed_book_missing`` (reason for no labels, or None).

    Args:
        scheme: scheme of the classes; None is ``slick``, for a run ``belief``.
        unknown_names: called if some questions' entities have no labels; None does not tell them from unknown names.

    Raises:
        ArgumentError: the labels have no classes of the scheme.

    Cost: one pass over the labels. Memory: the questions and their labels.
    """
    scheme = labels.check_scheme(scheme)
    sought = _Sought()
    for question in questions:
        if (key := _fact_key(question)) is not None:
            sought.facts[key] = []
        for entity in _entities(question):
            sought.entities[entity] = _Mean()
    for row in labels.rows():
        sought.take(row)
    columns = [_closed_book(question, sought, scheme) for question in questions]
    if unknown_names is not None:
        _tell_unknown_names(questions, columns, unknown_names)
    answered = []
    for question, own in zip(questions, columns, strict=True):
        answered.append({**question, **{f"{PREFIX}{name}": value for name, value in own.items()}})
    return answered, Counter(own["missing"] for own in columns if own["missing"] is not None)


def _tell_unknown_names(
    questions: Sequence[Mapping[str, Any]], columns: Sequence[dict[str, Any]], unknown_names: UnknownNames
) -> None:
    """Give questions another reason if no entity of the graph has a name of theirs."""
    names = {
        number: _given_entities(question)
        for number, question in enumerate(questions)
        if columns[number]["missing"] == NO_FACTS
    }
    unknown = set(unknown_names({name for own in names.values() for name in own})) if names else set()
    for number, own in names.items():
        if unknown.issuperset(own):
            columns[number]["missing"] = UNKNOWN_NAME


def _closed_book(question: Mapping[str, Any], sought: _Sought, scheme: str) -> dict[str, Any]:
    key, entities = _fact_key(question), list(_entities(question))
    if key is not None:
        labels = sought.facts[key]
        if len(labels) != 1:
            return _nothing(SEVERAL if labels else NO_LABEL, len(labels))
        label = labels[0]
        return {
            "known": label.known,
            "class": getattr(label, scheme),
            "belief": label.belief,
            "basis": label.basis,
            "facts": 1,
            "missing": None,
        }
    means = [sought.entities[entity] for entity in entities]
    facts = sum(mean.count for mean in means)
    if not facts:
        return _nothing(NO_FACTS if entities else NOT_NAMED, 0)
    known = math.fsum(mean.total for mean in means) / facts
    return {**_nothing(None, facts), "known": known}


def _nothing(reason: str | None, facts: int) -> dict[str, Any]:
    return {"known": None, "class": None, "belief": None, "basis": None, "facts": facts, "missing": reason}


def _fact_key(question: Mapping[str, Any]) -> _Key | None:
    fact, subject = question.get("fact"), question.get("subject")
    if isinstance(fact, str):
        return (subject, fact) if isinstance(subject, str) else (fact,)
    parts = [question.get(name) for name in _TRIPLE]
    if not all(isinstance(part, str) for part in parts):
        return None
    return tuple(str(part).lower() for part in parts)


def _entities(question: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entities of a question that names no fact, each once, in lower case."""
    if _fact_key(question) is not None:
        return
    yield from dict.fromkeys(name.lower() for name in _given_entities(question))


def _given_entities(question: Mapping[str, Any]) -> list[str]:
    given = question.get("entities", question.get("entity"))
    names: Sequence[Any] = [given] if isinstance(given, str) else given if isinstance(given, list) else ()
    return [name for name in names if isinstance(name, str)]


def _names(row: LabelledFact) -> tuple[set[str], set[str], set[str]]:
    """Return the lower-case ids and names of subject, relation and object."""
    return (
        {row.subject.lower(), row.subject_name.lower()},
        {row.relation.lower(), row.relation_name.lower()},
        {row.object.lower(), row.object_name.lower()},
    )
