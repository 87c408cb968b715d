"""Negatives with another subject, relation or object on both engines, against the definition on an enumerable graph."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from scipy import stats

from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.records import Entity, Fact
from kgprobe.sampling import false_facts as module
from kgprobe.sampling import pool_draws
from kgprobe.sampling.false_facts import ENDS, FalseFact, FalseFacts
from kgprobe.sampling.keys import FactKey
from tests.sampling.enumerable import enumerable
from tests.written_source import WrittenSource

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
    """What a negative is, by the words of docs/methods.md."""

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


def triples_of(negatives: Sequence[FalseFact]) -> list[Triple]:
    return [(negative.subject, negative.relation, negative.object) for negative in negatives]


@pytest.mark.parametrize("any_type", [False, True], ids=["of its type", "of any type"])
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "by number"])
def test_all_negatives_are_found_and_nothing_else(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, listed: bool, any_type: bool
) -> None:
    if not listed:
        monkeypatch.setattr(pool_draws, "LISTED_MEMBERS", 0)
        monkeypatch.setattr(pool_draws, "LISTED_SHARE", 0)
        monkeypatch.setattr(module, "SHUFFLED_MEMBERS", 0)
        # Whoever draws by number learns slowly that there are no more.
        monkeypatch.setattr(pool_draws, "PATIENCE", 20)
    monkeypatch.setattr(module, "NAMESAKES_DEGREE", 8)
    people, facts = graph_of(3)
    load(graph, WrittenSource(people, facts))
    naive = Naive(people, facts, 8)
    keys = [FactKey(fact.subject, fact.id) for fact in facts]
    counts: Counter[str] = Counter()
    for place in ENDS:
        drawn = FalseFacts(graph, RELATIONS, RELATIONS, replace=place, any_type=any_type).draw(keys, len(people), [0])
        for fact, negatives in zip(facts, drawn, strict=True):
            found = triples_of(negatives)
            assert len(found) == len(set(found))
            assert set(found) == naive.negatives(fact, place, any_type=any_type), (fact, place)
            for negative in negatives:
                assert negative.replaced == place
                assert negative.subject_label == naive.by_id[negative.subject].label
                assert negative.object_label == naive.by_id[negative.object].label
            counts[place] += len(found)
    assert min(counts[place] for place in ENDS) > 20


def test_namesakes_of_both_ends_say_the_same(graph: Graph) -> None:
    entities = [
        *(Entity(f"town {n}", "Springfield", types=("town",)) for n in range(2)),
        *(Entity(f"other {n}", f"Town {n}", types=("town",)) for n in range(2)),
        *(Entity(f"state {n}", f"State {n}", types=("state",)) for n in range(3)),
        Entity("state again", "Again", ("State 1",), types=("state",)),
    ]
    facts = [
        Fact("f0", "town 0", "in", "state 0"),
        Fact("f1", "town 1", "in", "state 2", end="1990"),
        Fact("f2", "other 0", "in", "state 1"),
    ]
    load(graph, WrittenSource(entities, facts))

    def drawn(place: str, key: FactKey) -> set[Triple]:
        (negatives,) = FalseFacts(graph, {}, ["in"], replace=place).draw([key], 9, [0])
        return set(triples_of(negatives))

    # Another Springfield was in state 2; what is called State 1 as well is no other state.
    assert drawn("object", FactKey("town 0", "f0")) == {("town 0", "in", "state 1"), ("town 0", "in", "state again")}
    # The other Springfield goes by the right name, and so does nothing else.
    assert drawn("subject", FactKey("town 0", "f0")) == {("other 0", "in", "state 0"), ("other 1", "in", "state 0")}
    assert drawn("object", FactKey("other 0", "f2")) == {("other 0", "in", "state 0"), ("other 0", "in", "state 2")}


def test_each_is_drawn_with_the_same_probability(graph: Graph) -> None:
    entities = [Entity(f"e{n}", f"name {n}", types=("t",)) for n in range(12)]
    facts = [Fact(f"f{n}", f"e{n}", "r", "e11") for n in range(4)]
    load(graph, WrittenSource(entities, facts))
    negatives = FalseFacts(graph, {}, ["r", *(f"r{n}" for n in range(6))], replace="any", any_type=True)
    key = FactKey("e0", "f0")
    counts = Counter(negatives.draw([key], 1, [seed])[0][0] for seed in range(150))
    places = Counter(each.replaced for each in counts.elements())
    assert stats.chisquare([places[place] for place in ENDS]).pvalue > 1e-3
    for place, possible in (("subject", 7), ("relation", 6), ("object", 10)):
        its = [count for each, count in counts.items() if each.replaced == place]
        assert len(its) == possible
        assert stats.chisquare(its).pvalue > 1e-3
    # Whatever stands beside a fact has no say, and a draw is the same twice.
    beside = [FactKey("e1", "f1"), key]
    assert negatives.draw([key], 3, [7]) == negatives.draw(beside, 3, [7])[1:]
    assert negatives.draw([], 3, [7]) == []
    # Where one place has no more, the others go on.
    (everything,) = negatives.draw([key], 99, [7])
    assert len(everything) == len(set(everything)) == 7 + 6 + 10


def test_a_large_kind_shows_its_relations_in_a_sample(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgprobe.sampling.linked_relations.LOOKED_AT", 5)
    monkeypatch.setattr(pool_draws, "LISTED_MEMBERS", 0)
    monkeypatch.setattr(pool_draws, "LISTED_SHARE", 0)
    entities = [
        *(Entity(f"p{n}", f"person {n}", types=("person",)) for n in range(40)),
        *(Entity(f"c{n}", f"city {n}", types=("city",)) for n in range(3)),
        Entity("x", "something", types=("thing",)),
    ]
    facts = [
        *(Fact(f"born {n}", f"p{n}", "born in", f"c{n % 3}") for n in range(40)),
        *(Fact(f"died {n}", f"p{n}", "died in", f"c{n % 2}") for n in range(40)),
        *(Fact(f"likes {n}", f"p{n}", "likes", "x") for n in range(40)),
        *(Fact(f"city {n}", f"c{n}", "twinned with", f"c{(n + 1) % 3}") for n in range(3)),
    ]
    load(graph, WrittenSource(entities, facts))
    relations = {fact.relation for fact in facts}
    negatives = FalseFacts(graph, {}, relations, replace="relation")
    # Person 2 died in city 0, not in city 2 where it was born.
    drawn = negatives.draw([FactKey("p2", "born 2"), FactKey("p3", "born 3")], 9, [0])
    assert [triples_of(its) for its in drawn] == [[("p2", "died in", "c2")], [("p3", "died in", "c0")]]
