"""Studies of the agreement of measures: calibration with people, and robustness to flawed sentences.

Sections 4.2 and 4.3 of the distractor paper; docs/methods/studies.md. :mod:`kgprobe.stats.agreement` has the
statistics.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import UNREADABLE_JSON, home
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.graph.state import graph_name
from kgprobe.papers.baselines.human_data import Scored
from kgprobe.papers.baselines.measures import Scores
from kgprobe.papers.baselines.options import MEANINGS, MeasuresOptions
from kgprobe.papers.studies.options import LATEST
from kgprobe.papers.studies.study import WHOLE, Study, category, counted_notes, json_number
from kgprobe.results.rendering.plots import Category, CategoryPlot, Line, Plot
from kgprobe.results.result import Listing
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


@dataclass(frozen=True, slots=True)
class RankedMeasure(ResultRow):
    """A measure with its agreement with people: on the facts that all measures share, and on its own.

    Attributes:
        rank: 1 for the greatest mean τ; None, as all figures of shared facts, for a measure that has too few of them.
        tau: mean τ over the folds, with its standard deviation.
    """

    rank: Annotated[int | None, Heading("rank")]
    measure: Annotated[str, Heading("measure")]
    tau: Annotated[float | None, Heading("mean τ")]
    deviation: Annotated[float | None, Heading("deviation")]
    facts: Annotated[int | None, Heading("facts")]
    own_rank: Annotated[int, Heading("rank on own facts")]
    own_tau: Annotated[float, Heading("τ on own facts")]
    own_deviation: Annotated[float, Heading("deviation on own facts")]
    own_facts: Annotated[int, Heading("own facts")]


@dataclass(frozen=True, slots=True)
class MeasureFold(ResultRow):
    """A measure in a fold: its τ on the fold's facts, and its best configuration on the others."""

    measure: str
    fold: int
    tau: float
    facts: int
    best: str
    tau_in_training: float
    own_facts: int


@dataclass(frozen=True, slots=True)
class TauByDistractors(ResultRow):
    """Mean τ of a measure with n distractors."""

    n: Annotated[int, Heading("n")]
    measure: str
    tau: float


@dataclass(frozen=True, slots=True)
class TauBySentences(ResultRow):
    """Mean τ of a measure over the first m sentences.

    Attributes:
        gain: (τ + 1) / (τ of one sentence + 1); None if the latter is -1.
    """

    m: Annotated[int, Heading("m")]
    measure: str
    tau: float
    gain: float | None


# Options of configurations, see kgprobe.papers.baselines.measures.
_OPTIONS = ("aggregation", "n", "beams")
_TAU = "Kendall's τ, mean over {folds} folds"
_GAIN = "(τ of m sentences + 1) / (τ of one sentence + 1)"
_BY_N, _BY_M, _GAIN_BY_M = "By the number of distractors", "By the number of cloze sentences", "Gain by cloze sentences"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class CalibrationStudy(Study):
    """Agreement of measures with people.

    Attributes:
        folds: number of the folds of the cross-validation.
        configurations: best configuration of each measure in each fold; columns are options (Table 9 of the paper).
        distractors: τ by number of distractors (Figure 3).
        sentences: τ by number of cloze sentences (Figures 4 and 6).
    """

    folds: int
    table: Annotated[Sequence[RankedMeasure], Listing("", detail=True)]
    data: Annotated[Sequence[MeasureFold], Listing(main=True)]
    configurations: Annotated[
        Sequence[Mapping[str, Any]], Listing("Best configuration of each fold", groups_by="measure", detail=True)
    ]
    distractors: Annotated[
        Sequence[TauByDistractors], Listing(f"{_BY_N}: {_TAU}", across=("measure", "tau"), detail=True)
    ]
    sentences: Annotated[
        Sequence[TauBySentences],
        Listing(f"{_BY_M}: {_TAU}", across=("measure", "tau"), detail=True),
        Listing(f"{_GAIN_BY_M}: {_GAIN}", across=("measure", "gain"), detail=True),
    ]

    name: ClassVar[str] = "calibration"

    @property
    def plots(self) -> Sequence[Plot | CategoryPlot]:
        """The agreement of each measure, by number of distractors, and by number of sentences."""
        mean_tau = _TAU.format(folds=self.folds)
        categories = []
        for row in self.table:
            taus = [fold.tau for fold in self.data if fold.measure == row.measure]
            categories.append(Category(row.measure, float(np.mean(taus)), min(taus), max(taus)))
        whiskers = f"{mean_tau}; whiskers: the least and the greatest of them"
        curves = [
            Plot(_BY_N, "n, distractors", mean_tau, _lines(self.distractors, "n", "tau"), y_range=None),
            Plot(_BY_M, "m, cloze sentences", mean_tau, _lines(self.sentences, "m", "tau"), y_range=None),
            Plot(_GAIN_BY_M, "m, cloze sentences", _GAIN, _lines(self.sentences, "m", "gain"), y_range=None),
        ]
        agreement = CategoryPlot("Agreement with people", whiskers, categories, (-1.0, 1.0))
        return [agreement, *(curve for curve in curves if curve.lines)]


