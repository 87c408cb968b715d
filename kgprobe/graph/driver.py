"""The Neo4j driver: its set-up, its errors as messages with the place in a statement, the size of its messages.

The embedded engine does not answer messages above 16 MiB, without an error.
"""

import logging
import re
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from neo4j import Driver, GraphDatabase
from neo4j import exceptions as bolt
from rich.cells import cell_len

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import disk_is_full
from kgprobe.graph.endpoint import Endpoint

T = TypeVar("T")

# Longest time in which the driver retries a transaction, with growing pauses, before it raises.
RETRY_SECONDS = 15.0
CONNECTION_SECONDS = 10.0

# Errors of the driver's encoder, before anything is sent.
_UNSENDABLE: dict[type[Exception], str] = {
    OverflowError: "an integer in it has more than 64 bits; pass it as text",
    UnicodeEncodeError: "a text in it contains half a character (a lone surrogate)",
    RecursionError: "it is nested too deeply",
}


def answers(endpoint: Endpoint) -> bool:
    """Return True if the server accepts a new connection, even if it then reports an error."""
    try:
        with make_driver(endpoint) as driver:
            driver.verify_connectivity()
    except (bolt.ServiceUnavailable, bolt.SessionExpired, bolt.ConnectionAcquisitionTimeoutError, OSError):
        return False
    except (bolt.Neo4jError, bolt.DriverError):
        return True
    return True


def make_driver(endpoint: Endpoint) -> Driver:
    """Return the driver of a server, with limits on its waits; it does not connect yet."""
    # Without a handler, Python would print a warning to stderr at every retry. Final failures are raised.
    logger = logging.getLogger("neo4j")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return GraphDatabase.driver(
        endpoint.address,
        auth=(endpoint.user, endpoint.password),
        max_transaction_retry_time=RETRY_SECONDS,
        connection_acquisition_timeout=RETRY_SECONDS,
        connection_timeout=CONNECTION_SECONDS,
        connection_write_timeout=2 * CONNECTION_SECONDS,
        # Hints about deprecations and missing indexes are checked in the tests, not shown to the user.
        notifications_min_severity="OFF",
        user_agent="kgprobe",
    )


@contextmanager
def explained(endpoint: Endpoint) -> Iterator[None]:
    """Convert errors of the driver, including values that it cannot send, to KgprobeError."""
    try:
        yield
    except bolt.AuthError as error:
        raise KgprobeError(
            f"{endpoint.address} refuses user {endpoint.user!r} with this password. "
            f"Set {endpoint.prefix}_USER and {endpoint.prefix}_PASSWORD."
        ) from error
    except (bolt.ServiceUnavailable, bolt.SessionExpired, bolt.ConnectionAcquisitionTimeoutError) as error:
        if fault := _full_disk(endpoint) or _tls_fault(endpoint.address, error):
            raise KgprobeError(fault) from error
        raise KgprobeError(
            f"{endpoint.address} does not answer: {_first_line(error)}. Check that the graph server is running there."
        ) from error
    except tuple(_UNSENDABLE) as error:
        reason = next(reason for kind, reason in _UNSENDABLE.items() if isinstance(error, kind))
        raise KgprobeError(f"A parameter or the statement cannot be sent to the graph: {reason}.") from error
    except (bolt.Neo4jError, bolt.DriverError) as error:
        if full := _full_disk(endpoint):
            raise KgprobeError(f"{full} The graph reports: {_first_line(error)}") from error
        raise KgprobeError(f"The graph at {endpoint.address} reports: {_first_line(error)}") from error


def _full_disk(endpoint: Endpoint) -> str | None:
    return disk_is_full(endpoint.folder) if endpoint.folder else None


