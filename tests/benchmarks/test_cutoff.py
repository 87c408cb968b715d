"""The benchmark of cut-offs on few made-up models: intervals contain what is known."""

import math

import numpy as np
import pytest

from benchmarks.cutoff import FIRST, LAST, WORLDS, World, make_answers, measure, rows_of

REPETITIONS = 40
# Three standard deviations below 90% of so many.
LEAST = 0.9 - 3 * math.sqrt(0.09 / REPETITIONS)


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("to a floor of 10%", World(facts=200, floor=0.1, precision=1.0)),
        ("clustered subjects", World(facts=200, subjects=1.5, drop=-3.0, precision=1.0)),
    ],
)
def test_measure_known_cutoffs_are_covered(name: str, world: World) -> None:
    coverage = measure(name, REPETITIONS, 0, world)
    assert coverage.covered >= LEAST
    assert coverage.found > 0.6
    assert coverage.width < (LAST - FIRST) / 2


def test_measure_without_a_cutoff_false_alarms_are_rare() -> None:
    coverage = measure("none", REPETITIONS, 0, World(facts=200, drop=0.0, precision=1.0))
    assert coverage.found <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / REPETITIONS)
    assert [row.measure for row in rows_of(coverage)] == ["drop found", "found, but not beyond a curve"]


def test_make_answers_worlds_are_as_described() -> None:
    sharp = make_answers(World(facts=20_000), np.random.default_rng(0))
    is_late = sharp.times > 2021.5
    assert sharp.right[~is_late].mean() - sharp.right[is_late].mean() > 0.2
    thin = make_answers(World(facts=20_000, kept=0.05), np.random.default_rng(0))
    late = (thin.times > 2021.5).mean() / (sharp.times > 2021.5).mean()
    assert late == pytest.approx(0.05, abs=0.02)
    floor = make_answers(World(facts=20_000, floor=0.1), np.random.default_rng(0))
    assert floor.right[floor.times > 2021.5].mean() == pytest.approx(0.1, abs=0.02)
    years = make_answers(WORLDS["dates are years"], np.random.default_rng(0))
    assert set(np.unique(years.times % 1)) == {0.5}
