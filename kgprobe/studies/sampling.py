"""How strategies of sampling compare at equal numbers of requests: the error of E[theta], and the hardest facts.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. The paper finds, on the whole
graph, Thompson sampling below uniform (its Monte Carlo) and sequential (its iteration), uniform sampling of use at the
very beginning only and propagation of none, and the hardest facts found earlier with propagation. It takes the error
over *examined* facts, which can be all that were asked so far or those asked lately: the study has both. What holds
depends on that and on the reference; the notes say so in words, with what the strategies spent their requests on.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.beliefs.reference import Reference
from kgprobe.beliefs.simulation import LATELY, LEARNED_STRATEGIES, PAPER_STRATEGIES, ReplayMetrics
from kgprobe.report.plots import Line, Plot
from kgprobe.studies.run_reference import AnsweredRun
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]

_CONFIDENCE = 0.95

# What the table tells of a standing; the rest is in the data.
_SHOWN = {
    "examined": "examined",
    "mse": "MSE",
    "mse_lately": "MSE, lately",
    "mse_own": "MSE, own answers",
    "hardest_examined": "hardest examined",
    "hardest_mse": "MSE, hardest",
    "hardest_found": "hardest found",
    "mse_all": "MSE, all facts",
    "coverage": "covered",
    "mean_error": "error of the mean",
}

# Below so many answers a fact, the share of wrong ones is no good measure of theta.
_ENOUGH_ANSWERS = 10

# What *examined* may mean, by the field of a standing.
_READINGS = {
    "mse": "over all facts asked so far",
    "mse_lately": f"over those asked in the last {LATELY} rounds",
}

# An order on the whole graph, lowest error first: that of the paper's words, as far as they go.
_ORDERS = {
    "with propagation": ("thompson + propagation", "uniform + propagation", "sequential"),
    "without propagation": ("thompson", "uniform", "sequential"),
}
_PROPAGATED = ("thompson + propagation", "uniform + propagation")


@dataclass(frozen=True, slots=True)
class Band:
    """Means over repetitions with the ends of their t intervals, each of shape (checkpoints,).

    NaN where no repetition has a value; the ends also where only one has.
    """

    mean: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats) -> "Band":
        """Over the rows that have a value; shape (repetitions, checkpoints)."""
        counts = (~np.isnan(values)).sum(axis=0)
        means = np.nansum(values, axis=0) / np.where(counts, counts, np.nan)
        squares = np.nansum((values - means) ** 2, axis=0)
        degrees = np.where(counts > 1, counts - 1, np.nan)
        reach = stats.t.ppf((1 + _CONFIDENCE) / 2, degrees) * np.sqrt(squares / degrees / counts)
        return cls(means, means - reach, means + reach)


@dataclass(frozen=True, slots=True)
class Replays:
    """Every strategy's replays.

    Attributes:
        requests: at the checkpoints, shape (checkpoints,).
        shown: places of the checkpoints that table and notes tell of, ascending.
        values: by strategy, what each field of a standing was, shape (repetitions, checkpoints).
    """

    requests: NDArray[np.int64]
    shown: Sequence[int]
    values: Mapping[str, Mapping[str, Floats]]

    @classmethod
    def of(cls, standings: Mapping[str, Sequence[Sequence[ReplayMetrics]]], shown: Sequence[int]) -> "Replays":
        """From where each strategy stood, for each repetition, at the same checkpoints."""
        names = [field.name for field in dataclasses.fields(ReplayMetrics)]
        values = {
            strategy: {
                name: np.array([[getattr(standing, name) for standing in run] for run in runs], dtype=np.float64)
                for name in names
            }
            for strategy, runs in standings.items()
        }
        requests = next(iter(values.values()))["requests"][0].astype(np.int64)
        return cls(requests, shown, values)

    def band(self, strategy: str, name: str) -> Band:
        """A field of one strategy's standings."""
        return Band.of(self.values[strategy][name])

    def difference(self, first: str, second: str, name: str) -> Band:
        """A field of one strategy less that of another, repetition by repetition."""
        return Band.of(self.values[first][name] - self.values[second][name])

    def told(self, band: Band) -> str:
        """A difference at the checkpoints that are shown, as a phrase."""
        return ", ".join(
            f"{band.mean[place]:+.4f} [{band.low[place]:+.4f}, {band.high[place]:+.4f}] at {self.requests[place]:,}"
            for place in self.shown
            if not np.isnan(band.low[place])
        )

    def spans(self, held: NDArray[np.bool_]) -> str:
        """At which requests something holds, as a phrase."""
        if held.all():
            return "throughout"
        if not held.any():
            return "nowhere"
        edges = np.flatnonzero(np.diff(held.astype(np.int8), prepend=0, append=0))
        spans = [
            f"{self.requests[start]:,}–{self.requests[end - 1]:,}" if end - start > 1 else f"{self.requests[start]:,}"
            for start, end in zip(edges[::2], edges[1::2], strict=True)
        ]
        return f"at {', '.join(spans)} requests"


