"""``kgprobe load NAME``: one sub-command for each installed loader."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.from_options import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import ask_password, debug_option, graph_option, in_flags, json_option
from kgprobe.errors import KgprobeError
from kgprobe.sanitize import visible_lines
from kgprobe.sources.contract import LOADERS, Loader, ShownText, open_source

if TYPE_CHECKING:
    from kgprobe.api.loading import LoadProgress
    from kgprobe.results.loading import LoadReport

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
    @_show_options(loader.shows)
    @_propose_option(loader)
    @graph_option
    @click.option("--strict", is_flag=True, help="Stop at the first invalid record.")
    @click.option(
        "--rejected",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help=f"File for all messages about skipped records; the terminal shows {SHOWN_PROBLEMS}.",
    )
    @click.option(
        "--bulk",
        is_flag=True,
        help="Use neo4j-admin import into a new or empty Neo4j, for millions of facts.",
    )
    @click.option(
        "--bulk-files",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Folder for the import files. Without --bulk, nothing is imported; prints the import command for another"
        " server. With --bulk, the files are kept.",
    )
    @json_option
    @debug_option
    def run(
        graph: str | None,
        strict: bool,
        rejected: Path | None,
        bulk: bool,
        bulk_files: Path | None,
        as_json: bool,
        given: dict[str, Any],
        propose: bool = False,
    ) -> None:
        if propose:
            _propose(name, given, as_json)
            return
        from kgprobe.api.loading import load_source
        from kgprobe.progress import progress_bar
        from kgprobe.servers.opening import open_graph

        source = open_source(name, **given)
        if bulk or bulk_files is not None:
            from kgprobe.cli.bulk import load_in_bulk

            with _problems(rejected) as on_problem:
                report = load_in_bulk(source, graph if bulk else None, bulk, bulk_files, strict, on_problem)
            _show(report, as_json)
            if bulk_files is not None and not bulk:
                _print_import_steps(bulk_files)
            report.check()
            return
        with (
            open_graph(graph, ask_password=ask_password) as connection,
            _problems(rejected) as on_problem,
            progress_bar(f"Loading {source.name}", source.total, "records", counted=False) as bar,
        ):

            def on_progress(now: "LoadProgress") -> None:
                bar.move_to(now.done, bar.things + now.records, now.stage)

            report = load_source(
                connection,
                source,
                strict=strict,
                on_problem=on_problem,
                on_progress=on_progress,
            )
        _show(report, as_json)
        report.check()

    return click.command(name, help=loader.summary)(run)


def _propose_option(loader: Loader[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds ``--propose``, for loaders that can write a mapping file."""
    if loader.proposes is None:
        return lambda command: command
    return click.option("--propose", is_flag=True, help=f"{loader.proposes.help} Nothing is loaded.")


def _propose(name: str, given: Mapping[str, Any], as_json: bool) -> None:
    from kgprobe.api.loading import propose_mapping

    path = propose_mapping(name, **given)
    if as_json:
        click.echo(json.dumps({"proposed": str(path)}))
    else:
        click.echo(
            visible_lines(f"Wrote a proposal to {path}. Review it, then repeat the command without --propose to load.")
        )


def _show_options(shows: Mapping[str, ShownText]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds ``--show-NAME`` for each text of a loader."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for name, shown in shows.items():

            def show(context: click.Context, _: click.Parameter, flag: bool, shown: ShownText = shown) -> None:
                if flag:
                    click.echo(shown.read(), nl=False)
                    context.exit()

            command = click.option(
                f"--show-{name}",
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=show,
                help=f"{shown.help} Nothing is loaded.",
            )(command)
        return command

    return decorate


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
    try:
        yield take
    finally:
        if file is not None:
            file.close()


def _show(report: "LoadReport", as_json: bool) -> None:
    click.echo(_json(report) if as_json else visible_lines(str(report)))


def _print_import_steps(files: Path) -> None:
    from kgprobe.api.bulk_loading import import_command

    place = shlex.quote(str(files))
    click.echo(
        "On the machine of a stopped Neo4j 5, whose database will be replaced, run:\n"
        f"  {import_command(files)}\n"
        "Then start Neo4j, and complete the graph from any machine with the files:\n"
        f"  kgprobe graph finish-import {place} --graph bolt://HOST:7687",
        err=True,
    )


def _json(report: "LoadReport") -> str:
    return json.dumps(
        {
            "source": report.source,
            "resumed": report.resumed,
            **{stage: getattr(report, stage) for stage in ("relations", "entities", "facts")},
            "skipped": dict(report.skipped),
            "outside": report.outside,
            "broken": list(report.broken),
        }
    )
