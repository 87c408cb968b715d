"""The status of a graph server."""

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
        folder: folder of the graph.
        running: True if a server runs on it; if not, all attributes below except the engine are None or empty.
        engine: engine that created the data; None without a graph.
        version: version of the engine.
        address: Bolt address of the server.
        browser: address of the engine's web page; None if it has none.
        user, password_file, database: credentials for other programs.
        pid: process id of the server.
        memory_mib: memory of the server in MiB.
        uptime_seconds: seconds since the start of the process.
        kept: True if the server keeps running without users.
        users: processes that use the server now.
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
    """Return the status of the local graph in a folder; changes nothing, and needs no lock."""
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
