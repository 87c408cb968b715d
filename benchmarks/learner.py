"""Comparison of the learner with the paper's strategies on synthetic references, and cost of learning a round.

`references` counts on how many of 45 kinds of references (hard 10 to 90%, spread 1, 3, 6, likeness 0, 0.5, 0.9) the
learner is better than the best of the paper's five: in the error over all facts, in finding the hardest ones, and in
coverage. Means are over repetitions with a new reference each.

`demo` does the same on a real reference, the demo model's answers about the example graph. `references --distribution`
uses other synthetic distributions.

`worth` estimates how much of that reference is known, and reports the number of uniformly drawn answers without
predictions that one answer is worth. `--predictor` adds a run's outcomes on the same graph as a predictor, of another
model, say.

`rounds` measures learning a round of 64 answers, between the rounds that learn variances, in graphs with a fifth of the
facts asked before.

`ending` measures the estimate of the whole graph when a run ends: from the learning that the run kept, and by replaying
its rounds. Graph and answers are made up; there is no engine and no model.
"""

import dataclasses
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.beliefs import DISTRIBUTIONS
from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.corrected_rates import CorrectedRates, RoundDraws
from kgprobe.beliefs.effects import Effects, effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel
from kgprobe.beliefs.reference import Reference, Synthetic, synthetic
from kgprobe.beliefs.simulation import (
    LEARNED_STRATEGIES,
    PAPER_STRATEGIES,
    ReplayMetrics,
    replay_all,
    shown_rounds,
)
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Row as Properties
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.learning import AskedRound, KeptLearning, Learning, replay
from kgprobe.running.runs import run_folder
from kgprobe.running.store import OutcomeStore, read_rounds
from kgprobe.sampling.columns.askable import AskableFacts
from kgprobe.sampling.columns.graph_columns import ALWAYS, FOREVER, GraphColumns
from kgprobe.sampling.lists import Lists
from kgprobe.studies.demo_reference import demo_reference, facts_of_demo

FACTS, BATCH, REQUESTS = 2_500, 64, 8
KINDS = tuple(itertools.product((0.1, 0.3, 0.5, 0.7, 0.9), (1.0, 3.0, 6.0), (0.0, 0.5, 0.9)))
TIMES = ("¼", "½", "1", "2", "4", "8")

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