def _tls_fault(address: str, error: BaseException) -> str | None:
    """Return the reason, with a remedy, for which an encrypted connection failed; None for other failures."""
    scheme, _, place = address.partition("://")
    protocol, _, encryption = scheme.partition("+")
    if not encryption:
        return None
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            fault = cause.verify_message.rstrip(".")
            return (
                f"The certificate of {address} cannot be verified: {fault}. Set SSL_CERT_FILE"
                " to a file with the certificate of its authority, or give the host name in the certificate. In a"
                f" network that you trust, {protocol}+ssc://{place} encrypts without verification."
            )
    if any(isinstance(cause, ssl.SSLError | ConnectionResetError) for cause in causes):
        return (
            f"{address} does not answer an encrypted connection. If the server has no certificate, give"
            f" {protocol}://{place}."
        )
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes, and the members of groups among them."""
    yield error
    members: Sequence[BaseException] = getattr(error, "exceptions", ())
    for cause in (error.__cause__, *members):
        if cause is not None:
            yield from _causes(cause)


def _first_line(error: Exception) -> str:
    lines = str(getattr(error, "message", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# Messages of the engines, with the number of their first column below.
_NEO4J = re.compile(r"(?P<fault>.*?) ?\(line (?P<line>\d+), column (?P<column>\d+)(?: \(offset: \d+\))?\)", re.DOTALL)
_ARCADEDB = re.compile(r"(?P<fault>[^\n]*?) at line (?P<line>\d+), column (?P<column>\d+)")
_ARCADEDB_PARSER = re.compile(r"Syntax error at line (?P<line>\d+):(?P<column>\d+) - (?P<fault>[^\n]*)")
_FORMS = ((_NEO4J, 1), (_ARCADEDB_PARSER, 0), (_ARCADEDB, 0))

# Longest part of a line that is shown.
_SHOWN = 74


@contextmanager
def showing_the_place(address: str, text: str) -> Iterator[None]:
    """Convert errors of a user's statement to KgprobeError with the place of the error."""
    try:
        yield
    except bolt.ClientError as error:
        if not (error.code or "").startswith("Neo.ClientError.Statement."):
            raise
        raise KgprobeError(f"The graph at {address} reports: {with_place(error.message or '', text)}") from error


def with_place(message: str, text: str) -> str:
    """Return an engine's message; if it has a place, with the line of the statement and a caret under it.

    >>> print(with_place("Unexpected input 'RETUN' at line 1, column 8", "MATCH n RETUN n"))
    Unexpected input 'RETUN' (line 1, column 9)
      MATCH n RETUN n
              ^
    """
    for form, first in _FORMS:
        match = form.match(message)
        if match is None:
            continue
        line, column = int(match["line"]), int(match["column"]) - first
        lines = text.split("\n")
        shown = f"{match['fault'].strip()} (line {line}, column {column + 1})"
        if 1 <= line <= len(lines) and 0 <= column <= len(lines[line - 1]):
            shown += "\n" + _with_caret(lines[line - 1].rstrip("\r"), column)
        return shown
    return message.strip().partition("\n")[0] or "the statement was refused without a reason"


def _with_caret(line: str, column: int) -> str:
    begin = max(0, min(column - _SHOWN // 2, len(line) - _SHOWN))
    shown = line[begin : begin + _SHOWN].replace("\t", " ")
    before = "…" if begin else ""
    after = "…" if begin + _SHOWN < len(line) else ""
    return f"  {before}{shown}{after}\n  {' ' * cell_len(before + shown[: column - begin])}^"


# 16 MiB less a reserve: Bolt needs one byte more than msgpack for each of many short texts.
MESSAGE_BYTES = 15_500_000

# Bolt's encoding differs from msgpack by at most one byte per value. Other types, such as Neo4j's dates, are measured
# by their ISO 8601 text.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode


def encoded_bytes(value: Any) -> int:
    """Return the approximate size of a value in a message; costs a few nanoseconds per byte.

    Raises:
        UnicodeEncodeError: a text in it contains a lone surrogate.
        OverflowError: an integer in it has more than 64 bits.
    """
    return len(_encode(value))


def batches(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Yield items in batches for one statement each: at most ``most``, and about half of a message by their sizes."""
    batch: list[T] = []
    room = MESSAGE_BYTES // 2
    for item in items:
        batch.append(item)
        room -= size(item)
        if len(batch) == most or room <= 0:
            yield batch
            batch, room = [], MESSAGE_BYTES // 2
    if batch:
        yield batch
