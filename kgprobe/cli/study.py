"""``kgprobe study``: the papers' analyses, each a table, plots and the data behind both."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.facts import FactsAsked, chosen, facts_options
from kgprobe.cli.measures import MeasuresChoice, chosen_measures, described, measures_options, measuring, tools_for
from kgprobe.cli.options import (
    STRATEGIES,
    Common,
    DistractorChoice,
    ask_password,
    common_options,
    debug_option,
    distractor_options,
    explain_option,
    graph_option,
    json_option,
    model_option,
    seed_option,
)
from kgprobe.cli.probe import watched
from kgprobe.cli.running import load_model

if TYPE_CHECKING:
    from kgprobe.asking.measurement import Measurement
    from kgprobe.beliefs.reference import Reference
    from kgprobe.graph.client import Graph
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.sampling.facts import Keys
    from kgprobe.studies.study import Study


@click.group()
def study() -> None:
    """Analyses of the measures and of the rounds: each a table, plots and the data behind both.

    What a study asks of a model is kept: the same command goes on with what an interrupted one began.
    """


class StoppedError(click.ClickException):
    """A study that was ended before all of its facts were measured."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The facts of a study, in an open graph."""

    graph: "Graph"
    keys: "Keys"
    relations: tuple[str, ...]
    common: Common

    def measured(self, model: str, scorer: "Scorer", choice: DistractorChoice) -> "Measurement":
        """The measurement of these facts asked in this way, made now or before.

        Args:
            model: the scorer's spec.

        Raises:
            StoppedError: the user ended it.
        """
        from kgprobe.asking.distractor_measurement import measure_distractors
        from kgprobe.graph.state import graph_state
        from kgprobe.probes.registry import make_distractor_probe

        options = choice.probe_options(model, self.relations, self.common.as_of)
        probe = make_distractor_probe(self.graph, scorer, options)
        with watched(f"{choice.strategy} · {model}") as progress:
            result = measure_distractors(
                probe,
                self.keys,
                self.common.seed,
                batch=16,
                origin={"graph": graph_state(self.graph)},
                progress=progress,
            )
        if not result.complete:
            raise StoppedError(f"Stopped after {result.done:,} of {result.facts:,} facts; the same command goes on.")
        return result


@contextmanager
def setting(facts: FactsAsked, common: Common) -> Iterator[Setting]:
    """The facts that were asked for, with the graph open."""
    from kgprobe.probes.clozes import ClozeQuestions
    from kgprobe.servers.server import open_graph

    with open_graph(common.graph, ask_password) as graph:
        askable = ClozeQuestions(graph, common.as_of, relations=facts.relations).relations
        keys, _ = chosen(graph, facts, askable, common)
        yield Setting(graph, keys, facts.relations, common)


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
@distractor_options(distractors=100, sentences="1", strategy=False)
@common_options
def strategies(
    model: str, facts: FactsAsked, strategies: tuple[str, ...], choice: DistractorChoice, common: Common
) -> None:
    """Which strategy retrieves the hardest distractors: mean Min@n for n up to --distractors."""
    from kgprobe.asking.distractor_measurement import measured_in
    from kgprobe.studies.strategies import strategies_study

    with setting(facts, common) as its:
        scorer = load_model(model)
        made = {name: its.measured(model, scorer, replace(choice, strategy=name)) for name in strategies}
    measured = {name: measured_in(measurement) for name, measurement in made.items()}
    finish(strategies_study(measured, model, record(made, common), common.seed), common.as_json)


@study.command()
@model_option
@facts_options
@distractor_options(distractors=200, sentences="all")
@common_options
def distractors(model: str, facts: FactsAsked, choice: DistractorChoice, common: Common) -> None:
    """How many distractors are enough: means, and whether the order of the facts has settled."""
    from kgprobe.asking.distractor_measurement import measured_in
    from kgprobe.studies.counts import counts_study

    with setting(facts, common) as its:
        made = its.measured(model, load_model(model), choice)
    config = {"measurement": str(made.folder), "seed": common.seed}
    finish(counts_study(measured_in(made), model, config, common.seed), common.as_json)


@study.command()
@model_option
@facts_options
@distractor_options(distractors=20, sentences="all")
@common_options
def sentences(model: str, facts: FactsAsked, choice: DistractorChoice, common: Common) -> None:
    """How many cloze sentences are enough: the measure over subsets of each fact's sentences."""
    from kgprobe.studies.sentences import sentences_study

    with setting(facts, common) as its:
        made = its.measured(model, load_model(model), choice)
    config = {"measurement": str(made.folder), "seed": common.seed}
    finish(sentences_study(made.outcomes(), choice.distractors, model, config, common.seed), common.as_json)


