"""Error rates of the verdicts of `kgprobe check`, and power at the detectable difference.

Synthetic pairs of models: each fact is independently lost, gained or neither. If the true loss equals the margin,
*lost* and *kept* are both false; the stated detectable effects must be found with 80% power. Each case is the worst
of several shares of discordant facts, simulated and computed as a sum over all outcomes. With 10,000 pairs, a
simulated 5% is within 0.4 points of the computed value, and 80% within 0.8.
"""

import itertools
from collections.abc import Iterator, Sequence

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.stats.paired_proportions import (
    SIGNIFICANCE,
    Counts,
    Floats,
    detectable_difference,
    detectable_loss,
    facts_needed,
    loss_bounds,
    mcnemar,
    power_of_kept,
    power_of_lost,
    power_of_mcnemar,
)

Integers = NDArray[np.int64]

FACTS = (100, 300, 1_000, 3_000, 10_000)
MARGINS = (0.0, 0.01, 0.02, 0.05)
DISCORDANT = (0.01, 0.02, 0.03, 0.05, 0.1, 0.3)


def draw(
    generator: np.random.Generator, total: int, loss: float, discordant: float, times: int
) -> tuple[Integers, Integers]:
    """Return numbers of lost and gained facts; at least as many discordant ones as the loss needs."""
    discordant = max(discordant, abs(loss))
    shares = [(discordant + loss) / 2, (discordant - loss) / 2, 1 - discordant]
    lost, gained, _ = generator.multinomial(total, np.maximum(shares, 0), size=times).T
    return lost, gained


def false_rates(lost: Integers, gained: Integers, total: Counts, margin: "float | Floats") -> tuple[float, float]:
    """Return the rates of the verdicts lost and kept."""
    low, high = loss_bounds(lost, gained, total)
    return float((low > margin).mean()), float((high <= margin).mean())


def at_the_margin(generator: np.random.Generator, total: int, margin: float, times: int) -> Iterator[Row]:
    """Yield rates of false verdicts at a true loss equal to the margin."""
    case = f"margin {100 * margin:g}%, {total:,} facts"
    shares = [share for share in DISCORDANT if share >= margin]
    drawn = [false_rates(*draw(generator, total, margin, share, times), total, margin) for share in shares]
    computed = [[power(margin, share, total, margin) for power in (power_of_lost, power_of_kept)] for share in shares]
    for name, seen, true in zip(("lost", "kept"), zip(*drawn, strict=True), zip(*computed, strict=True), strict=True):
        yield _worst(case, f"falsely {name}", max(seen), max(true), less_is_better=True)


def at_what_is_detectable(generator: np.random.Generator, total: int, margin: float, times: int) -> Iterator[Row]:
    """Yield the power at the detectable loss, and at the number of facts needed to show no loss."""
    detected, computed = [], []
    for share in DISCORDANT:
        loss = detectable_loss(share, total, margin)
        if loss is not None:
            detected.append(false_rates(*draw(generator, total, loss, share, times), total, margin)[0])
            computed.append(power_of_lost(loss, share, total, margin))
    yield _worst(f"margin {100 * margin:g}%, {total:,} facts", "detectable loss found", min(detected), min(computed))


def with_the_facts_needed(generator: np.random.Generator, margin: float, times: int) -> Iterator[Row]:
    """Yield the power to show *kept* at the number of facts needed, if nothing is lost."""
    shares = [share for share in DISCORDANT if share >= margin > 0]
    enough = [(share, facts_needed(0.0, share, margin)) for share in shares]
    if enough:
        drawn = [
            false_rates(*draw(generator, total, 0.0, share, times), total, margin)[1]
            for share, total in enough
            if total is not None
        ]
        computed = [power_of_kept(0.0, share, total, margin) for share, total in enough if total is not None]
        yield _worst(f"margin {100 * margin:g}%, as many facts as needed", "kept", min(drawn), min(computed))


def by_mcnemar(generator: np.random.Generator, total: int, times: int) -> Iterator[Row]:
    """Yield level and power of McNemar's exact test."""
    errs, sizes, finds, powers = [], [], [], []
    for share in DISCORDANT:
        errs.append(float((mcnemar(*draw(generator, total, 0.0, share, times)) <= SIGNIFICANCE).mean()))
        sizes.append(2 * power_of_mcnemar(0.0, share, total))
        loss = detectable_difference(share, total)
        if loss is not None:
            finds.append(float((mcnemar(*draw(generator, total, loss, share, times)) <= SIGNIFICANCE).mean()))
            powers.append(power_of_mcnemar(loss, share, total))
    case = f"McNemar, {total:,} facts"
    yield _worst(case, "falsely different", max(errs), max(sizes), less_is_better=True)
    yield _worst(case, "detectable difference found", min(finds), min(powers))


def _worst(case: str, measure: str, drawn: float, computed: float, *, less_is_better: bool = False) -> Row:
    return Row(case, measure, 100 * drawn, "%", "computed", 100 * computed, less_is_better)


def anywhere(generator: np.random.Generator, times: int) -> Iterator[Row]:
    """Yield rates of false verdicts over random facts, margins and shares of discordant facts."""
    total = np.exp(generator.uniform(np.log(FACTS[0]), np.log(FACTS[-1]), times)).astype(np.int64)
    discordant = generator.uniform(DISCORDANT[0], DISCORDANT[-1], times)
    margin = np.minimum(generator.choice(MARGINS, times), discordant)
    both = generator.binomial(total, discordant)
    lost = generator.binomial(both, (1 + margin / discordant) / 2)
    for name, rate in zip(("lost", "kept"), false_rates(lost, both - lost, total, margin), strict=True):
        case = f"{FACTS[0]} to {FACTS[-1]:,} facts, {times:,} pairs"
        yield Row(case, f"falsely {name}", 100 * rate, "%", less_is_better=True)


def measure(facts: Sequence[int], times: int, seed: int) -> list[Row]:
    """Return all cases, each simulated this many times."""
    generator = np.random.default_rng(seed)
    rows = list(anywhere(generator, times))
    for margin, total in itertools.product(MARGINS, facts):
        rows += at_the_margin(generator, total, margin, times)
        rows += at_what_is_detectable(generator, total, margin, times)
    for margin in MARGINS:
        rows += with_the_facts_needed(generator, margin, times)
    for total in facts:
        rows += by_mcnemar(generator, total, times)
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option("--pairs", default=10_000, show_default=True, help="Simulated pairs of models in each case.")
@seed_option
@json_option
def main(pairs: int, seed: int, as_json: bool) -> None:
    """Measure error rates and power of verdicts on forgetting."""
    show(Report("forgetting", measure(FACTS, pairs, seed), seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
