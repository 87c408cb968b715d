"""Study of sampling strategies: the error of E[theta], and the hardest facts, at equal numbers of requests.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. :mod:`kgprobe.running.replays`
makes the replays. ``benchmarks/replay`` compares strategies on synthetic references, too, and by the paper's own
readings of the error.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import stats

from kgprobe.answers.callbacks import Callbacks, count_work
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.studies.options import ReplayOptions
from kgprobe.papers.studies.study import Study, json_number, mean_line
from kgprobe.results.rendering.plots import Plot
from kgprobe.results.result import Listing
from kgprobe.running.replays import (
    SAMPLING_STRATEGIES,
    Truth,
    checkpoint_rounds,
    replay,
    replay_metrics,
    shown_rounds,
)
from kgprobe.stats.proportions import CONFIDENCE

_value = attrgetter("value")


@dataclass(frozen=True, slots=True)
class ReplayMean(ResultRow):
    """Metrics of a strategy after some rounds, in means over repetitions; see :func:`.replay_metrics`."""

    requests: Annotated[int, Heading("requests")]
    strategy: Annotated[str, Heading("strategy")]
    round: int
    examined: Annotated[Mean, Heading("examined", _value)]
    mse: Annotated[Mean, Heading("MSE", _value)]
    hardest_mse: Annotated[Mean | None, Heading("MSE, hardest", _value)]
    mse_all: Annotated[Mean, Heading("MSE, all facts", _value)]
    coverage: Annotated[Mean, Heading("covered", _value)]
    hardest_found: Annotated[Mean, Heading("hardest found", _value)]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SamplingStudy(Study):
    """Sampling strategies at equal numbers of requests.

    Attributes:
        hardest: number of facts that count as the hardest.
        shown_rounds: rounds of the table.
    """

    data: Annotated[Sequence[ReplayMean], Listing(main=True)]
    hardest: int
    shown_rounds: Sequence[int]

    name: ClassVar[str] = "sampling"

    @property
    def table(self) -> Annotated[Sequence[ReplayMean], Listing("", detail=True)]:
        """The metrics after some rounds, by increasing number of requests."""
        return sorted((row for row in self.data if row.round in self.shown_rounds), key=attrgetter("requests"))

    @property
    def plots(self) -> Sequence[Plot]:
        """The paper's figures 3(a) and (b), the error over all facts, and the hardest facts found."""
        title = f"{self.hardest} hardest facts found"
        return [
            self._plot("mse", "Examined facts: those with an answer of their own", "MSE of E[θ]"),
            self._plot("hardest_mse", f"The {self.hardest} hardest facts: the examined ones", "MSE of E[θ]"),
            self._plot("mse_all", "The whole graph: all facts, asked or not", "MSE of E[θ]"),
            self._plot("hardest_found", title, "share that is among the highest E[θ]"),
        ]

    def _plot(self, metric: str, title: str, y_title: str) -> Plot:
        lines = []
        for strategy, group in groupby(self.data, attrgetter("strategy")):
            # A strategy may not have examined any of the hardest facts yet.
            rows = [row for row in group if getattr(row, metric) is not None]
            lines.append(mean_line(strategy, [row.requests for row in rows], list(map(attrgetter(metric), rows))))
        return Plot(title, "requests", y_title, lines, log_x=True, y_range=None)


def sampling_study(truth: Truth, options: ReplayOptions, seed: int, callbacks: Callbacks) -> SamplingStudy:
    """Replay all strategies on each reference, and compare them.

    Args:
        truth: at least two repetitions.
    """
    references = truth.references
    facts = len(references[0].theta)
    requests = options.requests or 8 * facts
    batch, hardest = options.facts_per_round, min(options.hardest, facts)
    run = partial(replay, batch=batch, max_degree=options.max_degree)
    checkpoints = checkpoint_rounds(facts, requests, batch)
    on_replay = count_work(callbacks, facts, len(references) * len(SAMPLING_STRATEGIES), "replays")
    rows = []
    for repetition, reference in enumerate(references):
        hardest_facts = reference.hardest(hardest)
        for strategy in SAMPLING_STRATEGIES:
            for snapshot in run(reference, strategy, [seed, repetition], checkpoints=checkpoints):
                metrics = replay_metrics(reference.theta, snapshot, hardest_facts)
                rows.append({"strategy": strategy.name, "round": snapshot.number, **metrics})
            on_replay()
    means = _means(pd.DataFrame(rows))
    return SamplingStudy(
        title=f"Sampling strategies at equal requests · {truth.origin} · {facts:,} facts · {len(references)}"
        " repetitions",
        verdict=_verdict(means, facts, hardest),
        data=means,
        hardest=hardest,
        shown_rounds=sorted(shown_rounds(facts, checkpoints[-1], batch)),
        notes=[
            *truth.notes,
            "MSE: of E[θ] = α/(α + β) over the facts with an answer of their own, over those of them that are among the"
            f" {hardest} hardest, and over all facts; covered: share of all facts whose θ is in the central 90% of its"
            f" belief; found: share of the {hardest} facts with the"
            f" highest θ (equals by position) among the {hardest} with the highest E[θ]. Bands: 95% t intervals over"
            " repetitions. In each, the n-th answer about a fact is the same for all strategies.",
        ],
        config={**asdict(options), "requests": requests, "seed": seed, **truth.settings},
    )


def _means(replays: pd.DataFrame) -> list[ReplayMean]:
    """Return the mean of each metric over repetitions, with its t interval."""
    means = []
    for _, group in replays.groupby(["strategy", "round"], sort=False):
        metrics = group.drop(columns=["strategy", "round", "requests"])
        reach = stats.t.ppf((1 + CONFIDENCE) / 2, metrics.count() - 1) * metrics.sem()
        values: dict[str, Any] = {}
        for name, mean in metrics.mean().items():
            low, high = json_number(mean - reach[name]), json_number(mean + reach[name])
            values[name] = None if np.isnan(mean) else Mean(float(mean), low, high)
        strategy, number = group["strategy"].iloc[0], int(group["round"].iloc[0])
        means.append(ReplayMean(int(group["requests"].mean()), strategy, number, **values))
    return means


def _verdict(means: Sequence[ReplayMean], facts: int, hardest: int) -> str:
    """Return a sentence on the best strategies at the end of the replays."""
    end = max(row.round for row in means)
    last = [row for row in means if row.round == end]
    requests = last[0].requests
    best = min(last, key=lambda row: row.mse_all.value)
    finder = max(last, key=lambda row: row.hardest_found.value)
    return (
        f"After {requests:,} requests, {requests / facts:.2g} a fact, the error of E[θ] over all facts is least with"
        f" {best.strategy} ({best.mse_all.value:.4f}); most of the {hardest} hardest facts are found by"
        f" {finder.strategy} ({finder.hardest_found.value:.0%})."
    )
