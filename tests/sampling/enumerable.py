"""Graphs small enough to enumerate, and what is defined on them, written down naively."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.sampling.distractors import EXCLUDED, FormerObjects, RuledFact
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey

AS_OF = 20200101

# Weights of features are whole multiples of this.
UNIT = 2**-32


def enumerable(seed: int, entities: int = 60, facts: int = 120, subjects: int = 12) -> tuple[list[Entity], list[Fact]]:
    """Entities of several types or none, some with names in common, some without a name; facts dated or not."""
    generator = random.Random(seed)
    people = [
        Entity(
            f"e{number}",
            "" if generator.random() < 0.1 else f"name {generator.randrange(entities)}",
            tuple(f"name {generator.randrange(entities)}" for _ in range(generator.randrange(3))),
            types=tuple(generator.sample(["t0", "t1", "t2", "t3"], generator.randrange(3))),
        )
        for number in range(entities)
    ]
    edges = [
        Fact(
            f"f{number}",
            *(f"e{generator.randrange(subjects)}", f"r{generator.randrange(2)}", f"e{generator.randrange(entities)}"),
            start=generator.choice([None, "2001", "2021"]),
            end=generator.choice([None, None, "2010", "2020", "unknown"]),
        )
        for number in range(facts)
    ]
    return people, [edge for edge in edges if not (edge.start == "2021" and edge.end)]


def current(fact: Fact) -> bool:
    return fact.start != "2021" and fact.end not in ("2010", "unknown")


def distractors(people: Sequence[Entity], facts: Sequence[Fact], fact: Fact, *, former: str = "never") -> set[str]:
    """Return Ω(f): shares a type (without one: object of the relation), no name in common, true at no time.

    With `wrong`: at no time except one that has ended by the date, on a day that is known, if the fact has not.
    With `right`: no name in common with anything that was true at some time.
    """
    by_id = {entity.id: entity for entity in people}
    truth = by_id[fact.object]
    names = {truth.label, *truth.aliases}
    ever = [other for other in facts if (other.subject, other.relation) == (fact.subject, fact.relation)]
    excluded = former != "wrong" or fact.end in ("2010", "unknown")
    known = {other.object for other in ever if excluded or other.end != "2010"}
    if former == "right":
        names |= {name for other in ever for name in (by_id[other.object].label, *by_id[other.object].aliases)}
    objects = {other.object for other in facts if other.relation == fact.relation}
    return {
        rival.id
        for rival in people
        if rival.label
        and rival.id != truth.id
        and rival.id not in known
        and not names & {rival.label, *rival.aliases}
        and (set(rival.types) & set(truth.types) if truth.types else rival.id in objects)
    }


def bags(people: Sequence[Entity], facts: Sequence[Fact]) -> dict[str, set[object]]:
    """Return the features of entities: themselves, relations they are the subject of, their objects, pairs of both.

    Types are objects of the relation `instance_of`.
    """
    features: dict[str, set[object]] = {entity.id: {("entity", entity.id)} for entity in people}
    kinds = [Fact("", entity.id, "instance_of", type_) for entity in people for type_ in entity.types]
    for fact in (*facts, *kinds):
        features[fact.subject] |= {("relation", fact.relation), ("entity", fact.object), (fact.relation, fact.object)}
    return features


def ranking(
    features: Mapping[str, set[object]], like: str, among: set[str], order: Sequence[str], weighting: str
) -> list[tuple[str, float]]:
    """Entities by how like another they are, with that; of equals, first by divisor, then by their order."""
    documents = len(features)
    counts = Counter(feature for bag in features.values() for feature in bag)

    def weight(feature: object) -> int:
        count = counts[feature]
        if weighting == "tf-idf":
            value = (math.log((1 + documents) / (1 + count)) + 1) ** 2
        else:
            value = math.log(1 + (documents - count + 0.5) / (count + 0.5))
        return round(value / UNIT)

    mean = sum(map(len, features.values())) / documents

    def divisor(entity: str) -> float:
        bag = features[entity]
        if weighting == "tf-idf":
            return math.sqrt(sum(map(weight, bag)) * UNIT)
        return (1 + 1.2 * (1 - 0.75 + 0.75 * len(bag) / mean)) / 2.2

    def score(entity: str) -> float:
        return sum(weight(feature) for feature in features[like] & features[entity]) / divisor(entity)

    own = divisor(like) if weighting == "tf-idf" else 1.0
    ranked = sorted(among - {like}, key=lambda entity: (-score(entity), divisor(entity), order.index(entity)))
    return [(entity, score(entity) * UNIT / own) for entity in ranked]


def ruled(graph: Graph, keys: Sequence[FactKey], former: FormerObjects = EXCLUDED) -> list[RuledFact]:
    """Return facts as retrievers of distractors take them, all with the same rule."""
    return [(fact, former) for fact in describe_facts(graph, keys)]
