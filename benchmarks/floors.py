"""Share of a round that is drawn uniformly: width of the graph's interval against hardest facts found.

The sampling rule ``hardest`` draws most of a round where the model probably fails, and a share of it uniformly among
all facts. A small share makes the interval of the rate over the whole graph wide, a large one finds hard facts later.
Each variant asks the same references: the demo model's answers about the example graph, or the 45 synthetic kinds of
:mod:`benchmarks.replay`. Compared with facts drawn uniformly, with and without the learner's predictions.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.replay import BATCH, FACTS, KINDS
from benchmarks.replay.synthetic import Synthetic, synthetic
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.corrected_rates import CORRECTED_FROM, CorrectedRates, RoundDraws
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel
from kgprobe.cli.options import json_option, seed_option
from kgprobe.running.replays import Reference, demo_reference, highest
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import share

Floats = NDArray[np.float64]

FLOORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
QUESTIONS = (256, 1_024, 3_840)
HARDEST = 100
# The learner looks at all facts again when the answers have grown by this factor, as estimates of runs do.
_GROWTH = 1.25


@dataclass(frozen=True, slots=True)
class Way:
    """A sampling rule and its uniform share; None is the rule's default."""

    sampling: str
    uniform_share: float | None = None

    @property
    def name(self) -> str:
        """Name in the report."""
        return self.sampling if self.uniform_share is None else f"{self.sampling}, floor {self.uniform_share:.4g}"


WAYS = (*(Way("hardest", floor) for floor in FLOORS), Way("information"), Way("uniform"))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run after some questions.

    Attributes:
        width: of the 95% interval of the rate over all facts.
        covered: whether the interval contains the rate.
        found: share of the hardest facts among as many with the highest expected theta.
        plain_width: width of the interval of as many answers about facts drawn uniformly, without predictions.
    """

    width: float
    covered: bool
    found: float
    plain_width: float


def ask(reference: Reference, way: Way, seed: Sequence[int], questions: Sequence[int]) -> list[Checkpoint]:
    """Return a run's checkpoints after each number of questions, in rounds of 64.

    Cost: each round is linear in the facts.
    """
    facts = np.arange(len(reference.theta))
    ends = reference.subjects, reference.objects
    learner = HierarchicalModel.of(effects_of(*ends, relations=reference.relations))
    rates, answers, next_look = CorrectedRates(len(facts), CORRECTED_FROM), 0, 0.0
    truth = 1 - float(reference.theta.mean())
    hardest = reference.hardest(HARDEST)
    checkpoints = []
    for number in range(1, max(questions) // BATCH + 1):
        if answers >= next_look:
            rates.predict(1 - learner.posterior(facts).theta)
            next_look = _GROWTH * answers
        random = np.random.default_rng([*seed, number])
        chosen = choose(learner.messages, way.sampling, BATCH, random, uniform_share=way.uniform_share)
        failed = random.random(BATCH) < reference.theta[chosen.positions]
        yes = np.ones(BATCH, np.bool_)
        rates.add(RoundDraws(chosen.positions, chosen.probabilities, chosen.smallest, ~failed, yes, yes))
        learner.learn(chosen.positions, failed)
        answers += BATCH
        if answers in questions:
            expected = learner.posterior(facts).theta
            share_found = float(np.isin(hardest, highest(expected, HARDEST)).mean())
            estimate = rates.rate()
            if estimate is None:
                raise ValueError(f"{way.name} has too few draws")
            checkpoints.append(_checkpoint(estimate, truth, share_found, answers))
    return checkpoints


def _checkpoint(estimate: Estimate, truth: float, found: float, answers: int) -> Checkpoint:
    plain = share(round(truth * answers), answers)
    return Checkpoint(
        estimate.high - estimate.low, estimate.low <= truth <= estimate.high, found, plain.high - plain.low
    )


def measure(kind: int | None, way: Way, repetitions: int, questions: tuple[int, ...], seed: int) -> list[Floats]:
    """Return the mean of each field of the checkpoints over the repetitions, shape (fields,) for each checkpoint.

    Args:
        kind: number of a made-up kind of reference; None is the demo model's.
    """
    sums: list[Floats] = [np.zeros(4) for _ in questions]
    for repetition in range(repetitions):
        seeds = [seed, -1 if kind is None else kind, repetition]
        seeds = [abs(number) + 1 for number in seeds]
        reference = (
            demo_reference(seeds) if kind is None else synthetic(Synthetic(FACTS, *KINDS[kind], "normal"), seeds)
        )
        for total, point in zip(sums, ask(reference, way, seeds, questions), strict=True):
            total += (point.width, point.covered, point.found, point.plain_width)
    return [total / repetitions for total in sums]


def rows_of(way: Way, questions: Sequence[int], means: Sequence[Floats]) -> Iterator[Row]:
    """Yield the figures of a way."""
    for count, (width, covered, share_found, plain) in zip(questions, means, strict=True):
        name = f"{way.name}, {count:,} questions"
        yield Row(name, "width", float(width), "", less_is_better=True)
        yield Row(name, "times the width of plain uniform draws", float(width / plain), "", less_is_better=True)
        yield Row(name, "covered", 100 * float(covered), "%")
        yield Row(name, "hardest found", 100 * float(share_found), "%")


@click.command()
@click.option("--repetitions", default=200, show_default=True, help="Runs of each way on the demo's reference.")
@click.option("--made-up", default=0, show_default=True, help="Instead, runs on each of the 45 made-up references.")
@click.option("--questions", multiple=True, default=QUESTIONS, show_default=True, help="In a run; multiples of 64.")
@click.option("--way", "names", type=click.Choice([way.name for way in WAYS]), multiple=True, help="Only these.")
@click.option("--processes", default=2, show_default=True, help="Ways at once.")
@seed_option
@json_option
def main(
    repetitions: int,
    made_up: int,
    questions: tuple[int, ...],
    names: tuple[str, ...],
    processes: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compare uniform shares of a round: width of the graph's interval, its coverage, and hardest facts found."""
    kinds: Sequence[int | None] = range(len(KINDS)) if made_up else [None]
    ways = [way for way in WAYS if not names or way.name in names]
    work = [(kind, way, made_up or repetitions, questions, seed) for way in ways for kind in kinds]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        figures = pool.starmap(measure, work, chunksize=1)
    rows: list[Row] = []
    for place, way in enumerate(ways):
        of_kinds = figures[place * len(kinds) : (place + 1) * len(kinds)]
        rows += rows_of(way, questions, np.mean(of_kinds, axis=0))
    show(Report("floors", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
