"""What the benchmark of intervals counts, on few draws: they hold, and predictions make them narrower."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.coverage import DRAWS, FACTS, Case, draw_facts, make_graph, measure, rows_of
from kgprobe.stats.prediction_powered import EstimatorOptions, LabelledFacts, estimate_mean, sum_predictions
from tests.cases import rotate

REPETITIONS = 300
# Three standard deviations below 90% of so many draws: if that were the true share of all 20 cases, one falls below for
# one seed in 40.
LEAST = 0.9 - 3 * math.sqrt(0.09 / REPETITIONS)


@pytest.mark.parametrize(
    ("draw", "predictor", "rate", "labels"),
    rotate(
        [draw for draw in DRAWS if draw != "facts, both told"],
        [("good", 0.02, 200), ("wrong", 0.5, 50), ("wrong", 0.02, 200), ("good", 0.5, 50)],
    ),
)
def test_intervals_hold_what_they_say(draw: str, predictor: str, rate: float, labels: int) -> None:
    assert measure(Case(labels, rate, predictor, draw), REPETITIONS, 0).share >= LEAST


def test_predictions_narrow_or_hardly_widen_intervals() -> None:
    good, useless = (measure(Case(200, 0.5, predictor, "facts"), 100, 0) for predictor in ("good", "useless"))
    assert good.width < 0.8 * good.classical_width
    assert useless.width < 1.02 * useless.classical_width
    assert abs(good.bias) < 0.01


def test_subjects_that_are_drawn_whole_have_to_be_told() -> None:
    random = np.random.default_rng(0)
    graph = make_graph(0.5, "useless", random)
    truth, sums = graph.labels.mean(), sum_predictions(graph.predictions)
    held = []
    for _ in range(REPETITIONS):
        drawn, chances = draw_facts(graph, 200, "subjects, subjects told", random)
        assert chances is None
        assert np.isin(graph.subjects, graph.subjects[drawn]).sum() == len(drawn)
        facts = LabelledFacts(graph.labels[drawn], graph.predictions[drawn])
        told = replace(facts, subjects=graph.subjects[drawn])
        found = [estimate_mean(each, sums, EstimatorOptions(confidence=0.9)) for each in (facts, told)]
        held.append([one.low <= truth <= one.high for one in found])
    untold, with_subjects = np.mean(held, axis=0)
    assert untold < LEAST <= with_subjects


def test_made_up_graphs_are_what_they_are_said_to_be() -> None:
    graph = make_graph(0.02, "good", np.random.default_rng(0))
    assert graph.labels.sum() == 0.02 * FACTS
    sizes = np.sort(np.bincount(graph.objects))
    assert sizes[-12] >= 200
    assert np.median(sizes[sizes > 0]) < 5
    # Labels of an object's facts are alike.
    means = np.bincount(graph.objects, weights=graph.labels) / np.maximum(np.bincount(graph.objects), 1)
    assert means[graph.objects].var() > 0.15 * graph.labels.var()
    _, chances = draw_facts(graph, 200, "unequal", np.random.default_rng(0))
    assert chances is not None
    assert set(np.round(chances / chances.min(), 6)) == {1.0, 3.0}


def test_case_is_repeated_the_same_way_twice() -> None:
    case = Case(50, 0.5, "useless", "facts")
    assert measure(case, 20, 1) == measure(case, 20, 1) != measure(case, 20, 2)
    covered, width, error = rows_of(measure(case, 20, 1))
    assert (covered.unit, width.less_is_better, error.peer) == ("%", True, None)
