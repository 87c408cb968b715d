"""``kgprobe study``: the papers' analyses, each a table, a plot and the data behind both."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from kgprobe.cli.measures import chosen_measures, described, measure_facts_of, measures_options, measuring, tools_for
from kgprobe.cli.options import (
    STRATEGIES,
    as_of_option,
    ask_password,
    debug_option,
    explain_option,
    graph_option,
    json_option,
    model_option,
    question_options,
    seed_option,
)
from kgprobe.cli.probe import chosen, facts_options, watched
from kgprobe.cli.running import load_model

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.measurement import Measurement
    from kgprobe.models.scorer import Scorer
    from kgprobe.probes.registry import ProbeOptions
    from kgprobe.sampling.facts import Keys
    from kgprobe.studies.study import Study

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def study() -> None:
    """Analyses of the measures: each a table, a plot and the data behind both.

    What a study asks of a model is kept: the same command goes on with what an interrupted one began.
    """


class StoppedError(click.ClickException):
    """A study that was ended before all of its facts were measured."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the measurements of a study share.

    Attributes:
        missing: how many lines of the list of facts the graph knows nothing of.
    """

    graph: "Graph"
    keys: "Keys"
    seed: int
    missing: int

    def measured(self, scorer: "Scorer", options: "ProbeOptions") -> "Measurement":
        """The measurement with these options, made now or before.

        Raises:
            StoppedError: the user ended it.
        """
        from kgprobe.graph.state import graph_state
        from kgprobe.measurement import measure
        from kgprobe.probes.registry import make_probe

        probe = make_probe("distractors", self.graph, scorer, options)
        with watched(f"{options.strategy} · {options.model}") as progress:
            result = measure(
                probe, self.keys, self.seed, batch=16, origin={"graph": graph_state(self.graph)}, progress=progress
            )
        if not result.complete:
            raise StoppedError(f"Stopped after {result.done:,} of {result.facts:,} facts; the same command goes on.")
        return result


@contextmanager
def setting(
    graph: str | None, facts: TextIO | None, count: int | None, relations: Sequence[str], as_of: int, seed: int
) -> Iterator[Setting]:
    """The facts of a study, in an open graph."""
    from kgprobe.graph.server import open_graph
    from kgprobe.probes.questions import ClozeQuestions

    with open_graph(graph, ask_password) as connection:
        askable = ClozeQuestions(connection, as_of, relations=relations).relations
        keys, missing = chosen(connection, facts, count, askable, as_of, seed)
        yield Setting(connection, keys, seed, missing)


def common_options(command: F) -> F:
    """What every study takes."""
    for option in (debug_option, json_option, graph_option, as_of_option, seed_option):
        command = option(command)
    return command


@study.command()
@model_option
@facts_options
@click.option(
    "--strategy",
    "strategies",
    type=click.Choice(STRATEGIES),
    multiple=True,
    default=STRATEGIES,
    show_default=True,
    help="Compare this one; repeatable.",
)
@question_options(distractors=100, sentences="1", strategy=False)
@common_options
def strategies(
    model: str,
    facts: TextIO | None,
    count: int | None,
    relations: tuple[str, ...],
    strategies: tuple[str, ...],
    distractors: int,
    sentences: int | None,
    weighting: str,
    budget: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Which strategy retrieves the hardest distractors: mean Min@n for n up to --distractors."""
    from kgprobe.probes.registry import ProbeOptions
    from kgprobe.studies.strategies import strategies_study

    options = ProbeOptions(model, as_of, relations, distractors, sentences, strategies[0], weighting, budget)
    with setting(graph, facts, count, relations, as_of, seed) as its:
        scorer = load_model(model)
        measurements = {name: its.measured(scorer, replace(options, strategy=name)) for name in strategies}
    measured = {name: measurement.measured() for name, measurement in measurements.items()}
    config = {"measurements": {name: str(made.folder) for name, made in measurements.items()}, "seed": seed}
    finish(strategies_study(measured, model, config, seed), as_json)


