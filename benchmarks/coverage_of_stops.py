"""Exact coverage of the interval where a run of uniform draws stops by precision.

``kgprobe estimate --precision`` looks at the interval after some rounds, and stops when it is narrow enough. With fewer
than 512 answers about uniformly drawn facts the interval is that of Clopper and Pearson. The number of right answers at
each look is a Markov chain, so the distribution of the stop is computed without simulation. In a graph of many facts,
draws with and without replacement are the same.
"""

import itertools
from collections.abc import Sequence
from functools import cache

import click
import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.beliefs.corrected_rates import CORRECTED_FROM
from kgprobe.cli.options import json_option
from kgprobe.results.graph_rates import next_look
from kgprobe.stats.proportions import CONFIDENCE

Floats = NDArray[np.float64]

BATCHES = (1, 4, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96)
PRECISIONS = (0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.045, 0.05, 0.055, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15)
RATES = (*np.arange(0.005, 0.1, 0.005).tolist(), *np.arange(0.1, 0.501, 0.02).tolist())
# Number of rounds before the first look.
STARTS = (1, 2, 3)
# Runs that reach this number of answers more often than this are left out: later intervals use predictions.
_BEYOND = 0.002


@cache
def intervals(total: int) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of 0 to ``total`` right answers, each of shape (total + 1,)."""
    right, miss = np.arange(total + 1), (1 - CONFIDENCE) / 2
    low, high = np.zeros(total + 1), np.ones(total + 1)
    low[1:] = special.betaincinv(right[1:], total - right[1:] + 1, miss)
    high[:-1] = special.betaincinv(right[:-1] + 1, total - right[:-1], 1 - miss)
    return low, high


def coverage_at_stop(rate: float, precision: float, batch: int, start: int) -> tuple[float, float]:
    """Return how often the interval contains the rate where the run stops, and how often the run gets too many answers.

    Args:
        rate: true share of right answers, in (0, 1).
        precision: half the width of the interval.
        batch: number of questions per round.
        start: number of rounds before the first look.
    """
    covered = beyond = 0.0
    # Probability of each number of right answers at a look, by the number of rounds.
    looks = {start: stats.binom.pmf(np.arange(start * batch + 1), start * batch, rate)}
    while looks:
        rounds = min(looks)
        chances, (low, high) = looks.pop(rounds), intervals(rounds * batch)
        stops = high - low <= 2 * precision
        if rounds * batch >= CORRECTED_FROM:
            beyond += float(chances.sum())
            continue
        covered += float(chances[stops & (low <= rate) & (rate <= high)].sum())
        goes_on = np.flatnonzero(~stops)
        following = np.array([next_look(rounds, width / (2 * precision)) for width in (high - low)[goes_on].tolist()])
        for later in np.unique(following).tolist():
            part = np.zeros(len(chances))
            places = goes_on[following == later]
            part[places] = chances[places]
            more = (later - rounds) * batch
            reached = np.convolve(part, stats.binom.pmf(np.arange(more + 1), more, rate))
            looks[later] = looks[later] + reached if later in looks else reached
    return covered, beyond


def lowest(batch: int, precisions: Sequence[float] = PRECISIONS, rates: Sequence[float] = RATES) -> Row:
    """Return the lowest coverage of all precisions, rates and starts."""
    found: list[tuple[float, str]] = []
    for precision, rate, start in itertools.product(precisions, rates, STARTS):
        # Approximate number of answers that the precision takes.
        if rate * (1 - rate) * (2 / precision) ** 2 > CORRECTED_FROM:
            continue
        covered, beyond = coverage_at_stop(rate, precision, batch, start)
        if beyond < _BEYOND:
            found.append((covered, f"rate {100 * rate:g}%, precision {100 * precision:g}%, first look {start}"))
    covered, name = min(found)
    return Row(f"{batch} questions per round: {name}", "covered", 100 * covered, "%")


@click.command()
@click.option("--batch", "batches", multiple=True, default=BATCHES, show_default=True, help="Questions per round.")
@json_option
def main(batches: tuple[int, ...], as_json: bool) -> None:
    """Compute the lowest coverage of 95% intervals where runs stop by precision; some minutes."""
    rows = [lowest(batch) for batch in batches]
    show(Report("coverage_of_stops", rows, 0, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
