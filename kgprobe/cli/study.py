"""``kgprobe study``: the papers' analyses, each a table, plots and the data behind both."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup
import msgspec

from kgprobe.api.options import (
    DISTRACTOR_COUNT_DEFAULTS,
    SCALING_DEFAULTS,
    SENTENCES_DEFAULTS,
    STRATEGIES_DEFAULTS,
    ExampleCountsOptions,
    MeasuresOptions,
    NoisyExamplesOptions,
    PromptingOptions,
    ReplayOptions,
    SyntheticOptions,
)
from kgprobe.cli.from_options import OptionsFirst, given_options
from kgprobe.cli.groups import Group
from kgprobe.cli.options import (
    Common,
    FactsAsked,
    ask_password,
    common_options,
    debug_option,
    facts_options,
    full_option,
    graph_option,
    json_option,
    model_option,
    models_option,
    relations_option,
    seed_option,
)
from kgprobe.cli.probe import tell_missing
from kgprobe.cli.running import open_asked, open_models
from kgprobe.cli.watching import counting, measuring
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.progress import waiting
from kgprobe.sanitize import visible
from kgprobe.search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgprobe.models.model import Model
    from kgprobe.results.study import StudyResult


@click.group(cls=Group)
def study() -> None:
    """Analyses of the measures and of the rounds: each a table, plots and the data behind both.

    What a study asks of a model is kept: the same command goes on with what an interrupted one began.
    """


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@cloup.option(
    "--strategy",
    "strategies",
    type=click.Choice(STRATEGIES.names()),
    multiple=True,
    default=STRATEGIES.names(),
    metavar="NAME",
    help=f"Compare this one; repeatable. One of {', '.join(STRATEGIES.names())}.  [default: all]",
)
@given_options((None, DistractorOptions), defaults=STRATEGIES_DEFAULTS, left_out=("strategy",))
@full_option
@common_options
def strategies(
    model: str, asked: FactsAsked, strategies: tuple[str, ...], given: dict[str, Any], common: Common, full: bool
) -> None:
    """Which strategy retrieves the hardest distractors: mean Min@n for n up to --distractors."""
    from kgprobe.api.studies import study_strategies

    _study_facts(study_strategies, model, asked, common, {**given, "strategies": strategies}, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, DistractorOptions), defaults=DISTRACTOR_COUNT_DEFAULTS)
@full_option
@common_options
def distractor_count(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """How many distractors are enough: means, and whether the order of the facts has settled."""
    from kgprobe.api.studies import study_distractor_count

    _study_facts(study_distractor_count, model, asked, common, given, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, DistractorOptions), defaults=SENTENCES_DEFAULTS)
@full_option
@common_options
def sentences(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """How many cloze sentences are enough: the measure over subsets of each fact's sentences."""
    from kgprobe.api.studies import study_sentences

    _study_facts(study_sentences, model, asked, common, given, full)


@study.command(cls=OptionsFirst)
@models_option("Repeat it for each model.")
@facts_options()
@given_options((None, DistractorOptions), defaults=SCALING_DEFAULTS)
@full_option
@common_options
def scaling(models: tuple[str, ...], asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """Does a larger model know more: Avg@n of several models against their numbers of parameters."""
    from kgprobe.api.studies import study_scaling
    from kgprobe.servers.opening import open_graph

    def opened(spec: str) -> "Model":
        # Each by itself, so that none is held in memory while another is asked.
        with open_models({}) as one:
            return open_asked(one, spec)

    with open_graph(common.graph, ask_password=ask_password) as graph, measuring("Measuring") as callbacks:
        result = study_scaling(graph, models, open_model=opened, callbacks=callbacks, **_about(asked, common), **given)
    show(result, common.as_json, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, ExampleCountsOptions))
@full_option
@common_options
def examples(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """How many examples are enough for `kgprobe probe examples`: accuracy by their number.

    Facts and choices stay the same; the examples are drawn several times. Tells the least number that reaches 95% of
    the accuracy after the most.
    """
    from kgprobe.api.example_studies import study_examples

    _study_facts(study_examples, model, asked, common, given, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, PromptingOptions))
