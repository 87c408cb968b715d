"""Where a graph server is: its address, who asks it, and its database."""

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home

# A password may hold whatever it likes, another @ too; the scheme may be mistyped.
_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+.*@(?P<host>.*)", re.DOTALL)

_PORT = 7687
_LOOPBACK = {"127.0.0.1", "::1"}

_ADDRESS = re.compile(r"(?:bolt|neo4j)(?:\+s|\+ssc)?://")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A graph server that answers.

    Attributes:
        address: ``bolt://…``, ``neo4j://…``, with ``+s`` or ``+ssc`` for encryption.
        user, password: as the server knows them; the password never shows in ``repr``.
        database: its name on the server; None is the server's default.
        folder: where the data lies, of a server that kgprobe started itself; None for any other.
        named: what the names of user and password in the environment begin with.
    """

    address: str
    user: str
    password: str = field(repr=False)
    database: str | None = None
    folder: Path | None = None
    named: str = "KGPROBE_GRAPH"


def is_address(graph: str) -> bool:
    """Whether a graph is named by a server's address rather than by a folder."""
    return _ADDRESS.match(graph) is not None


def refuse_credentials(graph: str, argument: str = "graph", named: str = "KGPROBE_GRAPH") -> None:
    """See that an address holds no user or password: it is shown in messages, and seen by whoever lists processes.

    Args:
        argument: that the address was given as.
        named: what the names in the environment begin with that take user and password.

    Raises:
        ArgumentError: it does; the message shows what stands behind them alone.
    """
    found = _CREDENTIALS.match(graph)
    if found:
        raise ArgumentError(
            argument,
            f"names a user or a password before {found['host']!r}; set {named}_USER and {named}_PASSWORD instead.",
        )


def same_database(endpoint: Endpoint, address: str, database: str | None) -> bool:
    """Whether a server's database is the one at an address, as far as names of hosts and databases tell.

    Args:
        database: None is the server's default, which Neo4j calls ``neo4j``.
    """
    return _place(endpoint.address, endpoint.database) == _place(address, database)


def _place(address: str, database: str | None) -> tuple[frozenset[str], int, str]:
    parts = urlsplit(address)
    host, port = parts.hostname or "localhost", parts.port or _PORT
    try:
        hosts = frozenset(str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except OSError:
        hosts = frozenset([host])
    # A name of this machine may stand for its loopback interface of either kind.
    return frozenset(["localhost"]) if hosts & _LOOPBACK else hosts, port, database or "neo4j"


def default_folder() -> Path:
    """Where the embedded engine keeps its data when nobody names a folder."""
    return home() / "graph"


def endpoint_of(
    address: str,
    ask_password: Callable[[str], str] | None = None,
    named: str = "KGPROBE_GRAPH",
    argument: str = "graph",
) -> Endpoint:
    """A server that somebody else runs: user, password and database from the environment.

    Args:
        address: ``bolt://…`` or ``neo4j://…``.
        ask_password: called with the prompt where the environment has no password.
        named: what the names in the environment begin with, before ``_USER``, ``_PASSWORD`` and ``_DATABASE``.
        argument: that the address was given as.

    Raises:
        ArgumentError: the address holds a user or a password.
        KgprobeError: there is no password, and nobody to ask.
    """
    refuse_credentials(address, argument, named)
    user = os.environ.get(f"{named}_USER", "neo4j")
    password = os.environ.get(f"{named}_PASSWORD")
    if password is None:
        if ask_password is None:
            asking = ", or give `ask_password`" if argument == "graph" else ""
            raise KgprobeError(f"{address} needs the password of {user}. Set {named}_PASSWORD{asking}.")
        password = ask_password(f"Password of {user} at {address}")
    return Endpoint(address, user, password, os.environ.get(f"{named}_DATABASE"), named=named)
