"""``kgprobe graph``: the server, and Cypher."""

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.options import ask_password, debug_option, graph_option, json_option
from kgprobe.servers.engine import LEAST_MEMORY
from kgprobe.servers.engines import DEFAULT, ENGINES

if TYPE_CHECKING:
    from kgprobe.graph.queries import Query
    from kgprobe.servers.status import Status


class _Memory(click.ParamType[int]):
    """An amount of memory such as ``2g`` or ``512m``, in MiB."""

    name = "memory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        amount = re.fullmatch(r"(\d+)([mg])", value.strip().lower())
        if amount is None:
            self.fail(f"{value!r} is no amount of memory; write 2g or 512m.", param, ctx)
        mebibytes = int(amount[1]) * (1024 if amount[2] == "g" else 1)
        if mebibytes < LEAST_MEMORY:
            self.fail(f"a graph server needs {LEAST_MEMORY}m at least, not {value}.", param, ctx)
        return mebibytes


@click.group()
def graph() -> None:
    """Start, stop and query the graph server.

    Commands that need the graph start its server when none runs, and stop it again. `kgprobe graph start` lets one
    run, which saves those seconds and lets other programs connect.
    """


@graph.command()
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    help="arcadedb is installed by the extra 'embedded'; neo4j is downloaded once and needs java and mvn."
    f"  [default: the engine that made the data, {DEFAULT} in a new folder]",
)
@click.option(
    "--memory",
    type=_Memory(),
    metavar="AMOUNT",
    help="What the server may use, such as 2g.  [default: a quarter of the machine's memory, 4g at most]",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Where it answers by Bolt.  [default: where it did before; a free port at first]",
)
@click.option(
    "--http-port",
    type=click.IntRange(1, 65535),
    help="Where its page for people is, Neo4j Browser.  [default: where it was before; a free port at first]",
)
@graph_option
@debug_option
def start(engine: str | None, memory: int | None, port: int | None, http_port: int | None, graph: str | None) -> None:
    """Start the graph server and let it run.

    \b
    kgprobe graph start
    kgprobe graph start --engine neo4j --graph ./neo4j --memory 4g
    """  # noqa: D301
    from kgprobe.servers import leases
    from kgprobe.servers.opening import folder_of
    from kgprobe.servers.server import Wishes
    from kgprobe.servers.status import status_of

    folder = folder_of(graph)
    running, new = leases.start(folder, Wishes(engine, memory, port, http_port))
    if not new:
        click.echo("A server was running already; it stays until `kgprobe graph stop`.", err=True)
        if memory not in (None, running.memory):
            click.echo(f"It may use {running.memory} MiB; --memory counts when a server is started.", err=True)
        if port not in (None, running.bolt_port) or http_port not in (None, running.http_port):
            told = f"It answers on {running.bolt_port}, and on {running.http_port} by HTTP"
            click.echo(f"{told}; --port and --http-port count when a server is started.", err=True)
    _show_status(status_of(folder))


@graph.command()
@click.option("--force", is_flag=True, help="Stop the server even while other commands use it.")
@graph_option
@debug_option
def stop(force: bool, graph: str | None) -> None:
    """Stop the graph server, and wait until it is gone."""
    from kgprobe.servers import leases
    from kgprobe.servers.opening import folder_of

    folder = folder_of(graph)
    stopped = leases.stop(folder, force)
    click.echo("Stopped." if stopped else f"No server was running on {folder.path}.", err=True)


@graph.command()
@graph_option
@json_option
@debug_option
def status(graph: str | None, as_json: bool) -> None:
    """Show where the graph server runs, since when, and who uses it."""
    from kgprobe.servers.opening import folder_of
    from kgprobe.servers.status import status_of

    found = status_of(folder_of(graph))
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show_status(found)


