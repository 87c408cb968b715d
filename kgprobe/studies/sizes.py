"""Model size: the measure against the logarithm of the number of parameters, with a fitted line.

Section 4 and appendix E of the distractor paper; docs/methods/studies.md. The line is least squares on
log10(parameters), for at least three sizes, since it fits any two points perfectly. The number of parameters at which
it reaches a level is an extrapolation, and is reported as one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import Curve, Measured, common_facts, mean_at, mean_curve, values_of
from kgprobe.report.plots import Line, Plot
from kgprobe.stats.proportions import Mean
from kgprobe.studies.study import Study

# The level of the extrapolation.
LEVEL = 0.9

# Minimum number of sizes for a line; it fits fewer perfectly.
SIZES_OF_A_LINE = 3


@dataclass(frozen=True, slots=True)
class Sized:
    """A model's measure.

    Attributes:
        parameters: number of parameters.
        curve: mean Avg@n, over the same facts for every model.
    """

    model: str
    parameters: int
    curve: Curve


def measured_models(made: Mapping[str, tuple[int, Measured]], seed: int = 0) -> tuple[list[Sized], int]:
    """Return the models' measures over the facts that all of them were asked, and the number of these facts.

    Args:
        made: number of parameters and measure, by model.
        seed: of the bootstrap over facts.

    Raises:
        KgprobeError: the models share no facts.
    """
    common = common_facts([measured for _, measured in made.values()])
    sized = [
        Sized(model, parameters, mean_curve(values_of(measured, common, "avg"), seed))
        for model, (parameters, measured) in made.items()
    ]
    return sized, len(common)


def sizes_study(models: Sequence[Sized], facts: int, count: int, config: Mapping[str, Any]) -> Study:
    """Compare Avg@n of models by their size.

    Args:
        models: at least two, of different sizes.
        facts: number of measured facts.
        count: n.

    Raises:
        KgprobeError: there are fewer than two sizes.
    """
    sizes = sorted({model.parameters for model in models})
    if len(sizes) < 2:
        raise KgprobeError("`models` are all of one size: to compare sizes, two are needed.")
    ordered = sorted(models, key=lambda model: model.parameters)
    means = [mean_at(model.curve, count) for model in ordered]
    fit = _fit(ordered, means) if len(sizes) >= SIZES_OF_A_LINE else None
    data = []
    for model, mean in zip(ordered, means, strict=True):
        row = {"model": model.model, "parameters": model.parameters, f"Avg@{count}": mean.value}
        line = None if fit is None else _line_at(fit, model.parameters)
        data.append(row | {"low": mean.low, "high": mean.high, "line": line})
    lines = [_points(ordered, means)]
    if fit is None:
        notes = ["A line is left out: it fits any two points perfectly; at least three sizes show how well it fits."]
    else:
        lines.append(
            Line("line", [float(sizes[0]), float(sizes[-1])], [_line_at(fit, sizes[0]), _line_at(fit, sizes[-1])])
        )
        notes = [
            f"Avg@{count} = {fit.intercept:.3f} + {fit.slope:.3f} · log10(parameters), R² = {fit.rvalue**2:.3f}.",
            _extrapolated(float(fit.slope), float(fit.intercept), count),
        ]
    return Study(
        name="scaling",
        verdict=_verdict(ordered, means, count),
        title=f"Avg@{count} by model size · {len(ordered)} models · {facts:,} facts",
        data=data,
        table=data,
        plots=[Plot("By model size", "parameters", f"mean Avg@{count}", lines, log_x=True)],
        notes=notes,
        config=config,
    )


def _fit(models: Sequence[Sized], means: Sequence[Mean]) -> Any:
    sizes = np.array([float(model.parameters) for model in models])
    return stats.linregress(np.log10(sizes), [mean.value for mean in means])


def _line_at(fit: Any, parameters: int) -> float:
    return float(fit.intercept + fit.slope * np.log10(parameters))


def _points(models: Sequence[Sized], means: Sequence[Mean]) -> Line:
    sizes = [float(model.parameters) for model in models]
    lows = [mean.low for mean in means if mean.low is not None]
    highs = [mean.high for mean in means if mean.high is not None]
    values = [mean.value for mean in means]
    return Line("models", sizes, values, lows, highs, points=True, labels=[model.model for model in models])


def _verdict(models: Sequence[Sized], means: Sequence[Mean], count: int) -> str:
    """Return a sentence that compares the largest model with the smallest."""
    small, large = means[0], means[-1]
    more = "more" if large.value > small.value else "no more"
    if small.low is None or small.high is None or large.low is None or large.high is None:
        surely = "; a single fact shows little"
    elif large.low > small.high or small.low > large.high:
        surely = ""
    else:
        surely = "; their intervals overlap, so that is not sure"
    return (
        f"The largest model, {models[-1].model}, knows {more} than the smallest one, {models[0].model}: mean "
        f"Avg@{count} {large} against {small}{surely}."
    )


def _extrapolated(slope: float, intercept: float, count: int) -> str:
    if slope <= 0:
        return f"The line does not rise, so it never reaches Avg@{count} = {LEVEL}."
    exponent = (LEVEL - intercept) / slope
    return f"The line would reach Avg@{count} = {LEVEL} at 10^{exponent:.1f} parameters (extrapolated)."
