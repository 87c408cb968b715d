"""A SPARQL endpoint, asked the way a guest should.

One request at a time, with a pause after each; a ``User-Agent`` that says who asks; gzip; ``Retry-After`` obeyed, and
without one an exponential back-off with jitter after 429, server errors, cut connections and answers that are no
SPARQL results. Every answer is kept on the disk under its query, so that what was interrupted asks nothing twice.

The protocol: SPARQL 1.1, queries by POST as a form, results as JSON. HTTP is spoken by httpx2, the maintained
continuation of httpx, which the OpenAI client and the Hugging Face hub bring along in any case. Its own timeouts are
for each read, so that an answer in drops would take for ever: within an event loop a request can be ended as a whole.
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

from kgprobe import __version__
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import replacing
from kgprobe.progress import print_message
from kgprobe.waiting import LONGEST_ASKED_WAIT, back_off, retry_after, wait_for_coroutine

Row: TypeAlias = dict[str, str]

# How often a query is asked before giving up.
TRIES = 6
GOES_ON = "What came before is kept: the same load goes on."

# Between which multiples of a back-off one waits: never for almost nothing, as a guest.
_JITTER = (0.5, 1.5)
# Of an answer, unpacked; and of what a server says of a failure.
_ANSWER_LIMIT = 256 * 2**20
_SAID_LIMIT = 2**16
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# What servers write, at times behind the beginning of an answer, when a query took longer than they allow.
_SLOW_MARKS = (b"TimeoutException", b"timed out", b"timeout", b"Timeout", b"time limit")


class TooSlow(Exception):  # noqa: N818
    """A query takes longer than the server allows, or than we wait; a smaller one may do."""


class _Term(Struct):
    value: str


class _Bindings(Struct):
    bindings: list[dict[str, _Term]]


class _Results(Struct):
    results: _Bindings


_decode = msgspec.json.Decoder(_Results).decode


class _Fault(NamedTuple):
    """Why a request gave no rows; ``wait`` in seconds, where the server names one."""

    reason: str
    passing: bool = True
    slow: bool = False
    wait: float | None = None


@dataclass(slots=True)
class SparqlClient:
    """An endpoint and the answers that it gave.

    Attributes:
        endpoint: the address that takes queries, http or https.
        answers: a folder for the answers, which is there; None keeps none.
        contact: an address of mail or of a page where the endpoint's operators reach whoever asks; may be empty.
        pause: seconds between an answer and the next request.
        timeout: seconds that an answer may take.
        back_off: seconds to wait before the second try; doubled each time, with jitter.
        report: told why something takes longer.
        requests: how many were sent.
        kept: how many queries were answered from the folder.
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
        """Look at what the user gave.

        Raises:
            ArgumentError: no address of a server, or a contact that cannot stand in a header.
        """
        try:
            address = httpx2.URL(self.endpoint)
        except httpx2.InvalidURL:
            address = httpx2.URL()
        if address.scheme not in {"http", "https"} or not address.host:
            raise ArgumentError(
                "endpoint",
                f"is {self.endpoint!r}, which is no address of a SPARQL endpoint; one like"
                " https://query.wikidata.org/sparql is.",
            )
        if not self.contact.isascii() or not self.contact.isprintable() or set("()") & set(self.contact):
            raise ArgumentError(
                "contact",
                f"is {self.contact!r}, which cannot stand in a request; an address of mail or of a page can.",
            )

    @property
    def user_agent(self) -> str:
        """Who asks, in the form that Wikimedia's policy names: tool, contact, library."""
        contact = f" ({self.contact})" if self.contact else ""
        return f"kgprobe/{__version__}{contact} httpx2/{httpx2.__version__}"

    def select(self, query: str, *, divisible: bool = False) -> list[Row]:
        """The rows of a query, each a value by variable; unbound variables are missing.

        Args:
            divisible: the caller can ask for less at a time, so a query that takes too long is not asked again.

        Raises:
            TooSlow: the query took too long: at once if ``divisible``, else each of ``TRIES`` times.
            KgprobeError: the endpoint cannot answer it, or did not in ``TRIES`` tries.
        """
        name = f"{hashlib.blake2b(query.encode(), digest_size=16).hexdigest()}.json.gz"
        file = None if self.answers is None else self.answers / name
        if file is not None and (rows := _read(file)) is not None:
            self.kept += 1
            return rows
        fault = _Fault("no request was sent")
        for attempt in range(1, TRIES + 1):
            answer = self._ask(query)
            outcome = answer if isinstance(answer, _Fault) else _rows_or_fault(answer)
            if not isinstance(outcome, _Fault):
                if file is not None and isinstance(answer, bytes):
                    _write(file, answer)
                return outcome
            fault = outcome
            if not fault.passing:
                raise KgprobeError(f"{self.endpoint}: {fault.reason}.")
            if fault.slow and (divisible or attempt == TRIES):
                raise TooSlow(fault.reason)
            if attempt < TRIES:
                self._wait(fault, attempt)
        raise KgprobeError(f"{self.endpoint}: {fault.reason}; asked {TRIES} times. {GOES_ON}")

    def _wait(self, fault: _Fault, attempt: int) -> None:
        seconds = back_off(attempt - 1, self.back_off, _JITTER) if fault.wait is None else fault.wait
        if seconds > LONGEST_ASKED_WAIT:
            raise KgprobeError(f"{self.endpoint}: {fault.reason}, and asks to wait {seconds:,.0f} seconds. {GOES_ON}")
        self.report(f"{self.endpoint}: {fault.reason}; again in {seconds:.1f} s ({attempt} of {TRIES}).")
        time.sleep(seconds)

    def _ask(self, query: str) -> bytes | _Fault:
        """What one request brings."""
        time.sleep(max(0.0, self._last + self.pause - time.monotonic()))
        self.requests += 1
        try:
            return wait_for_coroutine(asyncio.wait_for(self._request(query), self.timeout))
        # They are two classes before Python 3.11.
        except (asyncio.TimeoutError, TimeoutError):
            return _Fault(f"no answer within {self.timeout:g} s", slow=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            # Where nothing ever answered, the address is wrong, or this machine is not connected.
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
        # Who has not taken up the connection in half of the time is not there.
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
    # It reads all certificates, which takes longer than a request.
    return httpx2.create_ssl_context()


async def _beginning(response: httpx2.Response) -> bytes:
    """What a server says of a failure, as far as it comes."""
    said = bytearray()
    try:
        async for piece in response.aiter_bytes():
            said += piece
            if len(said) >= _SAID_LIMIT:
                break
    except httpx2.RequestError:
        pass
    return bytes(said[:_SAID_LIMIT])


def _cause(error: BaseException) -> str:
    """What the system says of a connection that failed; the errors around that say only that it did."""
    said = str(error) or type(error).__name__
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError):
            said = str(inner)
        inner = inner.__cause__ or inner.__context__
    return said


