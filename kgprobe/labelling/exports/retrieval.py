"""Facts that a model does not know, for the context of its prompts: as sentences, JSON or Cypher.

docs/guides/retrieval.md.
"""

import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from kgprobe.base.records import Relation
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.labelling.exports.labels import FactLabels
from kgprobe.labelling.exports.retrieval_options import RetrievalOptions
from kgprobe.labelling.table import PREDICTED, LabelledFact
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.sentences import fill
from kgprobe.verbalize.templates.generic import generic_relation

# Makes a sentence of a fact.
Sentences: TypeAlias = Callable[[LabelledFact], str]

# Fields of a fact to retrieve that its labels lack.
_ADDED = ("text", "entities")
# Facts in one statement of a Cypher script.
_FACTS_PER_STATEMENT = 500
_MERGE = """UNWIND $facts AS fact
MERGE (s:Entity {id: fact.subject})
  ON CREATE SET s.label = fact.subject_name
MERGE (o:Entity {id: fact.object})
  ON CREATE SET o.label = fact.object_name
MERGE (s)-[r:TO_RETRIEVE {fact: fact.fact}]->(o)
SET r.relation = fact.relation, r.relation_label = fact.relation_name, r.text = fact.text, r.known = fact.known,
    r.belief = fact.belief, r.class = fact.slick, r.basis = fact.basis;"""


@dataclass(slots=True)
class NotRetrieved:
    """Numbers of labelled facts that are not to be retrieved, by reason.

    Attributes:
        predicted: selected facts that the model was not asked.
        beyond: further selected facts around the entities than ``per_entity``.
        taken: facts to retrieve; ``taken_predicted`` of them are predicted.
        remedy: how to get predictions of facts without a label, if no labelled fact is predicted.
    """

    options: RetrievalOptions
    known: int = 0
    predicted: int = 0
    beyond: int = 0
    taken: int = 0
    taken_predicted: int = 0
    remedy: str = ""

    def __str__(self) -> str:
        """Return what is left out and why, in sentences."""
        selected = "of other classes" if self.options.classes else f"known with {self.options.below:.0%} or more"
        reasons = [
            (self.known, selected),
            (self.predicted, "unknown by prediction alone (`predicted` takes them, too)"),
            (self.beyond, "beyond `per_entity`"),
        ]
        listed = "; ".join(f"{counted(number, 'fact')} {reason}" for number, reason in reasons if number)
        sentences = [f"Left out: {listed}."] if listed else []
        if self.taken_predicted:
            sentences.insert(0, f"By prediction: {self.taken_predicted:,} of them.")
        if self.remedy:
            sentences.append(f"Facts that were not asked have no label. {self.remedy}")
        return " ".join(sentences)


# Gets what is left out.
OnLeftOut: TypeAlias = Callable[[NotRetrieved], None]


class FactToRetrieve(msgspec.Struct, frozen=True):
    """A fact that the model does not know.

    Attributes:
        entities: ids of the requested entities that it is around; empty if none are requested.
        known, known_low, known_high: probability that the model knows it, with its 90% interval; in [0, 1].
        basis: ``asked`` or ``predicted``.
        slick, profile, belief: its classes; None if the answers do not decide.
    """

    text: str
    entities: tuple[str, ...]
    fact: str
    subject: str
    subject_name: str
    relation: str
    relation_name: str
    object: str
    object_name: str
    known: float
    known_low: float
    known_high: float
    basis: str
    slick: str | None
    profile: str | None
    belief: str


@dataclass(frozen=True, slots=True)
class RetrievalFile:
    """A written file of facts to retrieve.

    Attributes:
        left_out: numbers of other facts, by reason.
        change: how the graph has changed since the labels were made, in a sentence; empty if it has not.
    """

    path: Path
    facts: int
    left_out: NotRetrieved
    change: str = ""

    def __str__(self) -> str:
        """Return the path and the numbers of facts."""
        parts = [f"{self.path}: {counted(self.facts, 'fact')}.", str(self.left_out), self.change]
        return " ".join(filter(None, parts))


def sentences_of(graph: Graph, labels_of_facts: FactLabels) -> Sentences:
    """Return a function that makes a sentence of a fact: the relation's first statement, or a generic one.

    Sentences are in the language in which the facts were asked; in English if it has no generic templates.
    """
    templates: dict[str, str] = {}
    labels: dict[str, str] = {}
    language = language_of(labels_of_facts.ask_in)
    for row in graph.in_language(labels_of_facts.ask_in).read("sample/relations"):
        labels[row["id"]] = row["label"]
        if row["statements"]:
            templates[row["id"]] = row["statements"][0]

    def sentence(labelled: LabelledFact) -> str:
        relation = labelled.relation
        if relation not in templates:
            label = labels.get(relation) or labelled.relation_name
            described = Relation(relation, label=label)
            generic = (
                generic_relation(described, language=language).statements or generic_relation(described).statements
            )
            templates[relation] = generic[0]
        return fill(templates[relation], labelled.subject_name, labelled.object_name, language)

    return sentence


def facts_to_retrieve(
    labels: FactLabels,
    sentences: Sentences,
    options: RetrievalOptions,
    entities: Collection[str] = (),
    on_left_out: OnLeftOut = lambda left_out: None,
) -> Iterator[FactToRetrieve]:
    """Yield the facts that the model does not know.

    With entities, those around them, the surest unknown first: by the upper end of the interval of ``known``, then by
    ``known``. Without, all in the order of the labels.

    Cost: one pass over the labels; two for two steps, and another if no fact is selected. Memory: the facts around the
        entities.
    """
    labels.check_classes(options.classes)
    left_out = NotRetrieved(options)
    selected = _Selected(labels, options, left_out)
    if entities:
        chosen = _facts_around(selected, sentences, entities)
    else:
        chosen = (_fact(labelled, (), sentences) for labelled in selected)
    for fact in chosen:
        left_out.taken += 1
        left_out.taken_predicted += fact.basis == PREDICTED
        yield fact
    if not left_out.taken and options.classes:
        labels.require_facts(options.classes, predicted=options.predicted)
    if not selected.has_predictions:
        left_out.remedy = labels.remedy
    on_left_out(left_out)


