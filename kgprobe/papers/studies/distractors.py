"""Studies of the distractor measure: strategies, number of distractors, number of cloze sentences, model size.

Section 4 and appendices C and E of the distractor paper; docs/methods/studies.md. Bands are bootstraps over facts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Table
from kgprobe.papers.studies.study import Study, json_number, signed
from kgprobe.probes.distractors.curves import Curve, curve_rows, mean_at, mean_curve, shown_numbers
from kgprobe.probes.distractors.evidence import (
    DistractorEvidence,
    Measured,
    common_facts,
    former_shares,
    unlike_notes,
    values_of,
)
from kgprobe.probes.outcome import Outcome, answered
from kgprobe.results.rendering.plots import Line, Plot, line_of

Floats = NDArray[np.float64]

# τ with the greatest n, or with all sentences, above which the order of the facts counts as settled.
SETTLED = 0.9

# Number of subsets of sentences of each size per fact.
_DRAWS = 50

# The level of the extrapolation over model sizes.
LEVEL = 0.9

# Minimum number of sizes for a line; it fits fewer perfectly.
SIZES_OF_A_LINE = 3


def strategies_study(measured: Mapping[str, Measured], model: str, config: Mapping[str, Any], seed: int = 0) -> Study:
    """Compare distractor strategies: mean Min@n over the same facts, one curve per strategy. Lower means harder.

    Only facts that were asked with every strategy count, so that curves are comparable; the difference of two
    strategies, fact by fact, has its own band.

    Args:
        measured: measures by strategy, over the same facts, with the same greatest n.
    """
    common = common_facts(list(measured.values()))
    values = {strategy: values_of(by_fact, common, "min") for strategy, by_fact in measured.items()}
    curves = {strategy: mean_curve(by_fact, seed) for strategy, by_fact in values.items()}
    former = {strategy: former_shares(by_fact, common) for strategy, by_fact in measured.items()}
    data, lines = [], []
    count = next(iter(values.values())).shape[1]
    table: list[dict[str, Any]] = [{"n": n} for n in shown_numbers(count)]
    for strategy, curve in curves.items():
        lines.append(line_of(strategy, curve))
        data += _strategy_rows(strategy, curve, former[strategy])
        for row in table:
            row[strategy] = float(curve.mean[row["n"] - 1])
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
    return Study(
        name="strategies",
        verdict=_hardest(values, curves, seed),
        title=f"Mean Min@n by strategy · {model} · {len(common):,} facts",
        data=data,
        table=table,
        plots=[Plot("By strategy", "n, distractors", "mean Min@n", lines), *_former_plots(former)],
        notes=notes + _unaskable(measured),
        config=config,
        further=_former_tables(former),
    )


def _strategy_rows(strategy: str, curve: Curve, former: Floats) -> list[dict[str, Any]]:
    """Return a strategy's curve as rows, with the share of former objects at each position."""
    shares = map(json_number, former.tolist())
    return [
        {"strategy": strategy, **row, "former": share} for row, share in zip(curve_rows(curve), shares, strict=True)
    ]


def _former_plots(former: Mapping[str, Floats]) -> list[Plot]:
    """Return the plot of former objects by position (Figure 7 of the distractor paper); none without former objects."""
    lines = []
    for strategy, shares in former.items():
        if np.nansum(shares) > 0:
            positions = np.flatnonzero(~np.isnan(shares))
            lines.append(Line(strategy, (positions + 1).tolist(), shares[positions].tolist()))
    if not lines:
        return []
    return [Plot("Former objects by position", "position of the distractor", "share of former objects", lines)]


def _former_tables(former: Mapping[str, Floats]) -> list[Table]:
    """Return the shares of former objects at some positions; none without former objects."""
    if not any(np.nansum(shares) > 0 for shares in former.values()):
        return []
    rows: list[dict[str, Any]] = []
    for position in shown_numbers(min(map(len, former.values()))):
        row: dict[str, Any] = {"position": position}
        rows.append(row | {strategy: json_number(shares[position - 1]) for strategy, shares in former.items()})
    return [Table("former", "Share of former objects (temporal distractors) by position", rows)]


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
    return [f"{strategy}: {note}" for note in notes + unlike_notes(measured)]


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


