"""``kgprobe dataset``: multiple-choice data sets of a graph's facts."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import cloup

from kgprobe.cli.from_options import OptionsFirst, given_options
from kgprobe.cli.groups import Group
from kgprobe.cli.looks import show_notes, show_tables
from kgprobe.cli.options import (
    Common,
    ask_password,
    common_options,
    debug_option,
    explain_option,
    full_option,
    in_flags,
    json_option,
    local_options,
    model_option,
    relations_option,
    seed_option,
)
from kgprobe.cli.running import open_asked, open_models
from kgprobe.cli.watching import counting_bar
from kgprobe.datasets import DatasetOptions
from kgprobe.probes.examples import ExampleOptions

# Which examples stand before a fact is the data set's to say; the choices are its own.
_NOT_OF_DATASETS = ("choices", "packed", "prompt")

_folder_argument = cloup.argument("folder", type=click.Path(path_type=Path), help="The data set.")
_examples_options = given_options((None, ExampleOptions), left_out=_NOT_OF_DATASETS)
_per_relation_option = cloup.option(
    "--per-relation",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask at most N facts of each relation, the first ones.  [default: all]",
)


@click.group(cls=Group)
def dataset() -> None:
    """Multiple-choice data sets: build one from the graph, look at it, ask it, hand it on.

    The rules are those of T-REx-MC: relations with at least 500 facts and 100 objects, 100 facts to take examples from
    and 400 to ask of each, and 99 other objects of the relation beside the right one.
    """


@dataset.command(cls=OptionsFirst)
@cloup.argument("folder", type=click.Path(path_type=Path), help="The data set, which is made.")
@relations_option("Facts of this relation only, by its id or a name; repeatable.")
@given_options((None, DatasetOptions))
@full_option
@common_options
def build(folder: Path, relations: tuple[str, ...], given: dict[str, Any], full: bool, common: Common) -> None:
    """Build a data set from the graph: a folder that `datasets.load_dataset` reads, with a card.

    A fact's wrong choices are other objects of its relation that are not right for its subject; beside a year or a day
    stand others. No subject has facts of one relation in both splits. The card tells how it was made, and which
    relations did not qualify, and why; --full prints them. The same graph and settings give the same rows.

    \b
    kgprobe dataset build trex-mc --licence cc-by-sa-4.0
    kgprobe dataset build small --min-facts 50 --min-objects 20 \\
        --train 10 --test 40 --alternatives 9
    kgprobe dataset build nobel --relation P569 --format jsonl
    """  # noqa: D301
    from kgprobe.api.datasets import build_dataset
    from kgprobe.servers.opening import open_graph

    with ExitStack() as stack:
        graph = stack.enter_context(open_graph(common.graph, ask_password=ask_password))
        result = build_dataset(
            graph,
            folder,
            relations=relations,
            seed=common.seed,
            as_of=common.as_of,
            on_progress=counting_bar("Building", "relations", stack),
            **given,
        )
    if common.as_json:
        click.echo(json.dumps({"folder": str(result.folder), "relations": result.rows()}, ensure_ascii=False))
    else:
        show_tables(result, None if full else ("relations",))
        click.echo(result.summary() if full or len(result.tables()) == 1 else f"{result.summary()} --full lists them.")


@dataset.command(cls=OptionsFirst)
@_folder_argument
@json_option
@debug_option
def show(folder: Path, as_json: bool) -> None:
    """Show what is in a data set, and check every row of it.

    Parquet and JSON lines are read. What cannot be used is an error that names the file and the row: a choice that
    stands twice, an answer that is not among the choices, a missing column, a relation with one object.

    \b
    kgprobe dataset show trex-mc
    """  # noqa: D301
    from kgprobe.api.datasets import open_dataset

    result = open_dataset(folder)
    show_notes(result)
    if as_json:
        click.echo(json.dumps({"folder": str(result.folder), "relations": result.rows()}, ensure_ascii=False))
    else:
        show_tables(result)
        click.echo(result.summary())


@dataset.command(cls=OptionsFirst)
@_folder_argument
@model_option()
@_examples_options
@_per_relation_option
@cloup.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask at most N facts of those, drawn at random by --seed.  [default: all]",
)
@cloup.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for the answer to each fact, one JSON object a line.",
)
@seed_option
@json_option
@debug_option
def probe(
    folder: Path,
    model: str,
    given: dict[str, Any],
    per_relation: int | None,
    limit: int | None,
    output: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Ask a model the facts of a data set, each after examples of its relation; no graph is needed.

    Gives accuracy, and how sure the model was, as `kgprobe probe examples` does. --seed decides which facts of the
    split train are the examples, and which facts --limit draws.

    \b
    kgprobe dataset probe trex-mc --model demo --limit 200
    kgprobe dataset probe trex-mc --model hf:gpt2 --examples 20 -o answers.jsonl
    """  # noqa: D301
    from kgprobe.api.datasets import probe_dataset

    with ExitStack() as stack:
        opened = open_asked(stack.enter_context(open_models({})), model)
        # Now, because loading says on its own what it does.
        opened.scorer()
        result = probe_dataset(
            folder,
            opened,
            per_relation=per_relation,
            limit=limit,
            output=output,
            seed=seed,
            on_progress=counting_bar(f"Probing {model}", "facts", stack),
            **given,
        )
    if as_json:
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    else:
        _print_accuracy(result.tables())
        click.echo(result.summary())


@dataset.command(cls=OptionsFirst)
@_folder_argument
@cloup.argument("tasks", type=click.Path(path_type=Path), help="A folder of tasks, in which it gets one of its own.")
@cloup.option("--name", metavar="NAME", help="What the task is called.  [default: the data set's folder]")
@cloup.option(
    "--model",
    metavar="SPEC",
    help="Fit the prompts to this model's context, and compare where it cuts them with the harness: demo, hf:NAME, or"
    " hf:./folder with a model in it.",
)
@explain_option
@local_options
@_examples_options
@_per_relation_option
@seed_option
@json_option
@debug_option
def export(
    folder: Path,
    tasks: Path,
    name: str | None,
    model: str | None,
    given: dict[str, Any],
    per_relation: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Hand a data set on to lm-evaluation-harness, with the very prompts of `kgprobe dataset probe`.

    The same options give the same accuracy there, to the fact; docs/methods/data-sets.md tells the exceptions.

    \b
    kgprobe dataset export trex-mc tasks --examples 20
    kgprobe dataset export trex-mc tasks --model hf:gpt2 --name trex-mc-gpt2
    lm_eval --include_path tasks --tasks trex-mc --model hf \\
        --model_args pretrained=gpt2,dtype=float32
    """  # noqa: D301
    from kgprobe.api.datasets import export_dataset

    with ExitStack() as stack:
        opened = open_asked(stack.enter_context(open_models({})), model) if model else None
        if opened is not None:
            opened.scorer()
        task = export_dataset(
            folder,
            tasks,
            name=name,
            model=opened,
            per_relation=per_relation,
            seed=seed,
            on_progress=counting_bar("Exporting", "facts", stack),
            **given,
        )
    for note in task.notes:
        click.echo(in_flags(note), err=True)
    click.echo(json.dumps(task.to_dict(), ensure_ascii=False) if as_json else task.summary())


def _print_accuracy(tables: Any) -> None:
    from rich.console import Console

    from kgprobe.report.tables import rich_table

    for table in tables:
        Console().print(rich_table(table))
