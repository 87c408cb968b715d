"""Studies of the distractor measure: strategies, number of distractors, number of cloze sentences, model size.

Section 4 and appendices C and E of the distractor paper; docs/methods/studies.md. Bands are bootstraps over facts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress, groupby
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.studies.study import Study, json_number, mean_line, signed
from kgprobe.probes.distractors.curves import Curve, mean_at, mean_curve, shown_numbers
from kgprobe.probes.distractors.evidence import (
    DistractorEvidence,
    Measured,
    common_facts,
    former_shares,
    shortage_notes,
    values_of,
)
from kgprobe.probes.outcome import Outcome, answered
from kgprobe.results.rendering.plots import Line, Plot
from kgprobe.results.result import Listing

Floats = NDArray[np.float64]

# τ with the greatest n, or with all sentences, above which the order of the facts counts as settled.
SETTLED = 0.9

# Number of subsets of sentences of each size per fact.
_DRAWS = 50

# The level of the extrapolation over model sizes.
LEVEL = 0.9

# Minimum number of sizes for a line; it fits fewer perfectly.
SIZES_OF_A_LINE = 3


@dataclass(frozen=True, slots=True)
class StrategyMean(ResultRow):
    """Mean Min@n of a strategy.

    Attributes:
        former: share of former objects among the distractors at position n; None if no fact has so many.
    """

    strategy: str
    n: Annotated[int, Heading("n")]
    mean: Mean
    former: float | None


_FORMER = "Share of former objects (temporal distractors) by position"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StrategiesStudy(Study):
    """Mean Min@n by strategy.

    Attributes:
        facts: number of facts that were asked with every strategy.
    """

    facts: int
    data: Annotated[Sequence[StrategyMean], Listing(main=True)]

    name: ClassVar[str] = "strategies"

    @property
    def table(self) -> Annotated[Sequence[StrategyMean], Listing("", across=("strategy", "mean.value"), detail=True)]:
        """The means at some n."""
        shown = shown_numbers(self.data[-1].n)
        return [row for row in self.data if row.n in shown]

    @property
    def former(self) -> Annotated[Sequence[StrategyMean], Listing(_FORMER, across=("strategy", "former"), detail=True)]:
        """The shares of former objects at some positions; none without former objects."""
        return self.table if any(row.former for row in self.data) else []

    @property
    def plots(self) -> Sequence[Plot]:
        """The curves, and former objects by position (Figure 7 of the distractor paper) if there are any."""
        lines, former = [], []
        for strategy, group in groupby(self.data, attrgetter("strategy")):
            rows = list(group)
            lines.append(mean_line(strategy, [row.n for row in rows], [row.mean for row in rows]))
            if any(row.former for row in rows):
                shares = {row.n: row.former for row in rows if row.former is not None}
                former.append(Line(strategy, [*shares], [*shares.values()]))
        plots = [Plot("By strategy", "n, distractors", "mean Min@n", lines)]
        if former:
            axes = ("position of the distractor", "share of former objects")
            plots.append(Plot("Former objects by position", *axes, former))
        return plots


def strategies_study(
    measured: Mapping[str, Measured], model: str, config: Mapping[str, Any], seed: int = 0
) -> StrategiesStudy:
    """Compare distractor strategies: mean Min@n over the same facts, one curve per strategy. Lower means harder.

    Only facts that were asked with every strategy count, so that curves are comparable; the difference of two
    strategies, fact by fact, has its own band.

    Args:
        measured: measures by strategy, over the same facts, with the same greatest n.
    """
    common = common_facts(list(measured.values()))
    values = {strategy: values_of(by_fact, common, "min") for strategy, by_fact in measured.items()}
    curves = {strategy: mean_curve(by_fact, seed) for strategy, by_fact in values.items()}
    count = next(iter(values.values())).shape[1]
    data = []
    for strategy, curve in curves.items():
        former = former_shares(measured[strategy], common).tolist()
        for n, share in enumerate(former, start=1):
            data.append(StrategyMean(strategy, n, mean_at(curve, n), json_number(share)))
    notes = [f"{len(common):,} facts were asked with every strategy; lower is harder."]
    pairs = list(combinations(values, 2))
    for first, second in pairs:
        curve = mean_curve(values[second] - values[first], seed, least=-1)
        means = [f"{signed(mean_at(curve, n))} at n = {n}" for n in dict.fromkeys((1, min(10, count), count))]
        notes.append(f"{second} less {first}, fact by fact: {', '.join(means)}.")
    for first, second in pairs:
        if np.array_equal(values[first], values[second]):
            notes.append(f"{first} and {second} are the same for every fact and n: their curves coincide.")
    for strategy, by_fact in measured.items():
        notes += _strategy_notes(strategy, by_fact, common)
    return StrategiesStudy(
        verdict=_hardest(values, curves, seed),
        title=f"Mean Min@n by strategy · {model} · {len(common):,} facts",
        facts=len(common),
        data=data,
        notes=notes + _unaskable(measured),
        config=config,
    )


def _hardest(values: Mapping[str, Floats], curves: Mapping[str, Curve], seed: int) -> str:
    """Return a sentence on the hardest strategy at the greatest n, and the significance of that."""
    count = next(iter(values.values())).shape[1]
    hardest, *others = sorted(curves, key=lambda strategy: float(curves[strategy].mean[-1]))
    means = {strategy: str(mean_at(curve, count)) for strategy, curve in curves.items()}
    if not others:
        return f"{hardest}: mean Min@{count} {means[hardest]}."
    unsure = []
    for other in others:
        difference = mean_at(mean_curve(values[other] - values[hardest], seed, least=-1), count)
        if difference.low is None or difference.low <= 0:
            unsure.append(other)
    sure = f"not surely harder than {', '.join(unsure)}" if unsure else "surely harder than all others"
    rest = ", ".join(f"{other} {means[other]}" for other in others)
    return f"The hardest distractors are those of {hardest}: mean Min@{count} {means[hardest]}, against {rest}; {sure}."


def _strategy_notes(strategy: str, measured: Measured, common: Sequence[str]) -> list[str]:
    notes = []
    if measured.former.any():
        former = set(compress(measured.facts, measured.former > 0)).intersection(common)
        notes.append(f"{len(former):,} of these facts have a former object among their distractors.")
    elif strategy == "temporal-semantic":
        notes.append("none of these facts has a former object in the graph.")
    if measured.certified is not None:
        notes.append(f"{measured.certified:.1%} of the distractors are proved to be in their place.")
    return [f"{strategy}: {note}" for note in notes + shortage_notes(measured)]


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


@dataclass(frozen=True, slots=True)
class DistractorCount(ResultRow):
    """The measures with n distractors.

    Attributes:
        min_at_n, avg_at_n: means over facts.
        tau_min_at_n, tau_avg_at_n: Kendall's τ, over facts, with the measure at the greatest n; NaN if undefined.
    """

    n: Annotated[int, Heading("n")]
    chance: Annotated[float, Heading("chance")]
    min_at_n: Annotated[Mean, Heading("Min@n")]
    tau_min_at_n: Annotated[float, Heading("τ Min@n", json_number)]
    avg_at_n: Annotated[Mean, Heading("Avg@n")]
    tau_avg_at_n: Annotated[float, Heading("τ Avg@n", json_number)]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class DistractorCountStudy(Study):
    """The measures by the number of distractors."""

    data: Annotated[Sequence[DistractorCount], Listing(main=True)]

    name: ClassVar[str] = "distractor-count"

    @property
    def table(self) -> Annotated[Sequence[DistractorCount], Listing("", detail=True)]:
        """The measures at some n."""
        shown = shown_numbers(len(self.data))
        return [row for row in self.data if row.n in shown]

    @property
    def plots(self) -> Sequence[Plot]:
        """The means, and τ with the greatest n."""
        numbers = [row.n for row in self.data]
        lines, taus = [], []
        for name, key in _MEASURES.items():
            lines.append(mean_line(f"mean {name}", numbers, [getattr(row, key) for row in self.data]))
            taus.append(Line(f"τ of {name} with the last", numbers, [getattr(row, f"tau_{key}") for row in self.data]))
        return [Plot("By the number of distractors", "n, distractors", "mean, or τ", lines + taus)]


_MEASURES = {"Min@n": "min_at_n", "Avg@n": "avg_at_n"}


def counts_study(measured: Measured, model: str, config: Mapping[str, Any], seed: int = 0) -> DistractorCountStudy:
    """Compute the measure by the number of distractors, and the n from which its order of the facts is stable.

    Stability is Kendall's τ, over facts, between the measure at n and at the greatest n: near 1, more distractors do
    not change the order.
    """
    if not measured.facts:
        raise KgprobeError("No fact could be asked; `kgprobe probe distractors` prints the reasons.")
    chance = measured.chance.mean(axis=0).tolist()
    count = len(chance)
    curves: list[Curve] = []
    stability: list[Floats] = []
    verdicts = []
    for name, key in _MEASURES.items():
        values: Floats = getattr(measured, key)
        curves.append(mean_curve(values, seed))
        taus = np.full(count, np.nan)
        if len(values) > 1:
            taus = np.array([stats.kendalltau(column, values[:, -1]).statistic for column in values.T])
        stability.append(taus)
        enough = int(np.flatnonzero(~(taus >= SETTLED)).max(initial=-1)) + 2
        if enough >= len(taus):
            verdicts.append(f"{name} has not settled its order of the facts before the last n, {len(taus)}")
        else:
            verdicts.append(f"{name} has settled its order of the facts from n = {enough} on")
    data = []
    for n in range(1, count + 1):
        measures: list[Any] = []
        for curve, taus in zip(curves, stability, strict=True):
            measures += [mean_at(curve, n), float(taus[n - 1])]
        data.append(DistractorCount(n, chance[n - 1], *measures))
    notes = [f"τ: Kendall's, over facts, between the measure at n and at n = {count}."]
    fewer = int((measured.present < count).sum())
    if fewer:
        notes.append(f"{fewer:,} facts have fewer than {count} distractors; they count with those they have.")
    return DistractorCountStudy(
        verdict=f"Enough distractors: {'; '.join(verdicts)} (τ ≥ {SETTLED}).",
        title=f"Min@n and Avg@n by the number of distractors · {model} · {len(measured.facts):,} facts",
        data=data,
        notes=notes + shortage_notes(measured),
        config=config,
    )


@dataclass(frozen=True, slots=True)
class SentenceCount(ResultRow):
    """The measures over m random sentences of each fact that has as many, in means over draws.

    Attributes:
        tau_min, tau_avg: Kendall's τ, over facts, with the measure over all sentences; NaN if undefined.
        spread_min, spread_avg: standard deviation of a fact's measure between draws.
    """

    sentences: Annotated[int, Heading("sentences")]
    facts: Annotated[int, Heading("facts")]
    tau_min: Annotated[float, Heading("τ Min", json_number)]
    mean_min: Annotated[float, Heading("mean Min")]
    spread_min: Annotated[float, Heading("spread Min")]
    tau_avg: Annotated[float, Heading("τ Avg", json_number)]
    mean_avg: Annotated[float, Heading("mean Avg")]
    spread_avg: Annotated[float, Heading("spread Avg")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SentencesStudy(Study):
    """The measures by the number of cloze sentences."""

    data: Annotated[Sequence[SentenceCount], Listing("", detail=True)]

    name: ClassVar[str] = "sentences"

    @property
    def plots(self) -> Sequence[Plot]:
        """The agreement with all sentences."""
        numbers = [row.sentences for row in self.data]
        lines = [Line("τ Min", numbers, [row.tau_min for row in self.data])]
        lines.append(Line("τ Avg", numbers, [row.tau_avg for row in self.data]))
        return [Plot("Agreement with all sentences", "m, cloze sentences", "Kendall's τ with all sentences", lines)]


def sentences_study(
    outcomes: Iterable[Outcome], count: int, model: str, config: Mapping[str, Any], seed: int = 0
) -> SentencesStudy:
    """Compute the measure by the number of cloze sentences.

    For each number m, subsets of m sentences are drawn for every fact. The mean over the subset is compared with the
    mean over all of the fact's sentences.

    Args:
        outcomes: of a measurement with all sentences.
    """
    by_sentence = []
    for _, evidence in answered(outcomes, DistractorEvidence):
        # Shape (sentences, 2).
        by_sentence.append(np.stack([evidence.min_at_n(count)[:, -1], evidence.avg_at_n(count)[:, -1]], axis=1))
    several = [values for values in by_sentence if len(values) > 1]
    if not several:
        raise KgprobeError("No fact was asked in two sentences or more, so there is nothing to choose from.")
    numbers = list(range(1, max(map(len, several)) + 1))
    data = []
    for m in numbers:
        # Only facts with at least m sentences, so that subsets of the same facts are compared with all.
        enough = [values for values in several if len(values) >= m]
        data.append(_sentences_row(m, enough, np.random.default_rng([seed, m])))
    needs = []
    for name, key in (("Min", "tau_min"), ("Avg", "tau_avg")):
        settled = np.flatnonzero(np.array([getattr(row, key) for row in data]) >= SETTLED)
        needs.append(f"{name} needs {settled[0] + 1}" if len(settled) else f"{name} never reaches it")
    return SentencesStudy(
        verdict=f"Sentences needed for the order of the facts with all, at most {numbers[-1]} (τ ≥ {SETTLED}):"
        f" {', '.join(needs)}.",
        title=f"Min@{count} and Avg@{count} by the number of cloze sentences · {model} · {len(several):,} facts",
        data=data,
        notes=[
            f"Min and Avg are Min@{count} and Avg@{count}. τ: Kendall's, over facts, between the measure on m "
            f"random sentences and on all; the mean of {_DRAWS} draws. Spread: standard deviation of a fact's measure "
            "between draws.",
            f"{len(by_sentence) - len(several):,} facts have only one sentence and are left out.",
        ],
        config=config,
    )


def _sentences_row(m: int, facts: Sequence[Floats], generator: np.random.Generator) -> SentenceCount:
    # Shape (draws, facts, 2).
    drawn = np.empty((_DRAWS, len(facts), 2))
    for draw in drawn:
        for number, values in enumerate(facts):
            draw[number] = values[generator.permutation(len(values))[:m]].mean(axis=0)
    whole = np.array([values.mean(axis=0) for values in facts])
    figures: list[Any] = []
    for place in range(2):
        taus = [stats.kendalltau(draw[:, place], whole[:, place]).statistic for draw in drawn]
        figures += [float(np.mean(taus)), float(drawn[:, :, place].mean())]
        figures.append(float(drawn[:, :, place].std(axis=0).mean()))
    return SentenceCount(m, len(facts), *figures)


@dataclass(frozen=True, slots=True)
class ModelSize(ResultRow):
    """A model with its mean Avg@n.

    Attributes:
        line: height of the line through all models; None without a line.
    """

    model: Annotated[str, Heading("model")]
    parameters: Annotated[int, Heading("parameters")]
    avg_at_n: Annotated[Mean, Heading("Avg@{distractors}")]
    line: Annotated[float | None, Heading("line")] = None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ScalingStudy(Study):
    """Avg@n of models, by increasing size.

    Attributes:
        distractors: n.
    """

    distractors: int
    data: Annotated[Sequence[ModelSize], Listing("", detail=True)]

    name: ClassVar[str] = "scaling"

    @property
    def plots(self) -> Sequence[Plot]:
        """The models by their size, with the line."""
        sizes = [float(row.parameters) for row in self.data]
        labels = [row.model for row in self.data]
        lines = [mean_line("models", sizes, [row.avg_at_n for row in self.data], points=True, labels=labels)]
        heights = [row.line for row in (self.data[0], self.data[-1]) if row.line is not None]
        if heights:
            lines.append(Line("line", [sizes[0], sizes[-1]], heights))
        return [Plot("By model size", "parameters", f"mean Avg@{self.distractors}", lines, log_x=True)]


def sizes_study(
    measured: Mapping[str, Measured],
    parameters: Mapping[str, int],
    count: int,
    config: Mapping[str, Any],
    seed: int = 0,
) -> ScalingStudy:
    """Compare Avg@n of models by their size, over the facts that all of them were asked.

    The line is least squares on log10(parameters). The number of parameters at which it reaches a level is an
    extrapolation, and is reported as one.

    Args:
        measured: the measure of each model; at least two models, of different sizes.
    """
    if len(set(parameters.values())) < 2:
        raise KgprobeError("`models` are all of one size: to compare sizes, two are needed.")
    common = common_facts(list(measured.values()))
    ordered = sorted(measured, key=lambda model: parameters[model])
    sizes = [float(parameters[model]) for model in ordered]
    curves = [mean_curve(values_of(measured[model], common, "avg"), seed) for model in ordered]
    means = [mean_at(curve, count) for curve in curves]
    data = [ModelSize(model, parameters[model], mean) for model, mean in zip(ordered, means, strict=True)]
    notes = ["A line is left out: it fits any two points perfectly; at least three sizes show how well it fits."]
    if len(set(sizes)) >= SIZES_OF_A_LINE:
        fit = stats.linregress(np.log10(sizes), [mean.value for mean in means])
        heights = (fit.intercept + fit.slope * np.log10(sizes)).tolist()
        data = [replace(row, line=height) for row, height in zip(data, heights, strict=True)]
        extrapolation = f"The line does not rise, so it never reaches Avg@{count} = {LEVEL}."
        if fit.slope > 0:
            exponent = (LEVEL - fit.intercept) / fit.slope
            extrapolation = (
                f"The line would reach Avg@{count} = {LEVEL} at 10^{exponent:.1f} parameters (extrapolated)."
            )
        notes = [
            f"Avg@{count} = {fit.intercept:.3f} + {fit.slope:.3f} · log10(parameters), R² = {fit.rvalue**2:.3f}.",
            extrapolation,
        ]
    return ScalingStudy(
        verdict=_largest(ordered, means, count),
        title=f"Avg@{count} by model size · {len(ordered)} models · {len(common):,} facts",
        distractors=count,
        data=data,
        notes=notes,
        config=config,
    )


def _largest(models: Sequence[str], means: Sequence[Mean], count: int) -> str:
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
        f"The largest model, {models[-1]}, knows {more} than the smallest one, {models[0]}: mean "
        f"Avg@{count} {large} against {small}{surely}."
    )
