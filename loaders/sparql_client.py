"""Polite client of a SPARQL endpoint.

One request at a time, with a pause after each; a ``User-Agent`` with a contact; gzip; ``Retry-After``, and otherwise
exponential back-off with jitter after 429, server errors, broken connections and invalid answers. Answers are stored on
disk by query, so an interrupted load repeats no requests.

Protocol: SPARQL 1.1, queries by POST as a form, results as JSON. The HTTP client is httpx2, the maintained continuation
of httpx, which the OpenAI client and the Hugging Face hub need anyway. Its timeouts are per read; a total timeout needs
an event loop.
"""

import asyncio
import functools
import gzip
import hashlib
import ssl
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import httpx2
import msgspec
from msgspec import Struct

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import replacing
from kgprobe.base.progress import print_message
from kgprobe.base.version import __version__
from kgprobe.base.waiting import LONGEST_ASKED_WAIT, back_off, retry_after, wait_for_coroutine

Row: TypeAlias = dict[str, str]

# Maximum number of requests per query.
TRIES = 6
GOES_ON = "Repeat the command to continue the load."

# Factors of the back-off, at random in this range.
_JITTER = (0.5, 1.5)
# Maximum bytes of an unpacked answer, and of an error message.
_ANSWER_LIMIT = 256 * 2**20
_MESSAGE_LIMIT = 2**16
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# Texts of servers after a timeout, sometimes in the middle of an answer.
_SLOW_MARKS = (b"TimeoutException", b"timed out", b"timeout", b"Timeout", b"time limit")


class TooSlow(Exception):  # noqa: N818
    """A query exceeds the time limit of the server or ours; a smaller one may succeed."""


class _Term(Struct):
    value: str


class _Bindings(Struct):
    bindings: list[dict[str, _Term]]


class _Results(Struct):
    results: _Bindings


_decode = msgspec.json.Decoder(_Results).decode


class _Fault(NamedTuple):
    """Failure of a request; ``wait`` in seconds, if the server gives it."""

    reason: str
    passing: bool = True
    slow: bool = False
    wait: float | None = None


class _Answer(NamedTuple):
    """Rows, and the endpoint's answer that they are read from."""

    rows: list[Row]
    content: bytes


