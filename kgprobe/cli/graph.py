"""``kgprobe graph``: the graph server, Cypher and copies."""

import json
import re
import sys
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import kgprobe
from kgprobe.api.options import COMMUNITY_METHODS
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.sanitize import visible
from kgprobe.cli.browser import browser, types
from kgprobe.cli.commands import Choice
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    ask_password,
    count_option,
    debug_option,
    graph_option,
    graph_options,
    open_graph,
    seed_option,
)
from kgprobe.cli.rendering import console, render, with_graph
from kgprobe.graph.servers.engine import LEAST_MEMORY
from kgprobe.graph.servers.engines import DEFAULT, ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgprobe.graph.client import Graph, Row
    from kgprobe.graph.copying import Copied
    from kgprobe.graph.queries import Query
    from kgprobe.graph.servers.server import Status
    from kgprobe.results.communities import IgnoranceCommunities
    from kgprobe.results.known_path import KnownPath

# A name of a query or file: no blanks, brackets or quotation marks, or ending in .cypher. Statements never match.
_NO_STATEMENT = re.compile(r"[^\s()\[\]{}'\"]+|[^\n]*\.cypher")

# Maximum number of rows of a table.
_TABLE_ROWS = 100


class _Memory(click.ParamType[int]):
    """An amount of memory such as ``2g`` or ``512m``, in MiB."""

    name = "memory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        amount = re.fullmatch(r"(\d+)([mg])", value.strip().lower())
        if amount is None:
            self.fail(f"{value!r} is not an amount of memory; write 2g or 512m.", param, ctx)
        mebibytes = int(amount[1]) * (1024 if amount[2] == "g" else 1)
        if mebibytes < LEAST_MEMORY:
            self.fail(f"a graph server needs at least {LEAST_MEMORY}m, not {value}.", param, ctx)
        return mebibytes


@click.group(cls=CommandGroup)
def graph() -> None:
    """Start, stop and query the graph server.

    Commands that need the graph start its server if necessary, and stop it again. `kgprobe graph start` keeps a server
    running, which saves those seconds and lets other programs connect.
    """


@graph.command()
@click.option(
    "--engine",
    type=Choice(list(ENGINES)),
    help="arcadedb is installed by the extra 'embedded'; neo4j is downloaded once and needs java and mvn."
    f"  [default: the engine that made the data, {DEFAULT} in a new folder]",
)
@click.option(
    "--memory",
    type=_Memory(),
    metavar="AMOUNT",
    help="Memory of the server, such as 2g.  [default: a quarter of the machine's memory, at most 4g]",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port for Bolt.  [default: the previous port; a free port at first]",
)
@click.option(
    "--http-port",
    type=click.IntRange(1, 65535),
    help="Port for Neo4j Browser.  [default: the previous port; a free port at first]",
)
@graph_option
@debug_option
def start(engine: str | None, memory: int | None, port: int | None, http_port: int | None, graph: str | None) -> None:
    """Start the graph server and keep it running.

    \b
    kgprobe graph start
    kgprobe graph start --engine neo4j --graph ./neo4j --memory 4g
    """  # noqa: D301
    from kgprobe.graph.servers import leases
    from kgprobe.graph.servers.folder import folder_of
    from kgprobe.graph.servers.server import ServerOptions, status_of

    folder = folder_of(graph)
    running, new = leases.start(folder, ServerOptions(engine, memory, port, http_port))
    if not new:
        click.echo("A server was running already; it stays until `kgprobe graph stop`.", err=True)
        if memory not in (None, running.memory):
            click.echo(f"It uses up to {running.memory} MiB; --memory applies when a server is started.", err=True)
        if port not in (None, running.bolt_port) or http_port not in (None, running.http_port):
            ports = f"It listens on {running.bolt_port} (Bolt) and {running.http_port} (HTTP)"
            click.echo(f"{ports}; --port and --http-port apply when a server is started.", err=True)
    _show_status(status_of(folder))


@graph.command()
@click.option("--force", is_flag=True, help="Stop the server even if other commands use it.")
@graph_option
@debug_option
def stop(force: bool, graph: str | None) -> None:
    """Stop the graph server, and wait for its end.

    \b
    kgprobe graph stop
    """  # noqa: D301
    from kgprobe.graph.servers import leases
    from kgprobe.graph.servers.folder import folder_of

    folder = folder_of(graph)
    stopped = leases.stop(folder, force)
    click.echo("Stopped." if stopped else f"No server was running on {folder.path}.", err=True)


