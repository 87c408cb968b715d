"""Negatives of an enumerable graph, by the words of docs/methods/statements.md."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgprobe.records import Entity, Fact
from tests.sampling.enumerable import enumerable

# What each says; r2 and r3 say the same, and so do r3 and r4.
RELATIONS = {
    "r0": set(),
    "r1": {"one"},
    "r2": {"two"},
    "r3": {"three", "two"},
    "r4": {"three"},
    "r5": {"five"},
    "nowhere": {"nowhere"},
}
Triple = tuple[str, str, str]


def graph_of(seed: int) -> tuple[list[Entity], list[Fact]]:
    """Entities with few names, so that many have one in common, and literals of two datatypes among them."""
    people, facts = enumerable(seed, entities=26, facts=60, subjects=8)
    facts = [replace(fact, relation=f"r{number % 6}") for number, fact in enumerate(facts)]
    literals = [
        *(Entity(f"{1870 + n}", f"{1870 + n}", value=f"{1870 + n}", datatype="year") for n in range(3)),
        *(Entity(f"1879-03-{n}", f"{n} March 1879", value=f"1879-03-{n}", datatype="date") for n in (14, 15)),
    ]
    dated = [Fact(f"d{n}", f"e{n % 4}", f"r{n % 2}", entity.id) for n, entity in enumerate([*literals, *literals[:2]])]
    return [*people, *literals], [*facts, *dated]


def alike(relation: str) -> set[str]:
    return {relation} | {other for other, words in RELATIONS.items() if words & RELATIONS[relation]}


class Naive:
    """What a negative is, by the words of docs/methods/statements.md."""

    def __init__(self, people: Sequence[Entity], facts: Sequence[Fact], max_degree: int) -> None:
        self.by_id = {entity.id: entity for entity in people}
        self.facts = facts
        self.degrees = Counter(fact.subject for fact in facts) + Counter(fact.object for fact in facts)
        self.max_degree = max_degree

    def names(self, entity: str) -> set[str]:
        return {name for name in (self.by_id[entity].label, *self.by_id[entity].aliases) if name.strip()}

    def is_said(self, subject: str, relation: str, object_: str) -> bool:
        """Of both; of a namesake of the object; of a namesake of the subject where the object has few facts."""
        for fact in self.facts:
            if fact.relation not in alike(relation):
                continue
            if fact.subject == subject and (fact.object == object_ or self.names(fact.object) & self.names(object_)):
                return True
            few = self.degrees[object_] <= self.max_degree
            if few and fact.object == object_ and self.names(fact.subject) & self.names(subject):
                return True
        return False

    def like(self, entity: str, fallback: set[str]) -> set[str]:
        types = set(self.by_id[entity].types)
        own = self.by_id[entity].datatype
        if types:
            return {other.id for other in self.by_id.values() if types & set(other.types)}
        return {other for other in fallback if self.by_id[other].datatype == own}

    def entities(self, fact: Fact, entity: str, other: str, place: str, *, any_type: bool) -> Iterator[str]:
        same = [each for each in self.facts if each.relation == fact.relation]
        fallback = {each.object if place == "object" else each.subject for each in same}
        literal = self.by_id[entity].datatype is None
        everything = {each.id for each in self.by_id.values() if (each.datatype is None) == literal}
        for rival in self.like(entity, fallback) if not any_type else everything:
            named = self.by_id[rival].label.strip()
            if named and rival not in (entity, other) and not self.names(rival) & self.names(entity):
                yield rival

    def linked(self, fact: Fact) -> set[str]:
        subjects = {each.subject for each in self.facts if each.relation == fact.relation}
        types = set(self.by_id[fact.object].types)

        def is_like(other: Entity) -> bool:
            own = self.by_id[fact.object].datatype
            return bool(types & set(other.types)) if types else not other.types and other.datatype == own

        return {
            each.relation
            for each in self.facts
            if each.subject in self.like(fact.subject, subjects) and is_like(self.by_id[each.object])
        }

    def negatives(self, fact: Fact, place: str, *, any_type: bool) -> set[Triple]:
        said = (fact.subject, fact.relation, fact.object)
        if place == "relation":
            triples = {(fact.subject, each, fact.object) for each in RELATIONS if each not in alike(fact.relation)}
            triples = {each for each in triples if any_type or each[1] in self.linked(fact)}
        elif place == "object":
            its = self.entities(fact, fact.object, fact.subject, place, any_type=any_type)
            triples = {(*said[:2], rival) for rival in its}
        else:
            its = self.entities(fact, fact.subject, fact.object, place, any_type=any_type)
            triples = {(rival, *said[1:]) for rival in its}
        return {triple for triple in triples if not self.is_said(*triple)}
