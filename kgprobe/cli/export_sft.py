"""``kgprobe export sft``: write a training set for supervised fine-tuning."""

from pathlib import Path
from typing import Any

import click
import cloup

from kgprobe.cli.commands import given_options
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import as_of_or, on_graph, open_graph, seed_option
from kgprobe.cli.rendering import render
from kgprobe.exports.sft import SftOptions


@cloup.command(cls=OneScreenCommand)
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
@on_graph
def sft(table: str, graph: str | None, as_json: bool, **options: Any) -> None:
    """Write a training set for TRL, axolotl and LLaMA-Factory: facts of chosen classes, with a test set.

    The folder has train.jsonl, test.jsonl (held-out facts), roles.jsonl (for `kgprobe probe --facts` and `kgprobe
    check --roles`), dataset_info.json, axolotl.yaml and manifest.json. No training example is about a held-out fact
    or a control, in either direction. The same command writes the same bytes.

    \b
    kgprobe export sft labels --teach "not encoded" -o sft
    kgprobe export sft labels --teach unknown --teach "weakly known" \\
        --known-share 0.5 --form both --wordings 3 -o mixed
    kgprobe export sft labels --teach "highly known" --refuse unknown -o refusing
    """  # noqa: D301
    from kgprobe.api.exporting import export_sft
    from kgprobe.progress import waiting

    with open_graph(graph) as connection, waiting("Writing the training set"):
        result = export_sft(connection, table, **options)
    render(result, as_json)
