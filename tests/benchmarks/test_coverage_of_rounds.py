"""What the benchmark of rounds counts, on few repetitions: intervals hold, whatever is predicted and drawn."""

import math

import numpy as np
import pytest

from benchmarks.coverage import FACTS, make_graph
from benchmarks.coverage_of_rounds import (
    ADVERSARIES,
    ASKED_ONCE,
    DESIGNS,
    STOPPING,
    Adversary,
    Case,
    StoppingRun,
    ask,
    measure,
    measure_adversary,
    measure_stopping,
    rows_of,
)
from benchmarks.coverage_of_stops import coverage_at_stop
from tests.cases import rotate

REPETITIONS = 150
# Three standard deviations below 90% of so many.
LEAST = 0.9 - 3 * math.sqrt(0.09 / REPETITIONS)


@pytest.mark.parametrize(
    ("design", "predictor", "rate", "answers"), rotate(DESIGNS, [("good", 0.98, 200), ("wrong", 0.5, 50)])
)
@pytest.mark.representatives(2)
def test_intervals_of_rounds_hold_what_they_say(design: str, predictor: str, rate: float, answers: int) -> None:
    assert measure(Case(answers, rate, predictor, design), REPETITIONS, 0).share >= LEAST


@pytest.mark.parametrize(
    "design",
    [
        *(Adversary(kind, 0.05, 1 / 8, 8) for kind in ADVERSARIES),
        *(Adversary(kind, 0.1, 1 / 8, 12) for kind in ASKED_ONCE),
    ],
    ids=lambda design: design.kind,
)
@pytest.mark.representatives(3)
def test_measure_adversary_hidden_errors_are_covered(design: Adversary) -> None:
    covered, width, _ = measure_adversary(design, 100, 0)
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)
    assert width < 0.8 or design.kind == "last"


@pytest.mark.parametrize("kind", STOPPING)
def test_measure_stopping_interval_is_narrow_and_covers(kind: str) -> None:
    covered, width, _ = measure_stopping(StoppingRun(kind, 0.1, 64, 0.3), 60, 0)
    # Of uniform draws, this is the exact share.
    exact, beyond = coverage_at_stop(0.3, 0.1, 64, 1)
    assert beyond == pytest.approx(0)
    assert covered == pytest.approx(exact, abs=3 * math.sqrt(exact * (1 - exact) / 60))
    assert 0.1 < width <= 0.2


def test_coverage_at_stop_is_at_least_as_documented() -> None:
    assert coverage_at_stop(0.06, 0.03, 12, 1)[0] == pytest.approx(0.925, abs=0.001)
    assert coverage_at_stop(0.08, 0.04, 48, 1)[0] == pytest.approx(0.9356, abs=0.0005)


def test_hub_has_a_figure_where_it_has_draws_enough() -> None:
    few, many = (measure(Case(answers, 0.5, "good", "uncertain"), 40, 0) for answers in (200, 2000))
    assert few.of_hub is None
    assert many.of_hub is not None
    assert many.of_hub >= 0.9 - 3 * math.sqrt(0.09 / 40)
    assert many.width_of_hub is not None
    assert many.width_of_hub > many.width
    assert [row.measure for row in rows_of(many)] == ["covered", "width", "mean error", "covered", "width"]
    assert len(list(rows_of(few))) == 3


def test_design_draws_facts_that_seem_certain() -> None:
    random = np.random.default_rng(0)
    graph = make_graph(0.5, "good", random)
    shares = {}
    for design in DESIGNS:
        rates = ask(graph, graph.labels, Case(2000, 0.5, "good", design), random)
        assert rates.draws == 2000
        found = rates.rate(graph.predictions > 0.5)
        assert found is not None
        shares[design] = found.labelled / 2000
    predicted = float((graph.predictions > 0.5).mean())
    assert shares["uniform"] == pytest.approx(predicted, abs=0.05)
    assert shares["surest"] > 1.2 * predicted


def test_case_is_repeated_the_same_way_twice() -> None:
    case = Case(50, 0.5, "useless", "uncertain")
    assert measure(case, 20, 1) == measure(case, 20, 1) != measure(case, 20, 2)
    assert len(make_graph(0.5, "good", np.random.default_rng(0)).labels) == FACTS
