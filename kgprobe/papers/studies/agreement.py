"""Studies of the agreement of measures: calibration with people, and robustness to flawed sentences.

Sections 4.2 and 4.3 of the distractor paper; docs/methods/studies.md. :mod:`kgprobe.stats.agreement` has the
statistics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Table
from kgprobe.papers.baselines.human_data import Scored
from kgprobe.papers.baselines.measures import Scores
from kgprobe.papers.studies.study import WHOLE, Study, counted_notes, json_number
from kgprobe.results.rendering.plots import Category, CategoryPlot, Line, Plot
from kgprobe.stats.agreement import (
    HumanAgreement,
    calibrate,
    calibrate_on_common,
    common_facts,
    fewest_values,
    fold_taus,
    robustness,
)

Floats = NDArray[np.float64]

# Key of the table of best configurations.
CONFIGURATIONS = "configurations"


def calibration_study(
    measures: Mapping[str, Scores],
    scored: Scored,
    model: str,
    config: Mapping[str, Any],
    *,
    folds: int = 3,
    seed: int = 0,
) -> Study:
    """Compute the agreement of every measure with people, on shared facts and on each measure's own.

    Shared facts are those for which all measures have a value. Measures with too few values for the folds are left
    out. If too few shared facts remain, the measures with the fewest values are left out of them one by one. Further
    tables have the best configuration of each fold (Table 9 of the paper), τ by number of distractors (Figure 3), and τ
    by number of cloze sentences (Figures 4 and 6).
    """
    reasons: list[str] = []
    untried: list[str] = []
    own: dict[str, HumanAgreement] = {}
    for name, measure in measures.items():
        reasons += [f"{name}: {reason}" for reason in measure.reasons.values()]
        try:
            own[name] = calibrate(measure.values, scored.scores, folds=folds, seed=seed)
        except KgprobeError as error:
            # A measure with few values must not stop the others.
            untried.append(f"{name} is left out. {error}")
    measured = {name: measures[name].values for name in own}
    shared, dropped = calibrate_on_common(measured, scored.scores, folds, seed)
    table = _ranking(shared, own)
    # A measure without shared facts is described on its own.
    calibrated = {name: shared.get(name, own[name]) for name in (row["measure"] for row in table)}
    data: list[dict[str, Any]] = []
    for name, result in calibrated.items():
        for number, fold in enumerate(result.folds, start=1):
            row = {"measure": name, "fold": number, "τ": fold.tau, "facts": fold.facts}
            row |= {"best": _described(measures[name].configurations[fold.best])}
            data.append(row | {"τ in training": fold.training, "own facts": own[name].facts})
    categories = []
    for row in table:
        taus = [fold.tau for fold in calibrated[row["measure"]].folds]
        categories.append(Category(row["measure"], float(np.mean(taus)), min(taus), max(taus)))
    repeated = (
        f"{scored.repeated:,} scores are repetitions for a fact; a fact counts once, with the mean of its scores."
    )
    mean_tau = f"Kendall's τ, mean over {folds} folds"
    whiskers = f"{mean_tau}; whiskers: the least and the greatest of them"
    curves, tables = _curves(measures, calibrated, scored.scores, mean_tau)
    return Study(
        name="calibration",
        title=f"Agreement with people · {model} · {len(scored.scores):,} facts",
        verdict=_calibration_verdict(table, folds),
        data=data,
        table=table,
        plots=[CategoryPlot("Agreement with people", whiskers, categories, (-1.0, 1.0)), *curves],
        notes=[
            f"In each of {folds} folds, the best configuration on the other facts is tested on the fold's own facts.",
            *_judged_on(shared, measured, len(scored.scores)),
            *untried,
            *dropped,
            *([repeated] if scored.repeated else []),
            *counted_notes("Not among them", scored.missing),
            *counted_notes("No value", reasons),
        ],
        config=config,
        further=[_best_configurations(measures, calibrated), *tables],
    )


def _curves(
    measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement], scores: Floats, mean_tau: str
) -> tuple[list[Plot], list[Table]]:
    """Return plots and tables of τ by number of distractors and of sentences, and of the gain by sentences."""
    by_sentences = _by_sentences(measures, calibrated, scores)
    gain = "(τ of m sentences + 1) / (τ of one sentence + 1)"
    plots: list[Plot] = []
    tables: list[Table] = []
    for key, title, quantity, rows in (
        ("distractors", "By the number of distractors", mean_tau, _by_distractors(measures, calibrated, scores)),
        ("sentences", "By the number of cloze sentences", mean_tau, by_sentences),
        ("gain", "Gain by cloze sentences", gain, _gains(by_sentences)),
    ):
        if rows:
            axis = "n, distractors" if key == "distractors" else "m, cloze sentences"
            plots.append(Plot(title, axis, quantity, _lines(rows), y_range=None))
            tables.append(Table(key, f"{title}: {quantity}", rows))
    return plots, tables


def _ranking(shared: Mapping[str, HumanAgreement], own: Mapping[str, HumanAgreement]) -> list[dict[str, Any]]:
    """Return the measures by their τ on shared facts, then the others, with their ranks on their own facts."""
    ranks = {name: rank for rank, name in enumerate(_by_tau(own), start=1)}
    rows: list[dict[str, Any]] = []
    for rank, name in enumerate(_by_tau(shared), start=1):
        result = shared[name]
        rows.append({"rank": rank, "measure": name, "mean τ": result.mean, "deviation": result.deviation})
        rows[-1]["facts"] = result.facts
    unranked = [name for name in _by_tau(own) if name not in shared]
    empty = {"mean τ": None, "deviation": None, "facts": None}
    rows += [{"rank": None, "measure": name, **empty} for name in unranked]
    for row in rows:
        result = own[row["measure"]]
        row |= {"rank on own facts": ranks[row["measure"]], "τ on own facts": result.mean}
        row |= {"deviation on own facts": result.deviation, "own facts": result.facts}
    return rows


def _by_tau(calibrated: Mapping[str, HumanAgreement]) -> list[str]:
    """Return the measures by their mean τ, the highest first; equal ones, but for rounding, in their order."""
    return sorted(calibrated, key=lambda name: -round(calibrated[name].mean, 9))


def _best_configurations(measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement]) -> Table:
    """Return the best configuration of each measure in each fold."""
    options: dict[str, None] = {}
    for name in calibrated:
        for configuration in measures[name].configurations:
            options |= dict.fromkeys(configuration)
    rows: list[dict[str, Any]] = []
    for name, result in calibrated.items():
        for number, fold in enumerate(result.folds, start=1):
            best = measures[name].configurations[fold.best]
            row: dict[str, Any] = {"measure": name, "fold": number}
            row |= {option: best.get(option) for option in options}
            rows.append(row | {"τ in training": fold.training, "τ": fold.tau})
    return Table(CONFIGURATIONS, "Best configuration of each fold", rows, groups_by="measure")


def _by_distractors(
    measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement], scores: Floats
) -> list[dict[str, Any]]:
    """Return the mean τ of each distractor measure by n, with the aggregation that is best in each fold."""
    rows: dict[int, dict[str, Any]] = {}
    for name, result in calibrated.items():
        configurations = list(measures[name].configurations)
        if "aggregation" not in configurations[0]:
            continue
        for n in sorted({configuration["n"] for configuration in configurations}):
            columns = []
            for fold in result.folds:
                place = configurations.index({"aggregation": configurations[fold.best]["aggregation"], "n": n})
                columns.append(measures[name].values[:, place])
            rows.setdefault(n, {"n": n})[name] = float(fold_taus(result, columns, scores).mean())
    return list(rows.values())


def _by_sentences(
    measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement], scores: Floats
) -> list[dict[str, Any]]:
    """Return the mean τ of each measure over the first m sentences, with the best configuration of each fold."""
    rows: dict[int, dict[str, Any]] = {}
    for name, result in calibrated.items():
        for m, values in enumerate(measures[name].by_sentences, start=1):
            columns = [values[:, fold.best] for fold in result.folds]
            rows.setdefault(m, {"m": m})[name] = float(fold_taus(result, columns, scores).mean())
    return list(rows.values())


def _gains(by_sentences: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return (τ_m + 1) / (τ_1 + 1) for each number of sentences m and measure; None where τ_1 is -1."""
    gains = []
    for row in by_sentences:
        gain = dict(row)
        for name in set(row) - {"m"}:
            first = by_sentences[0][name] + 1
            gain[name] = (row[name] + 1) / first if first > 0 else None
        gains.append(gain)
    return gains


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Return a curve for each column after the first, over the first."""
    axis, *names = rows[0]
    lines = []
    for name in names:
        points = [(row[axis], row[name]) for row in rows if row.get(name) is not None]
        lines.append(Line(name, [x for x, _ in points], [y for _, y in points]))
    return lines


def _judged_on(ranked: Mapping[str, HumanAgreement], measured: Mapping[str, Floats], facts: int) -> list[str]:
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
    ranked = [row for row in table if row["rank"] is not None]
    if not ranked:
        return "No measure has values for enough facts."
    best, *others = [f"{row['measure']} (τ {row['mean τ']:.3f} ± {row['deviation']:.3f})" for row in ranked]
    second = f", followed by {others[0]}" if others else ""
    verdict = f"{best} agrees best with people{second}: means over {folds} folds of {ranked[0]['facts']:,} facts"
    (first_on_own,) = [row for row in table if row["rank on own facts"] == 1]
    if first_on_own is ranked[0]:
        return f"{verdict}."
    facts = f"{first_on_own['τ on own facts']:.3f} on {first_on_own['own facts']:,} facts"
    return f"{verdict}. On its own facts, {first_on_own['measure']} agrees best (τ {facts})."


def best_configurations(calibration: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the best configuration of each fold by measure, from the folder or the file of a calibration study."""
    path = calibration / WHOLE if calibration.is_dir() else calibration
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_StoredCalibration)
    except OSError as error:
        raise ArgumentError("calibration", f"cannot be read: {path}: {error.strerror}.") from error
    except UNREADABLE_JSON as error:
        remedy = "expected the folder of a `kgprobe study calibration`, which contains its study.json"
        raise ArgumentError("calibration", f"is not a calibration study: {path} ({error}); {remedy}.") from error
    best: dict[str, list[dict[str, Any]]] = {}
    for row in stored.tables.configurations:
        options = {option: value for option, value in row.items() if option in _OPTIONS and value is not None}
        best.setdefault(str(row["measure"]), []).append(options)
    return best