@study.command()
@click.option("--model", "models", required=True, multiple=True, metavar="SPEC", help="A model; repeat for each.")
@explain_option
@facts_options
@distractor_options(distractors=20, sentences="all")
@common_options
def sizes(models: tuple[str, ...], facts: FactsAsked, choice: DistractorChoice, common: Common) -> None:
    """Does a larger model know more: Avg@n of several models against their numbers of parameters."""
    from kgprobe.asking.distractor_measurement import measured_in
    from kgprobe.studies.sizes import measured_models, sizes_study

    if len(set(models)) < 2:
        raise click.UsageError("A line through sizes needs two models at least: give --model for each.")
    with setting(facts, common) as its:
        made = {model: its.measured(model, load_model(model), choice) for model in dict.fromkeys(models)}
    sized, asked = measured_models(
        {
            model: (measurement.config["probe"]["scorer"]["parameters"], measured_in(measurement))
            for model, measurement in made.items()
        },
        common.seed,
    )
    finish(sizes_study(sized, asked, choice.distractors, record(made, common)), common.as_json)


@study.command()
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option
@measures_options
@common_options
def robustness(table: Path, model: str, choice: MeasuresChoice, common: Common) -> None:
    """How much measures mind flawed sentences: τ between flawed and corrected verbalizations.

    TABLE is a CSV file with the columns triples_raw, triples, context, verbalization, errors and correction.
    """
    from kgprobe.graph.state import graph_state
    from kgprobe.servers.server import open_graph
    from kgprobe.studies.robustness import paired_questions, robustness_study
    from kgprobe.verbalize.corrections import pair_up, read_verbalizations

    pairs, unpaired = pair_up(read_verbalizations(table))
    with open_graph(common.graph, ask_password) as graph:
        flawed, corrected, missing = paired_questions(graph, pairs)
        if not flawed:
            raise click.ClickException(f"None of the {len(pairs)} pairs of {table} is about a fact of this graph.")
        tools = tools_for(graph, model, choice, common)
        names = chosen_measures(choice, tools)
        config = {
            "table": str(table),
            "graph": graph_state(graph),
            "pairs": len(flawed),
            **described(choice, tools, names),
        }
        with measuring(tools, 2 * len(flawed) * len(names)) as measured:
            done = robustness_study(
                measured,
                names,
                flawed,
                corrected,
                [*(one.reason for one in unpaired), *missing],
                model,
                config,
                common.seed,
            )
    finish(done, common.as_json)


