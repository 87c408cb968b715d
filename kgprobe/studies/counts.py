"""Number of distractors: the measure as n grows, and the n from which its order of the facts is stable.

Section 4.1 of the distractor paper; docs/methods/studies.md. Stability is Kendall's τ, over facts, between the measure
at n and at the greatest n: near 1, more distractors do not change the order.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import Curve, Measured, mean_at, mean_curve, shown_numbers, unlike_notes
from kgprobe.report.plots import Line, Plot, line_of
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]

# τ with the greatest n above which the order of the facts counts as settled.
SETTLED = 0.9


def counts_study(measured: Measured, model: str, config: Mapping[str, Any], seed: int = 0) -> Study:
    """Compute the measure by the number of distractors.

    Args:
        measured: the measure of the facts, at every n.
        seed: of the bootstrap over facts.

    Raises:
        KgprobeError: no fact could be asked.
    """
    if not measured.facts:
        raise KgprobeError("No fact could be asked; `kgprobe probe distractors` prints the reasons.")
    values = {"Min@n": measured.min_at_n, "Avg@n": measured.avg_at_n}
    curves = {name: mean_curve(by_fact, seed) for name, by_fact in values.items()}
    settled = {name: settling(by_fact) for name, by_fact in values.items()}
    numbers = range(1, measured.min_at_n.shape[1] + 1)
    chance = measured.chance.mean(axis=0)
    data = [_row(n, float(chance[n - 1]), curves, settled) for n in numbers]
    lines = [line_of(f"mean {name}", curve) for name, curve in curves.items()]
    lines += [Line(f"τ of {name} with the last", list(numbers), taus.tolist()) for name, taus in settled.items()]
    shown = set(shown_numbers(len(numbers)))
    fewer = int((measured.present < len(numbers)).sum())
    notes = [f"τ: Kendall's, over facts, between the measure at n and at n = {len(numbers)}."]
    if fewer:
        notes.append(f"{fewer:,} facts have fewer than {len(numbers)} distractors; they count with those they have.")
    notes += unlike_notes(measured)
    return Study(
        name="distractor-count",
        verdict=_verdict(settled),
        title=f"Min@n and Avg@n by the number of distractors · {model} · {len(measured.facts):,} facts",
        data=data,
        table=[row for row in data if row["n"] in shown],
        plots=[Plot("By the number of distractors", "n, distractors", "mean, or τ", lines)],
        notes=notes,
        config=config,
    )


def settling(values: Floats) -> Floats:
    """Return Kendall's τ-b, over facts, between each column and the last; NaN for constant columns and single facts.

    Args:
        values: shape (facts, n).
    """
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    return np.array([stats.kendalltau(column, values[:, -1]).statistic for column in values.T])


def _row(n: int, chance: float, curves: Mapping[str, Curve], settled: Mapping[str, Floats]) -> dict[str, Any]:
    row: dict[str, Any] = {"n": n, "chance": chance}
    for name, curve in curves.items():
        at = mean_at(curve, n)
        row |= {name: at.value, f"{name} low": at.low, f"{name} high": at.high}
        row |= {f"τ {name}": float(settled[name][n - 1])}
    return row


def _verdict(settled: Mapping[str, Floats]) -> str:
    parts = [_enough(name, taus) for name, taus in settled.items()]
    return f"Enough distractors: {'; '.join(parts)} (τ ≥ {SETTLED})."


def _enough(name: str, settled: Floats) -> str:
    below = np.flatnonzero(~(settled >= SETTLED))
    n = 1 if not len(below) else int(below[-1]) + 2
    if n >= len(settled):
        return f"{name} has not settled its order of the facts before the last n, {len(settled)}"
    return f"{name} has settled its order of the facts from n = {n} on"
