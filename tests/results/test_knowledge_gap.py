"""Known by one way of asking and missed by another, against its definition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.results.knowledge_gap import find_knowledge_gap
from kgprobe.results.shared_facts import find_shared_facts
from kgprobe.stats.proportions import share
from tests.results.answered import answered


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), min_size=1, max_size=15))
@settings(max_examples=12)
def test_gap_is_its_definition(facts: list[tuple[bool, bool, int]]) -> None:
    relations = {f"f{n:02}": f"r{relation}" for n, (_, _, relation) in enumerate(facts)}
    both = [
        answered("m", {f"f{n:02}": fact[way] for n, fact in enumerate(facts)}, relations=relations, probe=probe)
        for way, probe in enumerate(("distractors", "questions"))
    ]
    found = find_knowledge_gap(find_shared_facts(both), {"r0": "zero"})
    assert {one.relation for one in found.relations} == set(relations.values())
    for group in (found.overall, *found.relations):
        its = [fact for fact in facts if group.relation in (None, f"r{fact[2]}")]
        known = [fact for fact in its if fact[0]]
        missed = sum(not fact[1] for fact in known)
        assert (group.facts, group.known) == (len(its), len(known))
        assert group.unsaid == (share(missed, len(known)) if known else None)
        assert group.said_alone == sum(fact[1] and not fact[0] for fact in its)
    gaps = [one.unsaid.value if one.unsaid else -1.0 for one in found.relations]
    assert gaps == sorted(gaps, reverse=True)
    assert sorted(one.fact for one in found.unsaid_facts) == [
        f"f{n:02}" for n, (one, other, _) in enumerate(facts) if one > other
    ]
    assert all(one.said == f"Strong of {one.fact}" for one in found.unsaid_facts)
    assert (found.stored_by, found.said_by) == ("distractors", "questions")


def test_nothing_shared_is_said() -> None:
    with pytest.raises(KgprobeError, match="No fact was asked in both ways"):
        find_knowledge_gap(find_shared_facts([answered("m", {"x": True}), answered("m", {"y": True})]), {})