@study.command()
@click.argument("scores", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option
@measures_options
@common_options
def calibration(scores: Path, model: str, choice: MeasuresChoice, common: Common) -> None:
    """How well measures agree with people: cross-validated Kendall's τ with human scores.

    SCORES is a JSON file: a list of objects with subject, relation, object (ids) and human_score.
    """
    from kgprobe.graph.state import graph_state
    from kgprobe.probes.clozes import ClozeQuestions
    from kgprobe.servers.server import open_graph
    from kgprobe.studies.calibration import calibration_study, find_scored, read_human_scores

    human = read_human_scores(scores)
    with open_graph(common.graph, ask_password) as graph:
        scored = find_scored(graph, human)
        questions = ClozeQuestions(graph, common.as_of).of(scored.keys, [common.seed])
        tools = tools_for(graph, model, choice, common)
        names = chosen_measures(choice, tools)
        config = {
            "scores": str(scores),
            "graph": graph_state(graph),
            "facts": len(questions),
            **described(choice, tools, names),
        }
        with measuring(tools, len(questions) * len(names)) as measured:
            done = calibration_study(
                lambda name: measured(name, questions),
                names,
                scored.scores,
                scored.missing,
                model,
                config,
                seed=common.seed,
            )
    finish(done, common.as_json)


@study.command()
@click.option(
    "--run",
    metavar="NAME",
    help="Take a run for the truth: θ of a fact is the share of its own answers that were wrong. Best is one made by"
    " `kgprobe rounds run --sampling iteration --no-propagation`, with 20 answers a fact.  [default: made-up facts]",
)
@click.option("--facts", type=click.IntRange(min=2), default=2_500, show_default=True, help="Make up so many facts.")
@click.option(
    "--hard",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="About which share of them a model fails more often than not.",
)
@click.option(
    "--spread",
    type=click.FloatRange(min=0, min_open=True),
    default=3.0,
    show_default=True,
    help="How they differ: the standard deviation of logit θ; 1 is much alike, 6 is surely known or surely not.",
)
@click.option(
    "--likeness",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.5,
    show_default=True,
    help="How far facts that share an entity are alike in θ: 0 not at all.",
)
@click.option(
    "--requests", type=click.IntRange(min=1), show_default="8 a fact", help="Questions that each strategy may ask."
)
@click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Facts asked a round.")
@click.option(
    "--max-degree",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="Entities with more facts do not propagate.",
)
@click.option("--repetitions", type=click.IntRange(min=2), default=5, show_default=True, help="Of each replay.")
@click.option(
    "--hardest", type=click.IntRange(min=1), default=100, show_default=True, help="Facts to look at as the hardest."
)
@seed_option
@graph_option
@json_option
@debug_option
@click.pass_context
def sampling(
    context: click.Context,
    run: str | None,
    facts: int,
    hard: float,
    spread: float,
    likeness: float,
    requests: int | None,
    batch: int,
    max_degree: int,
    repetitions: int,
    hardest: int,
    seed: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Which strategy of sampling learns most from as many requests: replays, no model is asked.

    Thompson sampling and Monte Carlo, each with propagation and without, and iteration are replayed against facts of
    which it is known how hard they are: those of a run, or made-up ones, new ones for each repetition.
    """
    from kgprobe.beliefs.reference import Synthetic, synthetic
    from kgprobe.beliefs.simulation import STRATEGIES, checkpoint_rounds, replay_all, shown_rounds
    from kgprobe.progress import progress_bar
    from kgprobe.studies.sampling import Replays, sampling_study

    config: dict[str, Any] = {"seed": seed, "batch": batch, "max_degree": max_degree, "repetitions": repetitions}
    references: list[Reference]
    if run is None:
        wanted = Synthetic(facts, hard, spread, likeness)
        references = [synthetic(wanted, [seed, repetition]) for repetition in range(repetitions)]
        origin, about = "made-up facts", list[str]()
        config |= {"facts": facts, "hard": hard, "spread": spread, "likeness": likeness}
    else:
        refuse_beside_run(context, "facts", "hard", "spread", "likeness")
        reference, origin, about, its = taken_from_run(graph, run)
        references = [reference] * repetitions
        config |= its
    count = len(references[0].theta)
    total = 8 * count if requests is None else requests
    checkpoints = checkpoint_rounds(count, total, batch)
    config |= {"requests": total, "hardest": hardest}
    with progress_bar("Replaying", repetitions * len(STRATEGIES), "replays") as bar:
        done = 0

        def on_replay() -> None:
            nonlocal done
            done += 1
            bar.advance_to(done, 1)

        standings = replay_all(
            references,
            seed,
            checkpoints=checkpoints,
            batch=batch,
            hardest=hardest,
            max_degree=max_degree,
            on_replay=on_replay,
        )
    shown = [checkpoints.index(number) for number in shown_rounds(count, checkpoints[-1], batch)]
    replays = Replays.of(standings, shown)
    finish(sampling_study(replays, references, origin, config, hardest=hardest, about=about), as_json)


def refuse_beside_run(context: click.Context, *names: str) -> None:
    """Raise UsageError where an option of made-up facts was given beside ``--run``."""
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is about made-up facts; with --run, the facts are those of the run.")


def taken_from_run(graph_name: str | None, run: str) -> "tuple[Reference, str, list[str], dict[str, Any]]":
    """A run's facts as a reference, where it comes from, what is to be said of that, and what it depends on."""
    from kgprobe.beliefs.reference import reference_of_run
    from kgprobe.servers.server import open_graph
    from kgprobe.studies.sampling import about_run

    with open_graph(graph_name, ask_password) as graph:
        answered = reference_of_run(graph, run)
    config = {"run": run, "uid": answered.run["uid"], "round": answered.run["round"]}
    return answered.reference, f"{run}, {answered.run['model']}", about_run(answered), config


def record(made: Mapping[str, "Measurement"], common: Common) -> dict[str, Any]:
    """What a study over several measurements is made of."""
    return {"measurements": {name: str(one.folder) for name, one in made.items()}, "seed": common.seed}


def finish(done: "Study", as_json: bool) -> None:
    """Write a study's files, and print its table, or the whole as JSON."""
    from kgprobe.files import home
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
