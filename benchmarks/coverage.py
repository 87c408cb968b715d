"""How often prediction-powered intervals hold the figure of a whole graph, and how wide they are.

Made-up graphs whose figure is known: subjects with a few facts, objects with a few and some (hubs) with hundreds, and
labels that follow both. Facts are drawn, the figure is estimated from their labels and from predictions of all, and it
is counted how often the interval holds the graph's own figure. Beside its mean width stands that of the classical
interval: the same draw, without predictions. 10,000 repetitions tell a share of 90% to 0.6 points.
"""

import itertools
import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass, replace

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.stats.prediction_powered import EstimatorOptions, estimate_mean
from kgprobe.stats.prediction_sums import LabelledFacts, PredictionSums, sum_predictions

Floats = NDArray[np.float64]

SIZES = (50, 200, 2000)
RATES = (0.02, 0.5, 0.98)
PREDICTORS = ("good", "useless", "wrong")
# How labelled facts are drawn, and which of their entities are told: one by one, by whole subjects, or one by one with
# unequal probabilities. Graded labels are not 0 or 1, but as a figure with two negatives a fact: 0, 1/2 or 1.
DRAWS = ("facts", "facts, graded", "facts, both told", "subjects, subjects told", "subjects, both told", "unequal")
CONFIDENCE = 0.9
FACTS = 20_000
# Labels are drawn anew so often.
GRAPHS = 20
# Of the variance of what makes a fact known: the subject's part, the object's, and the rest its own.
SUBJECTS_PART, OBJECTS_PART = 0.35, 0.45
HUBS = (900, 800, 700, 600, 500, 500, 400, 400, 300, 300, 200, 200)


@dataclass(frozen=True, slots=True)
class MadeUpGraph:
    """Facts of which all is known; every array has one entry a fact."""

    subjects: NDArray[np.int64]
    objects: NDArray[np.int64]
    labels: Floats
    predictions: Floats


