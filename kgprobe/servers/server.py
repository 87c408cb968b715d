"""The graph server as a child process: found or started, waited for, ended.

What starts or ends one is called with the folder's lock held; :mod:`~kgprobe.servers.leases` does that.
"""

import contextlib
import dataclasses
import os
import subprocess
import time
from pathlib import Path

import psutil
from neo4j.exceptions import AuthError

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.client import Endpoint, Graph
from kgprobe.servers.engine import LEAST_MEMORY, Launch
from kgprobe.servers.engines import DEFAULT, ENGINES
from kgprobe.servers.folder import Folder, Server
from kgprobe.servers.processes import LOOPBACK, find, free_ports, is_open, key_of, listens_on, terminate, with_argument

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


def check_wishes(engine: str | None, memory: int | None) -> None:
    """See that a server could be as somebody wishes it to be; None is no wish.

    Raises:
        ArgumentError: there is no such engine, or no server runs with so little memory.
    """
    if engine is not None and engine not in ENGINES:
        raise ArgumentError("engine", f"is {engine!r}; one of {', '.join(ENGINES)} is expected.")
    if memory is not None and memory < LEAST_MEMORY:
        raise ArgumentError("memory", f"is {memory}; a graph server needs {LEAST_MEMORY} MiB at least.")


def ensure_server(folder: Folder, engine: str | None, memory: int | None) -> Server:
    """The folder's server, which is started if it does not run; its lock is ours.

    Args:
        engine: which one to start; None for the one that made the data, the default one in a new folder.
        memory: MiB the server may use if it has to be started; None for :func:`default_memory`.

    Raises:
        KgprobeError: the engine is not installed, is not the one that made the data, or does not start.
    """
    name = folder.engine or engine or DEFAULT
    if name not in ENGINES:
        raise KgprobeError(f"The graph in {folder.path} was made by {name!r}, an engine this kgprobe does not know.")
    if engine not in (None, name):
        raise KgprobeError(
            f"The graph in {folder.path} was made by {name} and cannot be opened by {engine}. Leave `engine` out, or "
            "name another folder by `graph`."
        )
    folder.prune_users()
    return running(folder) or _start(folder, name, memory or default_memory())


def _start(folder: Folder, name: str, memory: int) -> Server:
    engine = ENGINES[name]
    version = engine.prepare()
    # A server without its state, or a half-started one: its starter was killed.
    stop_server(folder)
    folder.create(name)
    own = folder.path / name
    own.mkdir(exist_ok=True)
    for _ in range(_ATTEMPTS):
        bolt_port, http_port = free_ports(2)
        server = Server(name, version, memory, bolt_port, http_port)
        command = engine.command(Launch(own, folder.password_file, bolt_port, http_port, memory))
        command.insert(1, _mark(folder))
        process = _spawn(command, own, folder.log)
        server = dataclasses.replace(server, process=key_of(process.pid))
        try:
            folder.write_server(server)
            if _wait_until_ready(folder, server, process):
                server = dataclasses.replace(server, ready=True)
                folder.write_server(server)
                return server
        except BaseException:
            stop_server(folder)
            raise
        stop_server(folder)
    raise KgprobeError(f"No free port for the graph server was found in {_ATTEMPTS} attempts.")


def _mark(folder: Folder) -> str:
    # An argument without any meaning to the server, by which one finds it even if its state was never written.
    return f"-Dkgprobe.graph={folder.path}"


def _spawn(command: list[str], directory: Path, log: Path) -> subprocess.Popen[bytes]:
    # The server needs none of our settings, and a password among them is not for everybody who may see its environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KGPROBE_")}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
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
    lines = folder.log.read_text(encoding="utf-8", errors="replace").splitlines()
    end = "\n".join(f"  {line}" for line in lines[-10:] if line.strip()) or "  (nothing)"
    full = disk_is_full(folder.path)
    return f"The graph server {what}.{' ' + full if full else ''} The end of {folder.log}:\n{end}"


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
    server = folder.read_server()
    processes = with_argument(_mark(folder))
    for process in processes:
        terminate(process, STOP_SECONDS)
    if processes and server:
        deadline = time.monotonic() + 10.0
        while any(is_open(port) for port in (server.bolt_port, server.http_port)) and time.monotonic() < deadline:
            time.sleep(0.1)
    folder.remove_server()
    _forget_children({process.pid for process in processes})
    return bool(processes)
