"""What counters say that facts receive, against the definition written naively, and against a run in the graph."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.records import Fact
from kgprobe.beliefs.propagation import FactEnds, received
from kgprobe.probes.outcome import Verdict
from tests.beliefs.test_propagation import naive


def parameters(facts: list[Fact], own: dict[str, tuple[int, int]], max_degree: int | None) -> dict[str, Any]:
    """Alpha and beta by the counters, from own answers (wrong, right) by fact."""
    names = sorted({end for fact in facts for end in (fact.subject, fact.object)})
    subjects = np.array([names.index(fact.subject) for fact in facts], dtype=np.int64)
    objects = np.array([names.index(fact.object) for fact in facts], dtype=np.int64)
    ends = FactEnds.of(subjects, objects, max_degree)
    wrong, right = (np.array([own.get(fact.id, (0, 0))[place] for fact in facts], dtype=np.float64) for place in (0, 1))
    pairs = zip(1 + received(ends, wrong), 1 + received(ends, right), strict=True)
    return dict(zip((fact.id for fact in facts), pairs, strict=True))


# Between so few entities there are loops, parallel facts and facts in both directions.
drawn_facts = some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=14)


@given(drawn_facts, some.sampled_from([1, 3, 5, None]), some.data())
def test_counters_are_the_definition(ends: list[tuple[int, int]], max_degree: int | None, data: Any) -> None:
    facts = [Fact(f"f{number}", f"e1{s}", "r0", f"e1{o}") for number, (s, o) in enumerate(ends)]
    answers = some.dictionaries(
        some.sampled_from([fact.id for fact in facts]) if facts else some.nothing(),
        some.sampled_from([Verdict.RIGHT, Verdict.WRONG]),
    )
    rounds = data.draw(some.lists(answers, max_size=3))
    expected = naive(facts, rounds, 1000 if max_degree is None else max_degree)
    own = {fact: (values[3], values[2]) for fact, values in expected.items()}
    found = parameters(facts, own, max_degree)
    assert found == {fact.id: expected.get(fact.id, (1, 1))[:2] for fact in facts}