def counts_study(measured: Measured, model: str, config: Mapping[str, Any], seed: int = 0) -> Study:
    """Compute the measure by the number of distractors, and the n from which its order of the facts is stable.

    Stability is Kendall's τ, over facts, between the measure at n and at the greatest n: near 1, more distractors do
    not change the order.
    """
    if not measured.facts:
        raise KgprobeError("No fact could be asked; `kgprobe probe distractors` prints the reasons.")
    chance = measured.chance.mean(axis=0).tolist()
    numbers = list(range(1, len(chance) + 1))
    data: list[dict[str, Any]] = [{"n": n, "chance": chance[n - 1]} for n in numbers]
    lines, tau_lines, verdicts = [], [], []
    for name, values in (("Min@n", measured.min_at_n), ("Avg@n", measured.avg_at_n)):
        curve = mean_curve(values, seed)
        taus = np.full(len(numbers), np.nan)
        if len(values) > 1:
            taus = np.array([stats.kendalltau(column, values[:, -1]).statistic for column in values.T])
        for row, at, tau in zip(data, curve_rows(curve), taus.tolist(), strict=True):
            row |= {name: at["mean"], f"{name} low": at["low"], f"{name} high": at["high"], f"τ {name}": tau}
        lines.append(line_of(f"mean {name}", curve))
        tau_lines.append(Line(f"τ of {name} with the last", numbers, taus.tolist()))
        enough = int(np.flatnonzero(~(taus >= SETTLED)).max(initial=-1)) + 2
        if enough >= len(taus):
            verdicts.append(f"{name} has not settled its order of the facts before the last n, {len(taus)}")
        else:
            verdicts.append(f"{name} has settled its order of the facts from n = {enough} on")
    shown = set(shown_numbers(len(numbers)))
    notes = [f"τ: Kendall's, over facts, between the measure at n and at n = {len(numbers)}."]
    fewer = int((measured.present < len(numbers)).sum())
    if fewer:
        notes.append(f"{fewer:,} facts have fewer than {len(numbers)} distractors; they count with those they have.")
    return Study(
        name="distractor-count",
        verdict=f"Enough distractors: {'; '.join(verdicts)} (τ ≥ {SETTLED}).",
        title=f"Min@n and Avg@n by the number of distractors · {model} · {len(measured.facts):,} facts",
        data=data,
        table=[row for row in data if row["n"] in shown],
        plots=[Plot("By the number of distractors", "n, distractors", "mean, or τ", lines + tau_lines)],
        notes=notes + unlike_notes(measured),
        config=config,
    )


def sentences_study(
    outcomes: Iterable[Outcome], count: int, model: str, config: Mapping[str, Any], seed: int = 0
) -> Study:
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
    lines, needs = [], []
    for name in ("Min", "Avg"):
        taus = [row[f"τ {name}"] for row in data]
        lines.append(Line(f"τ {name}", numbers, taus))
        settled = np.flatnonzero(np.array(taus) >= SETTLED)
        needs.append(f"{name} needs {settled[0] + 1}" if len(settled) else f"{name} never reaches it")
    return Study(
        name="sentences",
        verdict=f"Sentences needed for the order of the facts with all, at most {numbers[-1]} (τ ≥ {SETTLED}):"
        f" {', '.join(needs)}.",
        title=f"Min@{count} and Avg@{count} by the number of cloze sentences · {model} · {len(several):,} facts",
        data=data,
        table=data,
        plots=[Plot("Agreement with all sentences", "m, cloze sentences", "Kendall's τ with all sentences", lines)],
        notes=[
            f"Min and Avg are Min@{count} and Avg@{count}. τ: Kendall's, over facts, between the measure on m "
            f"random sentences and on all; the mean of {_DRAWS} draws. Spread: standard deviation of a fact's measure "
            "between draws.",
            f"{len(by_sentence) - len(several):,} facts have only one sentence and are left out.",
        ],
        config=config,
    )


def _sentences_row(m: int, facts: Sequence[Floats], generator: np.random.Generator) -> dict[str, Any]:
    # Shape (draws, facts, 2).
    drawn = np.empty((_DRAWS, len(facts), 2))
    for draw in drawn:
        for number, values in enumerate(facts):
            draw[number] = values[generator.permutation(len(values))[:m]].mean(axis=0)
    whole = np.array([values.mean(axis=0) for values in facts])
    row: dict[str, Any] = {"sentences": m, "facts": len(facts)}
    for place, name in enumerate(("Min", "Avg")):
        taus = [stats.kendalltau(draw[:, place], whole[:, place]).statistic for draw in drawn]
        row[f"τ {name}"] = float(np.mean(taus))
        row[f"mean {name}"] = float(drawn[:, :, place].mean())
        row[f"spread {name}"] = float(drawn[:, :, place].std(axis=0).mean())
    return row


def sizes_study(
    measured: Mapping[str, Measured],
    parameters: Mapping[str, int],
    count: int,
    config: Mapping[str, Any],
    seed: int = 0,
) -> Study:
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
    values = [mean.value for mean in means]
    data: list[dict[str, Any]] = []
    for model, mean in zip(ordered, means, strict=True):
        row = {"model": model, "parameters": parameters[model], f"Avg@{count}": mean.value}
        data.append(row | {"low": mean.low, "high": mean.high, "line": None})
    # A single fact has no interval.
    ends = np.array([(mean.low, mean.high) for mean in means], np.float64).T.tolist()
    low, high = ends if len(common) > 1 else ([], [])
    lines = [Line("models", sizes, values, low, high, points=True, labels=ordered)]
    notes = ["A line is left out: it fits any two points perfectly; at least three sizes show how well it fits."]
    if len(set(sizes)) >= SIZES_OF_A_LINE:
        fit = stats.linregress(np.log10(sizes), values)
        heights = (fit.intercept + fit.slope * np.log10(sizes)).tolist()
        for row, height in zip(data, heights, strict=True):
            row["line"] = height
        lines.append(Line("line", [sizes[0], sizes[-1]], [heights[0], heights[-1]]))
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
    return Study(
        name="scaling",
        verdict=_largest(ordered, means, count),
        title=f"Avg@{count} by model size · {len(ordered)} models · {len(common):,} facts",
        data=data,
        table=data,
        plots=[Plot("By model size", "parameters", f"mean Avg@{count}", lines, log_x=True)],
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