def _lines(rows: Sequence[TauByDistractors | TauBySentences], axis: str, value: str) -> list[Line]:
    """Return a curve for each measure."""
    points: dict[str, dict[float, float]] = {}
    for row in rows:
        if (y := getattr(row, value)) is not None:
            points.setdefault(row.measure, {})[getattr(row, axis)] = y
    return [Line(name, [*own], [*own.values()]) for name, own in points.items()]


def calibration_study(
    measures: Mapping[str, Scores],
    scored: Scored,
    model: str,
    config: Mapping[str, Any],
    notes: Sequence[str] = (),
    *,
    folds: int = 3,
    seed: int = 0,
) -> CalibrationStudy:
    """Compute the agreement of every measure with people, on shared facts and on each measure's own.

    Shared facts are those for which all measures have a value. Measures with too few values for the folds are left
    out. If too few shared facts remain, the measures with the fewest values are left out of them one by one.
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
    calibrated = {row.measure: shared.get(row.measure, own[row.measure]) for row in table}
    data = []
    for name, result in calibrated.items():
        for number, fold in enumerate(result.folds, start=1):
            best = _described(measures[name].configurations[fold.best])
            data.append(MeasureFold(name, number, fold.tau, fold.facts, best, fold.training, own[name].facts))
    repeated = (
        f"{scored.repeated:,} scores are repetitions for a fact; a fact counts once, with the mean of its scores."
    )
    return CalibrationStudy(
        title=f"Agreement with people · {model} · {len(scored.scores):,} facts",
        verdict=_calibration_verdict(table, folds),
        folds=folds,
        data=data,
        table=table,
        configurations=_best_configurations(measures, calibrated),
        distractors=_by_distractors(measures, calibrated, scored.scores),
        sentences=_by_sentences(measures, calibrated, scored.scores),
        notes=[
            f"In each of {folds} folds, the best configuration on the other facts is tested on the fold's own facts.",
            *_judged_on(shared, measured, len(scored.scores)),
            *notes,
            *untried,
            *dropped,
            *([repeated] if scored.repeated else []),
            *counted_notes("Not among them", scored.missing),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def _ranking(shared: Mapping[str, HumanAgreement], own: Mapping[str, HumanAgreement]) -> list[RankedMeasure]:
    """Return the measures by their τ on shared facts, then the others, with their ranks on their own facts."""
    ranks = {name: rank for rank, name in enumerate(_by_tau(own), start=1)}
    figures: dict[str, tuple[Any, ...]] = {}
    for rank, name in enumerate(_by_tau(shared), start=1):
        figures[name] = (rank, name, shared[name].mean, shared[name].deviation, shared[name].facts)
    rows = []
    for name in dict.fromkeys([*figures, *ranks]):
        of_shared = figures.get(name, (None, name, None, None, None))
        of_own: tuple[Any, ...] = (ranks[name], own[name].mean, own[name].deviation, own[name].facts)
        rows.append(RankedMeasure(*of_shared, *of_own))
    return rows


def _by_tau(calibrated: Mapping[str, HumanAgreement]) -> list[str]:
    """Return the measures by their mean τ, the highest first; equal ones, but for rounding, in their order."""
    return sorted(calibrated, key=lambda name: -round(calibrated[name].mean, 9))


def _best_configurations(
    measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement]
) -> list[dict[str, Any]]:
    """Return the best configuration of each measure in each fold."""
    options: dict[str, None] = {}
    for name in calibrated:
        for configuration in measures[name].configurations:
            options |= dict.fromkeys(configuration)
    rows = []
    for name, result in calibrated.items():
        for number, fold in enumerate(result.folds, start=1):
            best = measures[name].configurations[fold.best]
            own = {option: best.get(option) for option in options}
            rows.append({"measure": name, "fold": number, **own, "τ in training": fold.training, "τ": fold.tau})
    return rows


def _by_distractors(
    measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement], scores: Floats
) -> list[TauByDistractors]:
    """Return the mean τ of each distractor measure by n, with the aggregation that is best in each fold."""
    rows = []
    for name, result in calibrated.items():
        configurations = list(measures[name].configurations)
        if "aggregation" not in configurations[0]:
            continue
        for n in sorted({configuration["n"] for configuration in configurations}):
            columns = []
            for fold in result.folds:
                place = configurations.index({"aggregation": configurations[fold.best]["aggregation"], "n": n})
                columns.append(measures[name].values[:, place])
            rows.append(TauByDistractors(n, name, float(fold_taus(result, columns, scores).mean())))
    return rows


def _by_sentences(
    measures: Mapping[str, Scores], calibrated: Mapping[str, HumanAgreement], scores: Floats
) -> list[TauBySentences]:
    """Return the mean τ of each measure over the first m sentences, with the best configuration of each fold."""
    rows = []
    for name, result in calibrated.items():
        first = None
        for m, values in enumerate(measures[name].by_sentences, start=1):
            columns = [values[:, fold.best] for fold in result.folds]
            tau = float(fold_taus(result, columns, scores).mean())
            first = tau if first is None else first
            rows.append(TauBySentences(m, name, tau, (tau + 1) / (first + 1) if first + 1 > 0 else None))
    return rows


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


def _calibration_verdict(table: Sequence[RankedMeasure], folds: int) -> str:
    ranked = [row for row in table if row.rank is not None]
    if not ranked:
        return "No measure has values for enough facts."
    best, *others = [f"{row.measure} (τ {row.tau:.3f} ± {row.deviation:.3f})" for row in ranked]
    second = f", followed by {others[0]}" if others else ""
    verdict = f"{best} agrees best with people{second}: means over {folds} folds of {ranked[0].facts:,} facts"
    (first_on_own,) = [row for row in table if row.own_rank == 1]
    if first_on_own is ranked[0]:
        return f"{verdict}."
    facts = f"{first_on_own.own_tau:.3f} on {first_on_own.own_facts:,} facts"
    return f"{verdict}. On its own facts, {first_on_own.measure} agrees best (τ {facts})."


class _CalibratedSettings(msgspec.Struct):
    graph: str
    scorer: dict[str, Any]
    counts: list[int]
    karr: str
    continuation: str
    several_tokens: str
    articles: bool
    former_order: str


class Calibrated(msgspec.Struct):
    """The parts of a stored calibration study that are read later."""

    configurations: list[dict[str, Any]]
    config: _CalibratedSettings

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self.config.scorer.get("name"))

    @property
    def best(self) -> dict[str, list[dict[str, Any]]]:
        """Best configuration of each fold by measure."""
        best: dict[str, list[dict[str, Any]]] = {}
        for row in self.configurations:
            options = {option: value for option, value in row.items() if option in _OPTIONS and value is not None}
            best.setdefault(str(row["measure"]), []).append(options)
        return best

    def applied(self, chosen: MeasuresOptions, given: Container[str]) -> MeasuresOptions:
        """Return options of measures with the calibration's settings, of which only the best beams are computed.

        Args:
            given: names of the options that the caller gave.

        Raises:
            ArgumentError: a given option excludes a best configuration, or gives it another meaning.
        """
        widths: dict[str, set[int]] = {"beams": set(), "grader_beams": set()}
        for measure, rows in self.best.items():
            name = "grader_beams" if measure == "grader" else "beams"
            widths[name] |= {options["beams"] for options in rows if "beams" in options}
        own: dict[str, Any] = {name: tuple(sorted(beams)) for name, beams in widths.items() if beams}
        own |= {"distractors": max(self.config.counts)}
        own |= {name: getattr(self.config, name) for name in MEANINGS}
        for name in filter(given.__contains__, own):
            value, needed = getattr(chosen, name), own[name]
            if not (set(needed) <= set(value) if isinstance(needed, tuple) else needed == value):
                remedy = "leave it out, or calibrate with it"
                raise ArgumentError(name, f"is {value}, but the calibration needs {needed}: {remedy}.")
        return replace(chosen, **{name: value for name, value in own.items() if name not in given})


def read_calibration(calibration: Path, model: str, graph: str) -> tuple[Path, Calibrated]:
    """Read a calibration study of a model, and return it with the path of its file.

    Args:
        calibration: its folder or its file, or ``latest`` for the latest stored one of the same model and graph.
        graph: text of :func:`~kgprobe.graph.state.graph_state`.

    Raises:
        ArgumentError: there is no such calibration, it is of another model, or its file has another form.
    """
    if str(calibration) != LATEST:
        path = calibration / WHOLE if calibration.is_dir() else calibration
        calibrated = _decoded(path)
        if calibrated.model != model:
            raise ArgumentError("calibration", f"is of the model {calibrated.model}; expected one of {model}: {path}.")
        return path, calibrated
    stored = (home() / "studies").glob(f"{CalibrationStudy.name}-*/{WHOLE}")
    for path in sorted(stored, key=lambda file: file.stat().st_mtime, reverse=True):
        calibrated = _decoded(path)
        if calibrated.model == model and graph_name(calibrated.config.graph)[0] == graph_name(graph)[0]:
            return path, calibrated
    remedy = f"run `kgprobe study calibration SCORES` with {model} and this graph first"
    raise ArgumentError("calibration", f"is missing: {remedy}.")


def _decoded(path: Path) -> Calibrated:
    study: Any = None
    try:
        study = msgspec.json.decode(path.read_bytes())
        return msgspec.convert(study, Calibrated)
    except OSError as error:
        raise ArgumentError("calibration", f"cannot be read: {path}: {error.strerror}.") from error
    except UNREADABLE_JSON as error:
        if isinstance(study, dict) and study.get("name") == CalibrationStudy.name:
            remedy = "make it again by `kgprobe study calibration SCORES`"
            raise ArgumentError(
                "calibration", f"is of an older version of kgprobe: {path} ({error}); {remedy}."
            ) from error
        remedy = "expected the folder of a `kgprobe study calibration`, which contains its study.json"
        raise ArgumentError("calibration", f"is not a calibration study: {path} ({error}); {remedy}.") from error


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


@dataclass(frozen=True, slots=True)
class MeasureRobustness(ResultRow):
    """Agreement of a measure of flawed sentences with that of their corrections, in means over configurations.

    Attributes:
        options: the configurations.
        tau: Kendall's τ; None if it is undefined.
        left_out: pairs without a value.
        tau_of_all, sentences: τ with the sentences without errors, as their own corrections, and their number.
    """

    measure: Annotated[str, Heading("measure")]
    options: Annotated[str, Heading("options")]
    tau: Annotated[Mean | None, Heading("τ")]
    pairs: Annotated[int, Heading("pairs")]
    left_out: Annotated[int, Heading("left out")]
    tau_of_all: Annotated[float | None, Heading("τ of all sentences")]
    sentences: Annotated[int, Heading("sentences")]

    @property
    def title(self) -> str:
        """The measure with its configurations."""
        return f"{self.measure} ({self.options})" if self.options else self.measure


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RobustnessStudy(Study):
    """Robustness of measures to flawed sentences.

    Attributes:
        table: the best, or the largest, configurations of each measure, by decreasing τ.
        data: all configurations.
    """

    table: Annotated[Sequence[MeasureRobustness], Listing("", detail=True)]
    data: Annotated[Sequence[MeasureRobustness], Listing(main=True)]

    name: ClassVar[str] = "robustness"

    @property
    def plots(self) -> Sequence[CategoryPlot]:
        """The agreement of each measure."""
        categories = [category(row.title, row.tau) for row in self.table]
        tau = "Kendall's τ, flawed against corrected, with 95% intervals"
        return [CategoryPlot("Flawed sentences against corrected ones", tau, categories, (-1.0, 1.0))]


# Notes on the configurations that are shown.
_SHOWN_LARGEST = (
    "Each measure is shown with the greatest n and the widest beam, one row per aggregation: a default without"
    " calibration."
)
_SHOWN_BEST = "τ of each measure is the mean over the best configurations of the folds of the calibration."


def robustness_study(
    measures: Mapping[str, Compared],
    pairs: int,
    left_out: Sequence[str],
    model: str,
    config: Mapping[str, Any],
    seed: int = 0,
    best: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> RobustnessStudy:
    """Compute τ of every measure in every configuration; table and plot have the best, or the largest, ones.

    Args:
        best: configurations of every measure, one for each fold of a calibration: τ is the mean over them, as in the
            paper's Table 4. None shows the largest configurations.
    """
    data: list[MeasureRobustness] = []
    shown: list[MeasureRobustness] = []
    reasons: list[str] = []
    for name, compared in measures.items():
        reasons += [f"{name}: {reason}" for reason in compared.reasons]
        configurations = compared.flawed.configurations
        rows = [_robustness_row(name, compared, [column], seed) for column in range(len(configurations))]
        data += rows
        if best is None:
            shown += [rows[column] for column in largest_configurations(configurations)]
        else:
            columns = [_column(name, configurations, options) for options in best[name]]
            shown.append(_robustness_row(name, compared, columns, seed))
    ordered = sorted(shown, key=lambda row: -2.0 if row.tau is None else row.tau.value, reverse=True)
    return RobustnessStudy(
        verdict=_robustness_verdict(ordered),
        title=f"Robustness to verbalization errors · {model} · {pairs} pairs of sentences",
        data=data,
        table=ordered,
        notes=[
            f"{_SHOWN_LARGEST if best is None else _SHOWN_BEST} The data have all {len(data):,} configurations.",
            "τ of all sentences also counts those without errors, as their own corrections.",
            *counted_notes("Not paired", left_out),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def _robustness_row(name: str, compared: Compared, columns: Sequence[int], seed: int) -> MeasureRobustness:
    """Return τ of the flawed sentences, and of all, as the mean over configurations."""
    flawed, corrected = compared.flawed.values[:, columns], compared.corrected.values[:, columns]
    pairs = robustness(flawed, corrected, seed=seed)
    everything = pairs
    if compared.flawless is not None:
        flawless = compared.flawless.values[:, columns]
        everything = robustness(np.vstack([flawed, flawless]), np.vstack([corrected, flawless]), seed=seed)
    options = [_described(compared.flawed.configurations[column]) for column in dict.fromkeys(columns)]
    tau = None if np.isnan(pairs.tau) else Mean(pairs.tau, json_number(pairs.low), json_number(pairs.high))
    every = (json_number(everything.tau), everything.pairs)
    return MeasureRobustness(name, "; ".join(options), tau, pairs.pairs, pairs.left_out, *every)


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


def _robustness_verdict(ordered: Sequence[MeasureRobustness]) -> str:
    """Return a sentence on the most and the least robust measure."""
    valued = [row for row in ordered if row.tau is not None]
    if not valued:
        return "No measure orders these facts, so that robustness is undefined."
    extremes = [f"{row.title}, τ {row.tau}" for row in (valued[0], valued[-1])]
    if len(valued) == 1:
        return f"Flawed sentences against corrected ones: {extremes[0]}."
    return f"Flaws of sentences matter least to {extremes[0]}, and most to {extremes[1]}."