@dataclass(slots=True)
class _Selected:
    """The selected facts of labels, those near some entities or all, and the counts of the others."""

    labels: FactLabels
    options: RetrievalOptions
    left_out: NotRetrieved
    has_predictions: bool = False

    def __iter__(self) -> Iterator[LabelledFact]:
        return self.near(None)

    def near(self, entities: Collection[str] | None) -> Iterator[LabelledFact]:
        """Yield the selected facts of some entities, or of all with None."""
        for labelled in chain(self.labels.rows(), self.labels.predictions()):
            self.has_predictions = self.has_predictions or labelled.basis == PREDICTED
            if entities is not None and labelled.subject not in entities and labelled.object not in entities:
                continue
            if not self.options.selects(labelled):
                self.left_out.known += 1
            elif self.options.takes(labelled):
                yield labelled
            else:
                self.left_out.predicted += 1


def _facts_around(selected: _Selected, sentences: Sentences, entities: Collection[str]) -> Iterator[FactToRetrieve]:
    near = _near(selected.labels, entities, selected.options.steps)
    around: dict[str, list[_Ranked]] = {entity: [] for entity in entities}
    for labelled in selected.near(near):
        selected.left_out.beyond += 1
        for entity in near.get(labelled.subject, frozenset()) | near.get(labelled.object, frozenset()):
            _keep(around[entity], _Ranked(labelled), selected.options.per_entity)
    owners_of: dict[tuple[str, str], list[str]] = defaultdict(list)
    chosen: dict[tuple[str, str], LabelledFact] = {}
    for entity, ranked_facts in around.items():
        for ranked in ranked_facts:
            key = ranked.labelled.subject, ranked.labelled.fact
            owners_of[key].append(entity)
            chosen[key] = ranked.labelled
    selected.left_out.beyond -= len(chosen)
    for key, labelled in sorted(chosen.items(), key=lambda item: surest_first(item[1])):
        yield _fact(labelled, tuple(owners_of[key]), sentences)


def surest_first(fact: FactToRetrieve | LabelledFact) -> tuple[float, float, str, str]:
    """Return the sorting key of facts: the surest unknown first, by the interval's upper end."""
    return fact.known_high, fact.known, fact.fact, fact.subject


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A fact that compares as greater if it is more surely unknown, for a heap of the surest."""

    labelled: LabelledFact

    @property
    def rank(self) -> tuple[float, float, str, str]:
        return surest_first(self.labelled)

    def __lt__(self, other: "_Ranked") -> bool:
        return self.rank > other.rank


def _keep(heap: list[_Ranked], ranked: _Ranked, most: int | None) -> None:
    if most is None or len(heap) < most:
        heapq.heappush(heap, ranked)
    else:
        heapq.heappushpop(heap, ranked)


def _near(labels: FactLabels, entities: Collection[str], steps: int) -> Mapping[str, frozenset[str]]:
    """Return the requested entities that each entity is near to: itself, or a neighbour with two steps."""
    near: dict[str, set[str]] = {entity: {entity} for entity in entities}
    if steps > 1:
        for labelled in labels.rows():
            for entity, neighbour in ((labelled.subject, labelled.object), (labelled.object, labelled.subject)):
                if entity in entities:
                    near.setdefault(neighbour, set()).add(entity)
    return {entity: frozenset(owners) for entity, owners in near.items()}


def _fact(labelled: LabelledFact, entities: tuple[str, ...], sentences: Sentences) -> FactToRetrieve:
    own = {name: getattr(labelled, name) for name in FactToRetrieve.__struct_fields__ if name not in _ADDED}
    return FactToRetrieve(sentences(labelled), entities, **own)


def text_lines(facts: Iterable[FactToRetrieve]) -> Iterator[str]:
    """Yield a sentence for each fact, once each."""
    seen: set[str] = set()
    for fact in facts:
        if fact.text not in seen:
            seen.add(fact.text)
            yield fact.text


def json_lines(facts: Iterable[FactToRetrieve]) -> Iterator[str]:
    """Yield a JSON object for each fact."""
    for fact in facts:
        yield msgspec.json.encode(fact).decode()


def cypher_lines(facts: Iterable[FactToRetrieve]) -> Iterator[str]:
    """Yield a script for cypher-shell or ``kgprobe graph shell`` that merges the facts as relationships TO_RETRIEVE."""
    remaining = iter(facts)
    while batch := list(islice(remaining, _FACTS_PER_STATEMENT)):
        yield f":param facts => [{', '.join(map(_cypher_map, batch))}]"
        yield _MERGE


def _cypher_map(fact: FactToRetrieve) -> str:
    values: Mapping[str, Any] = msgspec.structs.asdict(fact)
    return "{" + ", ".join(f"{name}: {_literal(value)}" for name, value in values.items()) + "}"


def _literal(value: Any) -> str:
    # JSON's notation of texts, numbers, lists and null is also Cypher's.
    return json.dumps(value, ensure_ascii=False)


# Makes the lines of a file of facts.
Writer: TypeAlias = Callable[[Iterable[FactToRetrieve]], Iterator[str]]

# By the name of the format.
WRITERS: Mapping[str, Writer] = {
    "text": text_lines,
    "jsonl": json_lines,
    "cypher": cypher_lines,
}
