"""Open a graph: from a folder, whose server is started on demand, or from the address of a running server."""

import atexit
import contextlib
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import endpoint_of, is_address, refuse_credentials
from kgprobe.graph.servers.folder import folder_of, folder_or_address
from kgprobe.graph.servers.leases import take_lease

# Prefix of the environment variables of a user's own graph.
_USERS = "KGPROBE_FROM"

# Graphs of this process that hold a lease; empty in a fork.
_leased: weakref.WeakSet[Graph] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leased.clear)


@atexit.register
def _close_all() -> None:
    for graph in list(_leased):
        # Python is ending anyway: ignore another Ctrl-C.
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            graph.close()


def open_graph(
    graph: str | Path | None = None,
    *,
    engine: str | None = None,
    memory: int | None = None,
    ask_password: Callable[[str], str] | None = None,
    ask_in: str | None = None,
) -> Graph:
    """Open a connection to a graph.

    >>> with open_graph() as graph:
    ...     graph.query("MATCH (e:Entity {id: $id}) RETURN e.label AS label", id="Q142")
    label
    France
    1 row

    You can also call ``close()`` instead of using ``with``. The server of a graph in a folder runs while at least one
    process uses it: opening the graph starts it within seconds, closing it in the last process stops it. An unclosed
    graph is closed when it is collected or when Python exits. A killed process leaves the server running until another
    process opens and closes the graph. No signal handler is set here; programs that are ended by signals can use
    :func:`~kgprobe.graph.servers.signals.ending_in_order`.

    Args:
        graph: folder of a local graph, which need not exist yet; or the address ``bolt://…`` or ``neo4j://…`` of a
            remote server, with user, password and database from ``KGPROBE_GRAPH_USER``, ``KGPROBE_GRAPH_PASSWORD`` and
            ``KGPROBE_GRAPH_DATABASE``. None for ``KGPROBE_GRAPH``, or else the default folder.
        engine: engine of a local graph, ``arcadedb`` or ``neo4j``; None for the one that created the data, or
            ``arcadedb`` in a new folder.
        memory: memory in MiB for the server of a local graph, if it is started now; None for a quarter of the
            machine's, between 512 and 4096.
        ask_password: called with a prompt for the password of a remote server, if the environment has none;
            ``getpass.getpass``, for example.
        ask_in: language in which facts are asked, see :meth:`~kgprobe.graph.client.Graph.in_language`.

    Raises:
        ArgumentError: an argument is not allowed.
        KgprobeError: the server does not start, does not answer, or refuses the password.
    """
    place = folder_or_address(graph)
    if isinstance(place, str) and is_address(place):
        for argument, value in (("engine", engine), ("memory", memory)):
            if value is not None:
                raise ArgumentError(argument, f"is for a local graph; {place} is a remote server.")
        connection = Graph(endpoint_of(place, ask_password))
    else:
        connection = take_lease(folder_of(place), engine, memory).connect()
        _leased.add(connection)
    try:
        return connection.in_language(ask_in)
    except BaseException:
        connection.close()
        raise


class OpenedWhenUsed(Graph):
    """A graph that is opened when it is first used: wrong arguments are reported before a server starts."""

    def __init__(self, opens: Callable[[], Graph], ask_in: str | None) -> None:
        self._opens = opens
        if ask_in is None:
            # Known without opening; only an opened graph knows if it has another language.
            self.language = None
        self._opened: Graph | None = None

    def __getattr__(self, name: str) -> Any:
        # Python asks for special methods that a class may not have, for example to copy an object.
        if name.startswith("__"):
            raise AttributeError(name)
        if self._opened is None:
            self._opened = self._opens()
        return getattr(self._opened, name)

    def close(self) -> None:
        """Close the graph, if it was opened."""
        if self._opened is not None:
            self._opened.close()


def open_existing(graph: str | Path | None, ask_password: Callable[[str], str], ask_in: str | None = None) -> Graph:
    """Return an existing graph that is opened when it is first used, or at once if its password must be asked for.

    Args:
        graph, ask_password, ask_in: as in :func:`open_graph`.
    """

    def opens() -> Graph:
        check_exists(graph)
        return open_graph(graph, ask_password=ask_password, ask_in=ask_in)

    place = str(folder_or_address(graph))
    return (
        opens() if is_address(place) and "KGPROBE_GRAPH_PASSWORD" not in os.environ else OpenedWhenUsed(opens, ask_in)
    )


def open_users_graph(place: str, argument: str) -> Graph:
    """Open a user's own graph, which kgprobe has not loaded.

    Args:
        place: address of its server, with user, password and database from ``KGPROBE_FROM_USER``,
            ``KGPROBE_FROM_PASSWORD`` and ``KGPROBE_FROM_DATABASE``; or the folder of a graph that kgprobe serves.
    """
    refuse_credentials(place, argument, _USERS)
    if is_address(place):
        return Graph(endpoint_of(place, prefix=_USERS, argument=argument))
    folder = folder_of(place)
    if folder.engine is None:
        raise ArgumentError(
            argument,
            f"is {place}, where there is no graph; the address of a server, such as bolt://localhost:7687, or the"
            " folder of a graph is expected.",
        )
    return open_graph(folder.path)


def check_exists(graph: str | Path | None = None) -> None:
    """Check that a local graph exists; nothing is checked for a remote server."""
    place = folder_or_address(graph)
    if isinstance(place, str) and is_address(place):
        return
    folder = folder_of(place)
    if folder.engine is None:
        raise UnknownNameError(
            f"There is no graph in {folder.path}. `kgprobe load` makes one there from data, `kgprobe demo` one with an"
            " example, `kgprobe graph start` an empty one."
        )
