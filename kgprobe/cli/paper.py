"""``kgprobe paper``: the papers' tables and figures, their published numbers, and the commands that repeat them."""

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import visible_lines
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import debug_option, graph_option, json_option
from kgprobe.cli.rendering import render, show_notes, show_tables
from kgprobe.papers.tables import filled, table_named

if TYPE_CHECKING:
    from kgprobe.papers.results import PaperContents, PaperTable
    from kgprobe.papers.tables import PaperEntry

# File descriptor: with --json, stdout is for the object alone.
_STDERR = 2
_OTHER = "hf:EleutherAI/pythia-70m"


@cloup.command(cls=OneScreenCommand)
@cloup.argument("name", required=False, help="Paper: distractors, kglens, latent-knowledge or grapheval.")
@cloup.argument("table", required=False, help="Table or figure of the paper, such as table-3.")
@cloup.option("--replicate", is_flag=True, help="Run the small command of TABLE: some minutes.")
@cloup.option(
    "--first-model", "model", default="demo", show_default=True, metavar="SPEC", help="Model of the commands."
)
@cloup.option(
    "--second-model",
    "other_model",
    default=_OTHER,
    show_default=True,
    metavar="SPEC",
    help="The other model of commands that compare two.",
)
@graph_option
@json_option
@debug_option
def paper(
    name: str | None, table: str | None, replicate: bool, model: str, other_model: str, graph: str | None, as_json: bool
) -> None:
    """List the papers' tables and figures, with commands that repeat them and published numbers.

    Without arguments: the four papers. With NAME: its tables and figures, each with a command and its state: runs,
    partly (and the missing part), or no. With TABLE also: the published numbers, and those of your stored results of
    the same command. No model is asked without --replicate.

    \b
    kgprobe paper distractors
    kgprobe paper distractors table-3
    kgprobe paper latent-knowledge figure-1 --replicate
    kgprobe probe distractors --model demo --as-paper distractors --limit 20
    """  # noqa: D301
    if replicate and (name is None or table is None):
        raise click.UsageError(
            "--replicate needs NAME and TABLE, such as `kgprobe paper latent-knowledge figure-1 --replicate`."
        )
    if name is None:
        render(kgprobe.paper(), as_json)
    elif table is None:
        contents = kgprobe.paper(name, model=model, other_model=other_model, graph=graph)
        if as_json:
            render(contents, as_json)
        else:
            _show_contents(contents)
    else:
        if replicate:
            _run(table_named(name, table), model, other_model, graph)
        _show_table(kgprobe.paper(name, table, model=model, other_model=other_model, graph=graph), as_json)


def _show_contents(contents: "PaperContents") -> None:
    """Print each table and figure with its state, command and requirements."""
    show_notes(contents.notes)
    for entry in contents.entries:
        state = f"{entry.state}: {entry.missing}" if entry.missing else entry.state or entry.kind
        click.secho(f"{entry.table}  {entry.title}", bold=True)
        click.echo(f"    {state}")
        for step in filter(None, entry.command.split(" && ")):
            click.echo(f"    $ {step}")
        if entry.needs:
            click.echo(f"    full size needs: {entry.needs}")
    click.echo(contents.summary())


def _show_table(table: "PaperTable", as_json: bool) -> None:
    """Print a table's numbers, and its commands."""
    if as_json:
        render(table, as_json)
        return
    show_notes(table.notes)
    show_tables(table.tables())
    click.echo(visible_lines(table.summary()))
    for title, command in (("Small", table.command), ("Full size", table.entry.full)):
        for number, step in enumerate(filter(None, command.split(" && "))):
            click.echo(f"{title if number == 0 else '':9}  $ {step}")
    if table.entry.needs:
        click.echo(f"Full size needs: {table.entry.needs}")


def _run(entry: "PaperEntry", model: str, other_model: str, graph: str | None) -> None:
    """Run the commands of a table in turn, with their output on stderr."""
    if not entry.command:
        raise KgprobeError(f"{entry.table} of the paper {entry.paper} has no command: {entry.missing or entry.kind}.")
    from kgprobe.papers.results import missing_load

    for sentence in missing_load([entry], graph):
        raise KgprobeError(sentence)
    environment: dict[str, Any] = {**os.environ, **({} if graph is None else {"KGPROBE_GRAPH": graph})}
    for step in filled(entry.command, model, other_model).split(" && "):
        click.echo(f"$ {step}", err=True)
        # The same Python; the first word is `kgprobe`.
        arguments = [sys.executable, "-m", *shlex.split(step)]
        done = subprocess.run(arguments, env=environment, stdout=_STDERR, check=False)
        if done.returncode:
            raise KgprobeError(f"The command failed with exit code {done.returncode}: {step}")
