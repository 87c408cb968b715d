"""``kgprobe sample controls``: draw control facts around taught facts."""

from pathlib import Path
from typing import Any

import click
import cloup

from kgprobe.cli.commands import given_options
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import common_options, force_option, open_graph, refuse_existing
from kgprobe.cli.rendering import render
from kgprobe.labelling.control_options import ControlOptions
from kgprobe.progress import waiting


@cloup.command(cls=OneScreenCommand)
@cloup.option(
    "--near",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="Taught facts: a file as for `kgprobe probe --facts`, a file of roles, or a data set in JSON Lines, whose"
    " texts are searched for names of entities.",
)
@cloup.option(
    "--base",
    metavar="RESULT",
    help="Measurement or run of the base model: rings are also matched in its answers.",
)
@given_options((None, ControlOptions))
@cloup.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all facts with their roles, in JSON Lines.",
)
@force_option
@common_options
def controls(graph: str | None, as_json: bool, output: Path | None, force: bool, **options: Any) -> None:
    """Draw control facts of a fine-tune: facts around the taught ones, in rings from near to far.

    Rings: same subject, inverse, same relation, neighbour, two hops, far. They are disjoint, and matched in the
    popularity of their facts, so that losses are comparable. Ask all facts before and after the fine-tune with
    `kgprobe probe --facts`, and test with `kgprobe check --roles`.

    \b
    kgprobe sample controls --near taught.tsv -o roles.jsonl
    kgprobe sample controls --near train.jsonl --base base -o roles.jsonl
    """  # noqa: D301
    from kgprobe.api.controls import sample_controls

    if output is not None:
        refuse_existing(output, force, "--output")
    with open_graph(graph) as connection, waiting("Choosing controls"):
        result = sample_controls(connection, **options)
    files = [] if output is None else [result.write(output)]
    render(result, as_json, files=files)
    if output is not None and not as_json:
        click.echo(f"Roles: {output}")
