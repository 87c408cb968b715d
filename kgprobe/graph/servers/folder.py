"""The folder of a local graph: engine, password, server and its users.

engine          name of the engine that created the data
password        readable only by its owner; survives restarts
lock            held while the server is started or stopped, or one of the files below is changed
ports.json      ports of the server; survives restarts
server.json     the server that runs, or that ran when its process was killed
files.json      names and sizes of the database's files at the last stop (the inventory)
server.log      output of the server since its last start
importing       process that imports into the graph; until the import is complete, only this process opens it
users/          one file for each current use of the server
arcadedb/, neo4j/   the engine's own files
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from filelock import FileLock, Timeout

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import CONFIG_FILE, disk_is_full, owner_only, replacing
from kgprobe.base.progress import print_message, waiting
from kgprobe.graph.endpoint import default_folder, is_address, refuse_credentials
from kgprobe.graph.servers.engine import GraphEngine
from kgprobe.graph.servers.processes import ProcessKey, find

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Server:
    """A server that kgprobe has started.

    Attributes:
        engine, version: the running engine.
        memory: memory in MiB.
        bolt_port, http_port: ports of the loopback interface.
        process: None before the process exists.
        ready: True once it has answered. A server that is not ready and whose starter has ended is half-started.
        kept: True if it keeps running without users (:func:`~kgprobe.graph.servers.leases.start`).
    """

    engine: str
    version: str
    memory: int
    bolt_port: int
    http_port: int
    process: ProcessKey | None = None
    ready: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of the loopback interface. A browser keeps its history and favourites by them."""

    bolt: int
    http: int


# Errors of a missing file; the second if its folder is a file.
_ABSENT = (FileNotFoundError, NotADirectoryError)
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class User:
    """A process that uses the server, and its command line."""

    process: ProcessKey
    command: str


@dataclass(frozen=True, slots=True)
class Import:
    """An import into a graph's folder.

    Attributes:
        process: importing process, for which the folder is reserved; None after a failure.
        begun: True once the import has begun to replace the database; from then on the graph is incomplete.
    """

    process: ProcessKey | None
    begun: bool

    def runs(self) -> bool:
        """Return True if its process still runs."""
        return self.process is not None and find(self.process) is not None


@dataclass(frozen=True, slots=True)
class Folder:
    """A graph's folder; it need not exist yet."""

    path: Path

    @property
    def password_file(self) -> Path:
        """File with the password, mode 0600."""
        return self.path / "password"

    @property
    def inventory(self) -> Path:
        """File with the names and sizes of the database's files."""
        return self.path / "files.json"

    @property
    def importing(self) -> Path:
        """The file of :meth:`read_import`."""
        return self.path / "importing"

    def data(self, engine: GraphEngine) -> Path:
        """Return the folder of that engine's database."""
        return self.path / engine.name / engine.data

    @property
    def log(self) -> Path:
        """File with the server's stdout and stderr."""
        return self.path / "server.log"

    @property
    def engine(self) -> str | None:
        """Name of the engine that created the data; None without a graph."""
        try:
            return (self.path / "engine").read_text(encoding="utf-8").strip()
        except _ABSENT:
            return None

    @property
    def password(self) -> str:
        """Password of the engine's user."""
        try:
            return self.password_file.read_text(encoding="utf-8")
        except _ABSENT:
            raise KgprobeError(
                f"{self.password_file} is missing; without the password the graph cannot be opened. Restore the file, "
                "or set `graph` to another folder and load again."
            ) from None

    def create(self, engine: str) -> None:
        """Create the folder and the password of a graph for that engine, unless they exist."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if self.engine is not None:
            _ = self.password  # raises if the file was removed
            return
        with contextlib.suppress(FileNotFoundError):
            # Left by a first start that was interrupted before it wrote the engine's name.
            self.password_file.unlink()
        descriptor = os.open(self.password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            # Hexadecimal: Neo4j's tool reads a password that begins with a dash as an option.
            file.write(secrets.token_hex(24))
        _write(self.path / "engine", engine.encode())

    def refuse_foreign(self) -> None:
        """Raise KgprobeError if the folder is a file, or contains files but no graph."""
        if self.path.exists() and not self.path.is_dir():
            raise KgprobeError(f"{self.path} is a file; `graph` must be a server's address or a graph's folder.")
        if self.engine is None and self.path.is_dir():
            own = ("lock", "password", CONFIG_FILE)
            foreign = sorted(entry.name for entry in self.path.iterdir() if entry.name not in own)
            if foreign:
                raise KgprobeError(
                    f"{self.path} contains other files ({', '.join(foreign[:3])}, …), no graph; name an empty folder."
                )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent other processes from starting and stopping the server inside the context."""
        self.refuse_foreign()
        lock = FileLock(self.path / "lock", mode=0o600)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.path / "lock", "ab", opener=owner_only):
                pass
        except OSError as error:
            existing = next(place for place in (self.path, *self.path.parents) if place.exists())
            full = disk_is_full(existing) if error.errno in _FULL else None
            raise KgprobeError(
                full
                or f"The graph's folder {self.path} cannot be used: {error.strerror}. Set `graph` to another folder,"
                " or KGPROBE_HOME for all files of kgprobe."
            ) from error
        try:
            try:
                lock.acquire(timeout=3.0, poll_interval=0.1)
            except Timeout:
                print_message(f"Waiting for another process that starts or stops the graph in {self.path} …")
                with waiting("Waiting for another process"):
                    lock.acquire(poll_interval=0.2)
            try:
                yield
            finally:
                lock.release()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            message = disk_is_full(self.path) or f"The disk under {self.path} cannot be written: {error}."
            raise KgprobeError(message) from error

    def read_server(self) -> Server | None:
        """Return the content of server.json; None if it is missing or damaged."""
        return _read(self.path / "server.json", Server)

    def write_server(self, server: Server) -> None:
        """Replace server.json atomically."""
        _write(self.path / "server.json", msgspec.json.encode(server))

    def remove_server(self) -> None:
        """Delete server.json, after the server has ended."""
        (self.path / "server.json").unlink(missing_ok=True)

    def read_ports(self) -> Ports | None:
        """Return the preferred ports of the server; None before its first start."""
        return _read(self.path / "ports.json", Ports)

    def write_ports(self, ports: Ports) -> None:
        """Replace ports.json atomically."""
        _write(self.path / "ports.json", msgspec.json.encode(ports))

    def read_import(self) -> Import | None:
        """Return the current or interrupted import, None without one; a damaged file counts as interrupted."""
        return _read(self.importing, Import, damaged=Import(None, begun=True))

    def write_import(self, state: Import) -> None:
        """Replace the state of the import atomically."""
        _write(self.importing, msgspec.json.encode(state))

    def remove_import(self) -> None:
        """Mark the graph as complete and not reserved."""
        self.importing.unlink(missing_ok=True)

    def add_user(self, user: User) -> Path:
        """Store that a process uses the server; unlink the returned file at the end."""
        users = self.path / "users"
        users.mkdir(exist_ok=True)
        file = users / f"{user.process.pid}-{secrets.token_hex(4)}.json"
        _write(file, msgspec.json.encode(user))
        return file

    def users(self) -> list[User]:
        """Return the current users of the server, without ended processes."""
        return [user for _, user in self._users() if user is not None]

    def prune_users(self) -> None:
        """Delete the files of ended processes."""
        for file, user in self._users():
            if user is None:
                file.unlink(missing_ok=True)

    def _users(self) -> Iterator[tuple[Path, User | None]]:
        for file in sorted((self.path / "users").glob("*.json")):
            try:
                user = msgspec.json.decode(file.read_bytes(), type=User)
            except FileNotFoundError:
                continue
            except msgspec.DecodeError:
                yield file, None
                continue
            yield file, user if find(user.process) else None


