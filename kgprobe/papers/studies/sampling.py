"""Study of sampling strategies: the error of E[theta], and the hardest facts, at equal numbers of requests.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. :mod:`kgprobe.running.replays`
makes the replays. ``benchmarks/replay`` compares strategies on synthetic references, too, and by the paper's own
readings of the error.
"""

from dataclasses import asdict
from functools import partial

import pandas as pd
from scipy import stats

from kgprobe.papers.studies.options import ReplayOptions
from kgprobe.papers.studies.study import Study
from kgprobe.results.rendering.plots import Line, Plot
from kgprobe.running.callbacks import Callbacks, count_work
from kgprobe.running.replays import (
    SAMPLING_STRATEGIES,
    Truth,
    checkpoint_rounds,
    replay,
    replay_metrics,
    shown_rounds,
)
from kgprobe.stats.proportions import CONFIDENCE


def sampling_study(truth: Truth, options: ReplayOptions, seed: int, callbacks: Callbacks) -> Study:
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
    shown = means[means["round"].isin(shown_rounds(facts, checkpoints[-1], batch))]
    titles = {
        "requests": "requests",
        "strategy": "strategy",
        "examined": "examined",
        "mse": "MSE",
        "mse_all": "MSE, all facts",
        "coverage": "covered",
        "hardest_found": "hardest found",
    }
    table = shown.sort_values("requests", kind="stable")[list(titles)].rename(columns=titles)
    return Study(
        name="sampling",
        title=f"Sampling strategies at equal requests · {truth.origin} · {facts:,} facts · {len(references)}"
        " repetitions",
        verdict=_verdict(means, facts, hardest),
        data=means.drop(columns="round").to_dict("records"),
        table=table.to_dict("records"),
        plots=[
            _plot(means, "mse_all", "The whole graph: all facts, asked or not", "MSE of E[θ]"),
            _plot(means, "hardest_found", f"{hardest} hardest facts found", "share that is among the highest E[θ]"),
        ],
        notes=[
            *truth.notes,
            "MSE: of E[θ] = α/(α + β) over the facts with an answer of their own, and over all facts; covered: share of"
            f" all facts whose θ is in the central 90% of its belief; found: share of the {hardest} facts with the"
            f" highest θ (equals by position) among the {hardest} with the highest E[θ]. Bands: 95% t intervals over"
            " repetitions. In each, the n-th answer about a fact is the same for all strategies.",
        ],
        config={**asdict(options), "requests": requests, "seed": seed, **truth.settings},
    )


def _means(replays: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each metric over repetitions, with the ends of its t interval."""
    groups = replays.groupby(["strategy", "round"], sort=False)
    means = groups.mean()
    means["requests"] = means["requests"].astype(int)
    metrics = means.columns.drop("requests")
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, groups.size() - 1)
    for metric in metrics:
        half = reach * groups[metric].sem()
        means[f"{metric}_low"], means[f"{metric}_high"] = means[metric] - half, means[metric] + half
    flat: pd.DataFrame = means.reset_index()
    return flat


def _plot(means: pd.DataFrame, metric: str, title: str, y_title: str) -> Plot:
    lines = []
    for strategy, rows in means.groupby("strategy", sort=False):
        low, high = rows[f"{metric}_low"].tolist(), rows[f"{metric}_high"].tolist()
        lines.append(Line(str(strategy), rows["requests"].tolist(), rows[metric].tolist(), low, high))
    return Plot(title, "requests", y_title, lines, log_x=True, y_range=None)


def _verdict(means: pd.DataFrame, facts: int, hardest: int) -> str:
    """Return a sentence on the best strategies at the end of the replays."""
    last = means[means["round"] == means["round"].max()].set_index("strategy")
    requests = int(last["requests"].iloc[0])
    best, finder = last["mse_all"].idxmin(), last["hardest_found"].idxmax()
    return (
        f"After {requests:,} requests, {requests / facts:.2g} a fact, the error of E[θ] over all facts is least with"
        f" {best} ({last['mse_all'][best]:.4f}); most of the {hardest} hardest facts are found by {finder}"
        f" ({last['hardest_found'][finder]:.0%})."
    )
