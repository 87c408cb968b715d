"""Worth of an answer with the learner's predictions, and cost of learning a round.

`worth` estimates how much of the demo model's reference is known, and reports the number of uniformly drawn answers
without predictions that one answer is worth. `--predictor` adds a run's outcomes on the same graph as a predictor, of
another model, say. :mod:`benchmarks.replay` compares the learner with the paper's strategies.

`rounds` measures learning a round of 64 answers, between the rounds that learn variances, in graphs with a fifth of the
facts asked before.

`predicted` measures how often the 90% intervals of facts without answers contain the truth: of all such facts, and of
those that the model does not know.

`ending` measures the estimate of the whole graph when a run ends: from the learning that the run kept, and by replaying
its rounds. Graph and answers are made up; there is no engine and no model.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.replay import BATCH, TIMES
from benchmarks.replay.synthetic import Synthetic, synthetic
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.answers.store import OutcomeStore, read_rounds
from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.corrected_rates import CorrectedRates, RoundDraws
from kgprobe.beliefs.draw import credible_interval
from kgprobe.beliefs.effects import Effects, effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Row as Properties
from kgprobe.graph.runs import run_folder
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.learning import AskedRound, KeptLearning, Learning, replay
from kgprobe.running.replays import Reference, demo_answers, demo_reference, shown_rounds
from kgprobe.sampling.columns.graph_columns import AskableFacts, GraphColumns
from kgprobe.sampling.columns.making import ALWAYS, FOREVER
from kgprobe.sampling.lists import Lists

Floats = NDArray[np.float64]

# Facts with answers in a label table.
_LABELLED = 600


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
    count = len(outcomes.read_bytes().splitlines())
    for draws in read_rounds(outcomes, count):
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


def coverages(reference: Reference, seed: Sequence[int]) -> tuple[float, float, float]:
    """Return the coverage of the intervals of unasked facts: of all, of the known ones and of the unknown ones.

    Every fact of a random sample has three answers, as in a label table.
    """
    generator = np.random.default_rng(seed)
    learner = HierarchicalModel.of(_effects(reference, ()))
    order = generator.permutation(len(reference.theta))
    labelled, others = np.sort(order[:_LABELLED]), np.sort(order[_LABELLED:])
    for _ in range(3):
        learner.learn(labelled, generator.random(_LABELLED) < reference.theta[labelled])
    low, high = credible_interval(*beta_parameters(learner.posterior(others)))
    theta = reference.theta[others]
    covered, is_unknown = (low <= theta) & (theta <= high), theta > 0.5
    return float(covered.mean()), float(covered[~is_unknown].mean()), float(covered[is_unknown].mean())


@click.group(context_settings={"max_content_width": 100})
def main() -> None:
    """Measure what the learner is worth, and its cost."""


@main.command()
@click.option("--repetitions", default=20, show_default=True, help="Repetitions for each variant.")
@click.option("--predictor", type=click.Path(path_type=Path, exists=True), help="outcomes.jsonl of a run.")
@seed_option
@json_option
def worth(repetitions: int, predictor: Path | None, seed: int, as_json: bool) -> None:
    """Measure the worth of an answer for the estimate of the demo model's reference."""
    references = [demo_reference([seed, repetition]) for repetition in range(repetitions)]
    places = {fact: place for place, fact in enumerate(demo_answers()["fact"])}
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
@click.option("--repetitions", default=100, show_default=True, help="Repetitions for each reference.")
@seed_option
@json_option
def predicted(repetitions: int, seed: int, as_json: bool) -> None:
    """Measure the coverage of the intervals of facts without answers."""
    rows = []
    for hard, spread in ((0.1, 3.0), (0.2, 3.0), (0.5, 3.0), (0.1, 1.0)):
        shape = Synthetic(2_500, hard=hard, spread=spread)
        drawn = [coverages(synthetic(shape, [seed, number]), [seed, number]) for number in range(repetitions)]
        for name, value in zip(("all", "known", "unknown"), np.mean(drawn, axis=0).tolist(), strict=True):
            case = f"{100 * hard:g}% unknown, spread {spread:g}"
            rows.append(Row(case, f"covered, {name} facts without answers", 100 * value, "%"))
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
