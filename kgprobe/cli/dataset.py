"""``kgprobe dataset``: multiple-choice data sets of a graph's facts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.options import options_of
from kgprobe.cli.commands import Choice, given_options, only_with
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    BEHIND_API,
    batch_size_option,
    count_option,
    debug_option,
    draw_options,
    full_option,
    graph_options,
    json_option,
    model_option,
    name_option,
    open_graph,
    output_option,
    ray_option,
    relations_option,
    seed_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.probe import show as show_measurement
from kgprobe.cli.rendering import render, show_tables, without_graph
from kgprobe.cli.running import exit_without_answers, measuring, progress_bars, with_models
from kgprobe.datasets import DATASET_PROBES, DatasetOptions
from kgprobe.probes.examples import ExampleOptions, PromptOptions
from kgprobe.probes.generation import GenerationOptions
from kgprobe.probes.register import PROBES

if TYPE_CHECKING:
    from kgprobe.datasets.results import HarnessTask
    from kgprobe.models.model import Models

# A task of the harness has plain examples.
_NOT_EXPORTED = ("choices", "packed", "separate_tokens", "prompt", "examples_seed", "templates", "template")

_PROMPTS = [option.name for option in options_of(PromptOptions)]

_folder_argument = cloup.argument("folder", type=click.Path(path_type=Path), help="Data set, by folder or name.")
_examples_options = given_options((None, ExampleOptions), left_out=_NOT_EXPORTED)
_per_relation_option = count_option(
    "--per-relation", metavar="N", help="Maximum number of facts per relation, from the first on.  [default: all]"
)


@click.group(cls=CommandGroup)
def dataset() -> None:
    """Build, ask and export multiple-choice data sets.

    The defaults are those of T-REx-MC: relations with at least 500 facts and 100 objects; per relation 100 facts for
    few-shot examples and 400 test facts; per question the right object and 99 others of the relation.
    """


@dataset.command()
@cloup.argument("folder", type=click.Path(path_type=Path), help="Folder of the new data set.")
@relations_option("Facts of this relation only, by its id or a name; repeatable.")
@cloup.option(
    "--published",
    "source",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Import published files in the layout of T-REx-MC instead, without a graph.",
)
@cloup.option(
    "--templates",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --published: cloze sentences of the relations, as `kgprobe load table --relations` reads them.",
)
@as_paper_option("dataset build")
@given_options((None, DatasetOptions), argument="given")
@full_option
@draw_options
@graph_options
@click.pass_context
def build(
    ctx: click.Context,
    /,
    folder: Path,
    source: Path | None,
    templates: Path | None,
    given: dict[str, Any],
    full: bool,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Build a data set from the graph: a folder for `datasets.load_dataset`, with a card.

    Wrong choices are other objects of the relation that are not right for the subject; for a year or a day, other years
    or days. No subject has facts of one relation in both splits. The card lists the settings, and the relations left
    out with the reason; --full prints them. The same graph and settings give the same rows.

    --published imports a folder with files train* and test* (Parquet, CSV or JSON lines), in the folder itself or in
    its folder data, with the columns Relation_ID, Subject, Object and Multiple Choices, a list of the wrong objects.
    relationID_names.json next to them gives Wikidata's ids and names of the relations. Unusable rows are counted by
    reason and skipped.

    \b
    kgprobe dataset build trex-mc --licence cc-by-sa-4.0
    kgprobe dataset build small --min-facts 50 --min-objects 20 \\
        --train 10 --test 40 --alternatives 9
    kgprobe dataset build nobel --relation P569 --format jsonl
    kgprobe dataset build trex-mc --published T-Rex-MC --templates lpaq.jsonl
    """  # noqa: D301
    if source is not None:
        only_with(ctx, "--published", ("folder", "source", "templates", "format", "as_json"))
        with progress_bars() as on_progress:
            imported = kgprobe.import_dataset(source, folder, templates=templates, on_progress=on_progress, **given)
        render(imported, as_json)
        return
    if templates is not None:
        raise click.UsageError("--templates is for --published; the templates of the graph are stored otherwise.")
    with open_graph(graph) as connection, progress_bars() as on_progress:
        result = kgprobe.build_dataset(connection, folder, on_progress=on_progress, **options, **given)
    if as_json or full or not result.left_out:
        render(result, as_json)
    else:
        show_tables(result.tables(), full=False)
        click.echo(f"{result.summary()} --full lists them.")


