"""Coverage of the interval of a knowledge cut-off on made-up models with a known one.

A world has facts that begin in 16 years, of eight relations, with a popularity, some about the same subject. The
model's answers follow its log-odds, which may drift with time, and drop at a known time: at once or over some years, by
a number of log-odds or to a floor of guesses, whatever the fact. Popularity may fall with time, and facts after the
cut-off may be few. Reported are the share of intervals that contain the cut-off, the share of worlds where a drop is
found, the median width, and the median error. Without a drop, the share found is that of false alarms.
"""

import math
import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import click
import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.stats.change_point import DatedAnswers, drop_shape, find_change

FIRST, LAST = 2009.0, 2025.0
RELATIONS = 8
# Draws of the test for any drop.
DRAWS = 199


@dataclass(frozen=True, slots=True)
class World:
    """A made-up model and its facts.

    Attributes:
        facts: number of facts, before those after the cut-off are thinned.
        cutoff: the known cut-off, in years.
        drop: change of the log-odds; 0 for none.
        floor: probability of a right answer after the cut-off, in place of ``drop``; None for ``drop``.
        width: duration of the drop in years; the cut-off is in its middle.
        slope: change of the log-odds by year.
        bend: change by squared year.
        fading: change of the mean log popularity by year.
        spread: standard deviation of the relations' effects.
        subjects: standard deviation of the effects of subjects, with four facts each; 0 for a fact each.
        kept: share of the facts after the cut-off that exist.
        precision: width of the dates, in years.
    """

    facts: int = 500
    cutoff: float = 2021.4
    drop: float = -2.0
    floor: float | None = None
    width: float = 0.0
    slope: float = 0.0
    bend: float = 0.0
    fading: float = 0.0
    spread: float = 1.0
    subjects: float = 0.0
    kept: float = 1.0
    precision: float = 1 / 12

    @property
    def has_cutoff(self) -> bool:
        """True if answers drop."""
        return self.drop != 0 or self.floor is not None


WORLDS: Mapping[str, World] = {
    "sharp": World(),
    "sharp, 200 facts": World(facts=200),
    "sharp, 2,000 facts": World(facts=2_000),
    "sharp, by 1": World(drop=-1.0),
    "rising before": World(slope=0.1),
    "falling before": World(slope=-0.1),
    "over a year": World(width=1.0),
    "over three years": World(width=3.0),
    "to a floor of 10%": World(floor=0.1),
    "relations differ much, floor of 10%": World(spread=2.0, floor=0.1),
    "popularity falls": World(fading=-0.15),
    "clustered subjects": World(subjects=1.5),
    "clustered subjects, floor of 10%": World(subjects=1.5, floor=0.1),
    "a fifth of the later facts": World(kept=0.2),
    "a twentieth of the later facts": World(kept=0.05),
    "dates are years": World(precision=1.0),
    "early": World(cutoff=2012.3),
    "late": World(cutoff=2024.5),
    "bent, sharp": World(bend=-0.01),
    "none": World(drop=0.0),
    "none, falling": World(drop=0.0, slope=-0.15),
    "none, popularity falls": World(drop=0.0, fading=-0.15),
    "none, clustered subjects": World(drop=0.0, subjects=1.5),
    "none, bent": World(drop=0.0, slope=-0.1, bend=-0.02),
}


