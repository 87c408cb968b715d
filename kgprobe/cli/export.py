"""``kgprobe export``: write files for other tools from label tables: training sets, and facts to retrieve."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.cli.commands import Choice, given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    as_of_or,
    debug_option,
    force_option,
    graph_option,
    in_flags,
    open_graph,
    output_option,
    refuse_existing,
    seed_option,
)
from kgprobe.cli.rendering import with_graph
from kgprobe.labelling.exports.retrieval_options import FORMATS, RetrievalOptions
from kgprobe.labelling.exports.sft import SftOptions

if TYPE_CHECKING:
    from typing import TextIO

    from kgprobe.graph.client import Graph
    from kgprobe.labelling.exports.retrieval import NotRetrieved
    from kgprobe.labelling.exports.sft.making import TrainingSet


@click.group(cls=CommandGroup)
def export() -> None:
    """Write files for other tools: training sets, and facts to retrieve."""


@export.command()
@cloup.argument("labels", metavar="TABLE|RUN")
@cloup.option(
    "--entity",
    "entities",
    multiple=True,
    metavar="NAME",
    help="Facts around this entity, by its id or a name; repeatable.  [default: all facts]",
)
@cloup.option(
    "--entities",
    "entity_file",
    type=click.File("r", encoding="utf-8-sig"),
    metavar="FILE",
    help="File with the id or name of an entity per line; - reads standard input.",
)
@given_options((None, RetrievalOptions), argument="options")
@cloup.option("--format", "format_", type=Choice(FORMATS), default="text", show_default=True, help="Format.")
@output_option("File to write.  [default: standard output]")
@force_option
@graph_option
@debug_option
def retrieval(
    labels: str,
    entities: tuple[str, ...],
    entity_file: "TextIO | None",
    options: dict[str, Any],
    format_: str,
    output: Path | None,
    force: bool,
    graph: str | None,
) -> None:
    """Write the facts that the model of TABLE or RUN does not know, to put them into its prompts.

    Around entities, the surest unknown facts come first. Without entities, all unknown facts are written, in the order
    of the labels. Facts that the model was not asked are left out, unless you give --predicted. A message says what is
    left out and why. Formats: text has a sentence per line, jsonl an object with ids, names and labels per line, cypher
    is a script for cypher-shell.

    \b
    kgprobe export retrieval labels --entity France --steps 2 --per-entity 20
    kgprobe export retrieval labels --class unknown --format jsonl -o unknown
    """  # noqa: D301
    from kgprobe.base.sanitize import counted
    from kgprobe.labelling.exports.labels import find_labels

    names = [*entities, *_lines(entity_file)]
    if entity_file is not None and not names:
        raise click.UsageError("--entities names a file without entities.")
    if output is not None:
        refuse_existing(output, force, "--output")
    with open_graph(graph) as connection:
        if output is None:
            reports: list[NotRetrieved] = []
            for line in kgprobe.retrieval_texts(
                connection, labels, names, format=format_, on_left_out=reports.append, **options
            ):
                click.echo(line)
            click.echo(
                in_flags(" ".join([f"{counted(reports[0].taken, 'fact')}.", str(reports[0])]).rstrip()), err=True
            )
            if change := find_labels(labels, connection).change_since(connection):
                click.echo(change, err=True)
            return
        written = kgprobe.export_retrieval(connection, labels, output, names, format=format_, **options)
    click.echo(in_flags(f"Wrote {written}"), err=True)


def _lines(file: "TextIO | None") -> list[str]:
    return [] if file is None else [line.strip() for line in file if line.strip()]


@export.command()
@cloup.argument("table", help="Label table, by its folder or name.")
@cloup.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the training set.",
)
@given_options((None, SftOptions))
@cloup.option(
    "--controls",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Roles of control facts: add them to roles.jsonl, and never train on them.",
)
@seed_option
@as_of_or(None, "that of the label table")
@with_graph("Writing the training set")
def sft(graph: "Graph", **options: Any) -> "TrainingSet":
    """Write a training set for TRL, axolotl and LLaMA-Factory: facts of chosen classes, with a test set.

    Facts that the model was not asked are left out, unless you give --predicted.

    The folder has train.jsonl, test.jsonl (held-out facts), roles.jsonl (for `kgprobe probe --facts` and `kgprobe
    check --roles`), dataset_info.json, axolotl.yaml and manifest.json. No training example is about a held-out fact
    or a control, in either direction. The same command writes the same bytes.

    \b
    kgprobe export sft labels --teach "not encoded" -o sft
    kgprobe export sft labels --teach unknown --teach "weakly known" \\
        --known-share 0.5 --form both --wordings 3 -o mixed
    kgprobe export sft labels --teach "highly known" --refuse unknown -o refusing
    """  # noqa: D301
    return kgprobe.export_sft(graph, **options)
