"""``kgprobe beliefs``: the beliefs of runs, painted into the graph."""

import json
from typing import Any

import click
import cloup

from kgprobe.cli.commands import CommandGroup, OptionsFirst
from kgprobe.cli.options import on_graph, open_graph
from kgprobe.progress import waiting

_LOOK = "MATCH path = (:Entity {label: 'France'})-[:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]-() RETURN path"


@click.group(cls=CommandGroup)
def beliefs() -> None:
    """Show the beliefs of runs in the graph."""


@beliefs.command(cls=OptionsFirst)
@cloup.option("--run", metavar="NAME", help="Name of the run.  [default: the latest run]")
@cloup.option("--against", metavar="NAME", help="An earlier run to compare with: shows learned and forgotten facts.")
@cloup.option("--clear", is_flag=True, help="Delete the painted relationships, and paint nothing.")
@on_graph
def paint(run: str | None, against: str | None, clear: bool, graph: str | None, as_json: bool) -> None:
    """Paint the beliefs of a run about its asked facts as relationships, for Neo4j Browser.

    Types of relationships: KNOWN and UNKNOWN if the belief is sure, else UNSURE. With --against, LEARNED and FORGOT if
    the earlier run was sure of the opposite. Relationships painted before are deleted first.

    \b
    kgprobe beliefs paint --run base
    kgprobe beliefs paint --run tuned --against base
    kgprobe beliefs paint --clear
    """  # noqa: D301
    from kgprobe.api.graphs import paint_beliefs
    from kgprobe.beliefs.painting import clear_paint

    if clear and (run is not None or against is not None):
        raise click.UsageError("--clear deletes all painted relationships; leave out --run and --against.")
    with open_graph(graph) as connection, waiting("Clearing" if clear else "Painting"):
        if clear:
            deleted = clear_paint(connection)
            content: dict[str, Any] = {"deleted": deleted}
            message = f"Deleted {deleted:,} painted relationships."
        else:
            painted = paint_beliefs(connection, run, against=against)
            content = {"run": painted.run, "against": painted.against, **painted.counts}
            message = f"{painted}\nTo look at them in Neo4j Browser: {_LOOK}"
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else message)
