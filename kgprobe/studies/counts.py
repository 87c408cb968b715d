"""How many distractors are enough: the measure as n grows, and how far its order of the facts has settled.

Section 4.1 of the distractor paper; docs/methods.md, 1. Beside the means stands Kendall's τ, over facts, between the
measure at n and at the greatest n: where it nears 1, more distractors change no order.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import Curve, Measured, mean_curve, shown_numbers
from kgprobe.studies.study import Line, Plot, Study, line_of

Floats = NDArray[np.float64]


def counts_study(measured: Measured, model: str, config: Mapping[str, Any], seed: int = 0) -> Study:
    """The measure by the number of distractors.

    Args:
        measured: of some facts, at every n.
        model: what was asked.
        config: what the measurement depends on.
        seed: of the bootstrap over facts.

    Raises:
        KgprobeError: no fact was asked.
    """
    if not measured.facts:
        raise KgprobeError("No fact could be asked; `kgprobe probe distractors` says why.")
    values = {"Min@n": measured.min_at_n, "Avg@n": measured.avg_at_n}
    curves = {name: mean_curve(its, seed) for name, its in values.items()}
    settled = {name: settling(its) for name, its in values.items()}
    numbers = range(1, measured.min_at_n.shape[1] + 1)
    chance = measured.chance.mean(axis=0)
    data = [_row(n, float(chance[n - 1]), curves, settled) for n in numbers]
    lines = [line_of(f"mean {name}", curve) for name, curve in curves.items()]
    lines += [Line(f"τ of {name} with the last", list(numbers), its.tolist()) for name, its in settled.items()]
    shown = set(shown_numbers(len(numbers)))
    fewer = int((measured.present < len(numbers)).sum())
    notes = [f"τ: Kendall's, over facts, between the measure at n and at n = {len(numbers)}."]
    notes += [_enough(name, its) for name, its in settled.items()]
    if fewer:
        notes.append(f"{fewer:,} facts have fewer than {len(numbers)} distractors; they count with those they have.")
    return Study(
        name="distractors",
        title=f"Min@n and Avg@n by the number of distractors · {model} · {len(measured.facts):,} facts",
        data=data,
        table=[row for row in data if row["n"] in shown],
        plots=[Plot("By the number of distractors", "n, distractors", "mean, or τ", lines)],
        notes=notes,
        config=config,
    )


def settling(values: Floats) -> Floats:
    """Kendall's τ (b), over facts, between each column and the last; NaN where a column is constant.

    Args:
        values: shape (facts, n).
    """
    return np.array([stats.kendalltau(column, values[:, -1]).statistic for column in values.T])


def _row(n: int, chance: float, curves: Mapping[str, Curve], settled: Mapping[str, Floats]) -> dict[str, Any]:
    row: dict[str, Any] = {"n": n, "chance": chance}
    for name, curve in curves.items():
        row |= {name: float(curve.mean[n - 1]), f"{name} low": float(curve.low[n - 1])}
        row |= {f"{name} high": float(curve.high[n - 1]), f"τ {name}": float(settled[name][n - 1])}
    return row


def _enough(name: str, settled: Floats, level: float = 0.9) -> str:
    below = np.flatnonzero(~(settled >= level))
    n = 1 if not len(below) else int(below[-1]) + 2
    if n > len(settled):
        return f"{name}: its order of the facts has not settled (τ ≥ {level}) before the last n."
    return f"{name}: from n = {n} on, its order of the facts has settled (τ ≥ {level})."
