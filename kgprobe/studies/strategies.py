"""Which strategy retrieves the hardest distractors: mean Min@n over the same facts, one curve a strategy.

Section 4.1 of the distractor paper; docs/methods/studies.md. Lower means harder. Only facts that were asked with every
strategy count, so that the curves compare; of two strategies, the difference fact by fact has a band of its own.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
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
    """Compare strategies.

    Args:
        measured: by strategy, over the same facts, with the same greatest n.
        model: what was asked.
        config: what the measurements depend on.
        seed: of the bootstrap over facts.

    Raises:
        KgprobeError: no fact was asked with all of the strategies.
    """
    common = common_facts(list(measured.values()))
    values = {strategy: values_of(its, common, "min") for strategy, its in measured.items()}
    curves = {strategy: mean_curve(its, seed) for strategy, its in values.items()}
    count = next(iter(values.values())).shape[1]
    data = [{"strategy": strategy, **row} for strategy, curve in curves.items() for row in curve_rows(curve)]
    table = [
        {"n": n, **{strategy: float(curve.mean[n - 1]) for strategy, curve in curves.items()}}
        for n in shown_numbers(count)
    ]
    notes = [f"{len(common):,} facts were asked with every strategy; lower is harder."]
    notes += [_difference(*pair, values, seed) for pair in combinations(values, 2)]
    notes += [
        f"{first} and {second} are the same for every fact and n: their curves lie on each other."
        for first, second in combinations(values, 2)
        if np.array_equal(values[first], values[second])
    ]
    for strategy, its in measured.items():
        notes += _of_the_strategy(strategy, its, common)
    notes += _unaskable(measured)
    return Study(
        name="strategies",
        verdict=_verdict(values, curves, seed),
        title=f"Mean Min@n by strategy · {model} · {len(common):,} facts",
        data=data,
        table=table,
        plots=[
            Plot(
                "By strategy", "n, distractors", "mean Min@n", [line_of(name, curve) for name, curve in curves.items()]
            )
        ],
        notes=notes,
        config=config,
    )


def _verdict(values: Mapping[str, Floats], curves: Mapping[str, Curve], seed: int) -> str:
    """Which strategy is hardest at the greatest n, and whether it surely is."""
    count = next(iter(values.values())).shape[1]
    ordered = sorted(curves, key=lambda strategy: float(curves[strategy].mean[-1]))
    means = {strategy: str(mean_at(curves[strategy], count)) for strategy in ordered}
    hardest, *others = ordered
    if not others:
        return f"{hardest}: mean Min@{count} {means[hardest]}."
    against = {other: mean_at(mean_curve(values[other] - values[hardest], seed, least=-1), count) for other in others}
    unsure = [other for other, difference in against.items() if difference.low is None or difference.low <= 0]
    sure = f"; not surely harder than {', '.join(unsure)}" if unsure else "; surely harder than all others"
    told = ", ".join(f"{other} {means[other]}" for other in others)
    return f"The hardest distractors are those of {hardest}: mean Min@{count} {means[hardest]}, against {told}{sure}."


def _difference(first: str, second: str, values: Mapping[str, Floats], seed: int) -> str:
    curve = mean_curve(values[second] - values[first], seed, least=-1)
    told = [_signed(mean_at(curve, n), n) for n in dict.fromkeys((1, min(10, len(curve.mean)), len(curve.mean)))]
    return f"{second} less {first}, fact by fact: {', '.join(told)}."


def _signed(difference: Mean, n: int) -> str:
    reach = "" if difference.low is None else f" [{difference.low:+.3f}, {difference.high:+.3f}]"
    return f"{difference.value:+.3f}{reach} at n = {n}"


def _of_the_strategy(strategy: str, measured: Measured, common: Sequence[str]) -> list[str]:
    notes = []
    if measured.former.any():
        kept = set(common)
        counts = [former for fact, former in zip(measured.facts, measured.former, strict=True) if fact in kept]
        some = sum(former > 0 for former in counts)
        notes.append(f"{strategy}: {some:,} of these facts have a former object among their distractors.")
    elif strategy == "temporal-semantic":
        notes.append(f"{strategy}: none of these facts has a former object in the graph.")
    if measured.certified is not None:
        notes.append(f"{strategy}: {measured.certified:.1%} of the distractors are proved to stand in their place.")
    notes += [f"{strategy}: {note}" for note in unlike_notes(measured)]
    return notes


def _unaskable(measured: Mapping[str, Measured]) -> list[str]:
    """Why facts were not asked; most reasons hold whatever the strategy, and are told once."""
    strategies: dict[tuple[str, int], list[str]] = {}
    for strategy, its in measured.items():
        for reason, count in its.unaskable.items():
            strategies.setdefault((reason, count), []).append(strategy)
    notes = []
    for (reason, count), those in strategies.items():
        which = "" if len(those) == len(measured) else f" with {', '.join(those)}"
        notes.append(f"Not asked{which}: {count:,}: {reason}.")
    return notes
