"""The graph server as a child process: found or started, waited for, ended.

What starts or ends one is called with the folder's lock held; :mod:`~kgprobe.servers.leases` does that.
"""

import contextlib
import dataclasses
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from neo4j.exceptions import AuthError

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.progress import tell, waiting
from kgprobe.servers.engine import LEAST_MEMORY, Engine, Launch
from kgprobe.servers.engines import DEFAULT, ENGINES
from kgprobe.servers.environment import java_environment
from kgprobe.servers.folder import Folder, Ports, Server
from kgprobe.servers.inventory import check_inventory, write_inventory
from kgprobe.servers.processes import (
    LOOPBACK,
    find,
    free_ports,
    is_free,
    is_open,
    key_of,
    listens_on,
    terminate,
    with_argument,
)
from kgprobe.servers.signals import undisturbed

START_SECONDS = 180.0
STOP_SECONDS = 60.0

# Between our choice of a port and the server's listening, somebody else can take it.
_ATTEMPTS = 5

# Servers that this process has started. subprocess complains when it forgets a child that still runs, and ours may.
_children: list[subprocess.Popen[bytes]] = []


def running(folder: Folder) -> Server | None:
    """The folder's server, if it runs and was once ready."""
    server = folder.read_server()
    return server if server and server.ready and server.process and find(server.process) else None


def endpoint_on(folder: Folder, server: Server) -> Endpoint:
    """Where and as whom to connect to a server of ours."""
    engine = ENGINES[server.engine]
    return Endpoint(f"bolt://{LOOPBACK}:{server.bolt_port}", engine.user, folder.password, engine.database, folder.path)


def default_memory() -> int:
    """MiB for a server when nobody says: a quarter of the machine's, at least 512, at most 4096."""
    return int(min(max(psutil.virtual_memory().total / 2**20 / 4, 512), 4096))


@dataclass(frozen=True, slots=True)
class Wishes:
    """How somebody would like a server to be; None is no wish.

    Attributes:
        engine: which one to start; None for the one that made the data, the default one in a new folder.
        memory: MiB it may use if it has to be started; None for :func:`default_memory`.
        port, http_port: where it answers if it has to be started; None for where it was before.
        unfinished: whether a graph is wanted as well whose import is not finished.

    Raises:
        ArgumentError: there is no such engine, no server runs with so little memory, or a port is none.
    """

    engine: str | None = None
    memory: int | None = None
    port: int | None = None
    http_port: int | None = None
    unfinished: bool = False

    def __post_init__(self) -> None:
        if self.engine is not None and self.engine not in ENGINES:
            raise ArgumentError("engine", f"is {self.engine!r}; one of {', '.join(ENGINES)} is expected.")
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise ArgumentError("memory", f"is {self.memory}; a graph server needs {LEAST_MEMORY} MiB at least.")
        for name, port in (("port", self.port), ("http_port", self.http_port)):
            if port is not None and not 0 < port < 2**16:
                raise ArgumentError(name, f"is {port}; a port is a number from 1 to 65535.")
        if self.port is not None and self.port == self.http_port:
            raise ArgumentError("http_port", f"is {self.http_port} as `port` is; they have to differ.")


def ensure_server(folder: Folder, wishes: Wishes) -> Server:
    """The folder's server, which is started if it does not run; its lock is ours.

    Raises:
        KgprobeError: the engine is not installed, is not the one that made the data, or does not start.
    """
    engine = wishes.engine
    name = folder.engine or engine or DEFAULT
    if name not in ENGINES:
        raise KgprobeError(f"The graph in {folder.path} was made by {name!r}, an engine this kgprobe does not know.")
    if engine not in (None, name):
        raise KgprobeError(
            f"The graph in {folder.path} was made by {name} and cannot be opened by {engine}. Leave `engine` out, or "
            "name another folder by `graph`."
        )
    if not wishes.unfinished:
        _refuse_import(folder)
    folder.prune_users()
    return running(folder) or _start(folder, name, wishes)


def _refuse_import(folder: Folder) -> None:
    """Raise KgprobeError where the folder is reserved for an import, or one into it was interrupted."""
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
            f"The graph in {folder.path} is not whole: an import into it was interrupted. Give the same command again "
            "(`bulk`), or delete the folder."
        )
    # Killed before it had changed anything.
    folder.remove_import()


def _start(folder: Folder, name: str, wishes: Wishes) -> Server:
    engine = ENGINES[name]
    memory = wishes.memory or default_memory()
    version = engine.prepare(folder.path / name)
    # A server without its state, or a half-started one: its starter was killed.
    stop_server(folder)
    check_inventory(folder.inventory, folder.data(engine), was_made=folder.read_ports() is not None)
    folder.create(name)
    own = folder.path / name
    own.mkdir(exist_ok=True)
    with waiting(f"Starting the graph server ({name})", remembered=True):
        for _ in range(_ATTEMPTS):
            ports = _choose_ports(folder, wishes)
            server = _start_once(folder, engine, own, Server(name, version, memory, ports.bolt, ports.http))
            if server is not None:
                _keep_ports(folder, wishes, ports)
                return server
    raise KgprobeError(f"No free port for the graph server was found in {_ATTEMPTS} attempts.")