def worths(reference: Reference, sampling: str, predictors: Sequence[Floats], seed: Sequence[int]) -> list[float]:
    """Return the worth of an answer in uniform answers, at 1/4, 1/2, 1, 2 requests a fact."""
    facts = np.arange(len(reference.theta))
    learner = HierarchicalModel.of(_effects(reference, predictors))
    rates, answers, looked_at, worth = CorrectedRates(len(facts)), 0, 0.0, []
    shown = shown_rounds(len(facts), 2 * len(facts) // BATCH, BATCH)
    for number in range(1, shown[-1] + 1):
        if answers >= looked_at:
            rates.predict(1 - learner.posterior(facts).theta)
            looked_at = 1.25 * answers
        chosen = choose(learner.messages, sampling, BATCH, np.random.default_rng([*seed, number]))
        failed = np.random.default_rng([*seed, number, 1]).random(BATCH) < reference.theta[chosen.positions]
        yes = np.ones(BATCH, np.bool_)
        rates.add(RoundDraws(chosen.positions, chosen.probabilities, chosen.smallest, ~failed, yes, yes))
        learner.learn(chosen.positions, failed)
        answers += BATCH
        if number in shown:
            rate = rates.rate()
            worth.append(float("nan") if rate is None or rate.labels_worth is None else rate.labels_worth / answers)
    return worth


def expected_by(reference: Reference, places: Mapping[str, int], outcomes: Path) -> Floats:
    """Return the standardized difficulty of each fact from a run's outcomes, shape (facts,)."""
    learner = HierarchicalModel.of(_effects(reference, ()))
    for draws in read_rounds(outcomes):
        heard = [draw for draw in draws if draw.verdict.counts and draw.fact in places]
        positions = np.array([places[draw.fact] for draw in heard], np.int64)
        learner.learn(positions, np.array([draw.verdict.is_failure for draw in heard], np.bool_))
    mean, _ = learner.messages.marginals(np.arange(len(reference.theta)))
    expected: Floats = (mean - mean.mean()) / mean.std()
    return expected


def _effects(reference: Reference, predictors: Sequence[Floats]) -> Effects:
    return effects_of(reference.subjects, reference.objects, relations=reference.relations, predictors=predictors)


def learning(facts: int, seed: int) -> Row:
    """Return the median time of learning a round over 40 rounds, after answers about a fifth of the facts."""
    generator = np.random.default_rng(seed)
    ends = generator.integers(facts // 2, size=(2, facts))
    learner = HierarchicalModel.of(effects_of(*ends))
    theta = generator.random(facts)
    before = generator.choice(facts, facts // 5, replace=False)
    learner.learn(before, generator.random(len(before)) < theta[before])
    took = []
    for _ in range(40):
        batch = generator.choice(facts, BATCH, replace=False)
        failed = generator.random(BATCH) < theta[batch]
        started = time.perf_counter()
        learner.learn(batch, failed)
        took.append(time.perf_counter() - started)
    return Row(f"{facts:,} facts", "learning a round of 64", 1_000 * float(np.median(took)), "ms", less_is_better=True)


def made_up_facts(count: int, seed: int) -> AskableFacts:
    """Return facts of five relations between half as many entities, all askable."""
    generator = np.random.default_rng(seed)
    entities = count // 2
    ids, facts = (pa.array([f"{kind}{n}" for n in range(size)]) for kind, size in (("Q", entities), ("F", count)))
    subjects, objects = generator.integers(entities, size=(2, count), dtype=np.int32)
    relations = generator.integers(5, size=count, dtype=np.int32)
    one_each = Lists(np.arange(entities + 1), np.zeros(entities, np.int32))
    columns = GraphColumns(
        entity_ids=ids,
        labels=ids,
        popularities=generator.random(entities) * 1_000,
        degrees=np.bincount(subjects, minlength=entities).astype(np.int32),
        datatypes=np.full(entities, -1, np.int16),
        types=one_each,
        names=Lists(np.arange(entities + 1), np.arange(entities, dtype=np.uint64)),
        fact_ids=facts,
        subjects=subjects,
        relations=relations,
        objects=objects,
        begins=np.full(count, ALWAYS),
        ends=np.full(count, FOREVER),
        relation_ids=[f"P{n}" for n in range(5)],
        type_ids=["T"],
        datatype_names=[],
    )
    return AskableFacts(columns, columns.relation_ids, 20260101)


def made_up_run(facts: AskableFacts, rounds: int, seed: int) -> tuple[Properties, float, float]:
    """Ask a coin in rounds, and keep answers and learning; return the run, and seconds of learning and of keeping."""
    run: Properties = {"id": "ending", "uid": "00000000", "max_degree": 1_000, "unaskable": 0, "unanswered": 0}
    folder = run_folder(run)
    folder.mkdir(parents=True)
    learning = KeptLearning(facts, run["max_degree"], folder, "made up")
    took = 0.0
    with OutcomeStore(folder) as store:
        for number in range(1, rounds + 1):
            generator = np.random.default_rng([seed, number])
            chosen = choose(learning.beliefs.model.messages, "hardest", BATCH, generator, number=number)
            verdicts = [Verdict.RIGHT if toss else Verdict.WRONG for toss in generator.random(BATCH) < 0.5]
            keys = [facts[position] for position in chosen.positions.tolist()]
            outcomes = [Outcome(key, verdict, "") for key, verdict in zip(keys, verdicts, strict=True)]
            places = range(learning.outcomes, learning.outcomes + BATCH)
            store.append(places, outcomes, number, chosen.probabilities.tolist(), chosen.smallest)
            started = time.perf_counter()
            learning.add(AskedRound(chosen.positions, verdicts, chosen.probabilities, chosen.smallest))
            took += time.perf_counter() - started
    started = time.perf_counter()
    learning.keep()
    return {**run, "asked": rounds * BATCH}, took, time.perf_counter() - started


def endings(count: int, rounds: int, seed: int) -> Iterator[Row]:
    """Yield the times of a run's end with its kept learning and by a replay, which must give the same estimate."""
    facts = made_up_facts(count, seed)
    run, learned, kept = made_up_run(facts, rounds, seed)
    started = time.perf_counter()
    opened = KeptLearning(facts, run["max_degree"], run_folder(run), "made up")
    opened.read(run["asked"])
    from_kept = opened.rates.rate()
    ended = time.perf_counter()
    replayed = Learning(facts, run["max_degree"])
    replay(replayed, run)
    if from_kept is None or from_kept != replayed.rates.rate():
        raise RuntimeError("the kept learning differs from a replay")
    took = {"learn, all rounds": learned, "keep": kept, "end, kept": ended - started}
    took["end, replayed"] = time.perf_counter() - ended
    for title, seconds in took.items():
        yield Row(f"{count:,} facts, {rounds} rounds", title, seconds, "s", less_is_better=True)


@click.group(context_settings={"max_content_width": 100})
def main() -> None:
    """Compare the learner on references, and measure its cost."""


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
    show(Report("learner", list(counts(means)), seed, versions_of("numpy", "scipy")), as_json=as_json)


@main.command()
@click.option("--repetitions", default=5, show_default=True, help="Repetitions for each strategy.")
@seed_option
@json_option
def demo(repetitions: int, seed: int, as_json: bool) -> None:
    """Compare strategies on the demo model's answers about the example graph."""
    references = [demo_reference([seed, repetition]) for repetition in range(repetitions)]
    rows = list(figures(standings_of(references, seed)))
    show(Report("learner", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


@main.command()
@click.option("--repetitions", default=20, show_default=True, help="Repetitions for each variant.")
@click.option("--predictor", type=click.Path(path_type=Path, exists=True), help="outcomes.jsonl of a run.")
@seed_option
@json_option
def worth(repetitions: int, predictor: Path | None, seed: int, as_json: bool) -> None:
    """Measure the worth of an answer for the estimate of the demo model's reference."""
    references = [demo_reference([seed, repetition]) for repetition in range(repetitions)]
    places = {fact: place for place, fact in enumerate(facts_of_demo())}
    expected = [] if predictor is None else [expected_by(references[0], places, predictor)]
    rows = []
    for sampling in ("uniform", "information"):
        runs = [worths(reference, sampling, expected, [seed, number]) for number, reference in enumerate(references)]
        for requests, value in zip(TIMES, np.mean(runs, axis=0).tolist(), strict=False):
            rows.append(Row(f"{sampling}, {requests} requests a fact", "an answer is worth", value, "answers"))
    show(Report("learner", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


@main.command()
@click.option(
    "--facts",
    multiple=True,
    default=(10_000, 100_000, 1_000_000),
    show_default=True,
    help="Facts in the graph; repeatable.",
)
@seed_option
@json_option
def rounds(facts: tuple[int, ...], seed: int, as_json: bool) -> None:
    """Measure learning a round by the size of the graph."""
    rows = [learning(count, seed) for count in facts]
    show(Report("learner", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


@main.command()
@click.option("--facts", default=1_000_000, show_default=True, help="Facts in the graph.")
@click.option("--rounds", "count", default=60, show_default=True, help="Rounds of 64 facts.")
@seed_option
@json_option
def ending(facts: int, count: int, seed: int, as_json: bool) -> None:
    """Measure the estimate at the end of a run, from its kept learning and by a replay."""
    with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary:
        os.environ["KGPROBE_HOME"] = temporary
        rows = list(endings(facts, count, seed))
    show(Report("learner", rows, seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