def sampling_study(
    replays: Replays,
    references: Sequence[Reference],
    origin: str,
    config: Mapping[str, Any],
    *,
    hardest: int = 100,
    about: Sequence[str] = (),
) -> Study:
    """Compare the strategies.

    Args:
        replays: at least two repetitions.
        references: what each repetition was replayed against.
        origin: where they come from.
        config: what the numbers depend on.
        hardest: how many facts were looked at as the hardest.
        about: sentences about the origin.
    """
    facts = len(references[0].theta)
    hardest = min(hardest, facts)
    found = f"How many of the {hardest} hardest facts are found"
    return Study(
        name="sampling",
        title=f"Sampling strategies at equal requests · {origin} · {facts:,} facts · {len(references)} repetitions",
        verdict=_verdict(replays, facts, hardest),
        data=_data(replays),
        table=_table(replays),
        plots=[
            _plot(replays, "mse", "The whole graph: all facts asked so far", "MSE of E[θ]"),
            _plot(replays, "mse_lately", f"The whole graph: facts asked in the last {LATELY} rounds", "MSE of E[θ]"),
            _plot(replays, "mse_all", "The whole graph: all facts, asked or not", "MSE of E[θ]"),
            _plot(replays, "coverage", "Facts whose θ is in the 90% interval", "share of all facts"),
            _plot(replays, "mean_error", "Error of the mean θ of all facts", "mean E[θ] − mean θ"),
            _plot(replays, "hardest_mse", f"The {hardest} hardest facts", "MSE of E[θ] over those examined"),
            _plot(replays, "hardest_found", found, "share that is among the highest E[θ]"),
        ],
        notes=[
            *about,
            _described(references),
            "MSE: of E[θ] = α/(α + β) over the facts with an answer of their own; lately: over those asked in the last "
            f"{LATELY} rounds; own answers: without what was propagated. Hardest: the {hardest} facts with the highest "
            f"θ, equals by position; found: among the {hardest} with the highest E[θ]. Over all facts, asked or not: "
            "their MSE; covered, the share whose θ is in the central 90% of its belief; and how far the mean of E[θ] "
            "is from that of θ. Brackets and bands: 95% t intervals over repetitions. In each, the n-th answer about a "
            "fact is the same for all strategies, and differences are taken repetition by repetition.",
            _learned(replays),
            *(_order(replays, name, order, field) for field in _READINGS for name, order in _ORDERS.items()),
            *_earlier(replays, hardest),
            *_why(replays),
        ],
        config=config,
    )


def _verdict(replays: Replays, facts: int, hardest: int) -> str:
    """Who is best at the end of the replays, by each reading, and in finding the hardest facts."""
    last = replays.shown[-1]

    def best(field: str, sign: int) -> tuple[str, float]:
        means = {strategy: float(replays.band(strategy, field).mean[last]) for strategy in replays.values}
        return min(means.items(), key=lambda one: sign * one[1])

    read = {**_READINGS, "mse_all": "over all facts, asked or not"}
    readings = [(best(field, 1), what) for field, what in read.items()]
    told = ", ".join(f"{what} with {strategy} ({error:.4f})" for (strategy, error), what in readings)
    finder, share = best("hardest_found", -1)
    return (
        f"After {replays.requests[last]:,} requests, {replays.requests[last] / facts:.2g} a fact, the error of E[θ] is "
        f"least {told}; most of the {hardest} hardest facts are found by {finder} ({share:.0%})."
    )


