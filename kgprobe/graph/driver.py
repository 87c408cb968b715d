"""Set up the Neo4j driver, and convert its errors to messages."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import Driver, GraphDatabase
from neo4j import exceptions as bolt

from kgprobe.errors import KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.endpoint import Endpoint

# Longest time in which the driver retries a transaction, with growing pauses, before it raises.
RETRY_SECONDS = 15.0
CONNECTION_SECONDS = 10.0


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
        if full := _full_disk(endpoint):
            raise KgprobeError(full) from error
        raise KgprobeError(
            f"{endpoint.address} does not answer: {_first_line(error)}. Check that the graph server is running there."
        ) from error
    except (OverflowError, UnicodeEncodeError, RecursionError) as error:
        # From the encoder, before anything is sent.
        raise KgprobeError(
            f"A parameter or the statement cannot be sent to the graph: {_unsendable(error)}."
        ) from error
    except (bolt.Neo4jError, bolt.DriverError) as error:
        if full := _full_disk(endpoint):
            raise KgprobeError(f"{full} The graph reports: {_first_line(error)}") from error
        raise KgprobeError(f"The graph at {endpoint.address} reports: {_first_line(error)}") from error


def _unsendable(error: Exception) -> str:
    if isinstance(error, OverflowError):
        return "an integer in it has more than 64 bits; pass it as text"
    if isinstance(error, UnicodeEncodeError):
        return "a text in it contains half a character (a lone surrogate)"
    return "it is nested too deeply"


def _full_disk(endpoint: Endpoint) -> str | None:
    return disk_is_full(endpoint.folder) if endpoint.folder else None


def _first_line(error: Exception) -> str:
    lines = str(getattr(error, "message", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
