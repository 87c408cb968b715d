"""Curves of the measure against their definition, written naively."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.analysis.curves import mean_curve, measured

COUNT = 5

# JSON has null where there is no probability at all; few values, so that ties come up.
values = some.none() | some.integers(-4, 0).map(float)


@some.composite
def outcomes(draw: some.DrawFn) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = []
    for number in range(draw(some.integers(0, 4))):
        if draw(some.booleans()):
            reason = draw(some.sampled_from(["no name", "no cloze"]))
            drawn.append({"fact": f"f{number}", "verdict": "unaskable", "reason": reason, "evidence": {}})
            continue
        sentences = draw(some.lists(some.lists(values, min_size=2, max_size=COUNT + 2), min_size=1, max_size=3))
        evidence = {"sentences": [{"log_plausibility": sentence} for sentence in sentences]}
        drawn.append({"fact": f"f{number}", "verdict": "wrong", "reason": None, "evidence": evidence})
    return drawn


@given(outcomes())
def test_the_measure_of_outcomes_is_its_definition(drawn: list[dict[str, Any]]) -> None:
    found = measured(drawn, COUNT)
    asked = [outcome for outcome in drawn if outcome["verdict"] != "unaskable"]
    assert found.facts == tuple(outcome["fact"] for outcome in asked)
    assert sum(found.unaskable.values()) == len(drawn) - len(asked)
    for row, outcome in enumerate(asked):
        sentences = [
            [-math.inf if value is None else value for value in sentence["log_plausibility"]]
            for sentence in outcome["evidence"]["sentences"]
        ]
        assert found.present[row] == min(min(len(sentence) - 1, COUNT) for sentence in sentences)
        for n in range(1, COUNT + 1):
            beaten = [[truth > rival for rival in rivals[:n]] for truth, *rivals in sentences]
            assert found.min_at_n[row, n - 1] == pytest.approx(np.mean([all(its) for its in beaten]))
            assert found.avg_at_n[row, n - 1] == pytest.approx(np.mean([np.mean(its) for its in beaten]))


def test_a_curve_is_the_mean_with_a_band_around_it() -> None:
    generator = np.random.default_rng(3)
    known = (generator.random((400, 3)) < [0.8, 0.5, 0.1]).astype(float)
    curve = mean_curve(known, seed=1)
    assert curve.mean == pytest.approx(known.mean(axis=0))
    # Of a share p of 400, the bootstrap's 95% band is about 1.96 standard errors wide on either side.
    width = 2 * 1.96 * np.sqrt(curve.mean * (1 - curve.mean) / 400)
    assert curve.high - curve.low == pytest.approx(width, rel=0.15)
    assert (curve.low < curve.mean).all()
    assert (curve.mean < curve.high).all()
    again = mean_curve(known, seed=1)
    assert (again.low == curve.low).all()
    assert (mean_curve(known, seed=2).low != curve.low).any()
