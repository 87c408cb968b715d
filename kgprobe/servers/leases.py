"""Who uses a graph's server: started when needed, shared, stopped by the last who uses it.

One server runs on a graph's folder at most. A process that needs it holds a lease (a file in ``users/``) as long as it
works; the last lease to go stops the server, unless :func:`start` asked it to stay. All of this happens under the
folder's lock, so that two processes never start two servers, and so that a server found not to be ready, with the
lock in our hands, has lost its starter: it is ended and started anew.
"""

import dataclasses
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kgprobe.errors import KgprobeError
from kgprobe.graph.endpoint import Endpoint
from kgprobe.sanitize import visible
from kgprobe.servers.folder import Folder, Server, User
from kgprobe.servers.processes import key_of
from kgprobe.servers.server import Wishes, endpoint_on, ensure_server, running, stop_server
from kgprobe.servers.signals import undisturbed


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to use a folder's server, until it is given back.

    Attributes:
        file: says so to other processes.
        process: the number of the process that took it.
        endpoint: where the server answers.
    """

    folder: Folder
    file: Path
    process: int
    endpoint: Endpoint

    def give_back(self) -> None:
        """Use the server no longer, and stop it if nobody else does and nobody asked it to stay."""
        if os.getpid() != self.process:
            # A fork has its parent's lease in memory, and the parent still works.
            return
        # Who presses Ctrl-C again while a command ends would leave the server behind.
        with undisturbed("The graph is being closed; that takes seconds …"):
            self._give_back()

    def _give_back(self) -> None:
        if not self.folder.path.is_dir():
            # Removed meanwhile, with all that would say who else uses the server; its files are gone.
            stop_server(self.folder)
            return
        with self.folder.locked():
            self.file.unlink(missing_ok=True)
            _stop_unused(self.folder)


def take_lease(
    folder: Folder, engine: str | None = None, memory: int | None = None, *, unfinished: bool = False
) -> Lease:
    """Use the folder's server, which is started if it does not run.

    Args:
        engine: which engine to start; None for the one that made the data, the default one in a new folder.
        memory: MiB the server may use if it has to be started.
        unfinished: whether a graph is wanted as well whose import is not finished.

    Raises:
        ArgumentError: engine or memory cannot be what it is.
        KgprobeError: the folder holds something else, or the server does not start.
    """
    wishes = Wishes(engine, memory, unfinished=unfinished)
    command = " ".join([Path(sys.argv[0]).name or "python", *map(_without_password, sys.argv[1:])])
    with folder.locked():
        server = ensure_server(folder, wishes)
        try:
            endpoint = endpoint_on(folder, server)
            return Lease(folder, folder.add_user(User(key_of(os.getpid()), visible(command))), os.getpid(), endpoint)
        except BaseException:
            _stop_unused(folder)
            raise


def _without_password(argument: str) -> str:
    # Others are shown what was typed.
    return re.sub(r"(?s)(?<=://).*@", "…@", argument)


def start(folder: Folder, wishes: Wishes | None = None) -> tuple[Server, bool]:
    """Start the folder's server and let it run until :func:`stop`.

    Returns:
        the server, and whether it was started now rather than found running.

    Raises:
        KgprobeError: as :func:`take_lease`; or a port that is wished for is taken.
    """
    with folder.locked():
        before = running(folder)
        server = dataclasses.replace(ensure_server(folder, wishes or Wishes()), kept=True)
        folder.write_server(server)
    return server, before is None


def stop(folder: Folder, force: bool = False) -> bool:
    """Stop the folder's server and wait until it is gone.

    Args:
        force: do so while other processes use it.

    Returns:
        whether there was one.

    Raises:
        KgprobeError: other processes use it.
    """
    if not folder.path.is_dir():
        return False
    with folder.locked():
        users = folder.users()
        if users and not force:
            named = ", ".join(f"{user.command} (process {user.process.pid})" for user in users)
            raise KgprobeError(f"The graph in {folder.path} is in use by: {named}. `force` stops it nevertheless.")
        return stop_server(folder)


def _stop_unused(folder: Folder) -> None:
    folder.prune_users()
    server = folder.read_server()
    if server and not server.kept and not folder.users():
        stop_server(folder)
