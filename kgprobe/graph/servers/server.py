"""Find, start and stop the graph server, a child process, and its status.

Hold the folder's lock to start or stop a server, as :mod:`~kgprobe.graph.servers.leases` does.
"""

import contextlib
import dataclasses
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from neo4j.exceptions import AuthError

from kgprobe.base.arguments import check_choice
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import disk_is_full
from kgprobe.base.progress import print_message, waiting
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.servers.engine import LEAST_MEMORY, GraphEngine, Launch
from kgprobe.graph.servers.engines import DEFAULT, ENGINES
from kgprobe.graph.servers.folder import Folder, Ports, Server, User, check_inventory, running, write_inventory
from kgprobe.graph.servers.processes import (
    LOOPBACK,
    free_ports,
    is_free,
    is_open,
    java_environment,
    key_of,
    listens_on,
    terminate,
    with_argument,
)
from kgprobe.graph.servers.signals import undisturbed

START_SECONDS = 180.0
STOP_SECONDS = 60.0

# Another program can take a chosen port before the server listens on it.
_ATTEMPTS = 5

# Servers that this process has started: subprocess warns when a Popen of a running child is collected.
_children: dict[int, subprocess.Popen[bytes]] = {}


def endpoint_on(folder: Folder, server: Server) -> Endpoint:
    """Return the address and credentials of a local server."""
    engine = ENGINES[server.engine]
    return Endpoint(f"bolt://{LOOPBACK}:{server.bolt_port}", engine.user, folder.password, engine.database, folder.path)


def default_memory() -> int:
    """Return the default memory of a server in MiB: a quarter of the machine's, between 512 and 4096."""
    return int(min(max(psutil.virtual_memory().total / 2**20 / 4, 512), 4096))


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server that is started.

    Attributes:
        engine: engine to start; None for the one that created the data, or the default in a new folder.
        memory: memory in MiB; None for :func:`default_memory`.
        port, http_port: ports; None for those of the last start.
        unfinished: open a graph with an unfinished import, too.
    """

    engine: str | None = None
    memory: int | None = None
    port: int | None = None
    http_port: int | None = None
    unfinished: bool = False

    def __post_init__(self) -> None:
        if self.engine is not None:
            check_choice("engine", self.engine, ENGINES)
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise ArgumentError("memory", f"is {self.memory}; a graph server needs at least {LEAST_MEMORY} MiB.")
        for name, port in (("port", self.port), ("http_port", self.http_port)):
            if port is not None and not 0 < port < 2**16:
                raise ArgumentError(name, f"is {port}; a port is a number from 1 to 65535.")
        if self.port is not None and self.port == self.http_port:
            raise ArgumentError("http_port", f"is {self.http_port}, the same as `port`; they must differ.")


def ensure_server(folder: Folder, options: ServerOptions) -> Server:
    """Return the folder's server, which is started if necessary; the caller holds the lock."""
    engine = options.engine
    name = folder.engine or engine or DEFAULT
    if name not in ENGINES:
        raise KgprobeError(f"The graph in {folder.path} was created by {name!r}, an unknown engine.")
    if engine not in (None, name):
        raise KgprobeError(
            f"The graph in {folder.path} was created by {name} and cannot be opened by {engine}. Omit `engine`, or "
            "set `graph` to another folder."
        )
    if not options.unfinished:
        _refuse_import(folder)
    folder.prune_users()
    return running(folder) or _start(folder, name, options)


def _refuse_import(folder: Folder) -> None:
    """Raise KgprobeError if the folder is reserved for an import, or an import was interrupted."""
    state = folder.read_import()
    if state is None:
        return
    if state.process and state.runs():
        raise KgprobeError(
            f"The graph in {folder.path} is reserved: process {state.process.pid} imports into it (`bulk`). Wait until"
            " it has ended, or name another folder."
        )
    if state.begun:
        raise KgprobeError(
            f"The graph in {folder.path} is incomplete: an import into it was interrupted. Repeat the same command "
            "(`bulk`), or delete the folder."
        )
    # The importing process was killed before it changed the database.
    folder.remove_import()


def _start(folder: Folder, name: str, options: ServerOptions) -> Server:
    engine = ENGINES[name]
    memory = options.memory or default_memory()
    version = engine.prepare(folder.path / name)
    # A server without state, or a half-started one, whose starter was killed.
    stop_server(folder)
    check_inventory(folder.inventory, folder.data(engine), was_made=folder.read_ports() is not None)
    folder.create(name)
    own = folder.path / name
    own.mkdir(exist_ok=True)
    with waiting(f"Starting the graph server ({name})"):
        for _ in range(_ATTEMPTS):
            ports = _choose_ports(folder, options)
            server = _start_once(folder, engine, own, Server(name, version, memory, ports.bolt, ports.http))
            if server is not None:
                _keep_ports(folder, options, ports)
                return server
    raise KgprobeError(f"No free port for the graph server was found in {_ATTEMPTS} attempts.")