def _start_once(folder: Folder, engine: Engine, own: Path, server: Server) -> Server | None:
    """Start a server on its ports and wait until it answers; None if somebody else has taken one of them."""
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


def _choose_ports(folder: Folder, wishes: Wishes) -> Ports:
    """Those that somebody wishes, those where the server was before, or new ones."""
    before = folder.read_ports()
    others = (port for port in free_ports(4) if port not in (wishes.port, wishes.http_port))
    chosen: list[int] = []
    for name, wished, last in (
        ("port", wishes.port, before and before.bolt),
        ("http_port", wishes.http_port, before and before.http),
    ):
        if wished is not None and not is_free(wished):
            raise KgprobeError(
                f"`{name}` is {wished}, and this machine does not let one listen there: another program does, or the "
                "port is reserved. Name another one, or none."
            )
        if wished is None and last and is_free(last) and last not in (wishes.port, wishes.http_port, *chosen):
            chosen.append(last)
        else:
            chosen.append(wished or next(others))
    return Ports(*chosen)


def _keep_ports(folder: Folder, wishes: Wishes, ports: Ports) -> None:
    """Remember where the server answers. One that was in the way today may be gone when it is started next."""
    before = folder.read_ports() or ports
    if ports.bolt != before.bolt and wishes.port is None:
        tell(f"Port {before.bolt} of this graph is taken by another program; by Bolt it answers on {ports.bolt}.")
    if ports.http != before.http and wishes.http_port is None:
        tell(
            f"Port {before.http} of this graph is taken by another program; its page is on {ports.http}, where a "
            "browser knows nothing of what it kept for the other."
        )
    kept = Ports(wishes.port or before.bolt, wishes.http_port or before.http)
    if kept != folder.read_ports():
        folder.write_ports(kept)


def mark(folder: Folder) -> str:
    """An argument without any meaning to what is started, by which one finds it even if its state was never written."""
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
            # Ctrl-C in the terminal reaches the command, which stops the server in order; not the server itself.
            start_new_session=True,
        )
    _children.append(process)
    return process


def _wait_until_ready(folder: Folder, server: Server, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers a query; False if somebody else has taken one of its ports."""
    watched = psutil.Process(process.pid)
    target = endpoint_on(folder, server)
    wanted = {server.bolt_port, server.http_port}
    deadline = time.monotonic() + START_SECONDS
    reason = "it listens on no port"
    while time.monotonic() < deadline:
        open_ports = {port for port in wanted if is_open(port)}
        if process.poll() is not None:
            if open_ports:
                return False
            raise KgprobeError(_obituary(folder, f"ended with code {process.returncode} while it started"))
        listening = listens_on(watched)
        if open_ports - listening:
            return False
        if wanted <= listening:
            try:
                with Graph(target) as graph:
                    graph.read("explore/ready")
                return True
            except KgprobeError as error:
                if isinstance(error.__cause__, AuthError):
                    raise
                reason = str(error)
        time.sleep(0.1)
    raise KgprobeError(_obituary(folder, f"was not ready after {START_SECONDS:.0f} seconds ({reason})"))


def _obituary(folder: Folder, what: str) -> str:
    if full := disk_is_full(folder.path):
        # The log ends in a traceback that says no more.
        return f"The graph server {what}. {full}"
    lines = folder.log.read_text(encoding="utf-8", errors="replace").splitlines()
    end = "\n".join(f"  {line}" for line in lines[-10:] if line.strip()) or "  (nothing)"
    return f"The graph server {what}. The end of {folder.log}:\n{end}"


def _forget_children(ended: set[int]) -> None:
    for child in [child for child in _children if child.pid in ended]:
        # Of a process with many threads the first may have ended before the others.
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10.0)
            _children.remove(child)


def stop_server(folder: Folder) -> bool:
    """End every server on the folder, its lock being ours, and wait for their processes and ports.

    Returns:
        whether there was one.
    """
    with (
        undisturbed("The graph server is being stopped; that takes seconds …"),
        waiting("Stopping the graph server", remembered=True),
    ):
        server = folder.read_server()
        processes = with_argument(mark(folder))
        for process in processes:
            terminate(process, STOP_SECONDS)
        if processes and server:
            deadline = time.monotonic() + 10.0
            while any(is_open(port) for port in (server.bolt_port, server.http_port)) and time.monotonic() < deadline:
                time.sleep(0.1)
            if server.ready and folder.path.is_dir():
                write_inventory(folder.inventory, folder.data(ENGINES[server.engine]))
        folder.remove_server()
        _forget_children({process.pid for process in processes})
        return bool(processes)