@dataset.command()
@_folder_argument
@model_option(BEHIND_API)
@ray_option
@with_models(api=())
@as_paper_option("dataset probe")
@cloup.option(
    "--probe",
    type=Choice(DATASET_PROBES),
    default=DATASET_PROBES[0],
    show_default=True,
    help="Compare the choices, or search a generated text for the object.",
)
@relations_option("Relation to ask, by its id or label; repeatable.  [default: all]")
@_per_relation_option
@count_option("--limit", metavar="N", help="Maximum number of facts, drawn at random by --seed.  [default: all]")
@given_options(("Prompts", PromptOptions))
@given_options(("Options of examples", ExampleOptions), left_out=[*_PROMPTS, "choices"])
@given_options(("Options of generation", GenerationOptions), left_out=_PROMPTS)
@batch_size_option
@name_option("Folder name of the results.  [default: made from the settings]")
@output_option("File for the answers, one JSON object per fact.")
@full_option
@seed_option
@json_option
@debug_option
def probe(model: str, models: "Models", probe: str, full: bool, as_json: bool, **options: Any) -> None:
    """Ask a model the facts of a data set, each after few-shot examples of its relation, without a graph.

    All answers are stored, for `kgprobe compare` and `kgprobe report`; repeat a command to continue it. --seed selects
    the examples from the train split, the sentences, and the facts of --limit.

    \b
    kgprobe dataset probe trex-mc --model demo --limit 200
    kgprobe dataset probe trex-mc --model hf:gpt2 --packed --separate-tokens
    kgprobe dataset probe trex-mc --model demo --prompt sentences
    kgprobe dataset probe trex-mc --model hf:gpt2 --probe generation --examples 20
    """  # noqa: D301
    _refuse_options_of_others(probe, options)
    with measuring(f"Probing {model}", models) as callbacks:
        result = kgprobe.probe_dataset(model=model, probe=probe, models=models, callbacks=callbacks, **options)
    show_measurement(result, as_json, full)
    exit_without_answers(result.progress.stopped)


def _refuse_options_of_others(probe: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError if an option of the other probe was given."""
    own = {option.name for option in options_of(PROBES.get(probe).options)}
    for kind in map(PROBES.get, DATASET_PROBES):
        for option in options_of(kind.options):
            if option.name in options and option.name not in own:
                flag = "--" + option.name.replace("_", "-")
                raise click.UsageError(f"{flag} is an option of --probe {kind.name}.")


@dataset.command()
@_folder_argument
@cloup.argument("tasks", type=click.Path(path_type=Path), help="Folder of tasks; a sub-folder is created.")
@cloup.option("--name", metavar="NAME", help="Name of the task.  [default: the data set's folder]")
@model_option(
    "Fit the prompts to this model's context, and check that the harness truncates alike: demo, hf:NAME, or hf:./folder"
    " with a model in it.",
    required=False,
)
@as_paper_option("dataset export")
@_examples_options
@_per_relation_option
@seed_option
@with_models()
@without_graph()
def export(**options: Any) -> "HarnessTask":
    """Export a data set as a task of lm-evaluation-harness, with the prompts of `kgprobe dataset probe`.

    The same options give the same accuracy there, for every fact; docs/methods/data-sets.md lists the exceptions.

    \b
    kgprobe dataset export trex-mc tasks --examples 20
    kgprobe dataset export trex-mc tasks --model hf:gpt2 --name trex-mc-gpt2
    lm_eval --include_path tasks --tasks trex-mc --model hf \\
        --model_args pretrained=gpt2,dtype=float32 \\
        --log_samples --output_path logs
    """  # noqa: D301
    with progress_bars() as on_progress:
        return kgprobe.export_dataset(on_progress=on_progress, **options)