@graph.command()
@click.argument("name", metavar="[NAME|FILE|-]", required=False)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter; VALUE is JSON or text.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "jsonl", "csv"]),
    default="table",
    show_default=True,
    help="How rows are printed.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Rows that a table shows; others have all.",
)
@graph_option
@debug_option
def query(name: str | None, params: tuple[str, ...], form: str, limit: int, graph: str | None) -> None:
    """Run one Cypher query and print its rows.

    The query is one of kgprobe's own, named as this command lists them when it is given none; a file; or stdin (-).

    \b
    kgprobe graph query explore/neighbours --param id=Q142
    echo 'MATCH (e:Entity) RETURN count(e)' | kgprobe graph query -
    """  # noqa: D301
    from kgprobe.graph.parameters import check_parameters, parse_parameters
    from kgprobe.graph.queries import QueryError, get_query, query_names
    from kgprobe.graph.statements import parameters_in
    from kgprobe.servers.opening import open_graph

    if name is None:
        listed = [get_query(each) for each in query_names()]
        rows = [
            {"query": each.name, "parameters": parameters_in(each.text), "question": each.about.partition("\n")[0]}
            for each in listed
        ]
        _show_rows(["query", "parameters", "question"], rows, form, len(rows))
        return
    try:
        wanted = _find_query(name)
        parameters = parse_parameters(params)
        check_parameters(wanted, parameters)
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    with open_graph(graph, ask_password=ask_password) as connection:
        columns, found = connection.run_text(wanted.text, parameters)
        _show_rows(columns, found, form, limit)


@graph.command()
@graph_option
@debug_option
def shell(graph: str | None) -> None:
    """Type Cypher, see tables. :help explains; statements may also come from a pipe.

    Each statement is one transaction: it is done as a whole or not at all.
    """
    from kgprobe.cli.shell import run_shell
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection:
        failures = run_shell(connection)
    if failures:
        sys.exit(1)


def _find_query(name: str) -> "Query":
    from pathlib import Path

    from kgprobe.errors import UnknownNameError
    from kgprobe.graph.queries import get_query, query_names, query_of_text

    if name in query_names():
        return get_query(name)
    if name == "-":
        return query_of_text(sys.stdin.read(), name)
    if Path(name).is_file():
        return query_of_text(Path(name).read_text(encoding="utf-8"), name)
    raise UnknownNameError(f"There is no query and no file {name!r}. The queries are: {', '.join(query_names())}.")


def _show_rows(columns: list[str], rows: Any, form: str, limit: int) -> None:
    from rich.console import Console

    from kgprobe.report import rows as report

    out = sys.stdout
    if form == "jsonl":
        for line in report.json_lines(rows):
            out.write(f"{line}\n")
    elif form == "csv":
        report.write_csv(columns, rows, out)
    else:
        shown, count = report.table(columns, rows, limit)
        Console(file=out).print(shown)
        if count > limit:
            click.echo(f"{limit} of {count} rows; --limit shows more, --format jsonl and csv have all.", err=True)


def _show_status(status: "Status") -> None:
    if not status.running:
        made = f"It holds a graph of {status.engine}." if status.engine else "There is no graph yet."
        click.echo(f"No server runs on {status.folder}. {made}")
        return
    lines = {
        "address": status.address,
        "browser": status.browser or f"{status.engine} has none; `kgprobe graph start --engine neo4j` does",
        "engine": f"{status.engine} {status.version}",
        "user": f"{status.user}, password in {status.password_file}",
        "database": status.database,
        "folder": status.folder,
        "process": f"{status.pid}, may use {status.memory_mib} MiB, up for {_duration(status.uptime_seconds or 0.0)}",
        "stays": "until `kgprobe graph stop`" if status.kept else "until its last user leaves",
        "used by": "\n".join(f"{user.command} (process {user.process.pid})" for user in status.users) or "nobody",
    }
    width = max(map(len, lines))
    for key, value in lines.items():
        click.echo(f"{key:<{width}}  " + str(value).replace("\n", "\n" + " " * (width + 2)))


def _duration(seconds: float) -> str:
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {int(seconds) % 60} s"
