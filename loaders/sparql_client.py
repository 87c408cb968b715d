"""A SPARQL endpoint, asked the way a guest should.

One request at a time, with a pause after each; a ``User-Agent`` that says who asks; gzip; ``Retry-After`` obeyed, and
without one an exponential back-off with jitter after 429, server errors, cut connections and answers that are no
SPARQL results. Every answer is kept on the disk under its query, so that what was interrupted asks nothing twice.

The protocol: SPARQL 1.1, queries by POST as a form, results as JSON.
"""

import gzip
import hashlib
import http.client
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from kgprobe import __version__
from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from http.client import HTTPResponse

Row: TypeAlias = dict[str, str]

# How often a query is asked before giving up, and the longest wait that a server may ask for in between, in seconds.
TRIES = 6
LONGEST_WAIT = 600.0
GOES_ON = "What came before is kept: the same command goes on."

_LONGEST_BACK_OFF = 60.0
_ANSWER_LIMIT = 256 * 2**20
_PIECE = 2**16
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


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A redirected POST would lose its query."""

    def redirect_request(self, *args: object) -> None:
        """None, so that the redirection comes back as an error."""


@dataclass(slots=True)
class Client:
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
    report: Callable[[str], None] = lambda message: None
    requests: int = 0
    kept: int = 0
    _last: float = field(default=float("-inf"), repr=False)
    _answered: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Look at what the user gave.

        Raises:
            KgprobeError: no address of a server, or a contact that cannot stand in a header.
        """
        parts = urllib.parse.urlsplit(self.endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise KgprobeError(
                f"{self.endpoint} is no address of a SPARQL endpoint; one like https://query.wikidata.org/sparql is."
            )
        if not self.contact.isascii() or not self.contact.isprintable() or set("()") & set(self.contact):
            raise KgprobeError(
                f"The contact {self.contact!r} cannot stand in a request; an address of mail or of a page can."
            )

    @property
    def user_agent(self) -> str:
        """Who asks, in the form that Wikimedia's policy names: tool, contact, library."""
        contact = f" ({self.contact})" if self.contact else ""
        return f"kgprobe/{__version__}{contact} Python-urllib/{sys.version_info.major}.{sys.version_info.minor}"

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
        fault = _Fault("nothing was asked")
        for tried in range(1, TRIES + 1):
            answer = self._ask(query)
            if isinstance(answer, bytes):
                try:
                    rows = _rows(answer)
                except msgspec.DecodeError as error:
                    slow = any(mark in answer[-5000:] for mark in _SLOW_MARKS)
                    fault = _Fault(f"its answer is no SPARQL result in JSON ({error})", slow=slow)
                else:
                    if file is not None:
                        _write(file, answer)
                    return rows
            else:
                fault = answer
            if not fault.passing:
                raise KgprobeError(f"{self.endpoint}: {fault.reason}.")
            if fault.slow and (divisible or tried == TRIES):
                raise TooSlow(fault.reason)
            if tried < TRIES:
                self._wait(fault, tried)
        raise KgprobeError(f"{self.endpoint}: {fault.reason}; asked {TRIES} times. {GOES_ON}")

    def _wait(self, fault: _Fault, tried: int) -> None:
        doubled = min(_LONGEST_BACK_OFF, self.back_off * 2 ** (tried - 1))
        jitter = random.uniform(0.5, 1.5)  # noqa: S311
        seconds = doubled * jitter if fault.wait is None else fault.wait
        if seconds > LONGEST_WAIT:
            raise KgprobeError(f"{self.endpoint}: {fault.reason}, and asks to wait {seconds:,.0f} seconds. {GOES_ON}")
        self.report(f"{self.endpoint}: {fault.reason}; again in {seconds:.1f} s ({tried} of {TRIES}).")
        time.sleep(seconds)

    def _ask(self, query: str) -> bytes | _Fault:
        """What one request brings."""
        time.sleep(max(0.0, self._last + self.pause - time.monotonic()))
        request = urllib.request.Request(  # noqa: S310 -- the scheme is looked at above
            self.endpoint,
            data=urllib.parse.urlencode({"query": query}).encode(),
            headers={
                "Accept": "application/sparql-results+json",
                "Accept-Encoding": "gzip",
                "User-Agent": self.user_agent,
            },
        )
        self.requests += 1
        try:
            with urllib.request.build_opener(_StayHere).open(request, timeout=self.timeout) as response:
                self._answered = True
                return self._receive(response)
        except urllib.error.HTTPError as error:
            with error:
                return _refused(error)
        except TimeoutError:
            return _Fault(f"no answer within {self.timeout:g} s", slow=True)
        except urllib.error.URLError as error:
            # Where nothing ever answered, the address is wrong, or this machine is not connected.
            return _Fault(f"no connection ({error.reason})", passing=self._answered)
        except (OSError, http.client.HTTPException, EOFError, zlib.error) as error:
            return _Fault(f"the connection or the answer broke off ({error or type(error).__name__})")
        finally:
            self._last = time.monotonic()

    def _receive(self, response: "HTTPResponse") -> bytes | _Fault:
        until = time.monotonic() + self.timeout
        pieces: list[bytes] = []
        size = 0
        while piece := response.read1(_PIECE):
            size += len(piece)
            if size > _ANSWER_LIMIT:
                return _Fault(f"an answer of more than {_ANSWER_LIMIT // 2**20} MiB", passing=False)
            if time.monotonic() > until:
                raise TimeoutError
            pieces.append(piece)
        body = b"".join(pieces)
        return gzip.decompress(body) if response.headers.get("Content-Encoding") == "gzip" else body


def _refused(error: urllib.error.HTTPError) -> _Fault:
    try:
        body = error.read(_PIECE)
    except (OSError, http.client.HTTPException):
        body = b""
    if error.headers.get("Content-Encoding") == "gzip":
        body = b""
    lines = body.decode(errors="replace").strip().splitlines()
    said = f": {lines[0][:200].rstrip('.')}" if lines else ""
    if error.code in _PASSING:
        slow = error.code in {408, 504} or any(mark in body for mark in _SLOW_MARKS)
        return _Fault(f"status {error.code}{said}", slow=slow and error.code != 429, wait=_retry_after(error.headers))
    if 300 <= error.code < 400:
        return _Fault(f"has moved to {error.headers.get('Location')}; --endpoint takes that address", passing=False)
    hint = "; operators may ask for a --contact" if error.code == 403 else ""
    return _Fault(f"refuses the request with status {error.code}{said}{hint}", passing=False)


def _retry_after(headers: Message) -> float | None:
    """Seconds, given as such or as a date; None where there are none."""
    text = (headers.get("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())


def _rows(answer: bytes) -> list[Row]:
    return [{name: term.value for name, term in row.items()} for row in _decode(answer).results.bindings]


def _read(file: Path) -> list[Row] | None:
    try:
        return _rows(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, zlib.error, msgspec.DecodeError):
        # Not there, or not whole: it is asked for again.
        return None


def _write(file: Path, answer: bytes) -> None:
    part = file.with_suffix(".part")
    try:
        part.write_bytes(gzip.compress(answer, 6))
        part.replace(file)
    except OSError as error:
        raise KgprobeError(f"The answer {file} cannot be kept: {error.strerror}.") from error
