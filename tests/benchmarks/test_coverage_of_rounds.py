"""What the benchmark of rounds counts, on few repetitions: intervals hold, whatever is predicted and drawn."""

import math

import numpy as np
import pytest

from benchmarks.coverage import FACTS, make_graph
from benchmarks.coverage_of_rounds import (
    ADVERSARIES,
    DESIGNS,
    Adversary,
    Case,
    ask,
    measure,
    measure_adversary,
    rows_of,
)
from tests.cases import rotate

REPETITIONS = 150
# Three standard deviations below 90% of so many.
LEAST = 0.9 - 3 * math.sqrt(0.09 / REPETITIONS)


@pytest.mark.parametrize(
    ("design", "predictor", "rate", "answers"), rotate(DESIGNS, [("good", 0.98, 200), ("wrong", 0.5, 50)])
)
def test_intervals_of_rounds_hold_what_they_say(design: str, predictor: str, rate: float, answers: int) -> None:
    assert measure(Case(answers, rate, predictor, design), REPETITIONS, 0).share >= LEAST


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_measure_adversary_hidden_errors_are_covered(kind: str) -> None:
    covered, width, _ = measure_adversary(Adversary(kind, 0.05, 1 / 8, 8), 100, 0)
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)
    assert width < 0.8 or kind == "last"


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
