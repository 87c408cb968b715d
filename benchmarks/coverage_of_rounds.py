"""Coverage and width of the interval of a whole graph's rate from dependent rounds.

The synthetic graphs of :mod:`benchmarks.coverage`, asked in rounds. Before each round, predictions of all facts follow
from the answers so far, and facts are drawn by their predictions. Answers are random: a model is right on a known fact
nineteen times in twenty, say. Reported is the coverage of the mean over all facts, and over the facts of one hub if it
has enough draws.

Adversarial designs in addition, with 95% intervals: some facts have confident and wrong predictions and are drawn only
by the uniform share of each round, so most runs see few of these errors or none. In some of them a first round asks
each fact, and the predictions go wrong afterwards.

Runs that ask until their 95% interval is narrow enough: coverage where they stop.
"""

import itertools
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import CONFIDENCE, FACTS, GRAPHS, HUBS, PREDICTORS, RATES, MadeUpGraph, make_graph
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.beliefs.choosing import chances_of, draw_by
from kgprobe.beliefs.corrected_rates import CORRECTED_FROM, CorrectedRates, RoundDraws
from kgprobe.beliefs.graph_rates import ENOUGH
from kgprobe.cli.options import json_option, seed_option
from kgprobe.results.graph_rates import next_look
from kgprobe.stats.design_based import Estimate

Floats = NDArray[np.float64]

# Adversarial designs: facts, questions per round, confidence of the interval, confidence of hidden predictions.
ADVERSARY_FACTS, ADVERSARY_BATCH, ADVERSARY_CONFIDENCE, _HIDDEN = 2_500, 32, 0.95, 0.98
ADVERSARY_FLOORS = (1 / 16, 1 / 4)
ADVERSARY_SHARES = (0.02, 0.05)
ADVERSARY_ROUNDS = (8, 32)
# Variants of the adversary: only hide errors; prefer answered facts with exact predictions; draw the last round with a
# tenth of the uniform share; hide right answers instead of wrong ones.
ADVERSARIES = ("steady", "again", "last", "right")

# Adversaries of a graph in which a first round asks each fact once: hide errors from then on; the same in a group, the
# only facts that the first round asks all; only in every other round; until one is drawn; or predict each fact's last
# answer, with random answers. Numbers of facts, of facts of the group, and of questions per later round.
ASKED_ONCE = {
    "once": (80, 80, 16),
    "once-group": (600, 40, 64),
    "once-alternating": (80, 80, 16),
    "once-until": (80, 80, 16),
    "once-random": (80, 80, 16),
}
ONCE_SHARES, ONCE_FLOORS, ONCE_ROUNDS = (0.05, 0.1), (1 / 8, 1 / 2), 12

# Runs that stop by precision: half the width, questions per round, and rate. Predictions are a coin for each fact.
STOPPING = ("stop-uniform", "stop-uncertain")
PRECISIONS, STOP_BATCHES, STOP_RATES = (0.06, 0.1), (10, 64), (0.1, 0.3, 0.5)

# Numbers of answers and rounds.
SIZES = {50: 5, 200: 8, 2000: 10}
# Designs with their uniform share of a round: uniform; proportional to the uncertainty of answers; mostly facts that
# seem known, as by a learner that is wrong on purpose.
DESIGNS = {"uniform": 1.0, "uncertain": 1 / 8, "surest": 1 / 16}
# Relative frequency of facts that seem known.
_SUREST = 9.0
# Weight of the predictor in a prediction; the rest is the mean of the answers so far.
_PREDICTED = 0.8
# Probability of a right answer: 0.9 plus a tenth of the rate if known, else a tenth of the rate.
_CERTAIN = 0.9


