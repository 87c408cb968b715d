"""Negatives of an enumerable graph, by the words of kgprobe/sampling/statement_negatives.py."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from kgprobe.base.records import Entity, Fact
from tests.sampling.enumerable import enumerable

# Wordings of relations; r2 and r3 share one, and so do r3 and r4. No fact has the last one.
RELATIONS: Mapping[str, Collection[str]] = {
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
    """Return entities with few names, so that many have one in common, some of them literals of two datatypes.

    Half of the names are in upper case: *straße 3* and *STRASSE 3* are one name.
    """
    people, facts = enumerable(seed, entities=26, facts=60, subjects=8)
    people = [_spelled(entity, str.upper if number % 2 else str.lower) for number, entity in enumerate(people)]
    facts = [replace(fact, relation=f"r{number % 6}") for number, fact in enumerate(facts)]
    literals = [
        *(Entity(f"{1870 + n}", f"{1870 + n}", value=f"{1870 + n}", datatype="year") for n in range(3)),
        *(Entity(f"1879-03-{n}", f"{n} March 1879", value=f"1879-03-{n}", datatype="date") for n in (14, 15)),
    ]
    dated = [Fact(f"d{n}", f"e{n % 4}", f"r{n % 2}", entity.id) for n, entity in enumerate([*literals, *literals[:2]])]
    return [*people, *literals], [*facts, *dated]


def _spelled(entity: Entity, spell: Callable[[str], str]) -> Entity:
    label, *aliases = (spell(name.replace("name", "straße")) for name in (entity.label, *entity.aliases))
    return replace(entity, label=label, aliases=tuple(aliases))


class Naive:
    """The definition, by loops over entities and facts.

    Attributes:
        relations: wordings by relation.
        max_degree: maximum number of facts of an object among which namesakes of the subject are searched.
    """

    def __init__(
        self,
        entities: Sequence[Entity],
        facts: Sequence[Fact],
        relations: Mapping[str, Collection[str]] = RELATIONS,
        max_degree: int = 10**9,
    ) -> None:
        self.by_id = {entity.id: entity for entity in entities}
        self.facts, self.relations, self.max_degree = facts, relations, max_degree
        self.degrees = Counter(fact.subject for fact in facts) + Counter(fact.object for fact in facts)
        self.about: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self.pointing_to: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for fact in facts:
            self.about[fact.subject, fact.relation].append(fact.object)
            self.pointing_to[fact.object, fact.relation].append(fact.subject)

    def names(self, entity: str) -> set[str]:
        return {name.casefold() for name in (self.by_id[entity].label, *self.by_id[entity].aliases) if name.strip()}

    def alike(self, relation: str) -> set[str]:
        own = set(self.relations.get(relation, ()))
        return {relation} | {other for other, words in self.relations.items() if own & set(words)}

    def is_said(self, subject: str, relation: str, object_: str) -> bool:
        """Return True if the graph says it of both, of a namesake of the object, or of a namesake of the subject."""
        few = self.degrees[object_] <= self.max_degree
        for other in self.alike(relation):
            for known in self.about[subject, other]:
                if known == object_ or self.names(known) & self.names(object_):
                    return True
            for known in self.pointing_to[object_, other]:
                if few and self.names(known) & self.names(subject):
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
        is_literal = self.by_id[entity].datatype is not None
        for rival in self.by_id if any_type else self.like(entity, fallback):
            if (self.by_id[rival].datatype is not None) != is_literal or not self.by_id[rival].label.strip():
                continue
            if rival not in (entity, other) and not self.names(rival) & self.names(entity):
                yield rival

    def linked(self, fact: Fact) -> set[str]:
        subjects = self.like(fact.subject, {each.subject for each in self.facts if each.relation == fact.relation})
        types = set(self.by_id[fact.object].types)
        own = self.by_id[fact.object].datatype
        relations = set()
        for each in self.facts:
            other = self.by_id[each.object]
            same_kind = types & set(other.types) if types else not other.types and other.datatype == own
            if each.subject in subjects and same_kind:
                relations.add(each.relation)
        return relations

    def negatives(self, fact: Fact, place: str, *, any_type: bool) -> set[Triple]:
        if not (self.by_id[fact.subject].label.strip() and self.by_id[fact.object].label.strip()):
            return set()
        triples: list[Triple] = []
        if place == "relation":
            used = {each.relation for each in self.facts} if any_type else self.linked(fact)
            others = used & self.relations.keys() - self.alike(fact.relation)
            triples += [(fact.subject, other, fact.object) for other in others]
        elif place == "object":
            rivals = self.entities(fact, fact.object, fact.subject, place, any_type=any_type)
            triples += [(fact.subject, fact.relation, rival) for rival in rivals]
        else:
            rivals = self.entities(fact, fact.subject, fact.object, place, any_type=any_type)
            triples += [(rival, fact.relation, fact.object) for rival in rivals]
        return {triple for triple in triples if not self.is_said(*triple)}
