"""``kgprobe beliefs``: what runs believe, to look at in the graph."""

import json
from typing import Any

import click
import cloup

from kgprobe.cli.from_options import OptionsFirst
from kgprobe.cli.groups import Group
from kgprobe.cli.options import ask_password, debug_option, graph_option, json_option
from kgprobe.progress import waiting

_LOOK = "MATCH path = (:Entity {label: 'France'})-[:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]-() RETURN path"


@click.group(cls=Group)
def beliefs() -> None:
    """What runs believe of facts, to look at in the graph."""


@beliefs.command(cls=OptionsFirst)
@cloup.option("--run", metavar="NAME", help="Whose beliefs.  [default: the run begun last]")
@cloup.option("--against", metavar="NAME", help="An earlier run: show what was learned and forgotten since.")
@cloup.option("--clear", is_flag=True, help="Delete what was painted, and paint nothing.")
@graph_option
@json_option
@debug_option
def paint(run: str | None, against: str | None, clear: bool, graph: str | None, as_json: bool) -> None:
    """Draw what a run believes beside each fact that it asked, for Neo4j Browser.

    The type of a relationship says it: KNOWN and UNKNOWN where that is sure, else UNSURE; with --against, LEARNED and
    FORGOT where the earlier run was sure of the opposite. What was painted before is cleared first.

    \b
    kgprobe beliefs paint --run base
    kgprobe beliefs paint --run tuned --against base
    kgprobe beliefs paint --clear
    """  # noqa: D301
    from kgprobe.api.painting import clear_paint, paint_beliefs
    from kgprobe.servers.opening import open_graph

    if clear and (run is not None or against is not None):
        raise click.UsageError("--clear deletes whatever was painted; leave out --run and --against.")
    with open_graph(graph, ask_password=ask_password) as connection, waiting("Clearing" if clear else "Painting"):
        if clear:
            deleted = clear_paint(connection)
            found: dict[str, Any] = {"deleted": deleted}
            told = f"Deleted {deleted:,} relationships that were painted."
        else:
            painted = paint_beliefs(connection, run, against=against)
            found = {"run": painted.run, "against": painted.against, **painted.counts}
            told = f"{painted}\nTo look at them in Neo4j Browser: {_LOOK}"
    click.echo(json.dumps(found, ensure_ascii=False) if as_json else told)
