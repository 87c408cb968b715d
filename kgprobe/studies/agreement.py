"""Studies of the agreement of measures: calibration with people, and robustness to flawed sentences.

Sections 4.2 and 4.3 of the distractor paper; docs/methods/studies.md. :mod:`kgprobe.stats.agreement` has the
statistics.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.baselines.human_data import Scored
from kgprobe.baselines.measures import Scores
from kgprobe.errors import KgprobeError
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.stats.agreement import (
    Calibration,
    calibrate,
    calibrate_on_common,
    common_facts,
    fewest_values,
    robustness,
)
from kgprobe.stats.proportions import Mean
from kgprobe.studies.study import Study, counted_notes, json_number

Floats = NDArray[np.float64]


def calibration_study(
    measures: Mapping[str, Scores],
    scored: Scored,
    model: str,
    config: Mapping[str, Any],
    *,
    folds: int = 3,
    seed: int = 0,
) -> Study:
    """Compute the agreement of every measure with people, ranked on the facts for which all of them have a value.

    Measures with too few values for the folds are left out. If too few common facts remain, the measures with the
    fewest values are left out one by one.

    Args:
        measures: measures of the facts, by name.
        scored: the facts with human scores.
        folds: number of folds.
        seed: of the facts' order, the same for every measure.
    """
    reasons: list[str] = []
    untried: list[str] = []
    own: dict[str, Calibration] = {}
    for name, measure in measures.items():
        reasons += [f"{name}: {reason}" for reason in measure.reasons.values()]
        try:
            own[name] = calibrate(measure.values, scored.scores, folds=folds, seed=seed)
        except KgprobeError as error:
            # A measure with few values must not stop the others.
            untried.append(f"{name} is left out. {error}")
    measured = {name: measures[name].values for name in own}
    ranked, dropped = calibrate_on_common(measured, scored.scores, folds, seed)
    table: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    for name, result in ranked.items():
        row: dict[str, Any] = {
            "measure": name,
            "mean τ": result.mean,
            "deviation": result.deviation,
            "facts": result.facts,
        }
        row |= {"own facts": own[name].facts, "τ on own facts": own[name].mean}
        for number, fold in enumerate(result.folds, start=1):
            best = _described(measures[name].configurations[fold.best])
            row[f"best of fold {number}"] = best
            data.append(
                {"measure": name, "fold": number, "τ": fold.tau, "facts": fold.facts, "best": best}
                | {"τ in training": fold.training, "own facts": own[name].facts}
            )
        table.append(row)
    table.sort(key=lambda row: -row["mean τ"])
    categories = []
    for row in table:
        taus = [fold.tau for fold in ranked[row["measure"]].folds]
        categories.append(Category(row["measure"], row["mean τ"], min(taus), max(taus)))
    repeated = (
        f"{scored.repeated:,} scores are repetitions for a fact; a fact counts once, with the mean of its scores."
    )
    mean_tau = f"Kendall's τ, mean over {folds} folds; whiskers: the least and the greatest of them"
    return Study(
        name="calibration",
        title=f"Agreement with people · {model} · {len(scored.scores):,} facts",
        verdict=_calibration_verdict(table, folds),
        data=data,
        table=table,
        plots=[CategoryPlot("Agreement with people", mean_tau, categories, (-1.0, 1.0))],
        notes=[
            f"In each of {folds} folds, the best configuration on the other facts is tested on the fold's own facts.",
            *_judged_on(ranked, measured, len(scored.scores)),
            *untried,
            *dropped,
            *([repeated] if scored.repeated else []),
            *counted_notes("Not among them", scored.missing),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def _judged_on(ranked: Mapping[str, Calibration], measured: Mapping[str, Floats], facts: int) -> list[str]:
    """Return a note on the number of ranked facts, and on the measure that reduces it most."""
    if not ranked:
        return []
    common = next(iter(ranked.values())).facts
    note = f"All are ranked on the {common:,} of {facts:,} facts for which each has a value; own facts: those of one."
    others = {name: measured[name] for name in ranked}
    fewest = fewest_values(others)
    del others[fewest]
    if others and (more := int(common_facts(others.values()).sum())) > common:
        return [f"{note} Without {fewest} there would be {more:,}."]
    return [note]


def _calibration_verdict(table: Sequence[Mapping[str, Any]], folds: int) -> str:
    if not table:
        return "No measure has values for enough facts."
    best, *others = [f"{row['measure']} (τ {row['mean τ']:.3f} ± {row['deviation']:.3f})" for row in table]
    second = f", followed by {others[0]}" if others else ""
    return f"{best} agrees best with people{second}: means over {folds} folds of {table[0]['facts']:,} facts."


def robustness_study(
    measures: Mapping[str, tuple[Scores, Scores]],
    pairs: int,
    left_out: Sequence[str],
    model: str,
    config: Mapping[str, Any],
    seed: int = 0,
) -> Study:
    """Compute τ of every measure in every configuration; table and plot have the largest configurations.

    Args:
        measures: measures of the flawed and of the corrected sentences, by name.
        pairs: number of pairs.
        left_out: reasons of missing pairs, one message each.
        seed: of the bootstrap over pairs.
    """
    data: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    reasons: list[str] = []
    for name, (before, after) in measures.items():
        reasons += [f"{name}: {reason}" for reason in {**before.reasons, **after.reasons}.values()]
        largest = largest_configurations(before.configurations)
        for column, options in enumerate(before.configurations):
            result = robustness(before.values[:, column], after.values[:, column], seed=seed)
            row: dict[str, Any] = {"measure": name, "options": _described(options)}
            for key, value in (("τ", result.tau), ("low", result.low), ("high", result.high)):
                row[key] = json_number(value)
            row |= {"pairs": result.pairs, "left out": result.left_out}
            data.append(row)
            if column in largest:
                shown.append(row)
    ordered = sorted(shown, key=lambda row: -2.0 if row["τ"] is None else row["τ"], reverse=True)
    categories = [Category(_title(row), row["τ"], row["low"], row["high"]) for row in ordered]
    tau = "Kendall's τ, flawed against corrected, with 95% intervals"
    return Study(
        name="robustness",
        verdict=_robustness_verdict(ordered),
        title=f"Robustness to verbalization errors · {model} · {pairs} pairs of sentences",
        data=data,
        table=ordered,
        plots=[CategoryPlot("Flawed sentences against corrected ones", tau, categories, (-1.0, 1.0))],
        notes=[
            "Each measure is shown with the greatest n and the widest beam, one row per aggregation: a default without"
            f" calibration. The data have all {len(data):,} configurations.",
            *counted_notes("Not paired", left_out),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def largest_configurations(configurations: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the positions with the greatest numbers (n, beams), one for each combination of the other options."""
    largest: dict[tuple[Any, ...], tuple[list[Any], int]] = {}
    for place, options in enumerate(configurations):
        words = tuple(value for value in options.values() if isinstance(value, str))
        numbers = [value for value in options.values() if not isinstance(value, str)]
        largest[words] = max(largest.get(words, (numbers, place)), (numbers, place))
    return sorted(place for _, place in largest.values())


def _described(options: Mapping[str, Any]) -> str:
    """Return a configuration as a phrase."""
    return ", ".join(f"{option} = {value}" for option, value in options.items())


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['measure']} ({row['options']})" if row["options"] else str(row["measure"])


def _robustness_verdict(ordered: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the most and the least robust measure."""
    valued = [row for row in ordered if row["τ"] is not None]
    if not valued:
        return "No measure orders these facts, so that robustness is undefined."
    extremes = [f"{_title(row)}, τ {Mean(row['τ'], row['low'], row['high'])}" for row in (valued[0], valued[-1])]
    if len(valued) == 1:
        return f"Flawed sentences against corrected ones: {extremes[0]}."
    return f"Flaws of sentences matter least to {extremes[0]}, and most to {extremes[1]}."
