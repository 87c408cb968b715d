"""``kgprobe label``: label facts by how a model answers them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.progress import waiting
from kgprobe.cli.commands import given_options
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import (
    BEHIND_API,
    ask_in_option,
    batch_size_option,
    draw_options,
    facts_options,
    graph_options,
    model_option,
    name_option,
    open_graph,
    output_option,
    ray_option,
)
from kgprobe.cli.rendering import render
from kgprobe.cli.running import measuring, progress_bars, with_models
from kgprobe.labelling.ways import LabelOptions

if TYPE_CHECKING:
    from kgprobe.models.model import Models


@cloup.command(cls=OneScreenCommand)
@given_options(("Labels", LabelOptions))
@model_option(BEHIND_API)
@ray_option
@facts_options
@ask_in_option
@with_models(api=())
@batch_size_option
@name_option("Folder name of the table.  [default: made from the settings]")
@output_option("Write the rows of all facts as CSV.", metavar="FILE.csv")
@draw_options
@graph_options
def label(
    model: str,
    models: "Models",
    ask_in: str | None,
    output: Path | None,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Label facts by how a model answers them: classes, and the probability that it knows each.

    Asks the same facts in several ways, each a few times, and stores one row per fact: right answers in each way, the
    profile (recalled; encoded, not recalled; not encoded), SliCK's class with the way recall, and a probability with
    its interval. --fill adds all other facts of the graph, with predictions. Repeat the command to continue it.

    \b
    kgprobe label --model demo --limit 200
    kgprobe label --model hf:./model --facts facts.tsv --ways distractors,recall
    kgprobe label --model demo --ways distractors --limit 500 --fill \\
        --output labels.csv
    """  # noqa: D301
    options |= {"models": models, "on_note": lambda note: click.echo(note, err=True)}
    title = f"Labelling {model}"
    with (
        open_graph(graph, ask_in=ask_in) as opened,
        progress_bars() as on_progress,
        measuring(title, models) as callbacks,
    ):
        labels = kgprobe.label_facts(opened, model, callbacks=callbacks, on_progress=on_progress, **options)
    if output is not None:
        with waiting("Writing CSV"):
            labels.write_csv(output)
    render(labels, as_json, labels.page(), files=[] if output is None else [output])