def _read(file: Path, kind: type[T], damaged: T | None = None) -> T | None:
    """Return the content of a JSON file; None if it is missing, and ``damaged`` if it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except _ABSENT:
        return None
    except msgspec.DecodeError:
        return damaged


def _write(file: Path, content: bytes) -> None:
    with replacing(file) as unfinished:
        unfinished.write_bytes(content)


# Maximum number of files in a message.
_LISTED = 5


def write_inventory(list_file: Path, data: Path) -> None:
    """Write the names and sizes of the files; no server may be running."""
    if data.is_dir():
        _write(list_file, msgspec.json.encode(_sizes(data), order="sorted"))


def check_inventory(list_file: Path, data: Path, *, was_made: bool) -> None:
    """Raise if files of the inventory are missing or have become shorter.

    An engine ignores missing files and opens a graph with fewer nodes. No program writes to the data between two
    servers, so the names and sizes at the end of one must exist at the start of the next. A killed server leaves no
    inventory; then only the database's folder must exist.

    Args:
        was_made: True if a server was ready on this data before.
    """
    if was_made and not data.is_dir():
        raise KgprobeError(
            f"The graph's database {data} is missing. Restore it from a copy. To begin with an empty graph, name "
            f"another folder, or delete {list_file.parent}."
        )
    before = _read(list_file, dict[str, int]) or {}
    now = _sizes(data) if data.is_dir() else {}
    missing = [name for name in before if name not in now]
    shorter = [name for name, size in before.items() if now.get(name, size) < size]
    faults = []
    if missing:
        faults.append(f"missing: {_first(missing)}")
    if shorter:
        faults.append(f"shorter than they were: {_first(shorter)}")
    if faults:
        raise KgprobeError(
            f"The graph's database {data} was damaged after its server was stopped; {'; '.join(faults)}. Restore the "
            f"files from a copy, or load again into another folder. To open the rest, delete {list_file}."
        )


def _sizes(data: Path) -> dict[str, int]:
    return {str(path.relative_to(data)): path.stat().st_size for path in sorted(data.rglob("*")) if path.is_file()}


def _first(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def running(folder: Folder) -> Server | None:
    """Return the folder's server if it is running and ready, else None."""
    server = folder.read_server()
    return server if server and server.ready and server.process and find(server.process) else None


def is_running(graph: str | Path | None = None) -> bool:
    """Return True if opening a graph starts no server: it is remote, or the server of its folder is running."""
    place = folder_or_address(graph)
    return (isinstance(place, str) and is_address(place)) or running(folder_of(place)) is not None


def folder_of(graph: str | Path | None = None) -> Folder:
    """Return the folder of a local graph."""
    place = folder_or_address(graph)
    if isinstance(place, str):
        if is_address(place):
            raise KgprobeError(f"{place} is a remote server; kgprobe starts and stops only local graphs.")
        if "://" in place:
            raise KgprobeError(
                f"{place} is neither a folder nor an address of a graph: bolt://HOST:PORT or neo4j://HOST:PORT, with "
                "+s or +ssc after bolt or neo4j for encryption."
            )
    # Resolve links: the server is found by the folder's path.
    return Folder(Path(place).expanduser().resolve())


def folder_or_address(graph: str | Path | None) -> str | Path:
    """Return the address or folder of a graph; without one, of ``KGPROBE_GRAPH`` or the default folder."""
    place = graph if graph is not None else os.environ.get("KGPROBE_GRAPH") or default_folder()
    if isinstance(place, str):
        refuse_credentials(place)
    return place
