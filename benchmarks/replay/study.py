"""Sampling strategies at equal numbers of requests: the error of E[theta], and the hardest facts.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. On the whole graph, the paper
finds the lowest error with Thompson sampling, then uniform (its Monte Carlo), then sequential (its iteration). Uniform
sampling is useful only at the very beginning, and propagation is not. The hardest facts are found earlier with
propagation. The error is over *examined* facts: all that were asked so far, or those asked lately. The study has both.
Results depend on that and on the reference; the notes report them, with the numbers of requests by difficulty.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.replay.metrics import LATELY, ReplayMetrics
from benchmarks.replay.synthetic import connected, likeness
from kgprobe.base.tables import INTERNAL
from kgprobe.papers.studies.study import Study, json_number
from kgprobe.results.rendering.plots import Line, Plot
from kgprobe.results.result import Listing
from kgprobe.running.replays import LEARNED_STRATEGIES, PAPER_STRATEGIES, Reference

Floats = NDArray[np.float64]

_CONFIDENCE = 0.95

# Metrics in the table; the others are in the data.
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

# Readings of *examined*, by the metric.
_READINGS = {
    "mse": "over all facts asked so far",
    "mse_lately": f"over those asked in the last {LATELY} rounds",
}

# The orders on the whole graph that the paper reports, lowest error first.
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
        """Return means over the rows that have a value; shape (repetitions, checkpoints)."""
        counts = (~np.isnan(values)).sum(axis=0)
        means = np.nansum(values, axis=0) / np.where(counts, counts, np.nan)
        squares = np.nansum((values - means) ** 2, axis=0)
        degrees = np.where(counts > 1, counts - 1, np.nan)
        reach = stats.t.ppf((1 + _CONFIDENCE) / 2, degrees) * np.sqrt(squares / degrees / counts)
        return cls(means, means - reach, means + reach)


@dataclass(frozen=True, slots=True)
class Replays:
    """The replays of all strategies.

    Attributes:
        requests: numbers of requests at the checkpoints, shape (checkpoints,).
        shown: positions of the checkpoints in table and notes, ascending.
        values: the metrics by strategy and name, shape (repetitions, checkpoints).
    """

    requests: NDArray[np.int64]
    shown: Sequence[int]
    values: Mapping[str, Mapping[str, Floats]]

    @classmethod
    def of(cls, metrics: Mapping[str, Sequence[Sequence[ReplayMetrics]]], shown: Sequence[int]) -> "Replays":
        """Return the replays from each strategy's metrics at the same checkpoints, for each repetition."""
        names = [field.name for field in dataclasses.fields(ReplayMetrics)]
        get_fields = attrgetter(*names)
        values = {}
        for strategy, runs in metrics.items():
            # Shape (fields, repetitions, checkpoints).
            numbers = np.array([list(map(get_fields, run)) for run in runs], dtype=np.float64).transpose(2, 0, 1)
            values[strategy] = dict(zip(names, numbers, strict=True))
        requests = next(iter(values.values()))["requests"][0].astype(np.int64)
        return cls(requests, shown, values)

    def band(self, strategy: str, name: str) -> Band:
        """Return the mean of one strategy's metric."""
        return Band.of(self.values[strategy][name])

    def difference(self, first: str, second: str, name: str) -> Band:
        """Return the difference of a metric between two strategies, first less second, repetition by repetition."""
        return Band.of(self.values[first][name] - self.values[second][name])

    def phrase(self, band: Band) -> str:
        """Return a difference at the shown checkpoints as a phrase."""
        return ", ".join(
            f"{band.mean[place]:+.4f} [{band.low[place]:+.4f}, {band.high[place]:+.4f}] at {self.requests[place]:,}"
            for place in self.shown
            if not np.isnan(band.low[place])
        )

    def spans(self, holds: NDArray[np.bool_]) -> str:
        """Return the numbers of requests at which a condition holds as a phrase."""
        if holds.all():
            return "throughout"
        if not holds.any():
            return "nowhere"
        edges = np.flatnonzero(np.diff(holds.astype(np.int8), prepend=0, append=0))
        spans = []
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            first, last = f"{self.requests[start]:,}", f"{self.requests[end - 1]:,}"
            spans.append(first if first == last else f"{first}–{last}")
        return f"at {', '.join(spans)} requests"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ReplayStudy(Study):
    """The study; the columns of the rows are metrics."""

    table: Annotated[Sequence[Mapping[str, Any]], Listing("", detail=True)]
    data: Annotated[Sequence[Mapping[str, Any]], Listing(main=True)]
    plots: Annotated[Sequence[Plot], INTERNAL] = ()

    name: ClassVar[str] = "sampling"