def make_answers(world: World, random: np.random.Generator) -> DatedAnswers:
    """Return the answers of a made-up model to the facts of a made-up graph."""
    times = FIRST + (LAST - FIRST) * random.random(world.facts)
    times = times[(times < world.cutoff) | (random.random(world.facts) < world.kept)]
    count = len(times)
    relations = random.integers(RELATIONS, size=count)
    popularity = random.standard_normal(count) + world.fading * (times - 2017)
    subjects = random.integers(max(1, count // 4) if world.subjects else count, size=count)
    log_odds = 0.5 + 0.7 * popularity + world.slope * (times - 2017) + world.bend * (times - 2017) ** 2
    log_odds += world.spread * random.standard_normal(RELATIONS)[relations]
    log_odds += world.subjects * random.standard_normal(count)[subjects]
    part = drop_shape(times, np.zeros(count), world.cutoff, world.width)
    if world.floor is None:
        right = special.expit(log_odds + world.drop * part)
    else:
        right = special.expit(log_odds) * (1 - part) + world.floor * part
    dates = (np.floor(times / world.precision + 1e-9) + 0.5) * world.precision
    return DatedAnswers(
        times=dates,
        widths=np.full(count, world.precision),
        right=(random.random(count) < right).astype(np.float64),
        predictors=popularity[:, None],
        groups=relations,
        clusters=subjects,
    )


@dataclass(frozen=True, slots=True)
class CutoffCoverage:
    """Results of a world over repetitions.

    Attributes:
        covered: share of intervals that contain the cut-off.
        found: share of worlds where the test finds a drop.
        covered_if_found: coverage among these; NaN without any.
        curved: share of worlds in which a curve fits as well as the drop.
        width: median width of the interval in years, its open ends cut at the first and last year.
        error: median absolute error in years.
    """

    world: str
    covered: float
    found: float
    covered_if_found: float
    curved: float
    width: float
    error: float
    errors: NDArray[np.float64] = field(compare=False, repr=False)


def measure(name: str, repetitions: int, seed: int, world: World | None = None) -> CutoffCoverage:
    """Return the coverage in a world; reproducible by seed. Cost: 0.05 s for each repetition with 500 facts.

    Args:
        world: the world; None takes that of this name.
    """
    world = world or WORLDS[name]
    rows = []
    for repetition in range(repetitions):
        random = np.random.default_rng([seed, repetition])
        answers = make_answers(world, random)
        grid = 1 / 12 if world.precision < 0.5 else 1 / 4
        change = find_change(answers, grid=grid, draws=DRAWS, seed=repetition)
        if change is None:
            rows.append((True, False, False, LAST - FIRST, math.nan))
            continue
        low, high = max(change.low, FIRST), min(change.high, LAST)
        covers = change.low <= world.cutoff <= change.high
        is_found = change.p_value <= 0.05
        rows.append(
            (covers, is_found, is_found and change.p_value_beyond_curve > 0.05, high - low, change.time - world.cutoff)
        )
    covered, detected, curved, widths, errors = np.array(rows, dtype=np.float64).T
    is_found = detected > 0
    return CutoffCoverage(
        world=name,
        covered=float(covered.mean()),
        found=float(detected.mean()),
        covered_if_found=float(covered[is_found].mean()) if is_found.any() else math.nan,
        curved=float(curved.mean()),
        width=float(np.median(widths)),
        error=float(np.nanmedian(np.abs(errors))),
        errors=errors,
    )


def rows_of(coverage: CutoffCoverage) -> Iterator[Row]:
    """Yield the rows of a world."""
    if WORLDS[coverage.world].has_cutoff:
        yield Row(coverage.world, "covered", 100 * coverage.covered, "%")
        yield Row(coverage.world, "covered where found", 100 * coverage.covered_if_found, "%")
        yield Row(coverage.world, "width", coverage.width, "years", less_is_better=True)
        yield Row(coverage.world, "error", coverage.error, "years", less_is_better=True)
    yield Row(coverage.world, "drop found", 100 * coverage.found, "%")
    yield Row(coverage.world, "found, but not beyond a curve", 100 * coverage.curved, "%")


@click.command()
@click.option("--repetitions", default=1_000, show_default=True, help="Made-up models for each world.")
@click.option("--processes", default=2, show_default=True, help="Worlds in parallel.")
@click.option("--world", "worlds", type=click.Choice(list(WORLDS)), multiple=True, help="Only this world; repeatable.")
@seed_option
@json_option
def main(repetitions: int, processes: int, worlds: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Simulate the coverage of cut-offs; about a minute for each world and 1,000 models on an idle core."""
    work = [(name, repetitions, seed) for name in worlds or WORLDS]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        coverages = pool.starmap(measure, work, chunksize=1)
    rows = [row for coverage in coverages for row in rows_of(coverage)]
    show(Report("cutoff", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
