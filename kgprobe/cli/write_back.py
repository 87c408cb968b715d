"""``kgprobe beliefs write-back``: write labels onto the relationships of a user's own graph."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import click
import cloup

import kgprobe
from kgprobe.cli.commands import Choice
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import graph_of_results, graph_options
from kgprobe.cli.rendering import render
from kgprobe.cli.running import progress_bars
from kgprobe.results.kind_names import LABEL_TABLE, RUN

# Names of kgprobe.labelling.table.SCHEMES, which would be imported by --help.
CLASSES = ("slick", "profile", "belief")


@cloup.command("write-back", cls=OneScreenCommand)
@cloup.argument("labels", metavar="[TABLE|RUN]", required=False)
@cloup.option(
    "--output",
    "-o",
    required=True,
    metavar="ADDRESS|FOLDER",
    help="Your own graph: bolt://HOST:PORT or neo4j://HOST:PORT, with KGPROBE_FROM_USER, KGPROBE_FROM_PASSWORD and"
    " KGPROBE_FROM_DATABASE; or the folder of a graph that kgprobe serves.",
)
@cloup.option(
    "--mapping",
    type=click.Path(path_type=Path),
    default=Path("mapping.toml"),
    show_default=True,
    metavar="FILE",
    help="Mapping of `kgprobe load graph`.",
)
@cloup.option(
    "--scheme",
    type=Choice(CLASSES),
    help="Scheme of classes to write.  [default: the first that the labels have]",
)
@cloup.option("--prefix", default="kgprobe_", show_default=True, help="Beginning of the names of the properties.")
@cloup.option("--dry-run", is_flag=True, help="Count the changes, and name properties in the way; write nothing.")
@cloup.option("--remove", is_flag=True, help="Remove all properties that write-back has written.")
@graph_options
def write_back(
    labels: str | None,
    mapping: Path,
    scheme: str | None,
    remove: bool,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write the labels of TABLE or the beliefs of RUN onto the relationships of your own graph.

    Each matched relationship gets kgprobe_known (probability that the model knows the fact), kgprobe_low, kgprobe_high,
    kgprobe_class, kgprobe_belief, kgprobe_basis, kgprobe_run, kgprobe_model and kgprobe_digest. Nothing else in your
    graph changes: properties that kgprobe has not written are never overwritten or removed.
    Repeat the command to continue an interrupted one. --remove takes the properties away.

    \b
    kgprobe beliefs write-back labels --output bolt://localhost:7687 \\
        --mapping movies.toml --dry-run
    kgprobe beliefs write-back labels --output bolt://localhost:7687 \\
        --mapping movies.toml
    kgprobe beliefs write-back --output bolt://localhost:7687 --remove
    """  # noqa: D301
    if remove:
        if labels:
            raise click.UsageError("--remove takes no TABLE|RUN.")
        with progress_bars() as on_progress:
            removed = kgprobe.remove_labels(on_progress=on_progress, **options)
        click.echo(json.dumps(dataclasses.asdict(removed)) if as_json else removed.summary())
        return
    if labels is None:
        raise click.UsageError("Missing argument TABLE|RUN: a label table or a run.")
    with graph_of_results([labels], graph, (LABEL_TABLE, RUN)) as connection, progress_bars() as on_progress:
        result = kgprobe.write_back(
            labels,
            mapping=mapping,
            graph=connection,
            scheme=scheme,
            on_progress=on_progress,
            **options,
        )
    render(result, as_json)
