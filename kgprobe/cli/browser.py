"""``kgprobe graph browser``: the graph in Neo4j Browser, with kgprobe's style sheet, guide and queries."""

import re
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import debug_option, graph_option
from kgprobe.errors import ArgumentError, KgprobeError

if TYPE_CHECKING:
    from kgprobe.servers.folder import Folder
    from kgprobe.servers.status import Status

_OPENED = (
    "The guide opens by itself. For the colours, click its first line once it is connected, or type that of colours; "
    "Browser keeps them.\n"
)
_TO_TYPE = "Type the lines of colours and queries there, once it is connected; Browser keeps the colours.\n"


@click.command()
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write style sheet, guide and queries there, and do nothing else.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Where the files are served.  [default: a free port]")
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Of this machine, on which the files are served; 0.0.0.0 is every one.",
)
@click.option(
    "--host",
    default="localhost",
    show_default=True,
    metavar="NAME",
    help="By which web browsers reach the files; Neo4j has to allow it.",
)
@click.option("--open/--no-open", "in_browser", default=True, show_default=True, help="Open the web browser.")
@graph_option
@debug_option
def browser(files: Path | None, port: int | None, bind: str, host: str, in_browser: bool, graph: str | None) -> None:
    """Look at the graph in Neo4j Browser, with a style sheet and queries.

    Starts Neo4j where the graph is a folder of it, opens its Browser with the guide in it, and serves what Browser is
    given: a style sheet that colours what `kgprobe beliefs paint` has drawn, the guide, whose queries can be clicked,
    and these as favourites. It says what to type there. Ctrl-C ends serving; Neo4j stays until `kgprobe graph stop`.

    \b
    kgprobe graph browser --graph ./neo4j
    kgprobe graph browser --graph bolt://host:7687
    kgprobe graph browser --files ./for-browser
    """  # noqa: D301
    from kgprobe.report.browser_files import FAVOURITES, GUIDE, STYLE, browser_files

    if files is not None:
        _write(files, browser_files(""))
        click.echo(
            f"Wrote {STYLE}, {GUIDE} and {FAVOURITES} to {files}. Drop {STYLE}, then {FAVOURITES}, on Neo4j Browser."
        )
        return
    if not re.fullmatch(r"[\w.-]+|\[[\da-fA-F:.]+\]", host, re.ASCII):
        raise ArgumentError("host", f"is {host!r}; the name or address of this machine is expected.")
    page, told, ours = _address(graph)
    with _served(bind, port) as (taken, contents):
        base = f"http://{host}:{taken}/"
        contents |= browser_files(base)
        if ours:
            # Browser runs one command that its address names; of others it takes files only from whom it is told to.
            page += f"?cmd=play&arg={base}{GUIDE}"
        lines = {
            "browser": page,
            **told,
            "colours": f":style {base}{STYLE}",
            "queries": f":play {base}{GUIDE}",
            "favourites": f"drop {base}{FAVOURITES} on the page, once it is downloaded",
        }
        click.echo(_OPENED if ours else _TO_TYPE)
        for name, value in lines.items():
            click.echo(f"{name:<10}  {value}")
        click.echo("\nCtrl-C ends this; the graph server stays.", err=True)
        if in_browser and not webbrowser.open(page):
            click.echo(f"No browser could be opened; the page is {page}.", err=True)
        _wait()


def _address(graph: str | None) -> tuple[str, dict[str, str], bool]:
    """Browser's address, how one connects in it, and whether its Neo4j is one of ours."""
    import os
    from urllib.parse import urlsplit

    from kgprobe.graph.endpoint import is_address, refuse_credentials
    from kgprobe.servers.opening import folder_of

    named = graph or os.environ.get("KGPROBE_GRAPH") or ""
    if is_address(named):
        refuse_credentials(named)
        host = urlsplit(named).hostname or "localhost"
        user = os.environ.get("KGPROBE_GRAPH_USER", "neo4j")
        told = {"connect": f"{named}, user {user}; the page above is where a Neo4j has it, unless told otherwise"}
        return f"http://{host}:7474/browser/", told, False
    status = _started(folder_of(graph))
    # Its addresses are there, as the server runs.
    told = {"connect": f"{status.address}, user {status.user}, password in {status.password_file}"}
    return str(status.browser), told, True


def _started(folder: "Folder") -> "Status":
    from kgprobe.servers import leases
    from kgprobe.servers.server import ServerOptions
    from kgprobe.servers.status import status_of

    if folder.engine is None:
        raise KgprobeError(
            f"There is no graph in {folder.path}. `kgprobe graph start --engine neo4j --graph {folder.path}` makes "
            "one, and `kgprobe load` fills it."
        )
    if folder.engine != "neo4j":
        raise KgprobeError(
            f"{folder.path} is a graph of {folder.engine}, which has no Browser. `kgprobe graph copy --graph "
            f"{folder.path} --to FOLDER` makes one of neo4j."
        )
    leases.start(folder, ServerOptions("neo4j"))
    return status_of(folder)


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    from kgprobe.files import make_folder

    make_folder(folder)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


@contextmanager
def _served(bind: str, port: int | None) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Files that are served on an address of this machine, and the port that was taken."""
    import http.server
    import threading

    contents: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = contents.get(self.path.lstrip("/"))
            self.send_response(404 if content is None else 200)
            self._allow()
            self.send_header(
                "Content-Type", "text/html; charset=utf-8" if self.path.endswith(".html") else "text/plain"
            )
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self._allow()
            self.send_header("Access-Control-Allow-Headers", "*")
            self.end_headers()

        def _allow(self) -> None:
            # Browser is a page of another address, and asks whether it may read this.
            self.send_header("Access-Control-Allow-Origin", "*")

        def log_message(self, *_: object) -> None:
            """Nobody wants to read of each request."""

    try:
        server = http.server.ThreadingHTTPServer((bind, port or 0), Handler)
    except OSError as error:
        raise KgprobeError(
            f"The files cannot be served on {bind}, port {port or 'any'}: {error.strerror}. --bind and --port name"
            " others."
        ) from error
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, contents
        server.shutdown()


def _wait() -> None:
    import threading

    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("", err=True)
