"""Held-out groups and training groups share nothing that would reveal an answer."""

from hypothesis import given
from hypothesis import strategies as st

from kgprobe.labelling.exports.sft import HOLD_OUTS, QUESTION
from kgprobe.labelling.exports.sft.division import Division, Guard, divide_groups
from kgprobe.labelling.exports.sft.groups import KNOWN, ClassedFact, FactGroup
from kgprobe.labelling.exports.sft.wordings import WordedExample, WordedGroup
from kgprobe.labelling.roles import TAUGHT
from kgprobe.sampling.keys import FactKey

Ids = st.integers(0, 14)


def worded(subject: int, relation: int, objects: frozenset[int], purpose: str) -> WordedGroup:
    """Return a group whose subject has the name of another entity, as namesakes do."""
    facts = []
    for object_ in sorted(objects):
        key = FactKey(f"Q{subject}", f"Q{subject} P{relation} Q{object_}")
        facts.append(ClassedFact(key, f"Q{object_}", "unknown", 0.1))
    group = FactGroup(f"Q{subject}", f"P{relation}", purpose, tuple(facts))
    question = WordedExample(QUESTION, f"P{relation} of the entity named {subject // 2}?", "", tuple(facts))
    return WordedGroup(group, frozenset(fact.object for fact in facts), (question,))


@st.composite
def groups(draw: st.DrawFn) -> list[WordedGroup]:
    ends = draw(st.lists(st.tuples(Ids, st.integers(0, 4)), unique=True, min_size=1, max_size=40))
    drawn = []
    for subject, relation in ends:
        objects = draw(st.frozensets(Ids, min_size=1, max_size=3))
        drawn.append(worded(subject, relation, objects, draw(st.sampled_from((TAUGHT, KNOWN)))))
    return drawn


@st.composite
def divided(draw: st.DrawFn) -> tuple[list[WordedGroup], Division, list[WordedGroup]]:
    """Return the groups to teach, their division, and the controls."""
    everything = draw(groups())
    taught = [group for group in everything if group.group.purpose == TAUGHT]
    units = draw(st.lists(st.sampled_from(HOLD_OUTS), unique=True))
    division = divide_groups(taught, draw(st.sampled_from((0.0, 0.1, 0.3, 0.6))), units, draw(st.integers(0, 9)))
    return everything, division, draw(st.lists(st.sampled_from(everything), max_size=3))


def pairs(group: WordedGroup) -> set[frozenset[str]]:
    return {frozenset((group.group.subject, object_)) for object_ in group.objects}


@given(divided())
def test_division_has_each_group_once(case: tuple[list[WordedGroup], Division, list[WordedGroup]]) -> None:
    everything, division, _ = case
    parts = [*division.training, *division.between]
    for held_out in division.held_out.values():
        parts += held_out
    keys = sorted(group.facts[0].key for group in parts)
    assert keys == sorted(group.facts[0].key for group in everything if group.group.purpose == TAUGHT)


@given(divided())
def test_guarded_training_reveals_nothing(case: tuple[list[WordedGroup], Division, list[WordedGroup]]) -> None:
    everything, division, controls = case
    known = [group for group in everything if group.group.purpose == KNOWN]
    training = list(Guard(division, controls).allowed([*division.training, *known]))
    hidden = [*controls, *(group for held_out in division.held_out.values() for group in held_out)]
    for group in training:
        assert group.group.relation not in {other.group.relation for other in division.held_out["relation"]}
        for other in division.held_out["entity"]:
            assert group.entities.isdisjoint(other.entities)
        for other in hidden:
            assert pairs(group).isdisjoint(pairs(other))
            assert group.prompts.isdisjoint(other.prompts)
    assert {key for group in training for key in group.facts}.isdisjoint(key for group in hidden for key in group.facts)


@given(groups(), st.integers(0, 9))
def test_draw_by_fact_does_not_depend_on_others(drawn: list[WordedGroup], seed: int) -> None:
    whole = divide_groups(drawn, 0.4, ["fact"], seed).held_out["fact"]
    half = divide_groups(drawn[: len(drawn) // 2 + 1], 0.4, ["fact"], seed).held_out["fact"]
    assert half == [group for group in whole if group in drawn[: len(drawn) // 2 + 1]]


def test_guard_counts_removed_facts_by_reason() -> None:
    held_out = worded(0, 0, frozenset({2}), TAUGHT)
    inverse = worded(2, 1, frozenset({0, 5}), TAUGHT)
    namesake = worded(1, 0, frozenset({7}), TAUGHT)
    guard = Guard(Division([], {"fact": [held_out]}, (), (), []), [])
    assert list(guard.allowed([inverse, namesake])) == []
    assert sorted(guard.removed.values()) == [1, 2]


def test_hub_of_all_facts_is_not_held_out() -> None:
    star = [worded(subject, 0, frozenset({14}), TAUGHT) for subject in range(10)]
    division = divide_groups(star, 0.1, ["entity"], seed=0)
    assert (list(division.training), division.entities) == (star, set())
