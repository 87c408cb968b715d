"""The client of SPARQL endpoints: what it says of itself, how it waits, and what becomes of every way to fail."""

import asyncio
import gzip
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.version import __version__
from kgprobe.loaders import sparql_client
from kgprobe.loaders.sparql_client import TRIES, SparqlClient, TooSlow
from tests.cases import slow_except
from tests.loaders.sparql_server import Fault, Proxy, oxigraph, proxy

QUERY = "SELECT ?o { <http://a> <http://b> ?o } ORDER BY ?o"
ROWS = [{"o": "one"}, {"o": "two"}]
TRIPLES = '<http://a> <http://b> "one" .\n<http://a> <http://b> "two" .\n'
ANSWER = json.dumps({"head": {"vars": ["o"]}, "results": {"bindings": [{"o": {"type": "literal", "value": "x"}}]}})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oxigraph(TRIPLES, tmp_path_factory.mktemp("oxigraph")) as address:
        yield address


@pytest.fixture
def through(server: str) -> Iterator[Proxy]:
    with proxy(server) as made:
        yield made


def client(through: Proxy, **options: Any) -> SparqlClient:
    return SparqlClient(through.address, **{"pause": 0, "back_off": 0.001, **options})


def fail(through: Proxy, *faults: Fault | None) -> None:
    """The first requests fail like this; all others are answered."""
    through.decide = lambda query, before: faults[before] if before < len(faults) else None


def test_rows(through: Proxy) -> None:
    assert client(through).select(QUERY) == ROWS
    assert client(through).select("SELECT ?x ?y { OPTIONAL { <http://a> <http://c> ?x } BIND(1 AS ?y) }") == [
        {"y": "1"}
    ]


def test_who_asks(through: Proxy) -> None:
    client(through).select(QUERY)
    client(through, contact="me@example.org").select(QUERY)
    nobody, me = (request.headers["User-Agent"] for request in through.requests)
    assert re.fullmatch(rf"kgprobe/{re.escape(__version__)} httpx2/[0-9.]+", nobody)
    assert me.startswith(f"kgprobe/{__version__} (me@example.org) ")
    assert through.requests[0].headers["Accept"] == "application/sparql-results+json"


def test_pause_after_each_answer(through: Proxy) -> None:
    through.decide = lambda query, before: Fault(200, ANSWER, delay=0.05)
    asking = client(through, pause=0.2)
    for number in range(3):
        asking.select(f"{QUERY} # {number}")
    gaps = [after.began - before.ended for before, after in zip(through.requests, through.requests[1:], strict=False)]
    assert min(gaps) > 0.15
    assert through.most_at_once == 1


PASSING = {
    "too many requests": Fault(429),
    "server error": Fault(500, "out of memory"),
    "bad gateway": Fault(502),
    "unavailable": Fault(503),
    "cut connection": Fault(0),
    "malformed": Fault(200, '{"head": {"vars": ["o"]}, "results": {"bindings": [{"o": {"va'),
    "of another structure": Fault(200, '{"boolean": true}'),
    "a page": Fault(200, "<html>", {"Content-Type": "text/html"}),
    "bad compression": Fault(200, "no gzip", {"Content-Encoding": "gzip"}),
    "nothing": Fault(200, ""),
    "a hang": Fault(200, ANSWER, delay=4),
    "drops": Fault(200, ANSWER, drip=0.05),
}


@pytest.mark.parametrize("kind", slow_except(PASSING, PASSING.keys() - {"a hang", "drops"}))
def test_what_passes_is_asked_again(kind: str, through: Proxy, tmp_path: Path) -> None:
    told: list[str] = []
    fail(through, PASSING[kind], PASSING[kind])
    asking = client(through, timeout=3, answers=tmp_path, report=told.append)
    assert asking.select(QUERY) == ROWS
    assert asking.requests == len(through.requests) == 3
    assert len(told) == 2
    assert [message.split("(")[-1] for message in told] == ["1 of 6).", "2 of 6)."]
    assert len(list(tmp_path.iterdir())) == 1


def test_after_a_number_of_tries_it_is_an_error(through: Proxy, tmp_path: Path) -> None:
    fail(through, *[Fault(500, "out of memory")] * 20)
    with pytest.raises(KgprobeError, match=r"status 500: out of memory; asked 6 times\. .*Repeat the command"):
        client(through, answers=tmp_path).select(QUERY)
    assert len(through.requests) == TRIES
    assert not list(tmp_path.iterdir())