@dataclass(frozen=True, slots=True)
class Case:
    """Simulated case: number of answers, true rate, predictor and design."""

    answers: int
    rate: float
    predictor: str
    design: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage, mean width and mean error over the repetitions; None for a hub without enough draws."""

    case: Case
    share: float
    width: float
    bias: float
    of_hub: float | None
    width_of_hub: float | None


def measure(case: Case, repetitions: int, seed: int) -> Coverage:
    """Return coverage, width and error of a case; reproducible by seed.

    Cost: about a millisecond for each round of each repetition.
    """
    place = (case.answers, round(1000 * case.rate), PREDICTORS.index(case.predictor), list(DESIGNS).index(case.design))
    random = np.random.default_rng([seed, *place])
    a_graph = max(1, repetitions // GRAPHS)
    rows, hubs = [], []
    for first in range(0, repetitions, a_graph):
        graph = make_graph(case.rate, case.predictor, random)
        theta = _CERTAIN * graph.labels + (1 - _CERTAIN) * case.rate
        truth, hub = float(theta.mean()), graph.objects == 0
        of_hub = float(theta[hub].mean())
        for _ in range(min(a_graph, repetitions - first)):
            rates = ask(graph, theta, case, random)
            overall, hub_rate = rates.rate(confidence=CONFIDENCE), rates.rate(hub, confidence=CONFIDENCE)
            if overall is None:
                raise ValueError(f"{case} has too few draws")
            rows.append((overall.low <= truth <= overall.high, overall.high - overall.low, overall.value - truth))
            if hub_rate is not None and hub_rate.labelled >= ENOUGH:
                hubs.append((hub_rate.low <= of_hub <= hub_rate.high, hub_rate.high - hub_rate.low))
    held, width, error = np.mean(rows, axis=0).tolist()
    # Few repetitions have enough draws if the mean is just below.
    of_hubs = np.mean(hubs, axis=0).tolist() if len(hubs) > repetitions / 2 else (None, None)
    return Coverage(case, held, width, error, *of_hubs)


def ask(graph: MadeUpGraph, theta: Floats, case: Case, random: np.random.Generator) -> CorrectedRates:
    """Return the rounds of a repetition."""
    rounds, rates = SIZES[case.answers], CorrectedRates(FACTS)
    batch, floor = case.answers // rounds, DESIGNS[case.design]
    right = answered = 0
    for _ in range(rounds):
        level = (1 + right) / (2 + answered)
        predictions = np.clip(_PREDICTED * graph.predictions + (1 - _PREDICTED) * level, 0.02, 0.98)
        if case.design == "uniform":
            chances = np.full(FACTS, batch / FACTS)
            drawn = random.choice(FACTS, batch, replace=False)
        else:
            weights = np.sqrt(predictions * (1 - predictions))
            if case.design == "surest":
                weights = np.where(predictions > 0.5, _SUREST, 1.0)
            chances = chances_of((1 - floor) * weights / weights.sum() + floor / FACTS, batch)
            drawn = draw_by(chances, random)
        answers, yes = random.random(len(drawn)) < theta[drawn], np.ones(len(drawn), np.bool_)
        rates.predict(predictions)
        rates.add(RoundDraws(drawn, chances[drawn], float(chances.min()), answers, yes, yes))
        right, answered = right + int(answers.sum()), answered + len(drawn)
    return rates


@dataclass(frozen=True, slots=True)
class Adversary:
    """Adversarial design.

    Attributes:
        kind: one of ``ADVERSARIES`` or ``ASKED_ONCE``.
        hidden: share of the group's facts whose predictions are confident and wrong, in (0, 1).
        floor: share of each round that is drawn uniformly, in (0, 1].
        rounds: number of rounds; after the first round in ``ASKED_ONCE``.
    """

    kind: str
    hidden: float
    floor: float
    rounds: int

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers of facts, of facts of the group (the first ones), and of questions per round."""
        return ASKED_ONCE.get(self.kind, (ADVERSARY_FACTS, ADVERSARY_FACTS, ADVERSARY_BATCH))


def measure_adversary(design: Adversary, repetitions: int, seed: int) -> tuple[float, float, float]:
    """Return how often the 95% interval contains the rate over the group, its mean width, and the mean error.

    Cost: a tenth of a millisecond for each round of each repetition.
    """
    kinds = [*ADVERSARIES, *ASKED_ONCE]
    place = (kinds.index(design.kind), round(1000 * design.hidden), round(1000 * design.floor), design.rounds)
    random = np.random.default_rng([seed, *place])
    facts, group, _ = design.size
    members, hidden = np.arange(facts) < group, np.arange(facts) < round(design.hidden * group)
    rows = []
    for _ in range(repetitions):
        if design.kind in ADVERSARIES:
            right = np.where(hidden, design.kind == "right", random.random(facts) < 0.5).astype(np.float64)
            rates = ask_adversary(design, hidden, right, random)
        else:
            right = np.full(facts, 0.5) if design.kind == "once-random" else np.where(hidden, 0.0, _HIDDEN)
            rates = ask_once(design, hidden, right, random)
        estimate = rates.rate(members, ADVERSARY_CONFIDENCE)
        if estimate is None:
            raise ValueError(f"{design} has too few draws")
        truth = right[members].mean()
        rows.append((estimate.low <= truth <= estimate.high, estimate.high - estimate.low, estimate.value - truth))
    covered, width, error = np.mean(rows, axis=0).tolist()
    return covered, width, error


