"""Does a larger model know more: the measure against the logarithm of the number of parameters, and a line.

Section 4 and appendix E of the distractor paper; docs/methods/studies.md. The line is least squares on
log10(parameters), where there are three sizes or more: one goes through any two points, and says nothing of how well
it fits. How far it holds beyond the models is for the reader to judge, so the number of parameters at which it would
reach a level is told as what it is, an extrapolation.
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

# The level that the extrapolation asks for.
LEVEL = 0.9

# A line through fewer sizes always fits.
SIZES_OF_A_LINE = 3


@dataclass(frozen=True, slots=True)
class Sized:
    """A model's measure.

    Attributes:
        parameters: how many it has.
        curve: mean Avg@n of the same facts for every model.
    """

    model: str
    parameters: int
    curve: Curve


def measured_models(made: Mapping[str, tuple[int, Measured]], seed: int = 0) -> tuple[list[Sized], int]:
    """Models' measures over the facts that all of them were asked, and how many these are.

    Args:
        made: by model, its number of parameters and its measure.
        seed: of the bootstrap over facts.

    Raises:
        KgprobeError: there is no such fact.
    """
    common = common_facts([measured for _, measured in made.values()])
    sized = [
        Sized(model, parameters, mean_curve(values_of(measured, common, "avg"), seed))
        for model, (parameters, measured) in made.items()
    ]
    return sized, len(common)


def sizes_study(models: Sequence[Sized], facts: int, count: int, config: Mapping[str, Any]) -> Study:
    """Avg@n by model size.

    Args:
        models: at least two, of different sizes.
        facts: how many they were measured on.
        count: n.
        config: what the measurements depend on.

    Raises:
        KgprobeError: there are fewer than two sizes.
    """
    if len({model.parameters for model in models}) < 2:
        raise KgprobeError("`models` are all of one size: to compare sizes, two are needed.")
    ordered = sorted(models, key=lambda model: model.parameters)
    sizes = np.array([float(model.parameters) for model in ordered])
    means = np.array([model.curve.mean[count - 1] for model in ordered])
    at = [mean_at(model.curve, count) for model in ordered]
    fit = stats.linregress(np.log10(sizes), means) if len(set(sizes.tolist())) >= SIZES_OF_A_LINE else None
    data = [
        {
            "model": model.model,
            "parameters": model.parameters,
            f"Avg@{count}": mean.value,
            "low": mean.low,
            "high": mean.high,
            "line": float(fit.intercept + fit.slope * np.log10(model.parameters)) if fit else None,
        }
        for model, mean in zip(ordered, at, strict=True)
    ]
    lows, highs = (
        [end for end in ends if end is not None] for ends in zip(*((it.low, it.high) for it in at), strict=True)
    )
    names = [model.model for model in ordered]
    lines = [Line("models", sizes.tolist(), means.tolist(), lows, highs, points=True, labels=names)]
    if fit:
        ends = [sizes[0], sizes[-1]]
        lines.append(Line("line", ends, [float(fit.intercept + fit.slope * np.log10(size)) for size in ends]))
        notes = [
            f"Avg@{count} = {fit.intercept:.3f} + {fit.slope:.3f} · log10(parameters), R² = {fit.rvalue**2:.3f}.",
            _extrapolated(float(fit.slope), float(fit.intercept), count),
        ]
    else:
        notes = ["There is no line: it would go through any two points; three sizes or more tell how well one fits."]
    return Study(
        name="scaling",
        verdict=_verdict(ordered, at, count),
        title=f"Avg@{count} by model size · {len(ordered)} models · {facts:,} facts",
        data=data,
        table=data,
        plots=[Plot("By model size", "parameters", f"mean Avg@{count}", lines, log_x=True)],
        notes=notes,
        config=config,
    )


def _verdict(models: Sequence[Sized], at: Sequence[Mean], count: int) -> str:
    """The smallest model against the largest one."""
    small, large = at[0], at[-1]
    more = "more" if large.value > small.value else "no more"
    if small.low is None or small.high is None or large.low is None or large.high is None:
        surely = "; of one fact, that says little"
    else:
        apart = large.low > small.high or small.low > large.high
        surely = "" if apart else "; their intervals meet, so that is not sure"
    return (
        f"The largest model, {models[-1].model}, knows {more} than the smallest one, {models[0].model}: mean "
        f"Avg@{count} {large} against {small}{surely}."
    )


def _extrapolated(slope: float, intercept: float, count: int) -> str:
    if slope <= 0:
        return f"The line does not rise, so it reaches Avg@{count} = {LEVEL} nowhere."
    exponent = (LEVEL - intercept) / slope
    return f"The line would reach Avg@{count} = {LEVEL} at 10^{exponent:.1f} parameters, if it went on as it is."
