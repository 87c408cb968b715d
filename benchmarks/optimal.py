"""Quality of beam search relative to exact search, and the cost of both.

Facts of the example graph, or of yours, in one cloze sentence each, with the demo model: beam search with several
numbers of beams is compared with exact search, which is the truth where all distractors are proved.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.base.errors import KgprobeError
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order
from kgprobe.models.demo import demo_model_folder
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.spec import load_scorer
from kgprobe.probes.clozes import ClozeItems
from kgprobe.probes.search.optimal_distractors import OptimalDistractors, Retrieved
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.selection import sample_facts
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.sentences import Cloze

AS_OF = 20260101
FIRST = 10

Questions = Sequence[tuple[AskedFact, Cloze]]


@dataclass(frozen=True, slots=True)
class Searched:
    """Result and cost of one search over all sentences.

    Attributes:
        seconds: wall-clock seconds for each sentence.
        processor: processor seconds on all cores for each sentence.
    """

    case: str
    found: Sequence[Retrieved]
    seconds: float
    processor: float


def search(case: str, strategy: OptimalDistractors, questions: Questions, wanted: int) -> Searched:
    """Retrieve distractors for all sentences."""
    print(case, file=sys.stderr)
    clock, processor = time.perf_counter(), time.process_time()
    results = strategy.retrieve(questions, wanted)
    seconds, processor = time.perf_counter() - clock, time.process_time() - processor
    return Searched(case, results, seconds / len(questions), processor / len(questions))


def costs(searched: Searched) -> list[Row]:
    """Return the rows of a search: cost and proved distractors."""
    nonempty = [retrieved for retrieved in searched.found if retrieved.distractors]
    proved = sum(retrieved.certified or 0 for retrieved in nonempty) / sum(
        len(retrieved.distractors) for retrieved in nonempty
    )
    complete = np.mean([retrieved.certified == len(retrieved.distractors) for retrieved in nonempty])
    case = searched.case
    return [
        Row(case, "prefixes expanded", float(np.mean([retrieved.expanded for retrieved in nonempty])), "a sentence"),
        Row(case, "time", searched.seconds, "s a sentence", less_is_better=True),
        Row(case, "time of the processor", searched.processor, "s a sentence", less_is_better=True),
        Row(case, "distractors proved to be in their place", 100 * proved, "%"),
        Row(case, "sentences with all of them proved", 100 * float(complete), "%"),
    ]


def distance(beam: Searched, exact: Searched) -> list[Row]:
    """Return the rows of a beam compared with exact search."""
    pairs = [(approximate, best) for approximate, best in zip(beam.found, exact.found, strict=True) if best.distractors]
    same_first, same_ten, shared, lost = [], [], [], []
    for approximate, best in pairs:
        ours, theirs = ([rival.id for rival in retrieved.distractors] for retrieved in (approximate, best))
        same_first.append(ours[0] == theirs[0])
        same_ten.append(set(ours[:FIRST]) == set(theirs[:FIRST]))
        shared.append(len(set(ours) & set(theirs)) / len(theirs))
        lost.append(best.log_plausibilities[0] - approximate.log_plausibilities[0])
    case = beam.case
    return [
        Row(case, "the same first as exact search", 100 * float(np.mean(same_first)), "% of sentences"),
        Row(case, f"the same first {FIRST}", 100 * float(np.mean(same_ten)), "% of sentences"),
        Row(case, "shared with exact search", 100 * float(np.mean(shared)), "% of distractors"),
        Row(case, "log plausibility lost at the first", float(np.mean(lost)), "nats", less_is_better=True),
    ]


def measure(
    graph: Graph,
    scorer: Scorer,
    relations: Sequence[str],
    facts: int,
    wanted: int,
    beams: Sequence[int],
    max_prefixes: int,
    seed: int,
) -> list[Row]:
    """Search for all facts by every method, and compare."""
    cloze_items = ClozeItems(graph, AS_OF, relations=relations, sentences=1)
    sampled = sample_facts(AskableFacts(open_columns(graph), cloze_items.relations, AS_OF), facts, seed)
    keys = [sampled[place] for place in range(len(sampled))]
    questions = [(question.fact, cloze) for question in cloze_items.of(keys, [seed]) for cloze in question.clozes]
    # Build the tries first, as in every run but the first.
    OptimalDistractors(graph, scorer, exact=True, max_prefixes=1).retrieve(questions, 1)
    strategy = OptimalDistractors(graph, scorer, exact=True, max_prefixes=max_prefixes)
    exact = search(f"exact, max_prefixes {max_prefixes:,}", strategy, questions, wanted)
    rows = [
        Row(
            "candidates",
            "distractors found",
            float(np.mean([len(retrieved.distractors) for retrieved in exact.found])),
            "a fact",
        ),
        Row(
            "candidates",
            "entities searched",
            float(np.mean([retrieved.pool or 0 for retrieved in exact.found])),
            "a fact",
        ),
    ]
    rows += costs(exact)
    for number in beams:
        strategy = OptimalDistractors(graph, scorer, exact=False, beams=number)
        beam = search(f"beam of {max(number, wanted)}", strategy, questions, wanted)
        rows += costs(beam)[:3] + distance(beam, exact)
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--graph",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A graph that was loaded before.  [default: the example graph]",
)
@click.option("--relation", "relations", multiple=True, help="Relation of the facts; repeatable.  [default: all]")
@click.option("--facts", default=50, show_default=True, help="Number of facts, each in one sentence.")
@click.option("--distractors", "wanted", default=10, show_default=True, help="Distractors for each fact.")
@click.option(
    "--beams",
    type=click.IntRange(min=1),
    multiple=True,
    default=(10, 30, 100),
    show_default=True,
    help="Number of beams, at least the number of distractors; repeatable.",
)
@click.option("--exact-only", is_flag=True, help="Omit beam search.")
@click.option("--max-prefixes", default=100_000, show_default=True, help="Prefixes that exact search may expand.")
@seed_option
@json_option
def main(
    folder: Path | None,
    relations: tuple[str, ...],
    facts: int,
    wanted: int,
    beams: tuple[int, ...],
    exact_only: bool,
    max_prefixes: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compare beam search with exact search: quality and cost."""
    # Load it before the home changes, since it is stored there.
    scorer = load_scorer(f"hf:{demo_model_folder()}")
    with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary:
        os.environ["KGPROBE_HOME"] = temporary
        with ending_in_order(), open_graph(folder or Path(temporary) / "graph", memory=1024) as graph:
            if folder is None:
                load(graph, open_source("example"))
            widths = () if exact_only else beams
            try:
                rows = measure(graph, scorer, relations, facts, wanted, widths, max_prefixes, seed)
            except KgprobeError as error:
                raise click.ClickException(str(error)) from error
    show(Report("optimal", rows, seed, versions_of("numpy", "torch", "transformers")), as_json=as_json)


if __name__ == "__main__":
    main()
