"""A real SPARQL server for tests, and a proxy before it that can fail in the ways servers do."""

import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@contextmanager
def oxigraph(triples: str, folder: Path) -> Iterator[str]:
    """Oxigraph with some N-Triples in it, as long as the context lasts; gives the address that takes queries."""
    program = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")
    if program is None:
        pytest.fail("the test server oxigraph is not installed; the extra `test` brings it")
    (folder / "data.nt").write_text(triples, encoding="utf-8")
    store = str(folder / "store")
    subprocess.run(
        [program, "load", "--location", store, "--file", str(folder / "data.nt")], check=True, capture_output=True
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [program, "serve-read-only", "--location", store, "--bind", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            for _ in range(600):
                with socket.socket() as connection:
                    if connection.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert server.poll() is None, "oxigraph ended"
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/query"
        finally:
            server.terminate()


@dataclass(frozen=True, slots=True)
class Fault:
    """The proxy's answer in place of the server's.

    Attributes:
        status: 0 passes the query on, and cuts the connection in the middle of the answer.
        delay: seconds before the answer.
        drip: seconds between the bytes of the answer.
    """

    status: int
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0


@dataclass(slots=True)
class Request:
    """A request, with the beginning and end of its answer in seconds of the monotonic clock."""

    query: str
    headers: dict[str, str]
    began: float
    ended: float = 0.0


@dataclass(slots=True)
class Proxy:
    """Passes queries on, and answers in the server's place where ``decide`` says so.

    Attributes:
        decide: given a query and how many requests there were before it, the fault, or None to pass it on.
    """

    address: str
    decide: Callable[[str, int], Fault | None] = lambda query, before: None
    requests: list[Request] = field(default_factory=list)

    @property
    def most_at_once(self) -> int:
        """The maximum number of requests under way together."""
        return max(
            (sum(o.began <= r.began < o.ended for o in self.requests if o is not r) + 1 for r in self.requests),
            default=0,
        )


@contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """Provide a proxy before a server, as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = Request(urllib.parse.parse_qs(body.decode())["query"][0], dict(self.headers), time.monotonic())
            with lock:
                before = len(made.requests)
                made.requests.append(request)
            with suppress(BrokenPipeError, ConnectionResetError):
                self._answer(request, made.decide(request.query, before), body)

        def _answer(self, request: Request, fault: Fault | None, body: bytes) -> None:
            if fault is None:
                status, kind, answer = self._pass_on(body)
                self._send(request, status, {"Content-Type": kind}, answer)
                return
            time.sleep(fault.delay)
            if fault.status == 0:
                answer = self._pass_on(body)[2]
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                request.ended = time.monotonic()
                self.wfile.write(answer[: len(answer) // 2])
                self.wfile.flush()
                self.connection.close()
                self.close_connection = True
            else:
                body = fault.body.encode() if isinstance(fault.body, str) else fault.body
                self._send(request, fault.status, fault.headers, body, fault.drip)

        def _pass_on(self, body: bytes) -> tuple[int, str, bytes]:
            onward = urllib.request.Request(target, data=body, headers={"Accept": self.headers["Accept"]})  # noqa: S310
            try:
                with urllib.request.urlopen(onward) as response:  # noqa: S310
                    return response.status, response.headers["Content-Type"], response.read()
            except urllib.error.HTTPError as error:
                return error.code, error.headers["Content-Type"], error.read()

        def _send(self, request: Request, status: int, headers: dict[str, str], body: bytes, drip: float = 0.0) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            # Before the last bytes: whoever has them may ask the next thing at once.
            request.ended = time.monotonic()
            for piece in [body] if not drip else [body[at : at + 1] for at in range(len(body))]:
                self.wfile.write(piece)
                time.sleep(drip)

        def log_message(self, *args: object) -> None:
            pass

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Proxy(f"http://127.0.0.1:{server.server_port}/sparql")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
