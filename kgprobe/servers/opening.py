"""The way to a graph: a folder, whose server is started when needed, or the address of a server that runs."""

import atexit
import contextlib
import os
import weakref
from collections.abc import Callable
from pathlib import Path

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import default_folder, endpoint_of, is_address, refuse_credentials
from kgprobe.servers.folder import Folder
from kgprobe.servers.leases import take_lease

# Graphs of this process that hold a lease. A fork holds none of its parent's.
_leased: weakref.WeakSet[Graph] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leased.clear)


@atexit.register
def _close_all() -> None:
    for graph in list(_leased):
        # Python ends already; another Ctrl-C has nothing left to end.
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            graph.close()


def open_graph(
    graph: str | Path | None = None,
    *,
    engine: str | None = None,
    memory: int | None = None,
    ask_password: Callable[[str], str] | None = None,
) -> Graph:
    """A connection to a graph.

    >>> with open_graph() as graph:
    ...     graph.query("MATCH (e:Entity {id: $id}) RETURN e.label AS label", id="Q142")
    label
    France
    1 row

    It can be used at once as well, and closed in the end. A graph in a folder has a server, which runs as long as
    somebody uses it: the first who opens the graph starts it, within seconds, and the last who closes it stops it. A
    graph that nobody closes is closed when it is collected, or when Python exits; a process that is killed leaves
    the server running, and whoever opens and closes the graph next stops it. No signal handler is set here; a program
    that is ended by signals can use :func:`~kgprobe.servers.signals.ending_in_order`.

    Args:
        graph: the folder of a local graph, which need not exist yet; or an address, ``bolt://…`` or ``neo4j://…``, of
            a server that somebody else runs, with user, password and database from ``KGPROBE_GRAPH_USER``,
            ``KGPROBE_GRAPH_PASSWORD`` and ``KGPROBE_GRAPH_DATABASE``. None is what ``KGPROBE_GRAPH`` names, or a
            folder of the user's own.
        engine: of a local graph: ``arcadedb`` or ``neo4j``; None for the one that made the data, ``arcadedb`` where
            there are none yet.
        memory: MiB that the server of a local graph may use, if it is started now; None for a quarter of the
            machine's, from 512 to 4096.
        ask_password: gives the password of the server at an address, where the environment has none; called with a
            prompt. ``getpass.getpass`` is one.

    Raises:
        ArgumentError: an argument cannot be what it is.
        KgprobeError: the server does not start, does not answer, or refuses the password.
    """
    named = _named(graph)
    if isinstance(named, str) and is_address(named):
        for argument, value in (("engine", engine), ("memory", memory)):
            if value is not None:
                raise ArgumentError(argument, f"is for a local graph; {named} is a server that somebody else runs.")
        return Graph(endpoint_of(named, ask_password))
    lease = take_lease(folder_of(named), engine, memory)
    try:
        connection = Graph(lease.endpoint, release=lease.give_back)
    except BaseException:
        lease.give_back()
        raise
    _leased.add(connection)
    return connection


def folder_of(graph: str | Path | None = None) -> Folder:
    """The folder of a local graph.

    Args:
        graph: as in :func:`open_graph`.

    Raises:
        KgprobeError: it is an address, of a kind that we know or not.
    """
    named = _named(graph)
    if isinstance(named, str):
        if is_address(named):
            raise KgprobeError(
                f"{named} is a server that somebody else runs; only local graphs are started and stopped here."
            )
        if "://" in named:
            raise KgprobeError(
                f"{named} is neither a folder nor an address of a kind that a graph answers on: bolt://HOST:PORT, "
                "neo4j://HOST:PORT, with +s or +ssc behind bolt or neo4j for encryption."
            )
    # One folder has one name, by which its server is found, however many links lead to it.
    return Folder(Path(named).expanduser().resolve())


def _named(graph: str | Path | None) -> str | Path:
    named = graph if graph is not None else os.environ.get("KGPROBE_GRAPH") or default_folder()
    if isinstance(named, str):
        refuse_credentials(named)
    return named