def replay_study(
    replays: Replays,
    references: Sequence[Reference],
    origin: str,
    config: Mapping[str, Any],
    *,
    hardest: int = 100,
    about: Sequence[str] = (),
) -> ReplayStudy:
    """Compare the strategies.

    Args:
        replays: at least two repetitions.
        references: the reference of each repetition.
        origin: name of their origin.
        hardest: number of facts that count as the hardest.
        about: notes on the origin.
    """
    facts = len(references[0].theta)
    hardest = min(hardest, facts)
    return ReplayStudy(
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
            _plot(replays, "hardest_found", f"{hardest} hardest facts found", "share that is among the highest E[θ]"),
        ],
        notes=[
            *about,
            _described(references),
            "MSE: of E[θ] = α/(α + β) over the facts with an answer of their own; lately: over those asked in the last "
            f"{LATELY} rounds; own: without propagation. Hardest: the {hardest} facts with the highest θ, equals "
            f"by position; found: among the {hardest} with the highest E[θ]. Over all facts, asked or not: their MSE; "
            "covered, the share whose θ is in the central 90% of its belief; and the error of the mean E[θ]. Brackets "
            "and bands: 95% t intervals over repetitions. In each, the n-th answer about a fact is the same for all "
            "strategies, and differences are taken repetition by repetition.",
            _learned(replays),
            *(_order(replays, name, field) for field, name in product(_READINGS, _ORDERS)),
            *_earlier(replays, hardest),
            *_why(replays),
        ],
        config=config,
    )


def _verdict(replays: Replays, facts: int, hardest: int) -> str:
    """Return a sentence on the best strategies at the end of the replays."""
    last = replays.shown[-1]

    def best(field: str, sign: int) -> tuple[str, float]:
        means = {strategy: float(replays.band(strategy, field).mean[last]) for strategy in replays.values}
        return min(means.items(), key=lambda item: sign * item[1])

    readings = []
    for field, words in {**_READINGS, "mse_all": "over all facts, asked or not"}.items():
        strategy, error = best(field, 1)
        readings.append(f"{words} with {strategy} ({error:.4f})")
    finder, share = best("hardest_found", -1)
    return (
        f"After {replays.requests[last]:,} requests, {replays.requests[last] / facts:.2g} a fact, the error of E[θ] is "
        f"least {', '.join(readings)}; most of the {hardest} hardest facts are found by {finder} ({share:.0%})."
    )


def _data(replays: Replays) -> list[dict[str, Any]]:
    rows = []
    for strategy, values in replays.values.items():
        bands = {name: replays.band(strategy, name) for name in values if name != "requests"}
        for place, requests in enumerate(replays.requests.tolist()):
            row: dict[str, Any] = {"strategy": strategy, "requests": requests}
            for name, band in bands.items():
                row[name] = json_number(band.mean[place])
                row |= {f"{name}_low": json_number(band.low[place]), f"{name}_high": json_number(band.high[place])}
            rows.append(row)
    return rows


def _table(replays: Replays) -> list[dict[str, Any]]:
    rows = []
    for place, strategy in product(replays.shown, replays.values):
        row: dict[str, Any] = {"requests": int(replays.requests[place]), "strategy": strategy}
        for name, title in _SHOWN.items():
            row[title] = json_number(replays.band(strategy, name).mean[place])
        rows.append(row)
    return rows


def _plot(replays: Replays, name: str, title: str, y_title: str) -> Plot:
    lines = []
    for strategy in replays.values:
        band = replays.band(strategy, name)
        known = ~np.isnan(band.low)
        ends = (band.mean, band.low, band.high)
        lines.append(Line(strategy, replays.requests[known].tolist(), *(values[known].tolist() for values in ends)))
    return Plot(title, "requests", y_title, lines, log_x=True, y_range=None)


def _described(references: Sequence[Reference]) -> str:
    """Return a description of the references; means over different ones."""
    different = list({id(reference): reference for reference in references}.values())
    theta = np.array([reference.theta for reference in different])
    entities = np.mean([len(np.union1d(reference.subjects, reference.objects)) for reference in different])
    correlation = np.mean([likeness(reference) for reference in different])
    joined = np.mean([connected(reference) for reference in different])
    beginning = "The reference has"
    if len(different) > 1:
        beginning = "Each repetition has its own reference, on average with"
    return (
        f"{beginning} {theta.shape[1]:,} facts between {entities:,.0f} entities, {joined:.0%} of the facts in one "
        f"connected part; mean θ {theta.mean():.2f}; θ is one half or more for {(theta >= 0.5).mean():.0%} of the "
        f"facts, below 0.1 or above 0.9 for {((theta < 0.1) | (theta > 0.9)).mean():.0%}; the correlation between θ of "
        f"a fact and the mean of those around it is {correlation:.2f}."
    )