def _start_once(folder: Folder, engine: GraphEngine, own: Path, server: Server) -> Server | None:
    """Start a server on its ports and wait until it answers; None if another program has taken a port."""
    launch = Launch(own, folder.password_file, server.bolt_port, server.http_port, server.memory)
    command = engine.command(launch)
    command.insert(1, mark(folder))
    try:
        folder.inventory.unlink(missing_ok=True)
        process = _spawn(command, own, folder.log)
        server = dataclasses.replace(server, process=key_of(process.pid))
        folder.write_server(server)
        if _wait_until_ready(folder, server, process):
            server = dataclasses.replace(server, ready=True)
            folder.write_server(server)
            return server
    except BaseException:
        stop_server(folder)
        raise
    stop_server(folder)
    return None


def _choose_ports(folder: Folder, options: ServerOptions) -> Ports:
    """Return the requested ports, else those of the last start if free, else new ones."""
    for name, port in (("port", options.port), ("http_port", options.http_port)):
        if port is not None and not is_free(port):
            raise KgprobeError(
                f"`{name}` is {port}, which is in use by another program or reserved. Choose another port, or omit "
                f"`{name}`."
            )
    last = folder.read_ports() or Ports(*free_ports(2))
    used = {options.port, options.http_port}
    bolt = options.port or _free_port(last.bolt, used)
    return Ports(bolt, options.http_port or _free_port(last.http, used | {bolt}))


def _free_port(preferred: int, used: set[int | None]) -> int:
    if preferred not in used and is_free(preferred):
        return preferred
    return next(port for port in free_ports(4) if port not in used)


def _keep_ports(folder: Folder, options: ServerOptions, ports: Ports) -> None:
    """Store requested ports, else those of the first start, which may be free again at the next start."""
    before = folder.read_ports() or ports
    if ports.bolt != before.bolt and options.port is None:
        print_message(f"Port {before.bolt} of this graph is in use by another program; Bolt is on {ports.bolt}.")
    if ports.http != before.http and options.http_port is None:
        print_message(
            f"Port {before.http} of this graph is in use by another program; its page is on {ports.http}, where the "
            "browser has none of the settings and history of the other port."
        )
    kept = Ports(options.port or before.bolt, options.http_port or before.http)
    if kept != folder.read_ports():
        folder.write_ports(kept)


def mark(folder: Folder) -> str:
    """Return an argument of java that identifies the server's process, even without server.json."""
    return f"-Dkgprobe.graph={folder.path}"


def _spawn(command: list[str], directory: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=java_environment(),
            # Ctrl-C in the terminal reaches only the command, which stops the server properly.
            start_new_session=True,
        )
    _children[process.pid] = process
    return process


def _wait_until_ready(folder: Folder, server: Server, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers a query; return False if another program has taken a port."""
    watched = psutil.Process(process.pid)
    target = endpoint_on(folder, server)
    ports = {server.bolt_port, server.http_port}
    deadline = time.monotonic() + START_SECONDS
    reason = "it listens on no port"
    while time.monotonic() < deadline:
        open_ports = {port for port in ports if is_open(port)}
        if process.poll() is not None:
            if open_ports:
                return False
            raise KgprobeError(_failure(folder, f"ended with code {process.returncode} while it started"))
        listening = listens_on(watched)
        if open_ports - listening:
            return False
        if ports <= listening:
            try:
                with Graph(target) as graph:
                    graph.read("explore/ready")
                return True
            except KgprobeError as error:
                if isinstance(error.__cause__, AuthError):
                    raise
                reason = str(error)
        time.sleep(0.1)
    raise KgprobeError(_failure(folder, f"was not ready after {START_SECONDS:.0f} seconds ({reason})"))


def _failure(folder: Folder, reason: str) -> str:
    full = disk_is_full(folder.path)
    if full:
        return f"The graph server {reason}. {full}"
    lines = folder.log.read_text(encoding="utf-8", errors="replace").splitlines()
    end = "\n".join(f"  {line}" for line in lines[-10:] if line.strip()) or "  (nothing)"
    return f"The graph server {reason}. The end of {folder.log}:\n{end}"


def stop_server(folder: Folder) -> bool:
    """Stop every server on the folder, and wait for their processes and ports; the caller holds the lock.

    Returns:
        True if a server was running.
    """
    with (
        undisturbed("The graph server is being stopped; that takes seconds …"),
        waiting("Stopping the graph server"),
    ):
        server = folder.read_server()
        processes = with_argument(mark(folder))
        for process in processes:
            terminate(process, STOP_SECONDS)
        if processes and server:
            deadline = time.monotonic() + 10.0
            while any(map(is_open, (server.bolt_port, server.http_port))) and time.monotonic() < deadline:
                time.sleep(0.1)
            if server.ready and folder.path.is_dir():
                write_inventory(folder.inventory, folder.data(ENGINES[server.engine]))
        folder.remove_server()
        for process in processes:
            # The main thread of a process may end before its other threads.
            with contextlib.suppress(KeyError, subprocess.TimeoutExpired):
                _children[process.pid].wait(10.0)
                del _children[process.pid]
        return bool(processes)


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
