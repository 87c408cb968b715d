"""Cost of a round without the model, which must not grow with the graph.

Graphs of 10⁴, 10⁵ and 10⁶ facts at equal degree. The parts of a round: drawing facts, sampling distractors, learning,
applying answers, propagating them or writing effects, writing summaries of beliefs, and with ``--view`` writing the
touched facts' beliefs on the facts; then all facts' beliefs are written, and removed. A coin replaces the model;
distractors are drawn as by the distractor probe.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.report import Report, Row, show, versions_of
from benchmarks.synthetic import SyntheticSource
from kgprobe.answers.callbacks import Batch, Callbacks
from kgprobe.beliefs.register import LEARNERS
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.bulk_loading import load_bulk_source
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.plan import Plan, RoundsOptions
from kgprobe.running.rounds import Round, continue_run, show_run
from kgprobe.running.runs import begin_run
from kgprobe.running.view import hide_view
from kgprobe.sampling.distractors import EXCLUDED, RandomDistractors
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey

AS_OF = 20260101
# The first rounds of a run warm up the engine's caches and compiler.
WARM_UP = 4
DISTRACTORS = 10
# Step besides own answers, by the learner's beliefs.
FOLLOWS = {"model": "write effects", "counts": "propagate"}


class Coin:
    """Probe that reads and draws like the distractor probe, then tosses a coin."""

    def __init__(self, graph: Graph) -> None:
        self.relations: Sequence[str] = [row["id"] for row in graph.read("sample/relations")]
        self._graph = graph
        self._distractors = RandomDistractors(graph)

    def describe(self) -> dict[str, Any]:
        """Return no settings."""
        return {"model": "coin"}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return a coin toss for each fact."""
        asked = [(fact, EXCLUDED) for fact in describe_facts(self._graph, facts)]
        drawn = self._distractors.retrieve(asked, DISTRACTORS, seed)
        if any(len(rivals) < DISTRACTORS for rivals in drawn):
            raise RuntimeError("a fact of the synthetic graph lacks distractors")
        tosses = np.random.default_rng(seed).random(len(facts)) < 0.5
        return [
            Outcome(fact, Verdict.RIGHT if toss else Verdict.WRONG, "")
            for fact, toss in zip(facts, tosses, strict=True)
        ]


def measure(
    graph: Graph, size: int, learner: str, rounds: int, facts_per_round: int, seed: int, *, view: bool
) -> list[Row]:
    """Run rounds on a graph and return the medians of their parts."""
    done: list[Round] = []

    def on_batch(done_now: Batch) -> None:
        if isinstance(done_now, Round):
            done.append(done_now)

    options = RoundsOptions(rounds=WARM_UP + rounds, facts_per_round=facts_per_round, learner=learner)
    plan = Plan(f"rounds-{size}-{learner}-{'view' if view else 'no-view'}", AS_OF, seed, options)
    probe = Coin(graph)
    begin_run(graph, probe, plan, "coin")
    continue_run(graph, probe, plan, Callbacks(on_batch=on_batch), view=view)
    warm = done[WARM_UP:]
    case = f"{size:,} facts, {learner}{', view' if view else ''}"
    titles = {"draw": "draw", "ask": "sample distractors", "learn": "learn", "apply": "apply"}
    titles |= {"follow": FOLLOWS[LEARNERS[learner].beliefs], "summarize": "summarize"}
    titles["view"] = "write beliefs on facts"
    rows = []
    for part, title in titles.items():
        values = [1000 * round_.seconds[part] for round_ in warm if part in round_.seconds]
        if values:
            rows.append(Row(case, title, statistics.median(values), "ms", less_is_better=True))
    own = [1000 * sum(took for part, took in round_.seconds.items() if part != "ask") for round_ in warm]
    rows.append(Row(case, "all but asking", statistics.median(own), "ms", less_is_better=True))
    rows.append(Row(case, "touched facts", statistics.median(round_.touched for round_ in warm), "facts"))
    if LEARNERS[learner].beliefs == "counts":
        each = [1000 * round_.seconds["follow"] / round_.touched for round_ in warm]
        rows.append(Row(case, "propagate, a touched fact", statistics.median(each), "ms", less_is_better=True))
    if view:
        rows += _measure_view(graph, case, plan.run)
    return rows


def _measure_view(graph: Graph, case: str, run: str) -> list[Row]:
    """Remove the beliefs of a run from all facts, and write them again."""
    clock = time.monotonic()
    hide_view(graph)
    hidden = time.monotonic()
    show_run(graph, run)
    shown = time.monotonic()
    return [
        Row(case, "remove beliefs from all facts", hidden - clock, "s", less_is_better=True),
        Row(case, "show beliefs on all facts", shown - hidden, "s", less_is_better=True),
    ]


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--size", "sizes", type=int, multiple=True, default=(10_000, 100_000, 1_000_000), show_default=True, help="Facts."
)
@click.option("--degree", default=50, show_default=True, help="Facts at an entity, on average.")
@click.option("--rounds", default=16, show_default=True, help=f"Rounds to measure, after {WARM_UP} to warm up.")
@click.option("--facts-per-round", default=64, show_default=True, help="Facts in a round.")
@click.option(
    "--learner",
    "learners",
    multiple=True,
    default=[name for name, kind in LEARNERS.items() if kind.propagates],
    show_default=True,
    help="Learner; repeatable.",
)
@click.option("--engine", default="arcadedb", show_default=True, help="arcadedb or neo4j.")
@click.option("--view", is_flag=True, help="Measure also with the run in view, and showing it.")
@click.option("--bulk", is_flag=True, help="Load by Neo4j's import; for 10⁷ facts.")
@seed_option
@json_option
def main(
    sizes: tuple[int, ...],
    degree: int,
    rounds: int,
    facts_per_round: int,
    learners: tuple[str, ...],
    engine: str,
    view: bool,
    bulk: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Measure a round without the model, on graphs of growing size and equal degree."""
    rows: list[Row] = []
    for size in sizes:
        print(f"{size:,} facts on {'neo4j' if bulk else engine}", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary:
            # The answers are not needed afterwards.
            os.environ["KGPROBE_HOME"] = temporary
            folder, source = Path(temporary) / "graph", SyntheticSource(size, degree, seed)
            if bulk:
                load_bulk_source(folder, source)
            with ending_in_order(), open_graph(folder, engine="neo4j" if bulk else engine, memory=4096) as graph:
                server = graph.server
                if not bulk:
                    load(graph, source)
                for learner in learners:
                    for in_view in (False, True)[: 1 + view]:
                        rows += measure(graph, size, learner, rounds, facts_per_round, seed, view=in_view)
    versions = {**versions_of("neo4j", "numpy"), "engine": server}
    show(Report("rounds", rows, seed, versions), as_json=as_json)


if __name__ == "__main__":
    main()