def _order(replays: Replays, name: str, field: str) -> str:
    """Return a note on one of the paper's orders by one reading of the error, with the differences of neighbours."""
    differences = {pair: replays.difference(*pair, field) for pair in pairwise(_ORDERS[name])}
    holds = np.logical_and.reduce([difference.high < 0 for difference in differences.values()])
    details = " ".join(
        f"{first[0].upper()}{first[1:]} is surely below {second} {replays.spans(difference.high < 0)}, surely above it "
        f"{replays.spans(difference.low > 0)}; the difference is {replays.phrase(difference)}."
        for (first, second), difference in differences.items()
    )
    return (
        f"Whole graph, {_READINGS[field]}, {name}: Thompson below uniform below sequential is significant "
        f"{replays.spans(holds)} (each number of requests by itself). {details}"
    )


def _learned(replays: Replays) -> str:
    """Return a note that compares the learner with the paper's strategies, and on the coverage of its intervals."""
    paper = [strategy.name for strategy in PAPER_STRATEGIES]
    least = np.min([replays.band(name, "mse_all").mean for name in paper], axis=0)
    most = np.max([replays.band(name, "hardest_found").mean for name in paper], axis=0)
    last = replays.shown[-1]
    parts = []
    for strategy in LEARNED_STRATEGIES:
        errors, shares, coverage = (
            replays.band(strategy.name, name).mean for name in ("mse_all", "hardest_found", "coverage")
        )
        parts.append(
            f"{strategy.name} has a lower error over all facts than the best of the paper's five "
            f"{replays.spans(errors < least)} and finds as many of the hardest as the best of them "
            f"{replays.spans(shares >= most)}; at the end its 90% intervals hold θ of {coverage[last]:.0%} of all facts"
        )
    others = ", ".join(f"{replays.band(name, 'coverage').mean[last]:.0%} by {name}" for name in paper)
    return f"The learner: {'; '.join(parts)} (the paper's strategies: {others}). Means over the repetitions."


def _earlier(replays: Replays, hardest: int) -> list[str]:
    """Return notes on the requests until the hardest facts are examined, with and without propagation."""
    halves = {}
    parts = []
    for strategy, values in replays.values.items():
        requests = np.array([_reached(row, replays.requests) for row in values["hardest_examined"]])
        missing = int(np.isnan(requests).sum())
        after = "no number of requests" if missing == len(requests) else f"{np.nanmean(requests):,.0f} requests"
        suffix = f" (never in {missing} repetitions)" if missing else ""
        parts.append(f"{after} by {strategy}{suffix}")
        halves[strategy] = requests
    first, second = "thompson + propagation", "thompson"
    later = Band.of((halves[first] - halves[second])[:, None])
    shares = replays.difference(first, second, "hardest_found")
    return [
        f"Half of the {hardest} hardest facts are examined after {', '.join(parts)}.",
        f"The hardest facts, {first} against {second}: {_later(later)}; more of them are found "
        f"{replays.spans(shares.low > 0)}, fewer {replays.spans(shares.high < 0)}; the difference of the shares is "
        f"{replays.phrase(shares)}.",
    ]


def _later(difference: Band) -> str:
    """Return a difference of requests until half of the hardest facts are examined as a phrase."""
    mean, low, high = difference.mean[0], difference.low[0], difference.high[0]
    if np.isnan(mean):
        return "half of them are examined in too few repetitions to compare"
    verdict = "neither surely earlier nor surely later"
    if high < 0:
        verdict = "earlier"
    elif low > 0:
        verdict = "later"
    interval = "" if np.isnan(low) else f" [{low:+,.0f}, {high:+,.0f}]"
    return f"half of them are examined {verdict}, {mean:+,.0f}{interval} requests"


def _reached(shares: Floats, requests: NDArray[np.int64]) -> float:
    """Return the requests until a share reaches one half, interpolated between checkpoints; NaN if it never does."""
    first = int(np.argmax(shares >= 0.5))
    if shares[first] < 0.5:
        return float("nan")
    if first == 0:
        return float(requests[0])
    part = (0.5 - shares[first - 1]) / (shares[first] - shares[first - 1])
    return float(requests[first - 1] + part * (requests[first] - requests[first - 1]))


def _why(replays: Replays) -> list[str]:
    """Return notes on the strategies' requests by difficulty, and the effect on the error."""
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
        f"{mean(strategy, 'mse'):.4f} with propagation, {mean(strategy, 'mse_own'):.4f} without, for {strategy}"
        for strategy in _PROPAGATED
    ]
    return [
        "Reason, requests: the MSE weights all facts asked so far equally, and n own answers leave a fact the error "
        "((1 − 2θ)² + n·θ(1 − θ)) / (n + 2)², so that equal numbers are nearly optimal. Thompson sampling gives "
        f"most to the hard facts. After {replays.requests[last]:,} requests {'; '.join(spent)}.",
        "Reason, uniform and sequential: until all facts are examined, uniform sampling has asked fewer facts more "
        "often, and only these count; from about two requests per fact on, its unequal numbers cost more.",
        "Reason, propagation: it moves E[θ] towards θ of the neighbours. That helps while a fact has few answers "
        f"of its own, and remains when it has many. After {replays.requests[last]:,} requests the MSE over the same "
        f"examined facts is {'; '.join(learned)}.",
    ]
