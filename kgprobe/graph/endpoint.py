"""Where a graph server is: its address, who asks it, and its database."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home

# A password may hold whatever it likes, another @ too; the scheme may be mistyped.
_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+.*@(?P<host>.*)", re.DOTALL)

_ADDRESS = re.compile(r"(?:bolt|neo4j)(?:\+s|\+ssc)?://")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A graph server that answers.

    Attributes:
        address: ``bolt://…``, ``neo4j://…``, with ``+s`` or ``+ssc`` for encryption.
        user, password: as the server knows them; the password never shows in ``repr``.
        database: its name on the server; None is the server's default.
        folder: where the data lies, of a server that kgprobe started itself; None for any other.
    """

    address: str
    user: str
    password: str = field(repr=False)
    database: str | None = None
    folder: Path | None = None


def is_address(graph: str) -> bool:
    """Whether a graph is named by a server's address rather than by a folder."""
    return _ADDRESS.match(graph) is not None


def refuse_credentials(graph: str) -> None:
    """See that an address holds no user or password: it is shown in messages, and seen by whoever lists processes.

    Raises:
        ArgumentError: it does; the message shows what stands behind them alone.
    """
    found = _CREDENTIALS.match(graph)
    if found:
        raise ArgumentError(
            "graph",
            f"names a user or a password before {found['host']!r}; set KGPROBE_GRAPH_USER and "
            "KGPROBE_GRAPH_PASSWORD instead.",
        )


def default_folder() -> Path:
    """Where the embedded engine keeps its data when nobody names a folder."""
    return home() / "graph"


def endpoint_of(
    address: str, ask_password: Callable[[str], str] | None = None, named: str = "KGPROBE_GRAPH"
) -> Endpoint:
    """A server that somebody else runs: user, password and database from the environment.

    Args:
        address: ``bolt://…`` or ``neo4j://…``.
        ask_password: called with the prompt when ``KGPROBE_GRAPH_PASSWORD`` is not set.
        named: what the names in the environment begin with, before ``_USER``, ``_PASSWORD`` and ``_DATABASE``.

    Raises:
        ArgumentError: the address holds a user or a password.
        KgprobeError: there is no password, and nobody to ask.
    """
    refuse_credentials(address)
    user = os.environ.get(f"{named}_USER", "neo4j")
    password = os.environ.get(f"{named}_PASSWORD")
    if password is None:
        if ask_password is None:
            raise KgprobeError(f"{address} needs the password of {user}. Set {named}_PASSWORD, or give `ask_password`.")
        password = ask_password(f"Password of {user} at {address}")
    return Endpoint(address, user, password, os.environ.get(f"{named}_DATABASE"))