def _refused(response: httpx2.Response, body: bytes) -> _Fault:
    status = response.status_code
    lines = body.decode(errors="replace").strip().splitlines()
    said = f": {lines[0][:200].rstrip('.')}" if lines else ""
    if status in _PASSING:
        slow = status in {408, 504} or any(mark in body for mark in _SLOW_MARKS)
        wait = retry_after(response.headers, time.time())
        return _Fault(f"status {status}{said}", slow=slow and status != 429, wait=wait)
    if response.is_redirect:
        return _Fault(f"has moved to {response.headers.get('Location')}; `endpoint` takes that address", passing=False)
    hint = "; operators may ask for a `contact`" if status == 403 else ""
    return _Fault(f"refuses the request with status {status}{said}{hint}", passing=False)


def _rows_or_fault(answer: bytes) -> "list[Row] | _Fault":
    try:
        return _rows(answer)
    except msgspec.DecodeError as error:
        slow = any(mark in answer[-5000:] for mark in _SLOW_MARKS)
        return _Fault(f"its answer is not a SPARQL result in JSON ({error})", slow=slow)


def _rows(answer: bytes) -> list[Row]:
    return [{name: term.value for name, term in row.items()} for row in _decode(answer).results.bindings]


def _read(file: Path) -> list[Row] | None:
    try:
        return _rows(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, zlib.error, msgspec.DecodeError):
        # Not there, or not whole: it is asked for again.
        return None


def _write(file: Path, answer: bytes) -> None:
    with replacing(file) as unfinished:
        unfinished.write_bytes(gzip.compress(answer, 6))
