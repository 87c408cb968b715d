"""Servers and files that all workers of a test run share: each is made by the first worker that needs it."""

import base64
import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock, ReadWriteLock

from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.servers.folder import folder_of

REPOSITORY = Path(__file__).parents[3]
WIPE = (REPOSITORY / "tests" / "data" / "wipe.cypher").read_text(encoding="utf-8")

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder of the whole run, the same for all of its workers."""
    own = factory.getbasetemp()
    return own if WORKER == "main" else own.parent


@contextmanager
def shared_process(folder: Path, serve: Callable[[Path], AbstractContextManager[str]]) -> Iterator[str]:
    """Use a server that one worker runs for all; the worker that started it ends it after the last user has left.

    Args:
        folder: holds the server's files; made where it is missing.
        serve: starts the server, and ends it on exit; its value is the server's address.
    """
    folder.mkdir(parents=True, exist_ok=True)
    address, starting = folder / "address", FileLock(folder / "starting.lock")
    users = ReadWriteLock(folder / "users.lock", is_singleton=False)
    with ExitStack() as started:
        with starting:
            starts = not address.exists()
            if starts:
                address.write_text(started.enter_context(serve(folder)), encoding="utf-8")
            users.acquire_read()
        try:
            yield address.read_text(encoding="utf-8")
        finally:
            users.release()
            if starts:
                # A worker that needs the server from here on starts one of its own.
                with starting:
                    address.unlink()
                with users.write_lock():
                    pass


def add_database(server: Endpoint, name: str) -> Endpoint:
    """Return an empty database of a running ArcadeDB server, made where it is missing.

    Args:
        server: was started by kgprobe, so that its password lies in its folder.
    """
    assert server.folder is not None
    folder = folder_of(server.folder)
    running = folder.read_server()
    assert running is not None
    credentials = base64.b64encode(f"{server.user}:{folder.password}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{running.http_port}/api/v1/server",
        json.dumps({"command": f"create database {name}"}).encode(),
        {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request):  # noqa: S310
        return replace(server, database=name)


def wipe(graph: Graph) -> None:
    """Delete all nodes and relationships; constraints and indexes stay."""
    while [row["deleted"] for row in graph.run_text(WIPE, {})[1]] != [0]:
        pass


def environment_of(endpoint: Endpoint) -> dict[str, str]:
    """Return the environment variables of a user who works on a running server."""
    return {
        "KGPROBE_GRAPH": endpoint.address,
        "KGPROBE_GRAPH_USER": endpoint.user,
        "KGPROBE_GRAPH_PASSWORD": endpoint.password,
        "KGPROBE_GRAPH_DATABASE": endpoint.database or "",
    }
