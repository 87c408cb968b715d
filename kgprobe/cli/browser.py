"""``kgprobe graph browser``: the graph in Neo4j Browser, with kgprobe's style sheet, guide and queries."""

import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import debug_option, graph_option

if TYPE_CHECKING:
    from kgprobe.servers.folder import Folder
    from kgprobe.servers.status import Status


@click.command()
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write style sheet, guide and queries there, and do nothing else.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Where the files are served.  [default: a free port]")
@click.option("--open/--no-open", "in_browser", default=True, show_default=True, help="Open the web browser.")
@graph_option
@debug_option
def browser(files: Path | None, port: int | None, in_browser: bool, graph: str | None) -> None:
    """Look at the graph in Neo4j Browser, with a style sheet and queries.

    Starts Neo4j where the graph is a folder of it, opens its Browser, and serves what Browser is given: a style sheet
    that colours what `kgprobe beliefs paint` has drawn, a guide whose queries can be clicked, and these as favourites.
    It says what to type there. Ctrl-C ends serving; Neo4j stays until `kgprobe graph stop`.

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
    page, told = _address(graph)
    with _served(port) as (base, contents):
        contents |= browser_files(base)
        lines = {
            "browser": page,
            **told,
            "colours": f":style {base}{STYLE}",
            "queries": f":play {base}{GUIDE}",
            "favourites": f"drop {base}{FAVOURITES} on the page, once it is downloaded",
        }
        click.echo("Type the lines of colours and queries there, once it is connected; Browser keeps the colours.\n")
        for name, value in lines.items():
            click.echo(f"{name:<10}  {value}")
        click.echo("\nCtrl-C ends this; the graph server stays.", err=True)
        if in_browser and not webbrowser.open(page):
            click.echo(f"No browser could be opened; the page is {page}.", err=True)
        _wait()


def _address(graph: str | None) -> tuple[str, dict[str, str]]:
    """Browser's address, and how one connects in it."""
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
        return f"http://{host}:7474/browser/", told
    status = _started(folder_of(graph))
    # Its addresses are there, as the server runs.
    told = {"connect": f"{status.address}, user {status.user}, password in {status.password_file}"}
    return str(status.browser), told


def _started(folder: "Folder") -> "Status":
    from kgprobe.errors import KgprobeError
    from kgprobe.servers import leases
    from kgprobe.servers.server import Wishes
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
    leases.start(folder, Wishes("neo4j"))
    return status_of(folder)


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    from kgprobe.files import make_folder

    make_folder(folder)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


@contextmanager
def _served(port: int | None) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Files that are served to this machine alone, and the address of their folder."""
    import http.server
    import threading

    from kgprobe.errors import KgprobeError

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
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port or 0), Handler)
    except OSError as error:
        raise KgprobeError(
            f"The files cannot be served on port {port}: {error.strerror}. --port names another."
        ) from error
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # By this name a Neo4j takes what it is given, unless it was set up otherwise.
        yield f"http://localhost:{server.server_port}/", contents
        server.shutdown()


def _wait() -> None:
    import threading

    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("", err=True)
