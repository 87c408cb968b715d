"""Leases of a graph's server: started on demand, shared between processes, stopped after its last use.

At most one server runs on a graph's folder. A process that uses it holds a lease (a file in ``users/``). The end of the
last lease stops the server, unless it was started by :func:`start`. All of this happens under the folder's lock, so
that two processes never start two servers. If the holder of the lock finds a server that is not ready, the starter was
killed: that server is stopped and a new one started.
"""

import dataclasses
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import visible
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.servers.folder import Folder, Server, User, running
from kgprobe.graph.servers.processes import key_of
from kgprobe.graph.servers.server import ServerOptions, endpoint_on, ensure_server, stop_server
from kgprobe.graph.servers.signals import undisturbed


@dataclass(frozen=True, slots=True)
class Lease:
    """The use of a folder's server by a process, until :meth:`give_back`.

    Attributes:
        file: file that shows the use to other processes.
        process: process id of the user.
        endpoint: address of the server.
    """

    folder: Folder
    file: Path
    process: int
    endpoint: Endpoint

    def give_back(self) -> None:
        """End the use of the server; stop the server without other users, unless it is kept."""
        if os.getpid() != self.process:
            # In a fork: the lease belongs to the parent, which still runs.
            return
        # A second Ctrl-C would leave the server running.
        with undisturbed("The graph is being closed; that takes seconds …"):
            if not self.folder.path.is_dir():
                # The folder was deleted, with the list of users and the data.
                stop_server(self.folder)
                return
            with self.folder.locked():
                self.file.unlink(missing_ok=True)
                _stop_unused(self.folder)

    def connect(self) -> Graph:
        """Return a connection to the server, whose end is the end of the use."""
        try:
            return Graph(self.endpoint, release=self.give_back)
        except BaseException:
            self.give_back()
            raise


def take_lease(
    folder: Folder, engine: str | None = None, memory: int | None = None, *, unfinished: bool = False
) -> Lease:
    """Return a lease of the folder's server, which is started if necessary.

    Args:
        engine: engine to start; None for the one that created the data, or the default in a new folder.
        memory: memory in MiB for a server that is started.
        unfinished: open a graph with an unfinished import, too.
    """
    options = ServerOptions(engine, memory, unfinished=unfinished)
    # Without passwords: other processes show the command line.
    arguments = [re.sub(r"(?s)(?<=://).*@", "…@", argument) for argument in sys.argv[1:]]
    command = " ".join([Path(sys.argv[0]).name or "python", *arguments])
    with folder.locked():
        server = ensure_server(folder, options)
        try:
            endpoint = endpoint_on(folder, server)
            return Lease(folder, folder.add_user(User(key_of(os.getpid()), visible(command))), os.getpid(), endpoint)
        except BaseException:
            _stop_unused(folder)
            raise


def start(folder: Folder, options: ServerOptions | None = None) -> tuple[Server, bool]:
    """Start the folder's server and keep it running until :func:`stop`.

    Returns:
        The server, and True if it was not running before.
    """
    with folder.locked():
        before = running(folder)
        server = dataclasses.replace(ensure_server(folder, options or ServerOptions()), kept=True)
        folder.write_server(server)
    return server, before is None


def stop(folder: Folder, force: bool = False) -> bool:
    """Stop the folder's server and wait for its end.

    Returns:
        True if a server was running.
    """
    if not folder.path.is_dir():
        return False
    with folder.locked():
        users = folder.users()
        if users and not force:
            commands = ", ".join(f"{user.command} (process {user.process.pid})" for user in users)
            raise KgprobeError(f"The graph in {folder.path} is in use by: {commands}. `force` stops it nevertheless.")
        return stop_server(folder)


def _stop_unused(folder: Folder) -> None:
    folder.prune_users()
    server = folder.read_server()
    if server and not server.kept and not folder.users():
        stop_server(folder)
