"""``kgprobe export retrieval``: facts that a model does not know, for the context of its prompts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.cli.commands import Choice, OptionsFirst, given_options
from kgprobe.cli.options import debug_option, force_option, graph_option, open_graph, refuse_existing
from kgprobe.cli.write_back import open_table_or_run
from kgprobe.exports.retrieval_options import FORMATS, RetrievalOptions

if TYPE_CHECKING:
    from typing import TextIO


@cloup.command("retrieval", cls=OptionsFirst)
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
@cloup.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write.  [default: standard output]",
)
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
    of the labels. Formats: text has a sentence per line, jsonl an object with ids, names and labels per line, cypher is
    a script for cypher-shell.

    \b
    kgprobe export retrieval labels --entity France --steps 2 --per-entity 20
    kgprobe export retrieval labels --class unknown --format jsonl -o unknown
    """  # noqa: D301
    from kgprobe.api import retrieval as api

    names = [*entities, *_lines(entity_file)]
    if entity_file is not None and not names:
        raise click.UsageError("--entities names a file without entities.")
    if output is not None:
        refuse_existing(output, force, "--output")
    with open_graph(graph) as connection:
        opened = open_table_or_run(labels, connection)
        if output is None:
            for line in api.retrieval_texts(connection, opened, names, format=format_, **options):
                click.echo(line)
            return
        written = api.export_retrieval(connection, opened, output, names, format=format_, **options)
    click.echo(f"Wrote {written}", err=True)


def _lines(file: "TextIO | None") -> list[str]:
    return [] if file is None else [line.strip() for line in file if line.strip()]