@dataclass(frozen=True, slots=True)
class Case:
    """What is repeated: labels a draw, the true rate, the predictor, and how facts are drawn."""

    labels: int
    rate: float
    predictor: str
    draw: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of many repetitions: how often the interval held the truth; mean widths; the mean error of the estimates."""

    case: Case
    share: float
    width: float
    classical_share: float
    classical_width: float
    bias: float


def make_graph(rate: float, predictor: str, random: np.random.Generator) -> MadeUpGraph:
    """A graph of ``FACTS`` facts of which exactly the rate has label 1."""
    hubs = np.repeat(np.arange(len(HUBS)), HUBS)
    tail = len(HUBS) + _few_each(FACTS - len(hubs), 4.0, random)
    objects = random.permutation(np.concatenate([hubs, tail]))
    subjects = _few_each(FACTS, 3.0, random)
    own = np.sqrt(1 - SUBJECTS_PART - OBJECTS_PART) * random.standard_normal(FACTS)
    known = np.sqrt(SUBJECTS_PART) * random.standard_normal(subjects.max() + 1)[subjects] + own
    known += np.sqrt(OBJECTS_PART) * random.standard_normal(objects.max() + 1)[objects]
    labels = _highest(known, rate)
    # Verdicts that err more in one direction than in the other, and alike for facts that share an object.
    seen = known + 0.3 * random.standard_normal(FACTS) + 0.3 * random.standard_normal(objects.max() + 1)[objects]
    good = _highest(seen, min(1.3 * rate, 0.99))
    by_object = (random.random(objects.max() + 1) < 0.5)[objects].astype(np.float64)
    predictions = {"good": good, "useless": by_object, "wrong": 1 - good}[predictor]
    return MadeUpGraph(subjects, objects, labels, predictions)


def draw_facts(
    graph: MadeUpGraph, labels: int, draw: str, random: np.random.Generator
) -> tuple[NDArray[np.int64], Floats | None]:
    """Which facts are labelled, and the probability of each where they are not equal."""
    if draw == "unequal":
        # Where the predictor says no, three times as often as where it says yes.
        chances = np.where(graph.predictions > 0.5, 1.0, 3.0)
        chances *= labels / chances.sum()
        drawn = np.flatnonzero(random.random(FACTS) < chances)
        return drawn, chances[drawn]
    if draw.startswith("subjects"):
        number = graph.subjects.max() + 1
        chosen = np.zeros(number, dtype=bool)
        chosen[random.choice(number, round(labels * number / FACTS), replace=False)] = True
        return np.flatnonzero(chosen[graph.subjects]), None
    return random.choice(FACTS, labels, replace=False, shuffle=False), None


def measure(case: Case, repetitions: int, seed: int) -> Coverage:
    """Repeat a case; the same seed gives the same twice.

    Cost: about half a millisecond a repetition, and one of 2,000 labels.
    """
    place = (case.labels, round(1000 * case.rate), PREDICTORS.index(case.predictor), DRAWS.index(case.draw))
    random = np.random.default_rng([seed, *place])
    a_graph = max(1, repetitions // GRAPHS)
    rows: list[tuple[float, ...]] = []
    for first in range(0, repetitions, a_graph):
        graph = make_graph(case.rate, case.predictor, random)
        if case.draw == "facts, graded":
            graph = replace(graph, labels=graph.labels * random.binomial(2, 0.8, FACTS) / 2)
        sums = sum_predictions(graph.predictions)
        rows.extend(_repeat(graph, sums, case, random) for _ in range(min(a_graph, repetitions - first)))
    held, width, classical_held, classical_width, error = np.mean(rows, axis=0)
    return Coverage(case, held, width, classical_held, classical_width, error)


def _repeat(graph: MadeUpGraph, sums: PredictionSums, case: Case, random: np.random.Generator) -> tuple[float, ...]:
    truth = float(graph.labels.mean())
    drawn, chances = draw_facts(graph, case.labels, case.draw, random)
    facts = LabelledFacts(
        graph.labels[drawn],
        graph.predictions[drawn],
        chances,
        graph.subjects[drawn] if case.draw.endswith("told") else None,
        graph.objects[drawn] if case.draw.endswith("both told") else None,
    )
    found = estimate_mean(facts, sums, EstimatorOptions(confidence=CONFIDENCE))
    alone = estimate_mean(facts, sums, EstimatorOptions(confidence=CONFIDENCE, weight=0.0))
    return (
        found.low <= truth <= found.high,
        found.high - found.low,
        alone.low <= truth <= alone.high,
        alone.high - alone.low,
        found.value - truth,
    )


def _few_each(facts: int, mean: float, random: np.random.Generator) -> NDArray[np.int64]:
    """For each fact an entity, each with some facts: their number is geometric, with this mean."""
    sizes = random.geometric(1 / mean, size=facts)
    return np.repeat(np.arange(facts), sizes)[:facts]


def _highest(values: Floats, share: float) -> Floats:
    """1 for the highest share of the values, 0 for the others."""
    ones = np.zeros(len(values))
    ones[np.argsort(values)[len(values) - round(share * len(values)) :]] = 1.0
    return ones


def rows_of(coverage: Coverage) -> Iterator[Row]:
    """What is shown of a case."""
    case = coverage.case
    name = f"{case.draw}; {case.predictor}, {100 * case.rate:g}%, {case.labels:,} labels"
    yield Row(name, "covered", 100 * coverage.share, "%", "classical", 100 * coverage.classical_share)
    yield Row(name, "width", coverage.width, "", "classical", coverage.classical_width, less_is_better=True)
    yield Row(name, "mean error", coverage.bias, "")


@click.command()
@click.option("--repetitions", default=10_000, show_default=True, help="Draws a case.")
@click.option("--processes", default=2, show_default=True, help="Cases at once.")
@click.option("--draw", "draws", type=click.Choice(DRAWS), multiple=True, help="Only facts that are drawn so.")
@seed_option
@json_option
def main(repetitions: int, processes: int, draws: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Count how often 90% intervals hold, and how wide they are; some 10 minutes on 2 idle cores."""
    cases = itertools.product(draws or DRAWS, PREDICTORS, RATES, SIZES)
    work = [(Case(labels, rate, predictor, draw), repetitions, seed) for draw, predictor, rate, labels in cases]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        coverages = pool.starmap(measure, work, chunksize=1)
    rows = [row for coverage in coverages for row in rows_of(coverage)]
    show(Report("coverage", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