def about_run(answered: AnsweredRun) -> list[str]:
    """What is to be said of a reference that a run gave."""
    run = answered.run
    notes = [
        f"θ is the share of a fact's own answers in run {run['id']} that were wrong: {answered.mean:.1f} answers a "
        f"fact, {answered.least} at least; {answered.unaskable:,} facts that it could not ask are left out."
    ]
    if answered.mean < _ENOUGH_ANSWERS:
        notes.append(
            "So few answers make θ coarse, and facts look more surely known or unknown than they are: the paper has 20."
        )
    if run["sampling"] != "sequential":
        notes.append(
            "That run did not go through all facts alike (`sampling` sequential does): facts that it asked more "
            "often are known better, and those that it did not ask are missing."
        )
    return notes


def _data(replays: Replays) -> list[dict[str, Any]]:
    rows = []
    for strategy, values in replays.values.items():
        bands = {name: replays.band(strategy, name) for name in values if name != "requests"}
        for place, requests in enumerate(replays.requests.tolist()):
            row: dict[str, Any] = {"strategy": strategy, "requests": requests}
            for name, band in bands.items():
                row |= {
                    name: _number(band.mean[place]),
                    f"{name}_low": _number(band.low[place]),
                    f"{name}_high": _number(band.high[place]),
                }
            rows.append(row)
    return rows


def _table(replays: Replays) -> list[dict[str, Any]]:
    means = {(strategy, name): replays.band(strategy, name).mean for strategy in replays.values for name in _SHOWN}
    return [
        {"requests": int(replays.requests[place]), "strategy": strategy}
        | {title: _number(means[strategy, name][place]) for name, title in _SHOWN.items()}
        for place in replays.shown
        for strategy in replays.values
    ]


def _number(value: float) -> float | None:
    # JSON has no NaN.
    return None if np.isnan(value) else float(value)


def _plot(replays: Replays, name: str, title: str, y_title: str) -> Plot:
    lines = []
    for strategy in replays.values:
        band = replays.band(strategy, name)
        known = ~np.isnan(band.low)
        ends = (band.mean, band.low, band.high)
        lines.append(Line(strategy, replays.requests[known].tolist(), *(values[known].tolist() for values in ends)))
    return Plot(title, "requests", y_title, lines, log_x=True, y_range=None)


def _described(references: Sequence[Reference]) -> str:
    """What a reader has to know of the references to read the order; means over different ones."""
    different = list({id(reference): reference for reference in references}.values())
    theta = np.array([reference.theta for reference in different])
    entities = np.mean([len(np.union1d(one.subjects, one.objects)) for one in different])
    likeness = np.mean([one.likeness() for one in different])
    connected = np.mean([one.connected() for one in different])
    which = (
        "The reference has" if len(different) == 1 else "Each repetition has a reference of its own, on average with"
    )
    return (
        f"{which} {theta.shape[1]:,} facts between {entities:,.0f} entities, {connected:.0%} of the facts in one "
        f"connected part; mean θ {theta.mean():.2f}; θ is one half or more for {(theta >= 0.5).mean():.0%} of the "
        f"facts, below 0.1 or above 0.9 for {((theta < 0.1) | (theta > 0.9)).mean():.0%}; the correlation between θ of "
        f"a fact and the mean of those around it is {likeness:.2f}."
    )


def _order(replays: Replays, name: str, order: Sequence[str], field: str) -> str:
    """Whether an order is there by one reading of the error, with the differences of neighbours in it."""
    differences = {pair: replays.difference(*pair, field) for pair in pairwise(order)}
    holds = np.logical_and.reduce([difference.high < 0 for difference in differences.values()])
    told = " ".join(
        f"{first[0].upper()}{first[1:]} is surely below {second} {replays.spans(its.high < 0)}, surely above it "
        f"{replays.spans(its.low > 0)}; the difference is {replays.told(its)}."
        for (first, second), its in differences.items()
    )
    return (
        f"Whole graph, {_READINGS[field]}, {name}: Thompson below uniform below sequential is there "
        f"{replays.spans(holds)} (each number of requests judged by itself). {told}"
    )


def _learned(replays: Replays) -> str:
    """Where the learner errs less over all facts than every way of the paper, and what its intervals hold."""
    paper = [strategy.name for strategy in PAPER_STRATEGIES]
    least = np.min([replays.band(name, "mse_all").mean for name in paper], axis=0)
    most = np.max([replays.band(name, "hardest_found").mean for name in paper], axis=0)
    last = replays.shown[-1]
    told = []
    for strategy in LEARNED_STRATEGIES:
        its = {name: replays.band(strategy.name, name).mean for name in ("mse_all", "hardest_found", "coverage")}
        told.append(
            f"{strategy.name} errs less over all facts than the best of the paper's five "
            f"{replays.spans(its['mse_all'] < least)} and finds as many of the hardest as the best of them "
            f"{replays.spans(its['hardest_found'] >= most)}; at the end its 90% intervals hold θ of "
            f"{its['coverage'][last]:.0%} of all facts"
        )
    others = ", ".join(f"{replays.band(name, 'coverage').mean[last]:.0%} by {name}" for name in paper)
    return f"The learner: {'; '.join(told)} (those of the paper's ways: {others}). Means over the repetitions."