def ask_adversary(
    design: Adversary, hidden: NDArray[np.bool_], right: Floats, random: np.random.Generator
) -> CorrectedRates:
    """Return the rates after all rounds of a design of ``ADVERSARIES``.

    Args:
        hidden: the facts that are predicted wrongly, shape (facts,).
        right: probability of a right answer to each fact, shape (facts,).
    """
    rates = CorrectedRates(len(right))
    predictions = np.where(hidden, 1 - _HIDDEN if design.kind == "right" else _HIDDEN, 0.5)
    answered = np.zeros(len(right), np.bool_)
    for number in range(design.rounds):
        preferred = np.where(hidden, 0.0, 1.0)
        if design.kind == "again":
            preferred += 100.0 * answered
        floor = design.floor / 10 if design.kind == "last" and number == design.rounds - 1 else design.floor
        drawn, _ = _ask_round(rates, predictions, _chances(preferred, floor, ADVERSARY_BATCH), right, random)
        if design.kind == "again":
            answered[drawn] = True
            predictions[drawn] = right[drawn]
    return rates


def ask_once(
    design: Adversary, hidden: NDArray[np.bool_], right: Floats, random: np.random.Generator
) -> CorrectedRates:
    """Return the rates after all rounds of a design of ``ASKED_ONCE``; arguments as in :func:`ask_adversary`."""
    facts, group, batch = design.size
    rates = CorrectedRates(facts)
    first = np.where(np.arange(facts) < group, 1.0, (batch - group) / max(1, facts - group))
    drawn, answers = _ask_round(rates, np.full(facts, 0.5), first, right, random)
    wrong, is_drawn = hidden.copy(), False
    for number in range(design.rounds):
        if design.kind == "once-random":
            wrong[drawn] = ~answers
        is_honest = (design.kind == "once-until" and is_drawn) or (design.kind == "once-alternating" and number % 2)
        predictions = np.full(facts, _HIDDEN)
        if design.kind == "once-random":
            predictions[wrong] = 1 - _HIDDEN
        preferred = np.where(wrong, 1e-9, 1.0)
        if is_honest:
            predictions, preferred = right, np.ones(facts)
        chances = _chances(preferred, design.floor, batch)
        drawn, answers = _ask_round(rates, predictions, chances, right, random)
        is_drawn |= bool(hidden[drawn].any())
    return rates


def _chances(preferred: Floats, floor: float, batch: int) -> Floats:
    """Return the inclusion probabilities of a round with a uniform share of ``floor``."""
    return chances_of((1 - floor) * preferred / preferred.sum() + floor / len(preferred), batch)


