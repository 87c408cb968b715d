"""Correct, truthful and informative: worked by hand, and against the formula of each fact by itself."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.probes.statements.metrics import FALSE, JUDGEMENTS, NONE, TRUE, UNKNOWN, metrics_of

# By the judgements of a fact and of its negative: correct, truthful, informative. The negative is false.
BY_HAND = {
    ("true", "true"): (0, 0, 1),
    ("true", "false"): (1, 1, 1),
    ("true", "unknown"): (0, 1, 0),
    ("false", "true"): (0, 0, 1),
    ("false", "false"): (0, 0, 1),
    ("false", "unknown"): (0, 0, 0),
    ("unknown", "true"): (0, 0, 0),
    ("unknown", "false"): (0, 1, 0),
    ("unknown", "unknown"): (0, 1, 0),
}


def measured(facts: Sequence[int], negatives: Sequence[Sequence[int]]) -> list[tuple[float, float, float]]:
    found = metrics_of(np.array(facts, dtype=np.int8), np.array(negatives or np.empty((0, 1)), dtype=np.int8))
    return list(zip(found.correct.tolist(), found.truthful.tolist(), found.informative.tolist(), strict=True))


@pytest.mark.parametrize(("fact", "negative"), BY_HAND)
def test_fact_and_a_negative_in_all_nine_ways(fact: str, negative: str) -> None:
    [found] = measured([JUDGEMENTS.index(fact)], [[JUDGEMENTS.index(negative)]])
    assert found == BY_HAND[fact, negative]


def test_what_was_not_judged_has_no_metrics() -> None:
    for found in measured([TRUE, NONE], [[NONE, NONE], [FALSE, FALSE]]):
        assert all(map(math.isnan, found))
    assert measured([], []) == []
    with pytest.raises(ValueError, match="shapes"):
        metrics_of(np.zeros(2, dtype=np.int8), np.zeros((3, 1), dtype=np.int8))
    with pytest.raises(ValueError, match="shapes"):
        metrics_of(np.zeros(2, dtype=np.int8), np.zeros(2, dtype=np.int8))


JUDGED = some.sampled_from([TRUE, FALSE, UNKNOWN])


@given(some.lists(some.tuples(JUDGED, some.lists(JUDGED | some.just(NONE), min_size=4, max_size=4)), max_size=6))
def test_each_fact_has_the_metrics_of_the_formula(facts: list[tuple[int, list[int]]]) -> None:
    def metric(fact: int, negatives: list[int], positive: set[int], negative: set[int]) -> float:
        judged = [each for each in negatives if each != NONE]
        if not judged:
            return math.nan
        return (fact in positive) * (1 - sum(each in negative for each in judged) / len(judged))

    expected = [
        (
            metric(fact, negatives, {TRUE}, {TRUE, UNKNOWN}),
            metric(fact, negatives, {TRUE, UNKNOWN}, {TRUE}),
            metric(fact, negatives, {TRUE, FALSE}, {UNKNOWN}),
        )
        for fact, negatives in facts
    ]
    found = measured([fact for fact, _ in facts], [negatives for _, negatives in facts])
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, nan_ok=True)
