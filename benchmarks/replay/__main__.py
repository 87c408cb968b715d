"""Comparison of sampling strategies in replays of references: `python -m benchmarks.replay`.

`study` replays one kind of reference (synthetic, or the demo model's answers about the example graph) and writes a
study with a page: the paper's orders of its strategies, the hardest facts, and the reasons.

`references` counts on how many of 45 kinds of references (hard 10 to 90%, spread 1, 3, 6, likeness 0, 0.5, 0.9) the
learner is better than the best of the paper's five: in the error over all facts, in finding the hardest ones, and in
coverage. Means are over repetitions with a new reference each. `--distribution` uses other synthetic distributions.

`demo` does the same on a real reference, the demo model's answers about the example graph.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.replay import BATCH, FACTS, KINDS, REQUESTS, TIMES
from benchmarks.replay.metrics import ReplayMetrics, replay_all
from benchmarks.replay.study import Replays, replay_study
from benchmarks.replay.synthetic import DISTRIBUTIONS, Synthetic, synthetic
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.running.replays import (
    LEARNED_STRATEGIES,
    PAPER_STRATEGIES,
    Reference,
    Truth,
    checkpoint_rounds,
    demo_reference,
    demo_truth,
    shown_rounds,
)

Floats = NDArray[np.float64]
Standings: TypeAlias = dict[str, dict[str, list[float]]]


def standings_of(references: Sequence[Reference], seed: int) -> Standings:
    """Return for each strategy the mean of its standings over the references, at 1/4, 1/2, ... 8 requests a fact."""
    facts = len(references[0].theta)
    rounds = shown_rounds(facts, -(-REQUESTS * facts // BATCH), BATCH)
    replays = replay_all(references, seed, checkpoints=rounds, batch=BATCH)
    return {
        strategy: {
            field.name: np.mean([[getattr(standing, field.name) for standing in run] for run in runs], axis=0).tolist()
            for field in dataclasses.fields(ReplayMetrics)
        }
        for strategy, runs in replays.items()
    }


def counts(found: list[Standings]) -> Iterator[Row]:
    """Yield the numbers of kinds on which the learner is better and its intervals are valid."""

    def values(name: str, field: str) -> Floats:
        return np.array([kind[name][field] for kind in found])

    paper = [strategy.name for strategy in PAPER_STRATEGIES]
    least = np.min([values(name, "mse_all") for name in paper], axis=0)
    most = np.max([values(name, "hardest_found") for name in paper], axis=0)
    # Uniform draws with independent facts.
    own = values("uniform", "mse_all")
    of = f"of {len(found)}"
    for strategy in LEARNED_STRATEGIES:
        held = {
            "error below all five": values(strategy.name, "mse_all") < least,
            "error no more than own answers'": values(strategy.name, "mse_all") <= own,
            "hardest found as soon": values(strategy.name, "hardest_found") >= most,
            "85 to 95% covered": np.abs(values(strategy.name, "coverage") - 0.9) <= 0.05,
            "85% covered": values(strategy.name, "coverage") >= 0.85,
        }
        for what, holds in held.items():
            for place, requests in enumerate(TIMES):
                yield Row(f"{strategy.name}, {requests} requests a fact", what, int(holds[:, place].sum()), of)
            yield Row(f"{strategy.name}, throughout", what, int(holds.all(axis=1).sum()), of)


def figures(standings: Standings) -> Iterator[Row]:
    """Yield the rows of one reference, by strategy."""
    shown = {"mse_all": "error over all", "coverage": "covered", "mean_error": "error of the mean"}
    for field, what in {**shown, "hardest_found": "hardest found"}.items():
        for name, values in standings.items():
            for requests, value in zip(TIMES, values[field], strict=True):
                yield Row(f"{name}, {requests} requests a fact", what, value, "")


@click.group(context_settings={"max_content_width": 100})
def main() -> None:
    """Compare sampling strategies in replays."""


@main.command("study")
@click.option("--reference", type=click.Choice(["demo", "synthetic"]), default="synthetic", show_default=True)
@click.option("--size", default=FACTS, show_default=True, help="Number of synthetic facts.")
@click.option("--hard", default=0.5, show_default=True, help="Share of synthetic facts with θ above one half.")
@click.option("--spread", default=3.0, show_default=True, help="Standard deviation of logit θ.")
@click.option("--likeness", default=0.5, show_default=True, help="Correlation of θ between neighbours; 0 for none.")
@click.option("--distribution", type=click.Choice(DISTRIBUTIONS), default="normal", show_default=True)
@click.option("--requests", type=int, help="Number of questions of each strategy.  [default: 8 for each fact]")
@click.option("--facts-per-round", default=BATCH, show_default=True, help="Facts asked in each round.")
@click.option("--max-degree", default=1_000, show_default=True, help="Entities with more facts do not propagate.")
@click.option("--repetitions", default=5, show_default=True, help="Repetitions of each replay, at least 2.")
@click.option("--hardest", default=100, show_default=True, help="Number of facts that count as the hardest.")
@seed_option
def compare(
    reference: str,
    size: int,
    hard: float,
    spread: float,
    likeness: float,
    distribution: str,
    requests: int | None,
    facts_per_round: int,
    max_degree: int,
    repetitions: int,
    hardest: int,
    seed: int,
) -> None:
    """Compare all strategies on one kind of reference, with notes and a page."""
    if reference == "demo":
        truth = demo_truth(seed, repetitions)
    else:
        shape = Synthetic(size, hard, spread, likeness, distribution)
        made = [synthetic(shape, [seed, repetition]) for repetition in range(repetitions)]
        truth = Truth(made, "synthetic facts", dataclasses.asdict(shape))
    references = truth.references
    count = len(references[0].theta)
    if requests is None:
        requests = 8 * count
    checkpoints = checkpoint_rounds(count, requests, facts_per_round)
    metrics = replay_all(
        references, seed, checkpoints=checkpoints, batch=facts_per_round, hardest=hardest, max_degree=max_degree
    )
    shown = [checkpoints.index(number) for number in shown_rounds(count, checkpoints[-1], facts_per_round)]
    config = {"facts_per_round": facts_per_round, "max_degree": max_degree, "requests": requests, "hardest": hardest}
    config |= {"repetitions": repetitions, "seed": seed, **truth.settings}
    replays = Replays.of(metrics, shown)
    study = replay_study(replays, references, truth.origin, config, hardest=hardest, about=truth.notes).save()
    click.echo("\n\n".join([study.title, study.verdict, *study.notes]))
    click.echo(f"Data: {study.data_file}\nPage: {study.page().as_uri()}")


@main.command()
@click.option("--repetitions", default=5, show_default=True, help="References of each kind.")
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Folder of the means, one file for each kind."
)
@click.option(
    "--distribution",
    type=click.Choice(DISTRIBUTIONS),
    default="normal",
    show_default=True,
    help="Distribution of logit θ.",
)
@click.option("--part", default=0, help="0 or 1: a second process begins at the other end.")
@seed_option
@json_option
def references(repetitions: int, keep: Path | None, distribution: str, part: int, seed: int, as_json: bool) -> None:
    """Count on how many of 45 kinds of references the learner is better."""
    means = []
    for kind in KINDS[:: -1 if part else 1]:
        file = keep / f"{'-'.join(map(str, kind))}-{distribution}-{seed}-{repetitions}.json" if keep else None
        if file and file.exists():
            means.append(json.loads(file.read_text()))
            continue
        design = Synthetic(FACTS, *kind, distribution)
        references_of_kind = [synthetic(design, [seed, repetition]) for repetition in range(repetitions)]
        means.append(standings_of(references_of_kind, seed))
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(means[-1]))
    show(Report("replay", list(counts(means)), seed, versions_of("numpy", "scipy")), as_json=as_json)


@main.command()
@click.option("--repetitions", default=5, show_default=True, help="Repetitions for each strategy.")
@seed_option
@json_option
def demo(repetitions: int, seed: int, as_json: bool) -> None:
    """Compare strategies on the demo model's answers about the example graph."""
    references = [demo_reference([seed, repetition]) for repetition in range(repetitions)]
    rows = list(figures(standings_of(references, seed)))
    show(Report("replay", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