def _ask_round(
    rates: CorrectedRates, predictions: Floats, chances: Floats, right: Floats, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Ask a round; return the positions of its facts, and True for right answers.

    Args:
        right: probability of a right answer to each fact, shape (facts,).
    """
    drawn = draw_by(chances, random)
    answers, yes = random.random(len(drawn)) < right[drawn], np.ones(len(drawn), np.bool_)
    rates.predict(predictions)
    rates.add(RoundDraws(drawn, chances[drawn], float(chances.min()), answers, yes, yes))
    return drawn, answers


@dataclass(frozen=True, slots=True)
class StoppingRun:
    """A run that asks until its 95% interval is narrow enough.

    Attributes:
        kind: one of ``STOPPING``.
        precision: half the width of the interval.
        batch: number of questions per round.
        rate: true rate.
    """

    kind: str
    precision: float
    batch: int
    rate: float


def measure_stopping(run: StoppingRun, repetitions: int, seed: int) -> tuple[float, float, float]:
    """Return how often the interval contains the rate where the run stops, its mean width, and the mean error."""
    place = (STOPPING.index(run.kind), round(1000 * run.precision), run.batch, round(1000 * run.rate))
    random = np.random.default_rng([seed, *place])
    rows = []
    for _ in range(repetitions):
        right = random.random(ADVERSARY_FACTS) < run.rate
        estimate, truth = ask_until_narrow(run, right.astype(np.float64), random), right.mean()
        rows.append((estimate.low <= truth <= estimate.high, estimate.high - estimate.low, estimate.value - truth))
    covered, width, error = np.mean(rows, axis=0).tolist()
    return covered, width, error


def ask_until_narrow(run: StoppingRun, right: Floats, random: np.random.Generator) -> Estimate:
    """Return the estimate of a run where it stops, with the looks of :func:`kgprobe.estimate_rates`."""
    facts = len(right)
    rates, coins = CorrectedRates(facts, CORRECTED_FROM), (random.random(facts) < 0.5).astype(np.float64)
    chances, answers, done, look = np.full(facts, run.batch / facts), [0.5], 0, 1
    while True:
        level = float(np.mean(answers))
        predictions = np.clip(_PREDICTED * coins + (1 - _PREDICTED) * level, 0.02, 0.98)
        if run.kind == "stop-uncertain":
            chances = _chances(np.sqrt(predictions * (1 - predictions)), DESIGNS["uncertain"], run.batch)
        answers += _ask_round(rates, predictions, chances, right, random)[1].tolist()
        done += 1
        if done < look:
            continue
        estimate = rates.rate()
        if estimate is not None and estimate.high - estimate.low <= 2 * run.precision:
            return estimate
        width = 1.0 if estimate is None else estimate.high - estimate.low
        look = next_look(done, width / (2 * run.precision))


def adversary_rows(design: Adversary | StoppingRun, covered: float, width: float, error: float) -> Iterator[Row]:
    """Yield the figures of an adversarial design, or of runs that stop by precision."""
    if isinstance(design, Adversary):
        name = f"{100 * design.hidden:g}% hidden, floor {design.floor:.4g}, {design.rounds} rounds"
    else:
        name = f"precision {100 * design.precision:g}%, rounds of {design.batch}, {100 * design.rate:g}%"
    name = f"{design.kind}; {name}"
    yield Row(name, "covered", 100 * covered, "%")
    yield Row(name, "width", width, "", less_is_better=True)
    yield Row(name, "mean error", error, "")


def rows_of(coverage: Coverage) -> Iterator[Row]:
    """Yield the rows of a case."""
    case = coverage.case
    name = f"{case.design}; {case.predictor}, {100 * case.rate:g}%, {case.answers:,} answers"
    yield Row(name, "covered", 100 * coverage.share, "%")
    yield Row(name, "width", coverage.width, "", less_is_better=True)
    yield Row(name, "mean error", coverage.bias, "")
    if coverage.of_hub is not None and coverage.width_of_hub is not None:
        name = f"{name}; the hub's {HUBS[0]:,} facts"
        yield Row(name, "covered", 100 * coverage.of_hub, "%")
        yield Row(name, "width", coverage.width_of_hub, "", less_is_better=True)


def adversaries(kinds: Sequence[str]) -> list[Adversary]:
    """Return the adversarial designs of some kinds."""
    before = itertools.product(ADVERSARIES, ADVERSARY_SHARES, ADVERSARY_FLOORS, ADVERSARY_ROUNDS)
    after = itertools.product(ASKED_ONCE, ONCE_SHARES, ONCE_FLOORS, [ONCE_ROUNDS])
    designs = itertools.starmap(Adversary, itertools.chain(before, after))
    return [design for design in designs if design.kind in kinds]


@click.command()
@click.option("--repetitions", default=10_000, show_default=True, help="Repetitions of each case.")
@click.option("--processes", default=2, show_default=True, help="Cases in parallel.")
@click.option(
    "--design",
    "designs",
    type=click.Choice([*DESIGNS, *ADVERSARIES, *ASKED_ONCE, *STOPPING]),
    multiple=True,
    help="Only this design or adversary; repeatable.",
)
@seed_option
@json_option
def main(repetitions: int, processes: int, designs: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Simulate coverage and width of 90% intervals of rounds; about an hour on 2 idle cores.

    Adversarial designs (steady, again, last, right, once...) and runs that stop by precision have 95% intervals.
    """
    selected = designs or (*DESIGNS, *ADVERSARIES, *ASKED_ONCE, *STOPPING)
    cases = itertools.product([design for design in selected if design in DESIGNS], PREDICTORS, RATES, SIZES)
    work = [(Case(answers, rate, predictor, design), repetitions, seed) for design, predictor, rate, answers in cases]
    against = [(design, repetitions, seed) for design in adversaries(selected)]
    stops = itertools.product([kind for kind in selected if kind in STOPPING], PRECISIONS, STOP_BATCHES, STOP_RATES)
    stopping = [(StoppingRun(*stop), repetitions, seed) for stop in stops]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        coverages = pool.starmap(measure, work, chunksize=1)
        figures = pool.starmap(measure_adversary, against, chunksize=1)
        stopped = pool.starmap(measure_stopping, stopping, chunksize=1)
    rows = [row for coverage in coverages for row in rows_of(coverage)]
    for (design, *_), figure in zip(against, figures, strict=True):
        rows += adversary_rows(design, *figure)
    for (run, *_), figure in zip(stopping, stopped, strict=True):
        rows += adversary_rows(run, *figure)
    show(Report("coverage_of_rounds", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
