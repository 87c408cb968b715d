"""Demonstrations on both engines, against their definition on an enumerable graph."""

from collections import Counter

import pytest
from scipy import stats

from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for, draw_demonstrations
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from tests.sampling.enumerable import AS_OF, current, enumerable
from tests.written_source import WrittenSource

RELATIONS = ["r0", "r1"]


def can_stand(people: dict[str, Entity], fact: Fact) -> bool:
    return current(fact) and bool(people[fact.subject].label) and bool(people[fact.object].label)


@pytest.mark.parametrize("seed", [1, 2])
def test_subjects_with_current_facts_are_drawn_once(graph: Graph, seed: int) -> None:
    people, facts = enumerable(seed)
    by_id = {entity.id: entity for entity in people}
    load(graph, WrittenSource(people, facts))
    by_fact = {fact.id: fact for fact in facts}
    for count in (1, 3, 100):
        drawn = draw_demonstrations(graph, RELATIONS, count, seed, AS_OF)
        assert list(drawn) == RELATIONS
        for relation, its in drawn.items():
            possible = {one.subject for one in facts if one.relation == relation and can_stand(by_id, one)}
            subjects = [one.subject for one in its]
            assert len(set(subjects)) == len(subjects) == min(count, len(possible))
            assert set(subjects) <= possible
            for one in its:
                fact = by_fact[one.fact]
                assert (fact.relation, fact.subject, fact.object) == (relation, one.subject, one.object)
                assert can_stand(by_id, fact)
                assert (one.subject_label, one.object_label) == (by_id[one.subject].label, by_id[one.object].label)
            # Who needs fewer gets the first.
            assert its == draw_demonstrations(graph, RELATIONS, 100, seed, AS_OF)[relation][:count]


def test_seed_alone_decides(graph: Graph) -> None:
    people, facts = enumerable(1)
    load(graph, WrittenSource(people, facts))
    drawn = [draw_demonstrations(graph, ["r0"], 5, seed, AS_OF) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    # What else is drawn, and that more facts came since, has no say in those that stay.
    load(graph, WrittenSource(people, [*facts, Fact("more", "e0", "r1", "e1")], fingerprint="more"))
    assert draw_demonstrations(graph, RELATIONS, 5, 1, AS_OF)["r0"] == drawn[0]["r0"]


def test_subjects_and_their_facts_are_drawn_uniformly(graph: Graph) -> None:
    entities = [Entity(f"e{number}", f"name {number}") for number in range(12)]
    # e0 has 6 facts, e1 to e5 have one each.
    facts = [Fact(f"f{number}", "e0", "r", f"e{6 + number}") for number in range(6)]
    facts += [Fact(f"g{number}", f"e{number}", "r", f"e{6 + number}") for number in range(1, 6)]
    load(graph, WrittenSource(entities, facts))
    subjects: Counter[str] = Counter()
    of_many: Counter[str] = Counter()
    for seed in range(150):
        drawn = draw_demonstrations(graph, ["r"], 6, seed, AS_OF)["r"]
        subjects[drawn[0].subject] += 1
        of_many.update(one.fact for one in drawn if one.subject == "e0")
    assert set(of_many) == {f"f{number}" for number in range(6)}
    for counts in (subjects, of_many):
        assert stats.chisquare(list(counts.values())).pvalue > 1e-4, counts


def test_names_of_white_space_are_no_examples(graph: Graph) -> None:
    entities = [Entity("a", "A"), Entity("blank", " \t"), Entity("b", "B")]
    facts = [Fact("1", "a", "r", "b"), Fact("2", "blank", "r", "b"), Fact("3", "b", "r", "blank")]
    load(graph, WrittenSource(entities, facts))
    assert [one.fact for one in draw_demonstrations(graph, ["r"], 9, 0, AS_OF)["r"]] == ["1"]


def test_demonstration_gives_no_asked_fact_away(graph: Graph) -> None:
    entities = [Entity(name, name.upper()) for name in "abcd"]
    facts = [
        Fact("asked", "a", "borders", "b"),
        Fact("same subject", "a", "borders", "c"),
        Fact("turned", "b", "borders", "a"),
        Fact("turned, of another", "c", "borders", "a"),
        Fact("other", "d", "borders", "c"),
    ]
    load(graph, WrittenSource(entities, facts))
    [asked] = describe_facts(graph, [FactKey("a", "asked")])
    every = [
        Demonstration(fact.id, fact.subject, fact.subject.upper(), fact.object, fact.object.upper()) for fact in facts
    ]
    assert [one.fact for one in demonstrations_for([asked], every, 9)] == ["turned, of another", "other"]
    assert [one.fact for one in demonstrations_for([asked], every, 1)] == ["turned, of another"]