@dataclass(slots=True)
class SparqlClient:
    """Client of an endpoint with stored answers.

    Attributes:
        endpoint: address for queries, http or https.
        answers: existing folder for answers; None stores none.
        contact: mail address or web page of the user, for the endpoint's operators; may be empty.
        pause: seconds between an answer and the next request.
        timeout: maximum seconds per answer.
        back_off: seconds before the second try, doubled each time, with jitter.
        report: called with the reason of a delay.
        requests: number of sent requests.
        kept: number of queries answered from the folder.
    """

    endpoint: str
    answers: Path | None = None
    contact: str = ""
    pause: float = 1.0
    timeout: float = 65.0
    back_off: float = 2.0
    report: Callable[[str], None] = print_message
    requests: int = 0
    kept: int = 0
    _last: float = field(default=float("-inf"), repr=False)
    _answered: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Validate endpoint and contact."""
        if "@" in self.endpoint:
            host = self.endpoint.rpartition("@")[2].partition("/")[0]
            raise ArgumentError(
                "endpoint",
                f"contains a user or a password before {host!r}, which messages would show. Give an endpoint that needs"
                " none.",
            )
        try:
            address = httpx2.URL(self.endpoint)
        except httpx2.InvalidURL:
            address = httpx2.URL()
        if address.scheme not in {"http", "https"} or not address.host:
            raise ArgumentError(
                "endpoint",
                f"is {self.endpoint!r}; expected the address of a SPARQL endpoint, such as"
                " https://query.wikidata.org/sparql.",
            )
        if not self.contact.isascii() or not self.contact.isprintable() or set("()") & set(self.contact):
            raise ArgumentError(
                "contact",
                f"is {self.contact!r}; expected a mail address or a web page, in ASCII.",
            )

    @property
    def user_agent(self) -> str:
        """The User-Agent in the form of Wikimedia's policy: tool, contact, library."""
        contact = f" ({self.contact})" if self.contact else ""
        return f"kgprobe/{__version__}{contact} httpx2/{httpx2.__version__}"

    def select(self, query: str, *, divisible: bool = False) -> list[Row]:
        """Return the rows of a query, with values by variable; unbound variables are missing.

        Args:
            divisible: True if the caller can split the query, so that a slow one is not repeated.

        Raises:
            TooSlow: the query took too long: once if ``divisible``, else ``TRIES`` times.
        """
        name = f"{hashlib.blake2b(query.encode(), digest_size=16).hexdigest()}.json.gz"
        if self.answers is None:
            return self._answer(query, divisible).rows
        file = self.answers / name
        rows = _read(file)
        if rows is not None:
            self.kept += 1
            return rows
        answer = self._answer(query, divisible)
        with replacing(file) as unfinished:
            unfinished.write_bytes(gzip.compress(answer.content, 6))
        return answer.rows

    def _answer(self, query: str, divisible: bool) -> _Answer:
        """Return the rows of a query, and the answer that they are read from; ask again after passing faults."""
        for attempt in range(1, TRIES + 1):
            answer = self._ask(query)
            fault = answer if isinstance(answer, _Fault) else _decoded(answer)
            if isinstance(fault, _Answer):
                return fault
            if not fault.passing:
                raise KgprobeError(f"{self.endpoint}: {fault.reason}.")
            if fault.slow and (divisible or attempt == TRIES):
                raise TooSlow(fault.reason)
            reason = fault.reason
            if attempt < TRIES:
                self._wait(fault, attempt)
        raise KgprobeError(f"{self.endpoint}: {reason}; asked {TRIES} times. {GOES_ON}")

    def _wait(self, fault: _Fault, attempt: int) -> None:
        seconds = back_off(attempt - 1, self.back_off, _JITTER) if fault.wait is None else fault.wait
        if seconds > LONGEST_ASKED_WAIT:
            raise KgprobeError(f"{self.endpoint}: {fault.reason}, and asks to wait {seconds:,.0f} seconds. {GOES_ON}")
        self.report(f"{self.endpoint}: {fault.reason}; again in {seconds:.1f} s ({attempt} of {TRIES}).")
        time.sleep(seconds)

    def _ask(self, query: str) -> bytes | _Fault:
        """Send one request and return its answer or failure."""
        time.sleep(max(0.0, self._last + self.pause - time.monotonic()))
        self.requests += 1
        try:
            return wait_for_coroutine(asyncio.wait_for(self._request(query), self.timeout))
        # Two classes before Python 3.11.
        except (asyncio.TimeoutError, TimeoutError):
            return _Fault(f"no answer within {self.timeout:g} s", slow=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            # Without any answer before, the address is wrong or this machine is offline.
            return _Fault(f"no connection ({_cause(error)})", passing=self._answered)
        except httpx2.RequestError as error:
            return _Fault(f"the connection or the answer broke off ({error or type(error).__name__})")
        finally:
            self._last = time.monotonic()

    async def _request(self, query: str) -> bytes | _Fault:
        headers = {
            "Accept": "application/sparql-results+json",
            "Accept-Encoding": "gzip",
            "User-Agent": self.user_agent,
        }
        # Half of the time is for connecting.
        timeout = httpx2.Timeout(None, connect=self.timeout / 2)
        async with (
            # A redirected POST would lose its query.
            httpx2.AsyncClient(headers=headers, timeout=timeout, follow_redirects=False, verify=_tls()) as client,
            client.stream("POST", self.endpoint, data={"query": query}) as response,
        ):
            self._answered = True
            if not response.is_success:
                return _refused(response, await _beginning(response))
            answer = bytearray()
            async for piece in response.aiter_bytes():
                answer += piece
                if len(answer) > _ANSWER_LIMIT:
                    return _Fault(f"an answer of more than {_ANSWER_LIMIT // 2**20} MiB", passing=False)
            return bytes(answer)


@functools.cache
def _tls() -> ssl.SSLContext:
    # Reading all certificates takes longer than a request.
    return httpx2.create_ssl_context()


async def _beginning(response: httpx2.Response) -> bytes:
    """Return the beginning of an error message of a server."""
    message = bytearray()
    try:
        async for piece in response.aiter_bytes():
            message += piece
            if len(message) >= _MESSAGE_LIMIT:
                break
    except httpx2.RequestError:
        pass
    return bytes(message[:_MESSAGE_LIMIT])


def _cause(error: BaseException) -> str:
    """Return the system's message on a failed connection, from the innermost OSError."""
    message = str(error) or type(error).__name__
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError):
            message = str(inner)
        inner = inner.__cause__ or inner.__context__
    return message


def _refused(response: httpx2.Response, body: bytes) -> _Fault:
    status = response.status_code
    lines = body.decode(errors="replace").strip().splitlines()
    message = f": {lines[0][:200].rstrip('.')}" if lines else ""
    if status in _PASSING:
        slow = status in {408, 504} or any(mark in body for mark in _SLOW_MARKS)
        wait = retry_after(response.headers, time.time())
        return _Fault(f"status {status}{message}", slow=slow and status != 429, wait=wait)
    if response.is_redirect:
        return _Fault(f"has moved to {response.headers.get('Location')}; `endpoint` takes that address", passing=False)
    hint = "; operators may ask for a `contact`" if status == 403 else ""
    return _Fault(f"refuses the request with status {status}{message}{hint}", passing=False)


def _decoded(answer: bytes) -> _Answer | _Fault:
    try:
        return _Answer(_rows(answer), answer)
    except msgspec.DecodeError as error:
        slow = any(mark in answer[-5000:] for mark in _SLOW_MARKS)
        return _Fault(f"its answer is not a SPARQL result in JSON ({error})", slow=slow)


def _rows(answer: bytes) -> list[Row]:
    return [{name: term.value for name, term in row.items()} for row in _decode(answer).results.bindings]


def _read(file: Path) -> list[Row] | None:
    try:
        return _rows(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, zlib.error, msgspec.DecodeError):
        # Missing or incomplete: the query is sent again.
        return None
