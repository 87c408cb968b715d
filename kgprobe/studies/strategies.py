"""Distractor strategies: mean Min@n over the same facts, one curve per strategy.

Section 4.1 of the distractor paper; docs/methods/studies.md. Lower means harder. Only facts that were asked with every
strategy count, so that curves are comparable; the difference of two strategies, fact by fact, has its own band.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.distractors.curves import (
    Curve,
    Measured,
    common_facts,
    curve_rows,
    mean_at,
    mean_curve,
    shown_numbers,
    unlike_notes,
    values_of,
)
from kgprobe.report.plots import Plot, line_of
from kgprobe.stats.proportions import Mean
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]


def strategies_study(measured: Mapping[str, Measured], model: str, config: Mapping[str, Any], seed: int = 0) -> Study:
    """Compare distractor strategies.

    Args:
        measured: measures by strategy, over the same facts, with the same greatest n.
        seed: of the bootstrap over facts.

    Raises:
        KgprobeError: no fact was asked with all of the strategies.
    """
    common = common_facts(list(measured.values()))
    values = {strategy: values_of(by_fact, common, "min") for strategy, by_fact in measured.items()}
    curves = {strategy: mean_curve(by_fact, seed) for strategy, by_fact in values.items()}
    data = []
    table: list[dict[str, Any]] = [{"n": n} for n in shown_numbers(len(next(iter(curves.values())).mean))]
    for strategy, curve in curves.items():
        data += [{"strategy": strategy, **row} for row in curve_rows(curve)]
        for row in table:
            row[strategy] = float(curve.mean[row["n"] - 1])
    notes = [f"{len(common):,} facts were asked with every strategy; lower is harder."]
    pairs = list(combinations(values, 2))
    notes += [_difference(*pair, values, seed) for pair in pairs]
    for first, second in pairs:
        if np.array_equal(values[first], values[second]):
            notes.append(f"{first} and {second} are the same for every fact and n: their curves coincide.")
    for strategy, by_fact in measured.items():
        notes += _strategy_notes(strategy, by_fact, common)
    notes += _unaskable(measured)
    lines = [line_of(name, curve) for name, curve in curves.items()]
    return Study(
        name="strategies",
        verdict=_verdict(values, curves, seed),
        title=f"Mean Min@n by strategy · {model} · {len(common):,} facts",
        data=data,
        table=table,
        plots=[Plot("By strategy", "n, distractors", "mean Min@n", lines)],
        notes=notes,
        config=config,
    )


def _verdict(values: Mapping[str, Floats], curves: Mapping[str, Curve], seed: int) -> str:
    """Return a sentence on the hardest strategy at the greatest n, and the significance of that."""
    count = next(iter(values.values())).shape[1]
    ordered = sorted(curves, key=lambda strategy: float(curves[strategy].mean[-1]))
    means = {strategy: str(mean_at(curves[strategy], count)) for strategy in ordered}
    hardest, *others = ordered
    if not others:
        return f"{hardest}: mean Min@{count} {means[hardest]}."
    against = {other: mean_at(mean_curve(values[other] - values[hardest], seed, least=-1), count) for other in others}
    unsure = [other for other, difference in against.items() if difference.low is None or difference.low <= 0]
    sure = f"; not surely harder than {', '.join(unsure)}" if unsure else "; surely harder than all others"
    rest = ", ".join(f"{other} {means[other]}" for other in others)
    return f"The hardest distractors are those of {hardest}: mean Min@{count} {means[hardest]}, against {rest}{sure}."


def _difference(first: str, second: str, values: Mapping[str, Floats], seed: int) -> str:
    curve = mean_curve(values[second] - values[first], seed, least=-1)
    numbers = dict.fromkeys((1, min(10, len(curve.mean)), len(curve.mean)))
    differences = [_signed(mean_at(curve, n), n) for n in numbers]
    return f"{second} less {first}, fact by fact: {', '.join(differences)}."


def _signed(difference: Mean, n: int) -> str:
    reach = "" if difference.low is None else f" [{difference.low:+.3f}, {difference.high:+.3f}]"
    return f"{difference.value:+.3f}{reach} at n = {n}"


def _strategy_notes(strategy: str, measured: Measured, common: Sequence[str]) -> list[str]:
    notes = []
    if measured.former.any():
        former = set(compress(measured.facts, measured.former > 0))
        some = len(former.intersection(common))
        notes.append(f"{strategy}: {some:,} of these facts have a former object among their distractors.")
    elif strategy == "temporal-semantic":
        notes.append(f"{strategy}: none of these facts has a former object in the graph.")
    if measured.certified is not None:
        notes.append(f"{strategy}: {measured.certified:.1%} of the distractors are proved to be in their place.")
    notes += [f"{strategy}: {note}" for note in unlike_notes(measured)]
    return notes


def _unaskable(measured: Mapping[str, Measured]) -> list[str]:
    """Return notes on facts that could not be asked; a reason that several strategies share is printed once."""
    strategies: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for strategy, by_fact in measured.items():
        for reason_and_count in by_fact.unaskable.items():
            strategies[reason_and_count].append(strategy)
    notes = []
    for (reason, count), names in strategies.items():
        suffix = "" if len(names) == len(measured) else f" with {', '.join(names)}"
        notes.append(f"Not asked{suffix}: {count:,}: {reason}.")
    return notes
