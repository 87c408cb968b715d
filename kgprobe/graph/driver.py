"""The driver of a graph's server: how it is set up, and what its errors mean."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import Driver, GraphDatabase
from neo4j import exceptions as bolt

from kgprobe.errors import KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.endpoint import Endpoint

# How long the driver tries a transaction anew, with growing pauses, before the failure is the user's to see.
RETRY_SECONDS = 15.0
CONNECTION_SECONDS = 10.0


def answers(endpoint: Endpoint) -> bool:
    """Whether the server takes a new connection; what it says then is no matter."""
    try:
        with make_driver(endpoint) as driver:
            driver.verify_connectivity()
    except (bolt.ServiceUnavailable, bolt.SessionExpired, bolt.ConnectionAcquisitionTimeoutError, OSError):
        return False
    except (bolt.Neo4jError, bolt.DriverError):
        return True
    return True


def make_driver(endpoint: Endpoint) -> Driver:
    """The driver of a server, with all of its waits bounded that it bounds itself; nothing is asked yet."""
    # A program that has set up no logging gets warnings on stderr, each time a transaction is tried anew; what fails
    # in the end is raised.
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
        # Hints about deprecations and missing indexes are for us, in the tests, not for the user's terminal.
        notifications_min_severity="OFF",
        user_agent="kgprobe",
    )


@contextmanager
def explained(endpoint: Endpoint) -> Iterator[None]:
    """What the driver raises becomes a message.

    Raises:
        KgprobeError: in place of any error of the driver's, also where it cannot send what it is given.
    """
    try:
        yield
    except bolt.AuthError as error:
        raise KgprobeError(
            f"{endpoint.address} refuses user {endpoint.user!r} with this password. "
            f"Set {endpoint.named}_USER and {endpoint.named}_PASSWORD."
        ) from error
    except (bolt.ServiceUnavailable, bolt.SessionExpired, bolt.ConnectionAcquisitionTimeoutError) as error:
        if full := _full_disk(endpoint):
            raise KgprobeError(full) from error
        raise KgprobeError(
            f"{endpoint.address} does not answer: {_first_line(error)}. Is the graph server running there?"
        ) from error
    except (OverflowError, UnicodeEncodeError, RecursionError) as error:
        # Of the encoder, before anything is sent.
        raise KgprobeError(
            f"A parameter or the statement cannot be sent to the graph: {_unsendable(error)}."
        ) from error
    except (bolt.Neo4jError, bolt.DriverError) as error:
        if full := _full_disk(endpoint):
            raise KgprobeError(f"{full} The graph said: {_first_line(error)}") from error
        raise KgprobeError(f"The graph at {endpoint.address} reports: {_first_line(error)}") from error


def _unsendable(error: Exception) -> str:
    if isinstance(error, OverflowError):
        return "an integer of it has more than 64 bits; write it as text"
    if isinstance(error, UnicodeEncodeError):
        return "a text of it has half a character (a lone surrogate)"
    return "it is nested too deeply"


def _full_disk(endpoint: Endpoint) -> str | None:
    return disk_is_full(endpoint.folder) if endpoint.folder else None


def _first_line(error: Exception) -> str:
    lines = str(getattr(error, "message", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
