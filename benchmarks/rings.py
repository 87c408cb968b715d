"""Family-wise error of the verdicts of `kgprobe check --roles`, and their power, with and without Holm's correction.

Synthetic pairs of models: in each ring, each fact is independently lost, gained or neither. A ring whose true loss is
the margin or less must not be called *lost*; one whose true loss is above must not be called *kept*. Rings at the
margin are hardest; they count as within, or as just above. A family errs if any ring has a false verdict. With 10,000
families, a simulated 5% has a standard error of 0.2 points.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.forgetting import DISCORDANT, Integers, draw
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.stats.paired_proportions import BOUND_CONFIDENCE, Counts, directional_levels, loss_bounds, loss_p_values

FACTS = (100, 300, 1_000, 3_000)
RINGS = (1, 2, 3, 6)
MARGIN = 0.02
# Far from the margin, so that the verdict is certain.
CLEARLY_LOST = 0.3


class Ring(NamedTuple):
    """A ring's true loss, and True if it counts as within the margin."""

    loss: float
    is_within: bool


WITHIN, ABOVE = Ring(MARGIN, is_within=True), Ring(MARGIN, is_within=False)
KEPT, LOST = Ring(0.0, is_within=True), Ring(CLEARLY_LOST, is_within=False)


class Rates(NamedTuple):
    """Shares of families with a false verdict, with Holm's correction and without; share of rings with a right one."""

    false: float
    false_uncorrected: float
    right: float


def simulate(generator: np.random.Generator, rings: Sequence[Ring], total: int, discordant: float, times: int) -> Rates:
    """Return the rates of false and right verdicts of families of rings, each with the same number of facts."""
    counts = [draw(generator, total, ring.loss, discordant, times) for ring in rings]
    lost, gained = (np.stack(side, axis=1) for side in zip(*counts, strict=True))
    is_within = np.array([ring.is_within for ring in rings])
    corrected = verdicts(lost, gained, total, MARGIN)
    uncorrected = _verdicts_at(lost, gained, total, MARGIN, np.full(lost.shape, 1 - BOUND_CONFIDENCE))
    right = (corrected == np.where(is_within, -1, 1)).mean()
    return Rates(_errs(corrected, is_within), _errs(uncorrected, is_within), float(right))


def verdicts(lost: Integers, gained: Integers, total: Counts, margin: float) -> Integers:
    """Return 1 for lost, -1 for kept, 0 for undecided, with Holm's correction; shape (families, rings)."""
    p_values = np.minimum(*loss_p_values(lost, gained, total, margin))
    return _verdicts_at(lost, gained, total, margin, directional_levels(p_values, 1 - BOUND_CONFIDENCE))


def _verdicts_at(
    lost: Integers, gained: Integers, total: Counts, margin: float, levels: NDArray[np.float64]
) -> Integers:
    low, high = loss_bounds(lost, gained, total, 1 - levels)
    return (low > margin).astype(np.int64) - (high <= margin)


def _errs(called: Integers, is_within: NDArray[np.bool_]) -> float:
    """Return the share of families with a false verdict."""
    return float((called == np.where(is_within, 1, -1)).any(axis=1).mean())


def families(rings: int) -> Iterator[tuple[str, list[Ring]]]:
    """Yield families whose rings are hard to tell from the margin, some of them next to clear ones."""
    yield "all at the margin", [WITHIN] * rings
    yield "all just above the margin", [ABOVE] * rings
    if rings > 1:
        yield "half at, half just above the margin", [WITHIN] * (rings // 2) + [ABOVE] * (rings - rings // 2)
        yield "one at the margin, others kept", [WITHIN] + [KEPT] * (rings - 1)
        yield "one at the margin, others lost", [WITHIN] + [LOST] * (rings - 1)


def measure(facts: Sequence[int], times: int, seed: int) -> list[Row]:
    """Return the worst rate over shares of discordant facts, for each family and number of facts."""
    generator = np.random.default_rng(seed)
    rows = []
    shares = [share for share in DISCORDANT if share >= MARGIN]
    for rings, total in itertools.product(RINGS, facts):
        for name, family in families(rings):
            rates = [simulate(generator, family, total, share, times) for share in shares]
            false, uncorrected = (max(getattr(rate, kind) for rate in rates) for kind in ("false", "false_uncorrected"))
            case = f"{rings} rings of {total:,} facts, {name}"
            rows.append(Row(case, "any false verdict", 100 * false, "%", "uncorrected", 100 * uncorrected, True))
    for rings, total in itertools.product(RINGS, facts):
        for name, family in (("nothing lost", [KEPT] * rings), ("5 points lost", [Ring(0.05, False)] * rings)):
            right = [simulate(generator, family, total, share, times).right for share in (0.05, 0.1)]
            case = f"{rings} rings of {total:,} facts, {name}, 5 and 10% discordant"
            rows.append(Row(case, "right verdicts", 100 * min(right), "%", "at best", 100 * max(right)))
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option("--families", "times", default=10_000, show_default=True, help="Simulated families in each case.")
@seed_option
@json_option
def main(times: int, seed: int, as_json: bool) -> None:
    """Measure the family-wise error and the power of verdicts on rings of controls."""
    show(Report("rings", measure(FACTS, times, seed), seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