# Options of configurations, see kgprobe.papers.baselines.measures.
_OPTIONS = ("aggregation", "n", "beams")


class _StoredTables(msgspec.Struct):
    configurations: list[dict[str, Any]]


class _StoredCalibration(msgspec.Struct):
    """The part of a stored calibration study that is read later."""

    tables: _StoredTables


@dataclass(frozen=True, slots=True)
class Compared:
    """A measure of sentences in pairs.

    Attributes:
        flawed, corrected: the measure of the flawed sentences and of their corrections, in the order of the pairs.
        flawless: the measure of sentences that are their own corrections; None without such sentences.
    """

    flawed: Scores
    corrected: Scores
    flawless: Scores | None = None

    @property
    def reasons(self) -> list[str]:
        """Reasons of all missing values."""
        scores = [self.flawed, self.corrected, *([] if self.flawless is None else [self.flawless])]
        return list(chain.from_iterable(each.reasons.values() for each in scores))


def robustness_study(
    measures: Mapping[str, Compared],
    pairs: int,
    left_out: Sequence[str],
    model: str,
    config: Mapping[str, Any],
    seed: int = 0,
    best: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> Study:
    """Compute τ of every measure in every configuration; table and plot have the best, or the largest, ones.

    Args:
        best: configurations by measure, one for each fold of a calibration: τ is the mean over them, as in the paper's
            Table 4. None shows the largest configurations.
    """
    data: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    reasons: list[str] = []
    for name, compared in measures.items():
        reasons += [f"{name}: {reason}" for reason in compared.reasons]
        configurations = compared.flawed.configurations
        rows = [_robustness_row(name, compared, [column], seed) for column in range(len(configurations))]
        data += rows
        if best is None:
            shown += [rows[column] for column in largest_configurations(configurations)]
        elif name in best:
            columns = [_column(name, configurations, options) for options in best[name]]
            shown.append(_robustness_row(name, compared, columns, seed))
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
            f"{_shown_note(list(measures), best)} The data have all {len(data):,} configurations.",
            "τ of all sentences also counts those without errors, as their own corrections.",
            *counted_notes("Not paired", left_out),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def _shown_note(measures: Sequence[str], best: Mapping[str, Sequence[Mapping[str, Any]]] | None) -> str:
    """Return a note on the configurations that are shown."""
    if best is None:
        return (
            "Each measure is shown with the greatest n and the widest beam, one row per aggregation: a default without"
            " calibration."
        )
    note = "τ of each measure is the mean over the best configurations of the folds of the calibration."
    others = [name for name in measures if name not in best]
    return f"{note} Not in the calibration, and not shown: {', '.join(others)}." if others else note


def _robustness_row(name: str, compared: Compared, columns: Sequence[int], seed: int) -> dict[str, Any]:
    """Return τ of the flawed sentences, and of all, as the mean over configurations."""
    flawed, corrected = compared.flawed.values[:, columns], compared.corrected.values[:, columns]
    pairs = robustness(flawed, corrected, seed=seed)
    everything = pairs
    if compared.flawless is not None:
        flawless = compared.flawless.values[:, columns]
        everything = robustness(np.vstack([flawed, flawless]), np.vstack([corrected, flawless]), seed=seed)
    options = [_described(compared.flawed.configurations[column]) for column in dict.fromkeys(columns)]
    row: dict[str, Any] = {"measure": name, "options": "; ".join(options)}
    row |= {"τ": json_number(pairs.tau), "low": json_number(pairs.low), "high": json_number(pairs.high)}
    row |= {"pairs": pairs.pairs, "left out": pairs.left_out}
    return row | {"τ of all sentences": json_number(everything.tau), "sentences": everything.pairs}


def _column(name: str, configurations: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> int:
    """Return the place of a configuration."""
    if options not in configurations:
        raise ArgumentError(
            "calibration",
            f"has {_described(options)} as the best configuration of {name}, which is not computed here: use the"
            " `beams` and `distractors` of the calibration.",
        )
    return list(configurations).index(options)


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