@full_option
@common_options
def prompting(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """Does it matter how one asks: examples with other separators, packed, in sentences, or sentences alone.

    The same facts are asked with the same choices in each way; relations need a cloze sentence.
    """
    from kgprobe.api.example_studies import study_prompting

    _study_facts(study_prompting, model, asked, common, given, full)


@study.command(cls=OptionsFirst)
@model_option()
@relations_option("Make sequences of this relation only, by its id or a name; repeatable.")
@given_options((None, NoisyExamplesOptions))
@full_option
@common_options
def noisy_examples(model: str, relations: tuple[str, ...], given: dict[str, Any], common: Common, full: bool) -> None:
    """What unknown and incorrect examples do to those that follow: the objects' probability by position.

    Sequences of examples are given to the model as they are, and with some of them replaced: by facts of invented
    subjects, or by wrong objects; spread, or in one block.
    """
    from kgprobe.api.example_studies import study_noisy_examples
    from kgprobe.servers.opening import open_graph

    with open_models({}) as models, open_graph(common.graph, ask_password=ask_password) as graph:
        opened = open_asked(models, model)
        with counting(f"Measuring {model}", "sequences") as callbacks:
            result = study_noisy_examples(
                graph,
                opened,
                relations=relations,
                seed=common.seed,
                as_of=common.as_of,
                models=models,
                callbacks=callbacks,
                **given,
            )
    show(result, common.as_json, full)


@study.command(cls=OptionsFirst)
@cloup.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option()
@given_options((None, MeasuresOptions))
@full_option
@common_options
def robustness(table: Path, model: str, given: dict[str, Any], common: Common, full: bool) -> None:
    """How much measures mind flawed sentences: τ between flawed and corrected verbalizations.

    TABLE is a CSV file, one sentence a line with its correction; ids and labels of the triple, and when it held. The
    object has to stand last in both sentences; context is present or past, errors are yours to name. For example:

    \b
    triples_raw,triples,context,verbalization,errors,correction
    "('Q17', 'P36', 'Q1490')","(Japan, capital, Tokyo, start=None, end=None)",present,capital of Japan is Tokyo,article,The capital of Japan is Tokyo
    """  # noqa: D301, E501
    from kgprobe.api.measure_studies import study_robustness

    _study_measures(study_robustness, model, table, common, given, full)


@study.command(cls=OptionsFirst)
@cloup.argument("scores", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option()
@given_options((None, MeasuresOptions))
@full_option
@common_options
def calibration(scores: Path, model: str, given: dict[str, Any], common: Common, full: bool) -> None:
    """How well measures agree with people: cross-validated Kendall's τ with human scores.

    SCORES is a CSV file with a header, or a JSON list of objects, with the subject, relation and object of facts (ids)
    and the share of people who found that the model knows them, from 0 to 1. For example:

    \b
    subject,relation,object,human_score
    Q17,P36,Q1490,0.9
    Q142,P36,Q90,0.75
    """  # noqa: D301
    from kgprobe.api.measure_studies import study_calibration

    _study_measures(study_calibration, model, scores, common, given, full)


@study.command(cls=OptionsFirst)
@cloup.option(
    "--run",
    metavar="NAME",
    help="Take a run for the truth: θ of a fact is the share of its own answers that were wrong. Best is one made by"
    " `kgprobe rounds run PROBE --sampling sequential`, with 20 answers a fact.  [default: made-up facts]",
)
@cloup.option(
    "--reference",
    type=click.Choice(["demo"]),
    help="Take what comes with kgprobe: the 2,554 facts of the example graph, the demo model asked 8 times each.",
)
@given_options((None, SyntheticOptions), (None, ReplayOptions))
@seed_option
@full_option
@graph_option
@json_option
@debug_option
def sampling(
    run: str | None,
    reference: str | None,
    given: dict[str, Any],
    seed: int,
    full: bool,
    graph: str | None,
    as_json: bool,
) -> None:
    """Which strategy of sampling learns most from as many requests: replays, no model is asked.

    Thompson and uniform sampling, each with propagation and without, sequential, and those of the learner
    hierarchical are replayed against facts of which it is known how hard they are: those of a run, those of the
    example graph for the demo model, or made-up ones, new ones for each repetition.
    """
    from kgprobe.api.sampling_study import study_sampling
    from kgprobe.servers.opening import open_graph

    opened = open_graph(graph, ask_password=ask_password) if run is not None else nullcontext()
    with opened as connection, counting("Replaying", "replays") as callbacks:
        result = study_sampling(connection, run, reference=reference, seed=seed, callbacks=callbacks, **given)
    show(result, as_json, full)


def _study_facts(
    made: "Callable[..., StudyResult]",
    model: str,
    asked: FactsAsked,
    common: Common,
    given: dict[str, Any],
    full: bool,
) -> None:
    """Make a study of what a model says of facts, and print it."""
    from kgprobe.servers.opening import open_graph

    with open_models({}) as models, open_graph(common.graph, ask_password=ask_password) as graph:
        opened = open_asked(models, model)
        with measuring(f"Measuring {model}") as callbacks:
            result = made(graph, opened, models=models, callbacks=callbacks, **_about(asked, common), **given)
    show(result, common.as_json, full)


def _study_measures(
    made: "Callable[..., StudyResult]",
    model: str,
    file: Path,
    common: Common,
    given: dict[str, Any],
    full: bool,
) -> None:
    """Make a study that sets measures side by side, and print it."""
    from kgprobe.servers.opening import open_graph

    with open_models({}) as models, open_graph(common.graph, ask_password=ask_password) as graph:
        opened = open_asked(models, model)
        with counting(f"Measuring {model}", "facts") as callbacks:
            result = made(
                graph, opened, file, seed=common.seed, as_of=common.as_of, models=models, callbacks=callbacks, **given
            )
    show(result, common.as_json, full)


def _about(asked: FactsAsked, common: Common) -> dict[str, Any]:
    return {
        "limit": asked.limit,
        "facts": asked.facts,
        "relations": asked.relations,
        "seed": common.seed,
        "as_of": common.as_of,
    }


def show(result: "StudyResult", as_json: bool, full: bool) -> None:
    """Print what a study found, and in the end its verdict and its page; or the same as JSON.

    Args:
        full: whether the table and all notes are printed, however long they are.
    """
    tell_missing(result.missing)
    with waiting("Writing the study's page"):
        page, table = result.page(), result.table()
    if as_json:
        shown = {
            "study": result.study.name,
            "title": table.title,
            "verdict": result.study.verdict,
            "table": table.rows,
            "notes": table.notes,
            "data": str(result.data),
            "page": str(page),
        }
        click.echo(msgspec.json.encode(shown))
        return
    from rich.console import Console, Group

    from kgprobe.report.tables import notes_of, rich_table

    (verdict,) = notes_of([result.study.verdict])
    verdict.stylize("bold")
    if full:
        Console().print(Group(rich_table(replace(table, notes=())), *notes_of(table.notes)))
    else:
        click.echo(f"{visible(table.title)}: {len(table.rows):,} rows and {len(table.notes):,} notes, with --full.")
    Console().print(verdict)
    click.echo(f"Data: {result.data}")
    click.echo(f"Page: {page.as_uri()}")
