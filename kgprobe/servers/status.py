"""What one would like to know of a graph server without asking the operating system."""

import time
from dataclasses import dataclass

from kgprobe.servers.engines import ENGINES
from kgprobe.servers.folder import Folder, User
from kgprobe.servers.processes import LOOPBACK
from kgprobe.servers.server import running


@dataclass(frozen=True, slots=True)
class Status:
    """A local graph and its server.

    Attributes:
        folder: where the graph lies.
        running: whether a server runs on it; if not, all that follows but the engine is None or empty.
        engine: what made the data; None where there is no graph yet.
        version: of the engine.
        address: where the server answers, by Bolt.
        browser: address of the web page for people; None where the engine has none.
        user, password_file, database: what one needs to connect with other programs.
        pid: the server's process.
        memory_mib: what the server may use.
        uptime_seconds: since the process began.
        kept: whether it was asked to stay.
        users: the processes that use it now.
    """

    folder: str
    running: bool
    engine: str | None
    version: str | None = None
    address: str | None = None
    browser: str | None = None
    user: str | None = None
    password_file: str | None = None
    database: str | None = None
    pid: int | None = None
    memory_mib: int | None = None
    uptime_seconds: float | None = None
    kept: bool | None = None
    users: tuple[User, ...] = ()


def status_of(folder: Folder) -> Status:
    """How the local graph in that folder is; changes nothing, and needs no lock."""
    server = running(folder)
    if server is None or server.process is None:
        return Status(str(folder.path), running=False, engine=folder.engine)
    engine = ENGINES[server.engine]
    return Status(
        folder=str(folder.path),
        running=True,
        engine=engine.name,
        version=server.version,
        address=f"bolt://{LOOPBACK}:{server.bolt_port}",
        browser=f"http://{LOOPBACK}:{server.http_port}{engine.page}" if engine.page else None,
        user=engine.user,
        password_file=str(folder.password_file),
        database=engine.database,
        pid=server.process.pid,
        memory_mib=server.memory,
        uptime_seconds=max(time.time() - server.process.created, 0.0),
        kept=server.kept,
        users=tuple(folder.users()),
    )
