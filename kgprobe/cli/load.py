"""``kgprobe load NAME``: one sub-command for each installed loader, made from what the loader declares."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from kgprobe.cli.options import ask_password, debug_option, graph_option, json_option
from kgprobe.errors import KgprobeError
from kgprobe.sources.contract import get_loader, loader_names

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.graph.ingest import LoadReport
    from kgprobe.sources.contract import Source

# On the terminal; --rejected keeps them all.
SHOWN_PROBLEMS = 20


class _Loaders(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return loader_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _command(cmd_name) if cmd_name in loader_names() else None


@click.group(cls=_Loaders)
def load() -> None:
    """Load entities, relations and facts into the graph.

    Loading the same input twice changes nothing. A load that was interrupted goes on where it stood when the same
    command is given again. Records that cannot be used are counted, reported with their line, and skipped.
    """


def _command(name: str) -> click.Command:
    loader = get_loader(name)

    @graph_option
    @click.option("--strict", is_flag=True, help="Stop at the first record that cannot be used.")
    @click.option(
        "--rejected",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help=f"Write all messages about skipped records to this file; the terminal shows {SHOWN_PROBLEMS}.",
    )
    @json_option
    @debug_option
    def run(graph: str | None, strict: bool, rejected: Path | None, as_json: bool, **options: Any) -> None:
        from kgprobe.servers.server import open_graph

        source = loader.open(**options)
        with open_graph(graph, ask_password) as connection:
            _load(connection, source, strict, rejected, as_json)

    command = click.command(name, help=loader.summary)(run)
    command.params = [*loader.parameters, *command.params]
    return command


def _load(connection: "Graph", source: "Source", strict: bool, rejected: Path | None, as_json: bool) -> None:
    from kgprobe.graph.ingest import load as ingest
    from kgprobe.progress import progress_bar

    shown = 0

    def report_problem(message: str) -> None:
        nonlocal shown
        shown += 1
        if file is not None:
            file.write(message + "\n")
        if shown <= SHOWN_PROBLEMS:
            click.echo(message, err=True)
        elif shown == SHOWN_PROBLEMS + 1:
            click.echo("More are skipped; --rejected FILE keeps all messages.", err=True)

    file = _writable(rejected) if rejected else None
    try:
        with progress_bar(f"Loading {source.name}", source.total, "records") as bar:
            report = ingest(
                connection,
                source,
                strict=strict,
                report_problem=report_problem,
                report_progress=lambda stage, records: bar.advance_to(source.done, records, stage),
            )
    finally:
        if file is not None:
            file.close()
    _show(source.name, report, as_json)


def _writable(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise KgprobeError(f"The file of skipped records {path} cannot be written: {error.strerror}.") from error


def _show(name: str, report: "LoadReport", as_json: bool) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "source": name,
                    "resumed": report.resumed,
                    **{stage: report.written[stage] for stage in ("relations", "entities", "facts")},
                    "skipped": {kind: report.problems[kind] for kind in ("unreadable", "duplicate", "missing")},
                    "outside": report.outside,
                }
            )
        )
        return
    written = ", ".join(f"{report.written[stage]:,} {stage}" for stage in ("entities", "relations", "facts"))
    click.echo(f"{name}: {written}{' (going on with an interrupted load)' if report.resumed else ''}.")
    skipped = [f"{count:,} {kind}" for kind, count in report.problems.items()]
    if skipped:
        click.echo(f"Skipped: {', '.join(skipped)}.")
    if report.outside:
        click.echo(f"{report.outside:,} facts have an object that is not part of what was loaded; they were left out.")