def test_back_off_doubles_with_jitter(through: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    # The client's clock alone: other threads sleep as well.
    monkeypatch.setattr(sparql_client, "time", SimpleNamespace(**{**vars(time), "sleep": slept.append}))
    for _ in range(5):
        through.requests.clear()
        fail(through, *[Fault(503)] * 5)
        client(through, back_off=10.0).select(QUERY)
    waits = [seconds for seconds in slept if seconds > 0]
    assert len(waits) == 25
    for number, seconds in enumerate(waits):
        middle = min(60, 10 * 2 ** (number % 5))
        assert 0.5 * middle <= seconds <= 1.5 * middle
    assert len(set(waits[::5])) == 5


@pytest.mark.parametrize("form", ["seconds", pytest.param("date", marks=pytest.mark.slow)])
def test_retry_after_is_obeyed(form: str, through: Proxy) -> None:
    until = datetime.now(timezone.utc) + timedelta(seconds=3)
    wait = "1" if form == "seconds" else format_datetime(until, usegmt=True)
    fail(through, Fault(429, headers={"Retry-After": wait}))
    assert client(through).select(QUERY) == ROWS
    first, second = through.requests
    if form == "seconds":
        assert second.began - first.ended >= 1
    else:
        assert datetime.now(timezone.utc) >= until.replace(microsecond=0)


def test_whoever_asks_for_hours_is_left_alone(through: Proxy) -> None:
    fail(through, Fault(429, "banned", headers={"Retry-After": "86400"}))
    with pytest.raises(KgprobeError, match=r"status 429: banned, and asks to wait 86,400 seconds\. Repeat"):
        client(through).select(QUERY)
    assert len(through.requests) == 1


SLOW = {
    "a hang": Fault(200, ANSWER, delay=4),
    "a gateway's timeout": Fault(504, "upstream request timeout"),
    "in an error": Fault(500, "java.util.concurrent.TimeoutException: Query deadline is expired."),
    "in the answer": Fault(200, ANSWER[:-5] + "\njava.util.concurrent.TimeoutException\n\tat java.base"),
}


@pytest.mark.parametrize("kind", slow_except(SLOW, set(SLOW) - {"a hang"}))
def test_slow_divisible_query_is_reported_at_once(kind: str, through: Proxy) -> None:
    fail(through, *[SLOW[kind]] * 20)
    with pytest.raises(TooSlow):
        client(through, timeout=3).select(QUERY, divisible=True)
    assert len(through.requests) == 1
    if kind != "a hang":
        with pytest.raises(TooSlow):
            client(through, timeout=3).select(QUERY)
        assert len(through.requests) == 1 + TRIES


def test_too_many_requests_are_not_too_slow(through: Proxy) -> None:
    fail(through, Fault(429, "Too many requests: timeout quota", headers={"Retry-After": "0"}))
    assert client(through).select(QUERY, divisible=True) == ROWS


FINAL = {
    "bad query": (
        Fault(400, "MalformedQueryException: at line 3\nmore"),
        "status 400: MalformedQueryException: at line 3.",
    ),
    "forbidden": (
        Fault(403, "blocked"),
        "status 403: blocked; operators may ask for a `contact`.",
    ),
    "not there": (Fault(404), "refuses the request with status 404."),
    "moved": (
        Fault(301, headers={"Location": "https://elsewhere.example.org/sparql"}),
        "has moved to https://elsewhere.example.org/sparql; `endpoint` takes that address.",
    ),
}


@pytest.mark.parametrize("kind", FINAL)
def test_what_does_not_pass_is_asked_once(kind: str, through: Proxy) -> None:
    fault, said = FINAL[kind]
    fail(through, *[fault] * 20)
    with pytest.raises(KgprobeError, match=re.escape(said)):
        client(through).select(QUERY)
    assert len(through.requests) == 1


def test_query_that_the_server_cannot_read(through: Proxy) -> None:
    with pytest.raises(KgprobeError, match="refuses the request with status 400: error at 1:"):
        client(through).select("SELECT nothing")
    assert len(through.requests) == 1


@pytest.mark.slow
def test_headers_in_drops_are_too_slow() -> None:
    def drip(server: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drops: ")
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/sparql"
        with pytest.raises(TooSlow, match="no answer within 3 s"):
            SparqlClient(address, timeout=3).select(QUERY, divisible=True)


def test_within_an_event_loop_as_in_notebooks(through: Proxy) -> None:
    async def cell() -> list[dict[str, str]]:
        return client(through).select(QUERY)

    assert asyncio.run(cell()) == ROWS


def test_nobody_there() -> None:
    with pytest.raises(KgprobeError, match=r"no connection \(\[Errno"):
        SparqlClient("http://127.0.0.1:9/sparql", pause=0).select(QUERY)


@pytest.mark.parametrize("packed", [False, True])
def test_answer_may_not_fill_the_memory(packed: bool, through: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql_client, "_ANSWER_LIMIT", 2**20)
    answer = b" " * 2**21
    encoded = Fault(200, gzip.compress(answer), {"Content-Encoding": "gzip"}) if packed else Fault(200, answer)
    fail(through, encoded)
    with pytest.raises(KgprobeError, match="an answer of more than 1 MiB"):
        client(through).select(QUERY)


def test_compressed_answers(through: Proxy) -> None:
    fail(through, Fault(200, gzip.compress(ANSWER.encode()), {"Content-Encoding": "gzip"}))
    assert client(through).select(QUERY) == [{"o": "x"}]
    assert through.requests[0].headers["Accept-Encoding"] == "gzip"


def test_answers_are_kept(through: Proxy, tmp_path: Path) -> None:
    asking = client(through, answers=tmp_path)
    assert asking.select(QUERY) == asking.select(QUERY) == client(through, answers=tmp_path).select(QUERY) == ROWS
    assert len(through.requests) == asking.requests == asking.kept == 1
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-9])
    assert client(through, answers=tmp_path).select(QUERY) == ROWS
    assert len(through.requests) == 2


def test_answer_that_cannot_be_kept(through: Proxy, tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match="cannot be written: No such file"):
        client(through, answers=tmp_path / "nowhere").select(QUERY)
