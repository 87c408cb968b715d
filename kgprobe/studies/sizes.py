"""Does a larger model know more: the measure against the logarithm of the number of parameters, and a line.

Section 4 and appendix E of the distractor paper; docs/methods.md, 1. The line is least squares on log10(parameters);
how far it holds beyond the models is for the reader to judge, so the number of parameters at which it would reach a
level is told as what it is, an extrapolation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import Curve, Measured, common_facts, mean_curve, values_of
from kgprobe.studies.study import Line, Plot, Study

# The level that the extrapolation asks for.
LEVEL = 0.9


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
        raise KgprobeError("`models` are all of one size: a line needs two at least.")
    ordered = sorted(models, key=lambda model: model.parameters)
    sizes = np.array([float(model.parameters) for model in ordered])
    means = np.array([model.curve.mean[count - 1] for model in ordered])
    fit = stats.linregress(np.log10(sizes), means)
    data = [
        {
            "model": model.model,
            "parameters": model.parameters,
            f"Avg@{count}": float(model.curve.mean[count - 1]),
            "low": float(model.curve.low[count - 1]),
            "high": float(model.curve.high[count - 1]),
            "line": float(fit.intercept + fit.slope * np.log10(model.parameters)),
        }
        for model in ordered
    ]
    ends = [sizes[0], sizes[-1]]
    lines = [
        Line("models", sizes.tolist(), means.tolist(), points=True),
        Line("line", ends, [float(fit.intercept + fit.slope * np.log10(size)) for size in ends]),
    ]
    return Study(
        name="sizes",
        title=f"Avg@{count} by model size · {len(ordered)} models · {facts:,} facts",
        data=data,
        table=data,
        plots=[Plot("By model size", "parameters", f"mean Avg@{count}", lines, log_x=True)],
        notes=[
            f"Avg@{count} = {fit.intercept:.3f} + {fit.slope:.3f} · log10(parameters), R² = {fit.rvalue**2:.3f}.",
            _extrapolated(float(fit.slope), float(fit.intercept), count),
        ],
        config=config,
    )


def _extrapolated(slope: float, intercept: float, count: int) -> str:
    if slope <= 0:
        return f"The line does not rise, so it reaches Avg@{count} = {LEVEL} nowhere."
    exponent = (LEVEL - intercept) / slope
    return f"The line would reach Avg@{count} = {LEVEL} at 10^{exponent:.1f} parameters, if it went on as it is."
