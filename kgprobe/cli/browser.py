"""``kgprobe graph browser`` and ``types``: Neo4j Browser with kgprobe's style sheets, guide and queries."""

import http.server
import json
import os
import re
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import cloup

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.sanitize import counted
from kgprobe.cli.commands import Choice
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import count_option, debug_option, graph_option, graph_options, open_graph
from kgprobe.cli.rendering import print_rows
from kgprobe.cli.running import progress_bars

if TYPE_CHECKING:
    from kgprobe.graph.servers.folder import Folder
    from kgprobe.graph.servers.server import Status

_OPENED = (
    "The guide opens by itself. Once connected, click its first line for the colours, or type the line below; Browser "
    "stores them.\n"
)
_TO_TYPE = "Once connected, type the lines of colours and queries into Browser; it stores the colours.\n"


@cloup.command(cls=OneScreenCommand)
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Only write style sheets, guide and queries into this folder.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the file server.  [default: a free port]")
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Local address of the file server; 0.0.0.0 for all.",
)
@click.option(
    "--host",
    default="localhost",
    show_default=True,
    metavar="NAME",
    help="Host name by which web browsers reach the files; Neo4j must allow it.",
)
@click.option("--open/--no-open", "in_browser", default=True, show_default=True, help="Open the web browser.")
@graph_option
@debug_option
def browser(output: Path | None, port: int | None, bind: str, host: str, in_browser: bool, graph: str | None) -> None:
    """Open the graph in Neo4j Browser, with a style sheet and queries.

    Starts Neo4j if the graph is a Neo4j folder, opens Browser, and serves its files: style sheets with colours for
    `kgprobe beliefs paint` and `kgprobe graph types`, a guide with clickable queries, and more queries as favourites.
    Prints the lines to type. Ctrl-C stops the file server; Neo4j runs until `kgprobe graph stop`.

    \b
    kgprobe graph browser --graph ./neo4j
    kgprobe graph browser --graph bolt://host:7687
    kgprobe graph browser --output ./for-browser
    """  # noqa: D301
    from kgprobe.base.temporary import temporary_folder
    from kgprobe.results.rendering.browser_files import FAVOURITES, GUIDE, PAINTED_STYLE, STYLE, browser_files

    if output is not None:
        _write(output, browser_files(""))
        click.echo(
            f"Wrote {STYLE}, {PAINTED_STYLE}, {GUIDE} and {FAVOURITES} to {output}. Drop {PAINTED_STYLE} (or {STYLE},"
            f" for a graph without paint), then {FAVOURITES}, on Neo4j Browser."
        )
        return
    if not re.fullmatch(r"[\w.-]+|\[[\da-fA-F:.]+\]", host, re.ASCII):
        raise ArgumentError("host", f"is {host!r}; expected a name or address of this machine.")
    page, connection, is_ours = _address(graph)
    style, labels = _style_of(graph)
    with temporary_folder("browser") as folder, _served(folder, bind, port) as server_port:
        base = f"http://{host}:{server_port}/"
        _write(folder, browser_files(base, labels))
        if is_ours:
            # Browser runs one command from its address; other Neo4j servers must allow the file server first.
            page += f"?cmd=play&arg={base}{GUIDE}"
        lines = {
            "browser": page,
            "connect": connection,
            "colours": f":style {base}{style}",
            "queries": f":play {base}{GUIDE}",
            "favourites": f"download {base}{FAVOURITES} and drop it on the page",
        }
        click.echo(_OPENED if is_ours else _TO_TYPE)
        for name, value in lines.items():
            click.echo(f"{name:<10}  {value}")
        click.echo("\nCtrl-C stops serving; the graph server keeps running.", err=True)
        if in_browser and not webbrowser.open(page):
            click.echo(f"No browser could be opened; the page is {page}.", err=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("", err=True)


@cloup.command(cls=OneScreenCommand)
@click.argument("of", type=Choice(["entities", "relations"]), default="entities")
@count_option("--count", default=12, help="Number of types or relations.")
@click.option("--remove", is_flag=True, help="Remove the labels, or the twins.")
@graph_options
def types(of: str, count: int, remove: bool, graph: str | None, as_json: bool) -> None:
    """Label entities by type, such as :City, or add typed twins to facts, such as [:CAPITAL].

    The labels are those of the largest types: Neo4j Browser colours entities by them. A twin is a relationship parallel
    to a fact, with its properties, for Bloom, Graph Data Science and typed traversal; the largest relations get them.
    Twins follow their facts; entities that are loaded later get their labels at the next call. Repeat the command to
    complete an interrupted one.

    \b
    kgprobe graph types --count 20
    kgprobe graph types relations
    kgprobe graph query "MATCH ()-[c:CAPITAL]->(o) RETURN o.label, c.belief"
    kgprobe graph types relations --remove
    """  # noqa: D301
    unit, kind = ("entities", "type") if of == "entities" else ("twins", "relation")
    with open_graph(graph) as connection, progress_bars() as on_progress:
        if remove:
            removed = kgprobe.remove_types(connection, of)
            message = f"Removed the {'labels' if of == 'entities' else 'twins'} of {counted(removed, kind)}."
            content: Any = {"removed": removed}
        else:
            content = list(map(asdict, kgprobe.add_types(connection, of, count, on_progress)))
            message = "" if content else f"The graph has no {kind}s with {unit}."
    if as_json:
        click.echo(json.dumps(content, ensure_ascii=False))
    elif message:
        click.echo(message)
    else:
        print_rows(content)


def _address(graph: str | None) -> tuple[str, str, bool]:
    """Return Browser's address, its connection settings, and True if kgprobe started this Neo4j."""
    from kgprobe.graph.endpoint import is_address, refuse_credentials
    from kgprobe.graph.servers.folder import folder_of

    address = graph or os.environ.get("KGPROBE_GRAPH") or ""
    if is_address(address):
        refuse_credentials(address)
        host = urlsplit(address).hostname or "localhost"
        user = os.environ.get("KGPROBE_GRAPH_USER", "neo4j")
        connection = f"{address}, user {user}; the page above is Neo4j's default"
        return f"http://{host}:7474/browser/", connection, False
    status = _started(folder_of(graph))
    connection = f"{status.address}, user {status.user}, password in {status.password_file}"
    return str(status.browser), connection, True


def _style_of(graph: str | None) -> tuple[str, list[str]]:
    """Return the name of the style sheet for a graph, painted or not, and the labels of its types.

    Without a password, a server is not asked: then they are those of a graph without paint and labels.
    """
    from kgprobe.graph.endpoint import is_address
    from kgprobe.graph.types import labels_of_types
    from kgprobe.results.rendering.browser_files import PAINTED_STYLE, STYLE

    if is_address(graph or os.environ.get("KGPROBE_GRAPH") or "") and "KGPROBE_GRAPH_PASSWORD" not in os.environ:
        return STYLE, []
    with open_graph(graph) as connection:
        style = PAINTED_STYLE if connection.read("paint/counts") else STYLE
        return style, labels_of_types(connection)


def _started(folder: "Folder") -> "Status":
    from kgprobe.graph.servers import leases
    from kgprobe.graph.servers.server import ServerOptions, status_of

    if folder.engine is None:
        raise KgprobeError(
            f"{folder.path} has no graph. Make one with `kgprobe graph start --engine neo4j --graph {folder.path}`, "
            "and fill it with `kgprobe load`."
        )
    if folder.engine != "neo4j":
        raise KgprobeError(
            f"{folder.path} is a graph of {folder.engine}, which has no Browser. Copy it to neo4j: `kgprobe graph copy "
            f"--graph {folder.path} --output FOLDER`."
        )
    leases.start(folder, ServerOptions("neo4j"))
    return status_of(folder)


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    from kgprobe.base.files import make_folder

    make_folder(folder)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


@contextmanager
def _served(folder: Path, bind: str, port: int | None) -> Iterator[int]:
    """Serve a folder's files on a local address; yield the port."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {".html": "text/html; charset=utf-8", ".grass": "text/plain"}  # noqa: RUF012

        def end_headers(self) -> None:
            # Browser is a page of another origin.
            self.send_header("Access-Control-Allow-Origin", "*")
            super().end_headers()

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self.send_header("Access-Control-Allow-Headers", "*")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing for a request."""

    try:
        server = http.server.ThreadingHTTPServer((bind, port or 0), partial(Handler, directory=folder))
    except OSError as error:
        raise KgprobeError(
            f"The files cannot be served on {bind}, port {port or 'any'}: {error.strerror}. Choose others with --bind"
            " and --port."
        ) from error
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