@graph.command()
@click.option("--size", is_flag=True, help="Show the size of the graph, which starts its server, instead.")
@graph_options
def status(size: bool, graph: str | None, as_json: bool) -> None:
    """Show the address, uptime and users of the graph server, or the size of the graph.

    --size shows entities, relations, facts, degree and density. Active relations can be asked; facts of inactive ones
    only connect entities. The mean degree and the density are those of the entities with facts.

    \b
    kgprobe graph status
    kgprobe graph status --size --json
    """  # noqa: D301
    from kgprobe.base.progress import waiting
    from kgprobe.graph.servers.folder import folder_of
    from kgprobe.graph.servers.server import status_of

    if size:
        with open_graph(graph) as connection:
            with waiting("Counting"):
                result = kgprobe.describe_graph(connection)
            render(result, as_json)
        return
    server = status_of(folder_of(graph))
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(server))
    else:
        _show_status(server)


@graph.command()
@click.argument("statement", metavar="[CYPHER|NAME|FILE|-]", required=False)
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter of the query; VALUE is JSON or text."
)
@click.option(
    "--format",
    "form",
    type=Choice(["table", "jsonl", "csv"]),
    help="Output format: jsonl is one JSON object per row, --json one list.  [default: table]",
)
@count_option("--limit", help="Maximum number of printed rows.  [default: 100 in a table, otherwise all]")
@graph_options
def query(
    statement: str | None,
    params: tuple[str, ...],
    form: str | None,
    limit: int | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """Run one Cypher query and print its rows.

    The argument is a statement, the name of one of kgprobe's queries (listed
    without an argument), a file, or - for stdin. A statement may write: it runs
    as one transaction. Errors show line and column.

    \b
    kgprobe graph query 'MATCH (n) RETURN count(n) AS n'
    kgprobe graph query 'MATCH (e {id: $id}) RETURN e' --param id=Q142
    kgprobe graph query explore/unknown --param limit=10
    kgprobe graph query explore/around --param entity=France --json
    kgprobe graph query - < query.cypher
    """  # noqa: D301
    from kgprobe.base.progress import waiting
    from kgprobe.graph.explore import resolve_parameters, why_empty
    from kgprobe.graph.parameters import complete_parameters, parse_parameters
    from kgprobe.graph.queries import QueryError, explore_names, get_query, parameters_in

    if as_json and form is not None:
        raise click.UsageError(f"--json and --format {form} exclude each other; name one of them.")
    form = "json" if as_json else form or "table"
    if statement is None:
        queries = [
            {"query": query.name, "parameters": parameters_in(query.text), "question": query.question}
            for query in map(get_query, explore_names())
        ]
        _show_rows(list(queries[0]), queries, form, limit)
        return
    try:
        named_query = _find_query(statement)
        parameters = complete_parameters(named_query, parse_parameters(params))
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    with open_graph(graph) as connection:
        with waiting("Running the query"):
            parameters = resolve_parameters(connection, named_query, parameters)
            columns, rows = connection.run_text(named_query.text, parameters)
        any_rows = _show_rows(columns, rows, form, limit)
        if not any_rows and (reason := why_empty(connection, named_query, parameters)):
            click.echo(reason, err=True)


@graph.command()
@click.argument("one", metavar="ENTITY")
@click.argument("other", metavar="ENTITY")
@count_option("--max-facts", "facts", default=6, help="Maximum number of facts.")
@with_graph("Searching")
def path(graph: "Graph", **options: Any) -> "KnownPath":
    """Show the best known path between two entities, given by id or name.

    Of all paths of up to so many facts, it is the one whose least known fact is best known to the model of the run in
    view; of equally known ones a shortest. Facts are walked in both directions.

    \b
    kgprobe graph path France Berlin
    kgprobe graph path Q142 Q64 --max-facts 3 --json
    """  # noqa: D301
    return kgprobe.known_path(graph, **options)


@graph.command()
@click.option("--run", metavar="NAME", help="Name of the run.  [default: the latest]")
@click.option(
    "--method",
    type=Choice(COMMUNITY_METHODS),
    default="louvain",
    show_default=True,
    help="Modularity (Louvain), label propagation, or connected components.",
)
@click.option("--sure", is_flag=True, help="Use surely unknown facts only.")
@seed_option
@count_option("--limit", default=10, help="Maximum number of communities.")
@with_graph("Finding communities")
def communities(graph: "Graph", **options: Any) -> "IgnoranceCommunities":
    """Show communities of ignorance: entities connected by facts that a model does not know.

    Each has its number of entities and unknown facts, its share of all unknown facts, its most central entities and
    most frequent relations.

    \b
    kgprobe graph communities
    kgprobe graph communities --run films --method components --sure --json
    """  # noqa: D301
    return kgprobe.find_ignorance(graph, **options)


@graph.command()
@graph_option
@debug_option
def shell(graph: str | None) -> None:
    """Open a Cypher prompt, or read statements from a pipe.

    A statement ends with a semicolon, and is one transaction. The name of a query, such as explore/unknown, runs it.
    :param limit => 10 sets a parameter of the next statements; :param lists all.

    \b
    kgprobe graph shell
    kgprobe graph shell --graph ./films < queries.cypher
    """  # noqa: D301
    from kgprobe.cli.shell import run_shell

    with open_graph(graph) as connection:
        failures = run_shell(connection)
    if failures:
        sys.exit(1)


graph.add_command(browser)
graph.add_command(types)


def _find_query(statement: str) -> "Query":
    from kgprobe.graph.queries import get_query, query_names, query_of_text, suggestion

    if statement in query_names():
        return get_query(statement)
    if statement == "-":
        return query_of_text(sys.stdin.read(), statement)
    is_file = False
    # Statements can be longer than file names may be.
    with suppress(OSError):
        is_file = Path(statement).is_file()
    if is_file:
        try:
            return query_of_text(Path(statement).read_text(encoding="utf-8"), statement)
        except UnicodeDecodeError as error:
            raise KgprobeError(f"{statement} is not UTF-8 ({error.reason}); a Cypher file is text in UTF-8.") from error
    if _NO_STATEMENT.fullmatch(statement):
        raise UnknownNameError(f"There is no query or file {statement!r}{suggestion(statement)}")
    return query_of_text(statement, "The statement")


def _show_rows(columns: list[str], rows: "Iterable[Row]", form: str, limit: int | None) -> bool:
    """Print rows; return True if there are any."""
    from kgprobe.results.rendering import rows as report

    out = sys.stdout
    if limit is None and form == "table":
        limit = _TABLE_ROWS
    remaining = iter(rows)
    first = list(islice(remaining, 1))
    printed = islice(chain(first, remaining), limit)
    if form == "json":
        report.write_json(printed, out)
    elif form == "jsonl":
        out.writelines(f"{line}\n" for line in report.json_lines(printed))
    elif form == "csv":
        report.write_csv(columns, printed, out)
    else:
        screen = console(out)
        screen.print(report.table(columns, printed, limit, screen.width)[0])
    # Read to the end: otherwise the statement would be rolled back.
    left_out = sum(1 for _ in remaining)
    if limit is not None and left_out:
        more = ", --json and --format jsonl or csv print all" if form == "table" else ""
        click.echo(f"{limit} of {limit + left_out} rows; --limit shows more{more}.", err=True)
    return bool(first)


def _show_status(status: "Status") -> None:
    if not status.running:
        content = f"It holds a graph of {status.engine}." if status.engine else "It holds no graph yet."
        click.echo(f"No server runs on {status.folder}. {content}")
        return
    lines = {
        "address": status.address,
        "browser": status.browser or f"{status.engine} has none; `kgprobe graph start --engine neo4j` does",
        "engine": f"{status.engine} {status.version}",
        "user": f"{status.user}, password in {status.password_file}",
        "database": status.database,
        "folder": status.folder,
        "process": f"{status.pid}, up to {status.memory_mib} MiB, up for {_duration(status.uptime_seconds or 0.0)}",
        "stays": "until `kgprobe graph stop`" if status.kept else "until its last user leaves",
        "used by": "\n".join(f"{user.command} (process {user.process.pid})" for user in status.users) or "no command",
    }
    width = max(map(len, lines))
    for key, value in lines.items():
        click.echo(f"{key:<{width}}  " + str(value).replace("\n", "\n" + " " * (width + 2)))


def _duration(seconds: float) -> str:
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {int(seconds) % 60} s"


@graph.command()
@click.option(
    "--output", "-o", required=True, metavar="FOLDER|ADDRESS", help="Folder or server of the copy; must be empty."
)
@click.option(
    "--engine",
    type=Choice(list(ENGINES)),
    help="Engine of the copy, for a folder; neo4j is downloaded if needed.  [default: the other engine than the"
    " source's, if it is on this machine]",
)
@graph_options
def copy(output: str, engine: str | None, graph: str | None, as_json: bool) -> None:
    """Copy the graph with its beliefs into another folder or server.

    Copies entities, relations, facts, runs with their beliefs, and judged graphs, but no paint, then compares
    both graphs by counts and digests. Unknown kinds, such as beliefs of an older version, are left out and counted.
    Repeat the command to continue an interrupted copy; a finished copy is only compared. Folders of runs and
    measurements are not copied. User, password and database of the target server come from KGPROBE_OUTPUT_USER,
    KGPROBE_OUTPUT_PASSWORD and KGPROBE_OUTPUT_DATABASE.

    \b
    kgprobe graph copy --output ./neo4j
    kgprobe graph copy --graph ./neo4j --output bolt://host:7687
    """  # noqa: D301
    from kgprobe.cli.running import progress_bars

    with open_graph(graph) as source, _target(output, engine, source) as target:
        if source.endpoint.address == target.endpoint.address and source.endpoint.database == target.endpoint.database:
            raise ArgumentError("output", "is the graph itself; name another folder or server.")
        with progress_bars() as on_progress:
            copied = kgprobe.copy_graph(source, target, on_progress)
    _show_copy(copied, output, as_json)


def _target(output: str, engine: str | None, source: "Graph") -> "Graph":
    from kgprobe.graph.client import Graph
    from kgprobe.graph.endpoint import endpoint_of, is_address
    from kgprobe.graph.servers import opening
    from kgprobe.graph.servers.folder import folder_of
    from kgprobe.graph.servers.neo4j_engine import missing_download

    if is_address(output):
        if engine is not None:
            raise ArgumentError("engine", f"is for folders only; {output} is a running server.")
        return Graph(endpoint_of(output, ask_password, "KGPROBE_OUTPUT", "output"))
    folder = folder_of(output)
    if folder.path == source.endpoint.folder:
        raise ArgumentError("output", "is the graph itself; name another folder or server.")
    if folder.engine is None and engine is None:
        engine = "neo4j" if "ArcadeDB" in source.server else "arcadedb"
        megabytes = missing_download() if engine == "neo4j" else None
        if megabytes is not None:
            raise KgprobeError(
                f"The copy would be for Neo4j, which is not on this machine. `engine` neo4j downloads it (about"
                f" {megabytes} MB, from Maven Central); `engine` arcadedb copies into the embedded engine."
            )
    return opening.open_graph(folder.path, engine=engine)


def _show_copy(copied: "Copied", output: str, as_json: bool) -> None:
    kinds = copied.digest.kinds
    if as_json:
        rows = {kind: {"count": digest.count, "digest": f"{digest.total:032x}"} for kind, digest in kinds.items()}
        content = {"output": output, "resumed": copied.resumed, "was_there": copied.was_there, "kinds": rows}
        click.echo(json.dumps({**content, "left_out": copied.digest.left_out}))
        return
    nodes = sum(digest.count for kind, digest in kinds.items() if kind.startswith(":"))
    relationships = sum(digest.count for kind, digest in kinds.items() if kind.startswith("-"))
    verb = "Was there already" if copied.was_there else "Copied"
    click.echo(f"{verb}: {nodes:,} nodes and {relationships:,} relationships, the same in both graphs: {output}")
    if copied.digest.left_out:
        left_out = ", ".join(f"{count:,} {kind}" for kind, count in copied.digest.left_out.items())
        click.echo(visible(f"Left out, unknown to kgprobe: {left_out}."))
