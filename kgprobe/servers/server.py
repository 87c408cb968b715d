"""The graph server as a child process: started when needed, shared, stopped by the last who uses it.

One server runs on a graph's folder at most. A command that needs it holds a lease (a file in ``users/``) as long as it
works; the last lease to go stops the server, unless ``graph start`` asked it to stay. All of this happens under the
folder's lock, so that two commands never start two servers, and so that a server found not to be ready, with the
lock in our hands, has lost its starter: it is ended and started anew.
"""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from neo4j.exceptions import AuthError

from kgprobe.errors import KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.client import Endpoint, Graph, default_folder, endpoint_of, is_address
from kgprobe.servers.engine import Launch
from kgprobe.servers.engines import DEFAULT, ENGINES
from kgprobe.servers.folder import Folder, Server, User
from kgprobe.servers.processes import LOOPBACK, find, free_ports, is_open, key_of, listens_on, terminate, with_argument

START_SECONDS = 180.0
STOP_SECONDS = 60.0

# Between our choice of a port and the server's listening, somebody else can take it.
_ATTEMPTS = 5

# Servers that this process has started. subprocess complains when it forgets a child that still runs, and ours may.
_children: list[subprocess.Popen[bytes]] = []


@contextlib.contextmanager
def open_graph(graph: str | None, ask_password: Callable[[str], str]) -> Iterator[Graph]:
    """A connection to the graph that ``--graph`` names.

    Args:
        graph: an address, to connect to a server that somebody else runs; or the folder of a local graph, whose server
            is started if it does not run and stopped again if nobody else uses it; None for the default folder.
        ask_password: asks the user, if the server at that address needs a password and the environment has none.

    Raises:
        KgprobeError: the server does not start, does not answer, or refuses the password.
    """
    if graph is not None and is_address(graph):
        with Graph(endpoint_of(graph, ask_password)) as connection:
            yield connection
    else:
        with lease(folder_of(graph)) as endpoint, Graph(endpoint) as connection:
            yield connection


def folder_of(graph: str | None) -> Folder:
    """The local graph that ``--graph`` names.

    Raises:
        KgprobeError: it is an address, of a kind that we know or not.
    """
    if graph is None:
        return Folder(default_folder())
    if is_address(graph):
        raise KgprobeError(
            f"{graph} is a server that somebody else runs; only local graphs are started and stopped here."
        )
    if "://" in graph:
        raise KgprobeError(
            f"{graph} is neither a folder nor an address of a kind that a graph answers on: bolt://HOST:PORT, "
            "neo4j://HOST:PORT, with +s or +ssc behind bolt or neo4j for encryption."
        )
    return Folder(Path(graph).expanduser().absolute())


@contextlib.contextmanager
def lease(folder: Folder, engine: str | None = None, memory: int | None = None) -> Iterator[Endpoint]:
    """Use the folder's server: start it if it does not run, stop it if we were the last.

    Args:
        folder: the graph.
        engine: which engine to start; None for the one that made the data, the default one in a new folder.
        memory: MiB the server may use if it has to be started.
    """
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    with _orderly_end():
        with folder.locked():
            server = _ensure(folder, engine, memory)
            leased = folder.add_user(User(key_of(os.getpid()), command))
        try:
            yield endpoint(folder, server)
        finally:
            with folder.locked():
                leased.unlink(missing_ok=True)
                _stop_unused(folder)


@contextlib.contextmanager
def _orderly_end() -> Iterator[None]:
    """Let a request to end, or a terminal that closes, end this process in order, so that its lease goes with it."""

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    # Whoever has set another handler means it; and only the main thread may set one.
    in_main = threading.current_thread() is threading.main_thread()
    requests = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in requests if in_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def start(folder: Folder, engine: str | None = None, memory: int | None = None) -> tuple[Server, bool]:
    """Start the folder's server and let it run until :func:`stop`.

    Returns:
        the server, and whether it was started now rather than found running.
    """
    with folder.locked():
        before = running(folder)
        server = dataclasses.replace(_ensure(folder, engine, memory), kept=True)
        folder.write_server(server)
    return server, before is None


def stop(folder: Folder, force: bool = False) -> bool:
    """Stop the folder's server and wait until it is gone.

    Args:
        folder: the graph.
        force: do so while other commands use it.

    Returns:
        whether there was one.

    Raises:
        KgprobeError: other commands use it.
    """
    if not folder.path.is_dir():
        return False
    with folder.locked():
        users = folder.users()
        if users and not force:
            named = ", ".join(f"{user.command} (process {user.process.pid})" for user in users)
            raise KgprobeError(f"The graph in {folder.path} is in use by: {named}. --force stops it nevertheless.")
        return _stop(folder)


def running(folder: Folder) -> Server | None:
    """The folder's server, if it runs and was once ready."""
    server = folder.read_server()
    return server if server and server.ready and server.process and find(server.process) else None


def endpoint(folder: Folder, server: Server) -> Endpoint:
    """Where and as whom to connect to a server of ours."""
    engine = ENGINES[server.engine]
    return Endpoint(f"bolt://{LOOPBACK}:{server.bolt_port}", engine.user, folder.password, engine.database, folder.path)


def default_memory() -> int:
    """MiB for a server when nobody says: a quarter of the machine's, at least 512, at most 4096."""
    return int(min(max(psutil.virtual_memory().total / 2**20 / 4, 512), 4096))


def _ensure(folder: Folder, wanted: str | None, memory: int | None) -> Server:
    name = folder.engine or wanted or DEFAULT
    if name not in ENGINES:
        raise KgprobeError(f"The graph in {folder.path} was made by {name!r}, an engine this kgprobe does not know.")
    if wanted not in (None, name):
        raise KgprobeError(
            f"The graph in {folder.path} was made by {name} and cannot be opened by {wanted}. Leave --engine out, or "
            "name another folder by --graph."
        )
    folder.prune_users()
    return running(folder) or _start(folder, name, memory or default_memory())


def _start(folder: Folder, name: str, memory: int) -> Server:
    engine = ENGINES[name]
    version = engine.prepare()
    # A server without its state, or a half-started one: its starter was killed.
    _stop(folder)
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
            _stop(folder)
            raise
        _stop(folder)
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
    target = endpoint(folder, server)
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


def _stop_unused(folder: Folder) -> None:
    folder.prune_users()
    server = folder.read_server()
    if server and not server.kept and not folder.users():
        _stop(folder)


def _stop(folder: Folder) -> bool:
    """End every server on the folder, and wait for its process and its ports."""
    server = folder.read_server()
    processes = with_argument(_mark(folder))
    for process in processes:
        terminate(process, STOP_SECONDS)
    if processes and server:
        deadline = time.monotonic() + 10.0
        while any(is_open(port) for port in (server.bolt_port, server.http_port)) and time.monotonic() < deadline:
            time.sleep(0.1)
    folder.remove_server()
    return bool(processes)
