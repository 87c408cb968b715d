"""``kgprobe study``: the papers' analyses, each with a table, plots and their data."""

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
from kgprobe.cli.groups import CommandGroup
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
from kgprobe.cli.probe import report_missing
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


@click.group(cls=CommandGroup)
def study() -> None:
    """Analyse measures and sampling rules: each study is a table, plots and their data.

    Answers are stored: repeat a command to continue an interrupted study.
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
    help=f"Strategy to compare; repeatable. One of {', '.join(STRATEGIES.names())}.  [default: all]",
)
@given_options((None, DistractorOptions), defaults=STRATEGIES_DEFAULTS, left_out=("strategy",))
@full_option
@common_options
def strategies(
    model: str, asked: FactsAsked, strategies: tuple[str, ...], given: dict[str, Any], common: Common, full: bool
) -> None:
    """Compare strategies of distractors: mean Min@n for n up to --distractors."""
    from kgprobe.api.studies import study_strategies

    _study_facts(study_strategies, model, asked, common, {**given, "strategies": strategies}, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, DistractorOptions), defaults=DISTRACTOR_COUNT_DEFAULTS)
@full_option
@common_options
def distractor_count(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """Find the number of distractors that is enough: means, and stability of the ranking of facts."""
    from kgprobe.api.studies import study_distractor_count

    _study_facts(study_distractor_count, model, asked, common, given, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, DistractorOptions), defaults=SENTENCES_DEFAULTS)
@full_option
@common_options
def sentences(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """Find the number of cloze sentences that is enough: the measure over subsets of sentences."""
    from kgprobe.api.studies import study_sentences

    _study_facts(study_sentences, model, asked, common, given, full)


@study.command(cls=OptionsFirst)
@models_option("Repeat it for each model.")
@facts_options()
@given_options((None, DistractorOptions), defaults=SCALING_DEFAULTS)
@full_option
@common_options
def scaling(models: tuple[str, ...], asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """Compare model sizes: Avg@n of several models against their numbers of parameters."""
    from kgprobe.api.studies import study_scaling
    from kgprobe.servers.opening import open_graph

    def open_model(spec: str) -> "Model":
        # One at a time, so that only one model is in memory.
        with open_models({}) as models_of_one:
            return open_asked(models_of_one, spec)

    with open_graph(common.graph, ask_password=ask_password) as graph, measuring("Measuring") as callbacks:
        result = study_scaling(
            graph, models, open_model=open_model, callbacks=callbacks, **_selection(asked, common), **given
        )
    show(result, common.as_json, full)


@study.command(cls=OptionsFirst)
@model_option()
@facts_options()
@given_options((None, ExampleCountsOptions))
@full_option
@common_options
def examples(model: str, asked: FactsAsked, given: dict[str, Any], common: Common, full: bool) -> None:
    """Find the number of examples that is enough for `kgprobe probe examples`: accuracy by their number.

    Facts and choices stay the same; the examples are drawn several times. Reports the smallest number that reaches 95%
    of the accuracy with the largest number.
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
    """Compare prompts: examples with other separators, packed, in sentences, or sentences alone.

    All prompts ask the same facts with the same choices; relations need a cloze sentence.
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
    """Measure the effect of unknown and incorrect examples on later ones: objects' probability by position.

    The model sees sequences of examples as they are, and with some replaced by facts of invented subjects or by wrong
    objects, spread or in one block.
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
    """Measure the robustness of measures: τ between flawed and corrected sentences.

    TABLE is a CSV file with one sentence per line and its correction, ids and labels of the triple, and its interval.
    Both sentences end with the object; context is present or past, and errors are free text. For example:

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
    """Measure the agreement of measures with people: cross-validated Kendall's τ with human scores.

    SCORES is a CSV file with a header, or a JSON list of objects: subject, relation and object of a fact (ids), and the
    share of people who judged that the model knows it, from 0 to 1. For example:

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
    help="Run as ground truth: θ of a fact is the share of its wrong answers. Best made by `kgprobe rounds run PROBE"
    " --sampling sequential`, with 20 answers per fact.  [default: synthetic facts]",
)
@cloup.option(
    "--reference",
    type=click.Choice(["demo"]),
    help="Ground truth that comes with kgprobe: 2,554 facts of the example graph, 8 answers of the demo model each.",
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
    """Compare sampling rules on the same number of requests, by replays without a model.

    Replays Thompson and uniform sampling, each with and without propagation, sequential sampling, and the rules of the
    hierarchical learner. The difficulty of each fact is known: from a run, from the demo model on the example graph, or
    synthetic, drawn again for each repetition.
    """
    from kgprobe.api.sampling_study import study_sampling
    from kgprobe.servers.opening import open_graph

    opened = open_graph(graph, ask_password=ask_password) if run is not None else nullcontext()
    with opened as connection, counting("Replaying", "replays") as callbacks:
        result = study_sampling(connection, run, reference=reference, seed=seed, callbacks=callbacks, **given)
    show(result, as_json, full)


def _study_facts(
    study_call: "Callable[..., StudyResult]",
    model: str,
    asked: FactsAsked,
    common: Common,
    given: dict[str, Any],
    full: bool,
) -> None:
    """Run a study that asks a model facts, and print it."""
    from kgprobe.servers.opening import open_graph

    with open_models({}) as models, open_graph(common.graph, ask_password=ask_password) as graph:
        opened = open_asked(models, model)
        with measuring(f"Measuring {model}") as callbacks:
            result = study_call(graph, opened, models=models, callbacks=callbacks, **_selection(asked, common), **given)
    show(result, common.as_json, full)


def _study_measures(
    study_call: "Callable[..., StudyResult]",
    model: str,
    file: Path,
    common: Common,
    given: dict[str, Any],
    full: bool,
) -> None:
    """Run a study that compares measures, and print it."""
    from kgprobe.servers.opening import open_graph

    with open_models({}) as models, open_graph(common.graph, ask_password=ask_password) as graph:
        opened = open_asked(models, model)
        with counting(f"Measuring {model}", "facts") as callbacks:
            result = study_call(
                graph, opened, file, seed=common.seed, as_of=common.as_of, models=models, callbacks=callbacks, **given
            )
    show(result, common.as_json, full)


def _selection(asked: FactsAsked, common: Common) -> dict[str, Any]:
    return {
        "limit": asked.limit,
        "facts": asked.facts,
        "relations": asked.relations,
        "seed": common.seed,
        "as_of": common.as_of,
    }


def show(result: "StudyResult", as_json: bool, full: bool) -> None:
    """Print a study, its verdict and its page; or one JSON object.

    Args:
        full: True to print the whole table and all notes.
    """
    report_missing(result.missing)
    with waiting("Writing the study's page"):
        page, table = result.page(), result.table()
    if as_json:
        content = {
            "study": result.study.name,
            "title": table.title,
            "verdict": result.study.verdict,
            "table": table.rows,
            "notes": table.notes,
            "data": str(result.data),
            "page": str(page),
        }
        click.echo(msgspec.json.encode(content))
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
