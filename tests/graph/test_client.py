"""What the client keeps from the user's terminal, and what it shows on demand."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.graph import client, driver
from kgprobe.graph.client import Graph, Watchdog
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.servers.opening import open_graph
from tests.cases import slow_except
from tests.graph.servers.servers import clean_environment, servers_on, wait_for

# A key and its self-signed certificate, for localhost until 2126.
CERTIFICATE = Path(__file__).parent.parent / "data" / "localhost.pem"

# In a process of its own: pytest sets up logging, and the terminal of a user has none.
RETRIED = """
import logging, sys
from neo4j.exceptions import TransientError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint

if "--debug" in sys.argv:
    logging.basicConfig()
attempts = []

def work(transaction):
    attempts.append(1)
    if len(attempts) == 1:
        raise TransientError("busy")
    return transaction.run("load/loads")

with Graph(Endpoint(*sys.argv[1:4], sys.argv[4] or None)) as graph:
    graph.transaction(work)
print(len(attempts))
"""


@pytest.mark.parametrize("options", [[], pytest.param(["--debug"], marks=pytest.mark.slow)])
def test_transaction_is_tried_anew_without_a_word(endpoint: Endpoint, options: list[str]) -> None:
    arguments = [endpoint.address, endpoint.user, endpoint.password, endpoint.database or "", *options]
    done = subprocess.run(
        [sys.executable, "-c", RETRIED, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
        check=True,
    )
    assert done.stdout == "2\n"
    assert ("will be retried" in done.stderr) == bool(options)
    assert bool(done.stderr) == bool(options)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watchdog and a driver that give up within seconds."""
    for name in ("FIRST_LOOK", "LOOK_AGAIN"):
        monkeypatch.setattr(client, name, 0.1)
    monkeypatch.setattr(client, "PATIENCE", 0.5)
    monkeypatch.setattr(driver, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(driver, "CONNECTION_SECONDS", 1.0)


@pytest.fixture
def serve_tls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], int]]:
    """Return a function that serves self-signed TLS, or none, and returns the port; nothing answers behind it."""
    monkeypatch.setattr(driver, "RETRY_SECONDS", 2.0)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    def accept(server: socket.socket, encrypted: bool) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with suppress(OSError), connection:
                    connection.settimeout(5)
                    if encrypted:
                        context.wrap_socket(connection, server_side=True).close()

    with ExitStack() as stack:

        def serve(encrypted: bool) -> int:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            threading.Thread(target=accept, args=(server, encrypted), daemon=True).start()
            return int(server.getsockname()[1])

        yield serve


@pytest.mark.parametrize("protocol", ["bolt", "neo4j"])
@pytest.mark.parametrize(
    ("host", "encrypted", "trusted", "fault"),
    [
        ("localhost", True, False, "cannot be verified: self-signed certificate. Set SSL_CERT_FILE"),
        ("127.0.0.1", True, True, "cannot be verified: IP address mismatch, .* give the host name in the certificate"),
        ("localhost", True, True, "does not answer: "),
        ("localhost", False, False, "does not answer an encrypted connection. If the server has no certificate, give"),
    ],
)
def test_certificate_that_cannot_be_verified_is_named(
    serve_tls: Callable[[bool], int],
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    host: str,
    encrypted: bool,
    trusted: bool,
    fault: str,
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    address = f"{protocol}+s://{host}:{serve_tls(encrypted)}"
    with pytest.raises(KgprobeError, match=fault) as error, Graph(Endpoint(address, "neo4j", "")) as graph:
        graph.query("RETURN 1")
    assert address in str(error.value)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_connections_are_cut_where_nobody_answers_time_and_again() -> None:
    looks = iter([True, False, True, False, False])
    ended = threading.Event()
    watched = Watchdog(lambda: next(looks), ended.set)
    with watched.wait():
        assert ended.wait(300)
    assert watched.has_cut
    assert next(looks, None) is None


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Graph, psutil.Process]]:
    """A graph of this module's own, and its server, which tests may stop."""
    folder = tmp_path_factory.mktemp("own") / "graph"
    with open_graph(folder, memory=512) as graph:
        (server,) = servers_on(Path(folder))
        yield graph, server


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("way", slow_except(["read", "write", "stream"], ["read"]))
def test_stopped_server_is_an_error_until_it_continues(own: tuple[Graph, psutil.Process], way: str) -> None:
    graph, server = own
    with Graph(graph.endpoint) as connection:
        server.suspend()
        try:
            with pytest.raises(KgprobeError, match="no longer answers"):
                list(getattr(connection, way)("load/missing", ids=["x"]))
        finally:
            server.resume()
        assert connection.query("RETURN 1 AS one").rows == ({"one": 1},)


def test_ctrl_c_ends_a_wait_for_a_stopped_server(own: tuple[Graph, psutil.Process]) -> None:
    graph, server = own

    def interrupt() -> None:
        wait_for(lambda: [one for one in threading.enumerate() if one.name == "kgprobe-wait"])
        os.kill(os.getpid(), signal.SIGINT)

    with Graph(graph.endpoint) as connection:
        server.suspend()
        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                connection.write("load/missing", ids=["x"])
        finally:
            server.resume()
            interrupting.join()


def test_parameters_unsupported_by_arcadedb_are_refused(own: tuple[Graph, psutil.Process]) -> None:
    with pytest.raises(KgprobeError, match=r"The parameters have 17\.0 MB; the embedded engine accepts up to 15\.5 MB"):
        own[0].query("RETURN size($text) AS size", text="x" * 17_000_000)
