"""The address of a graph server, with user, password and database."""

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home

# A password may contain any characters, also @; the scheme may be mistyped.
_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+.*@(?P<host>.*)", re.DOTALL)

_PORT = 7687
_LOOPBACK = {"127.0.0.1", "::1"}

_ADDRESS = re.compile(r"(?:bolt|neo4j)(?:\+s|\+ssc)?://")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and credentials of a graph server.

    Attributes:
        address: ``bolt://…`` or ``neo4j://…``, with ``+s`` or ``+ssc`` for encryption.
        user, password: credentials; ``repr`` does not show the password.
        database: name of the database; None for the server's default.
        folder: folder of the data of a local server; None for a remote server.
        prefix: prefix of the environment variables of user and password.
    """

    address: str
    user: str
    password: str = field(repr=False)
    database: str | None = None
    folder: Path | None = None
    prefix: str = "KGPROBE_GRAPH"


def is_address(graph: str) -> bool:
    """Return True if a graph is given as a server's address, False for a folder."""
    return _ADDRESS.match(graph) is not None


def refuse_credentials(graph: str, argument: str = "graph", prefix: str = "KGPROBE_GRAPH") -> None:
    """Raise if an address contains a user or password, which messages and lists of processes would show."""
    match = _CREDENTIALS.match(graph)
    if match:
        raise ArgumentError(
            argument,
            f"contains a user or a password before {match['host']!r}; set {prefix}_USER and {prefix}_PASSWORD instead.",
        )


def same_database(endpoint: Endpoint, address: str, database: str | None) -> bool:
    """Return True if a server's database is the one at an address, by the names of hosts and databases.

    Args:
        database: None for the server's default, in Neo4j ``neo4j``.
    """
    return _place(endpoint.address, endpoint.database) == _place(address, database)


def _place(address: str, database: str | None) -> tuple[frozenset[str], int, str]:
    parts = urlsplit(address)
    host, port = parts.hostname or "localhost", parts.port or _PORT
    try:
        hosts = frozenset(str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except OSError:
        hosts = frozenset([host])
    # A name of this machine may resolve to the IPv4 or the IPv6 loopback address.
    return frozenset(["localhost"]) if hosts & _LOOPBACK else hosts, port, database or "neo4j"


def default_folder() -> Path:
    """Return the default folder of a local graph."""
    return home() / "graph"


def endpoint_of(
    address: str,
    ask_password: Callable[[str], str] | None = None,
    prefix: str = "KGPROBE_GRAPH",
    argument: str = "graph",
) -> Endpoint:
    """Return the endpoint of a remote server, with user, password and database from the environment."""
    refuse_credentials(address, argument, prefix)
    user = os.environ.get(f"{prefix}_USER", "neo4j")
    password = os.environ.get(f"{prefix}_PASSWORD")
    if password is None:
        if ask_password is None:
            alternative = ", or give `ask_password`" if argument == "graph" else ""
            raise KgprobeError(f"{address} needs the password of {user}. Set {prefix}_PASSWORD{alternative}.")
        password = ask_password(f"Password of {user} at {address}")
    return Endpoint(address, user, password, os.environ.get(f"{prefix}_DATABASE"), prefix=prefix)