def _earlier(replays: Replays, hardest: int) -> list[str]:
    """Whether propagation finds the hardest facts earlier."""
    halves = {
        strategy: np.array([_reached(row, replays.requests) for row in values["hardest_examined"]])
        for strategy, values in replays.values.items()
    }
    told = []
    for strategy, its in halves.items():
        missing = int(np.isnan(its).sum())
        after = f"{np.nanmean(its):,.0f} requests" if missing < len(its) else "no number of requests"
        told.append(f"{after} by {strategy}{f' (never in {missing} repetitions)' if missing else ''}")
    notes = [f"Half of the {hardest} hardest facts are examined after {', '.join(told)}."]
    first, second = "thompson + propagation", "thompson"
    later = Band.of((halves[first] - halves[second])[:, None])
    found = replays.difference(first, second, "hardest_found")
    verdict = "neither surely earlier nor surely later"
    if later.high[0] < 0 or later.low[0] > 0:
        verdict = "earlier" if later.high[0] < 0 else "later"
    if np.isnan(later.mean[0]):
        half = "there is nothing to compare for half of them being examined"
    else:
        reach = "" if np.isnan(later.low[0]) else f" [{later.low[0]:+,.0f}, {later.high[0]:+,.0f}]"
        half = f"half of them are examined {verdict}, {later.mean[0]:+,.0f}{reach} requests"
    notes.append(
        f"The hardest facts, {first} against {second}: {half}; more of them are found "
        f"{replays.spans(found.low > 0)}, fewer {replays.spans(found.high < 0)}; the difference of the shares is "
        f"{replays.told(found)}."
    )
    return notes


def _reached(shares: Floats, requests: NDArray[np.int64]) -> float:
    """After how many requests a share reaches one half, between checkpoints in proportion; NaN where it never does."""
    first = int(np.argmax(shares >= 0.5))
    if shares[first] < 0.5:
        return float("nan")
    if first == 0:
        return float(requests[0])
    part = (0.5 - shares[first - 1]) / (shares[first] - shares[first - 1])
    return float(requests[first - 1] + part * (requests[first] - requests[first - 1]))


def _why(replays: Replays) -> list[str]:
    """What the strategies spent their requests on, and what that does to the error."""
    last = replays.shown[-1]

    def mean(strategy: str, name: str) -> float:
        return float(replays.band(strategy, name).mean[last])

    spent = [
        f"{strategy} has asked a fact of θ ≥ ½ {mean(strategy, 'answers_hard'):.1f} times and one of θ < ½ "
        f"{mean(strategy, 'answers_easy'):.1f} times, for an MSE of {mean(strategy, 'mse_hard'):.4f} and "
        f"{mean(strategy, 'mse_easy'):.4f}"
        for strategy in ("thompson + propagation", "thompson", "uniform")
    ]
    learned = [
        f"{mean(strategy, 'mse'):.4f} with what was propagated, {mean(strategy, 'mse_own'):.4f} without, for {strategy}"
        for strategy in _PROPAGATED
    ]
    return [
        "Why, the requests: the MSE counts all facts asked so far alike, and n own answers leave a fact the error "
        "((1 − 2θ)² + n·θ(1 − θ)) / (n + 2)², so that equal numbers for all are near the best. Thompson sampling gives "
        f"them to the hard facts. After {replays.requests[last]:,} requests {'; '.join(spent)}.",
        "Why, uniform and sequential: as long as some facts are not examined, uniform sampling has asked the fewer "
        "that are more often each, and only these count; from about two requests a fact on, its unequal numbers cost "
        "more.",
        "Why, propagation: it draws E[θ] towards θ of the facts around. That helps as long as a fact has few answers "
        f"of its own, and stays when it has many. After {replays.requests[last]:,} requests the MSE over the same "
        f"examined facts is {'; '.join(learned)}.",
    ]