@study.command()
@model_option
@facts_options
@question_options(distractors=200, sentences="all")
@common_options
def distractors(
    model: str,
    facts: TextIO | None,
    count: int | None,
    relations: tuple[str, ...],
    distractors: int,
    sentences: int | None,
    strategy: str,
    weighting: str,
    budget: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """How many distractors are enough: means, and whether the order of the facts has settled."""
    from kgprobe.probes.registry import ProbeOptions
    from kgprobe.studies.counts import counts_study

    options = ProbeOptions(model, as_of, relations, distractors, sentences, strategy, weighting, budget)
    with setting(graph, facts, count, relations, as_of, seed) as its:
        made = its.measured(load_model(model), options)
    finish(counts_study(made.measured(), model, {"measurement": str(made.folder), "seed": seed}, seed), as_json)


@study.command()
@model_option
@facts_options
@question_options(distractors=20, sentences="all")
@common_options
def sentences(
    model: str,
    facts: TextIO | None,
    count: int | None,
    relations: tuple[str, ...],
    distractors: int,
    sentences: int | None,
    strategy: str,
    weighting: str,
    budget: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """How many cloze sentences are enough: the measure over subsets of each fact's sentences."""
    from kgprobe.probes.registry import ProbeOptions
    from kgprobe.studies.sentences import sentences_study

    options = ProbeOptions(model, as_of, relations, distractors, sentences, strategy, weighting, budget)
    with setting(graph, facts, count, relations, as_of, seed) as its:
        made = its.measured(load_model(model), options)
    config = {"measurement": str(made.folder), "seed": seed}
    finish(sentences_study(made.outcomes(), distractors, model, config, seed), as_json)


@study.command()
@click.option("--model", "models", required=True, multiple=True, metavar="SPEC", help="A model; repeat for each.")
@explain_option
@facts_options
@question_options(distractors=20, sentences="all")
@common_options
def sizes(
    models: tuple[str, ...],
    facts: TextIO | None,
    count: int | None,
    relations: tuple[str, ...],
    distractors: int,
    sentences: int | None,
    strategy: str,
    weighting: str,
    budget: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Does a larger model know more: Avg@n of several models against their numbers of parameters."""
    from kgprobe.probes.registry import ProbeOptions
    from kgprobe.studies.sizes import measured_models, sizes_study

    if len(set(models)) < 2:
        raise click.UsageError("A line through sizes needs two models at least: give --model for each.")
    made = {}
    with setting(graph, facts, count, relations, as_of, seed) as its:
        for model in dict.fromkeys(models):
            options = ProbeOptions(model, as_of, relations, distractors, sentences, strategy, weighting, budget)
            made[model] = its.measured(load_model(model), options)
    config = {"measurements": {name: str(measurement.folder) for name, measurement in made.items()}, "seed": seed}
    sized, asked = measured_models(
        {
            model: (measurement.config["probe"]["scorer"]["parameters"], measurement.measured())
            for model, measurement in made.items()
        },
        seed,
    )
    finish(sizes_study(sized, asked, distractors, config), as_json)


@study.command()
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option
@measures_options
@common_options
def robustness(
    table: Path,
    model: str,
    strategies: tuple[str, ...],
    names: tuple[str, ...],
    widths: tuple[int, ...],
    encoder: str | None,
    judge: str | None,
    distractors: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """How much measures mind flawed sentences: τ between flawed and corrected verbalizations.

    TABLE is a CSV file with the columns triples_raw, triples, context, verbalization, errors and correction.
    """
    from kgprobe.graph.server import open_graph
    from kgprobe.graph.state import graph_state
    from kgprobe.studies.robustness import paired_questions, robustness_study
    from kgprobe.verbalize.corrections import pair_up, read_verbalizations

    pairs, unpaired = pair_up(read_verbalizations(table))
    with open_graph(graph, ask_password) as connection:
        flawed, corrected, missing = paired_questions(connection, pairs)
        if not flawed:
            raise click.ClickException(f"None of the {len(pairs)} pairs of {table} is about a fact of this graph.")
        tools = tools_for(connection, model, as_of, seed, widths, distractors, encoder, judge)
        chosen_names = chosen_measures(names, strategies, tools)
        config = {
            "table": str(table),
            "graph": graph_state(connection),
            "pairs": len(flawed),
            **described(tools, encoder, judge),
            "measures": chosen_names,
        }
        with measuring(2 * len(flawed) * len(chosen_names)) as watch:
            done = robustness_study(
                lambda name, questions: measure_facts_of(name, tools, questions, watch),
                chosen_names,
                flawed,
                corrected,
                [*(one.reason for one in unpaired), *missing],
                model,
                config,
                seed,
            )
    finish(done, as_json)


@study.command()
@click.argument("scores", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option
@measures_options
@common_options
def calibration(
    scores: Path,
    model: str,
    strategies: tuple[str, ...],
    names: tuple[str, ...],
    widths: tuple[int, ...],
    encoder: str | None,
    judge: str | None,
    distractors: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """How well measures agree with people: cross-validated Kendall's τ with human scores.

    SCORES is a JSON file: a list of objects with subject, relation, object (ids) and human_score.
    """
    from kgprobe.graph.server import open_graph
    from kgprobe.graph.state import graph_state
    from kgprobe.probes.questions import ClozeQuestions
    from kgprobe.studies.calibration import calibration_study, find_scored, read_human_scores

    human = read_human_scores(scores)
    with open_graph(graph, ask_password) as connection:
        scored = find_scored(connection, human)
        questions = ClozeQuestions(connection, as_of).of(scored.keys, [seed])
        tools = tools_for(connection, model, as_of, seed, widths, distractors, encoder, judge)
        chosen_names = chosen_measures(names, strategies, tools)
        config = {
            "scores": str(scores),
            "graph": graph_state(connection),
            "facts": len(questions),
            **described(tools, encoder, judge),
            "measures": chosen_names,
        }
        with measuring(len(questions) * len(chosen_names)) as watch:
            done = calibration_study(
                lambda name: measure_facts_of(name, tools, questions, watch),
                chosen_names,
                scored.scores,
                scored.missing,
                model,
                config,
                seed=seed,
            )
    finish(done, as_json)


def finish(done: "Study", as_json: bool) -> None:
    """Write a study's files, and print its table, or the whole as JSON."""
    from kgprobe.paths import home
    from kgprobe.report.study_files import DATA, PAGE, study_table, write_study

    identity = json.dumps(done.config, sort_keys=True).encode()
    folder = home() / "studies" / f"{done.name}-{hashlib.sha256(identity).hexdigest()[:10]}"
    write_study(done, folder)
    if as_json:
        shown = {
            "study": done.name,
            "title": done.title,
            "table": done.table,
            "notes": done.notes,
            "data": str(folder / DATA),
            "page": str(folder / PAGE),
        }
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    from rich.console import Console

    Console().print(study_table(done))
    click.echo(f"Page: {(folder / PAGE).as_uri()}")
    click.echo(f"Data: {folder / DATA}")
