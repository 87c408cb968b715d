"""Confidence among answers, and accuracy where it is high, against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.probes.confidence import THRESHOLDS, accuracy_at, normalized
from kgprobe.stats.proportions import share

LOGARITHMS = some.floats(-700, 0)
ASKED = some.lists(some.tuples(some.floats(0, 1), some.booleans()), max_size=30)


@given(some.lists(LOGARITHMS, min_size=1, max_size=20))
def test_confidence_is_the_share_of_the_probability(values: list[float]) -> None:
    probabilities = normalized(values)
    best = max(values)
    total = math.fsum(math.exp(value - best) for value in values)
    assert probabilities == pytest.approx([math.exp(value - best) / total for value in values])
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities[int(np.argmax(values))] == probabilities.max()


@given(some.lists(LOGARITHMS, min_size=1, max_size=20), some.floats(-1e6, 1e6))
def test_what_all_have_in_common_has_no_say(values: list[float], shift: float) -> None:
    assert normalized([value + shift for value in values]) == pytest.approx(normalized(values), abs=1e-6)


def test_confidence_of_many_facts_at_once_and_of_what_cannot_be() -> None:
    rows = normalized([[0.0, -np.inf], [-2000.0, -2000.0], [-np.inf, -np.inf]])
    assert rows.tolist() == [[1, 0], [0.5, 0.5], [0.5, 0.5]]


@given(ASKED, some.lists(some.floats(0, 1), max_size=5))
def test_accuracy_at_k_is_its_definition(asked: list[tuple[float, bool]], thresholds: list[float]) -> None:
    confidences, right = [sure for sure, _ in asked], [its for _, its in asked]
    rows = accuracy_at(confidences, right, thresholds)
    assert [row.threshold for row in rows] == thresholds
    for row in rows:
        among = [its for sure, its in asked if sure >= row.threshold]
        assert row.facts == len(among)
        assert row.accuracy == (share(sum(among), len(among)) if among else None)


def test_thresholds_are_tenths() -> None:
    assert THRESHOLDS == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    (row,) = accuracy_at([0.3, 0.29], [True, False], [0.3])
    assert (row.facts, row.accuracy) == (1, share(1, 1))
