"""``kgprobe load NAME``, one sub-command for each installed loader."""

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import visible_lines
from kgprobe.cli.commands import Command, decorated_by, given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.help import OneScreenCommand, RareOption
from kgprobe.cli.options import debug_option, graph_option, in_flags, json_option, open_graph
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.running import progress_bars
from kgprobe.sources.contract import LOADERS, Loader, ShownText, Source, open_source

if TYPE_CHECKING:
    from kgprobe.graph.loading import LoadReport

# Maximum number of messages on the terminal; --rejected writes all.
SHOWN_PROBLEMS = 20


class _Loaders(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return LOADERS.names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _command(cmd_name) if cmd_name in LOADERS else None


@click.group(cls=_Loaders)
def load() -> None:
    """Load entities, relations and facts into the graph.

    Loading the same input twice changes nothing. Repeat a command to continue an interrupted load. Invalid records are
    counted, reported with their line, and skipped.
    """


def _command(name: str) -> click.Command:
    loader = LOADERS.get(name)

    @given_options((None, loader.options))
    @as_paper_option(f"load {name}")
    @decorated_by(*map(_show_option, loader.shows.items()))
    @_propose_option(loader)
    @graph_option
    @click.option("--strict", is_flag=True, help="Stop at the first invalid record.")
    @cloup.option(
        "--remove-missing",
        cls=RareOption,
        is_flag=True,
        help="Remove names, templates, types and other properties of the input's entities and relations that it has no"
        " value for. Without this option they stay.",
    )
    @cloup.option(
        "--rejected",
        cls=RareOption,
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help=f"File for all messages about skipped records; the terminal shows {SHOWN_PROBLEMS}.",
    )
    @click.option(
        "--bulk",
        is_flag=True,
        help="Use neo4j-admin import into a new or empty Neo4j, for millions of facts.",
    )
    @cloup.option(
        "--bulk-files",
        cls=RareOption,
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Folder for the import files. Without --bulk, nothing is imported; prints the import command for another"
        " server. With --bulk, the files are kept.",
    )
    @click.option(
        "--finish-import",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Complete a graph on another server after the import of the files that --bulk-files wrote: indexes, and"
        " data that the import tool cannot create. Nothing is read from the input.",
    )
    @json_option
    @debug_option
    def run(
        graph: str | None,
        strict: bool,
        remove_missing: bool,
        rejected: Path | None,
        bulk: bool,
        bulk_files: Path | None,
        finish_import: Path | None,
        as_json: bool,
        propose: bool = False,
        **given: Any,
    ) -> None:
        from kgprobe.api.loading import import_command, propose_mapping

        if propose:
            path = propose_mapping(name, **given)
            advice = f"Wrote a proposal to {path}. Review it, then repeat the command without --propose to load."
            click.echo(json.dumps({"proposed": str(path)}) if as_json else visible_lines(advice))
            return
        if finish_import is not None:
            if bulk or bulk_files is not None:
                raise click.UsageError("--finish-import has no effect with --bulk and --bulk-files. Leave out one.")
            _finish_import(finish_import, graph)
            return
        if remove_missing and (bulk or bulk_files is not None):
            raise click.UsageError(
                "--remove-missing has no effect with --bulk and --bulk-files: an import needs an empty graph."
            )
        source = open_source(name, **given)
        with _problems(rejected) as on_problem:
            report = _load(source, graph, bulk, bulk_files, strict, remove_missing, on_problem)
        click.echo(json.dumps(report.to_dict()) if as_json else visible_lines(str(report)))
        report.check()
        if bulk_files is not None and not bulk:
            click.echo(
                "On the machine of a stopped Neo4j 5, whose database will be replaced, run:\n"
                f"  {import_command(bulk_files)}\n"
                "Then start Neo4j, and repeat this command on any machine with the files, with"
                f" --finish-import {shlex.quote(str(bulk_files))} --graph bolt://HOST:7687 in place of --bulk-files.",
                err=True,
            )

    return click.command(name, cls=OneScreenCommand, help=loader.summary)(run)


def _load(
    source: Source,
    graph: str | None,
    bulk: bool,
    bulk_files: Path | None,
    strict: bool,
    remove_missing: bool,
    on_problem: Callable[[str], None],
) -> "LoadReport":
    """Load a source in transactions or by an import, or only write the files of the import."""
    from kgprobe.graph.loading import load_source
    from kgprobe.graph.servers.bulk_loading import load_bulk_source, write_bulk_source

    with progress_bars() as on_progress:
        settings: dict[str, Any] = {"strict": strict, "on_problem": on_problem, "on_progress": on_progress}
        if bulk:
            from kgprobe.sampling.columns.graph_columns import keep_imported_columns

            return load_bulk_source(graph, source, bulk_files=bulk_files, on_import=keep_imported_columns, **settings)
        if bulk_files is not None:
            return write_bulk_source(bulk_files, source, **settings)
        with open_graph(graph, new=True) as connection:
            return load_source(connection, source, remove_missing=remove_missing, **settings)


def _finish_import(files: Path, graph: str | None) -> None:
    """Complete a graph that was imported from files."""
    from kgprobe.api.loading import finish_bulk

    with open_graph(graph) as connection, progress_bars() as on_progress:
        finish_bulk(connection, files, on_progress=on_progress)
    click.echo(f"The graph imported from {files} is complete.")


def _propose_option(loader: Loader[Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--propose``, for loaders that can write a mapping file."""
    if loader.proposes is None:
        return decorated_by()
    return click.option("--propose", is_flag=True, help=f"{loader.proposes.help} Nothing is loaded.")


def _show_option(named: tuple[str, ShownText]) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--show-NAME`` for a text of a loader."""
    name, shown = named

    def show(context: click.Context, _: click.Parameter, flag: bool) -> None:
        if flag:
            click.echo(shown.read(), nl=False)
            context.exit()

    help_ = f"{shown.help} Nothing is loaded."
    return click.option(f"--show-{name}", is_flag=True, is_eager=True, expose_value=False, callback=show, help=help_)


@contextmanager
def _problems(rejected: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints the first messages about skipped records, and writes all into a file."""
    shown = 0

    def take(message: str) -> None:
        nonlocal shown
        shown += 1
        message = in_flags(message)
        if file is not None:
            file.write(message + "\n")
        if shown <= SHOWN_PROBLEMS:
            click.echo(message, err=True)
        elif shown == SHOWN_PROBLEMS + 1:
            click.echo("More are skipped; --rejected FILE keeps all messages.", err=True)

    try:
        file = rejected.open("w", encoding="utf-8") if rejected else None
    except OSError as error:
        raise KgprobeError(f"The file of skipped records {rejected} cannot be written: {error.strerror}.") from error
    with file or nullcontext():
        yield take
