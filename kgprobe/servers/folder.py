"""The folder of a local graph: its engine, its password, the server that runs on it, and who uses that server.

engine          the name of the engine that made the data
password        readable by its owner alone; survives restarts
lock            held by whoever starts or stops the server, or changes one of the files below
ports.json      where its server answers; survives restarts
server.json     the server that runs, or was running when something broke
files.json      the database's files as the last server left them (inventory.py)
server.log      what the server said since its last start
importing       the process that imports into the graph: until the import is whole, only that process opens it
users/          one file for each use of the server now
arcadedb/, neo4j/   the engine's own files
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from kgprobe.errors import KgprobeError
from kgprobe.files import disk_is_full, owner_only, replacing
from kgprobe.progress import tell, waiting
from kgprobe.servers.engine import Engine
from kgprobe.servers.processes import ProcessKey, find


@dataclass(frozen=True, slots=True)
class Server:
    """A server of ours.

    Attributes:
        engine, version: what runs.
        memory: MiB it may use.
        bolt_port, http_port: on the loopback interface.
        process: None before the process exists.
        ready: whether it has answered; a server that is not ready and whose starter has gone is half-started.
        kept: whether it stays when its last user leaves (:func:`~kgprobe.servers.leases.start`).
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


# What says that there is no such file; the second where a file stands in the place of its folder.
_ABSENT = (FileNotFoundError, NotADirectoryError)
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class User:
    """A process that uses the server, and how it was started: what was typed."""

    process: ProcessKey
    command: str


@dataclass(frozen=True, slots=True)
class Import:
    """An import into a graph's folder.

    Attributes:
        process: imports, and the folder is reserved for it; None where it has failed.
        begun: whether the import has begun to replace the database; from then on the graph is not whole.
    """

    process: ProcessKey | None
    begun: bool

    def runs(self) -> bool:
        """Return whether its process still runs."""
        return self.process is not None and find(self.process) is not None


@dataclass(frozen=True, slots=True)
class Folder:
    """A graph's folder; it need not exist yet."""

    path: Path

    @property
    def password_file(self) -> Path:
        """Holds the password, mode 0600."""
        return self.path / "password"

    @property
    def inventory(self) -> Path:
        """What files the last server left."""
        return self.path / "files.json"

    @property
    def importing(self) -> Path:
        """The file of :meth:`read_import`."""
        return self.path / "importing"

    def data(self, engine: Engine) -> Path:
        """Where that engine's database lies."""
        return self.path / engine.name / engine.data

    @property
    def log(self) -> Path:
        """What the server wrote to its stdout and stderr."""
        return self.path / "server.log"

    @property
    def engine(self) -> str | None:
        """The engine that made the data, or None where there is no graph yet."""
        try:
            return (self.path / "engine").read_text(encoding="utf-8").strip()
        except _ABSENT:
            return None

    @property
    def password(self) -> str:
        """The password of the engine's user."""
        try:
            return self.password_file.read_text(encoding="utf-8")
        except _ABSENT:
            raise KgprobeError(
                f"{self.password_file} is missing, and without the password nobody can open the graph. Put the file "
                "back, or name another folder by `graph` and load anew."
            ) from None

    def create(self, engine: str) -> None:
        """Make the folder and its password, if they are not there, for that engine."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if self.engine is not None:
            _ = self.password  # raises where somebody removed it
            return
        with contextlib.suppress(FileNotFoundError):
            # Of a first start that was interrupted between the password and the engine's name.
            self.password_file.unlink()
        descriptor = os.open(self.password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            # Hexadecimal, since Neo4j's tool takes a password that begins with a dash for an option.
            file.write(secrets.token_hex(24))
        _write(self.path / "engine", engine.encode())

    def refuse_foreign(self) -> None:
        """Raise KgprobeError where the folder is a file, or holds something that is not a graph of ours."""
        if self.path.exists() and not self.path.is_dir():
            raise KgprobeError(f"{self.path} is a file; `graph` takes a server's address or a graph's folder.")
        if self.engine is None and self.path.is_dir():
            foreign = sorted(entry.name for entry in self.path.iterdir() if entry.name not in ("lock", "password"))
            if foreign:
                raise KgprobeError(
                    f"{self.path} holds other things ({', '.join(foreign[:3])}, …) and no graph; name an empty folder."
                )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from starting and stopping the server meanwhile."""
        self.refuse_foreign()
        lock = FileLock(self.path / "lock", mode=0o600)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.path / "lock", "ab", opener=owner_only):
                pass
        except OSError as error:
            full = disk_is_full(_existing(self.path)) if error.errno in _FULL else None
            raise KgprobeError(
                full
                or f"The graph's folder {self.path} cannot be used: {error.strerror}. `graph` names another one, and"
                " KGPROBE_HOME another place for all that kgprobe keeps."
            ) from error
        with explained_disk(self.path):
            try:
                lock.acquire(timeout=3.0, poll_interval=0.1)
            except Timeout:
                tell(f"Waiting for another process that starts or stops the graph in {self.path} …")
                with waiting("Waiting for another process"):
                    lock.acquire(poll_interval=0.2)
            try:
                yield
            finally:
                lock.release()

    def read_server(self) -> Server | None:
        """What stands in server.json; None where nothing legible does."""
        try:
            return msgspec.json.decode((self.path / "server.json").read_bytes(), type=Server)
        except (*_ABSENT, msgspec.DecodeError):
            return None

    def write_server(self, server: Server) -> None:
        """Set server.json, at once or not at all."""
        _write(self.path / "server.json", msgspec.json.encode(server))

    def remove_server(self) -> None:
        """No server runs here any more."""
        (self.path / "server.json").unlink(missing_ok=True)

    def read_ports(self) -> Ports | None:
        """Where the server answers whenever it can; None before its first start."""
        try:
            return msgspec.json.decode((self.path / "ports.json").read_bytes(), type=Ports)
        except (*_ABSENT, msgspec.DecodeError):
            return None

    def write_ports(self, ports: Ports) -> None:
        """Set ports.json, at once or not at all."""
        _write(self.path / "ports.json", msgspec.json.encode(ports))

    def read_import(self) -> Import | None:
        """Return the import that is under way, or was interrupted; None where there is none.

        An illegible file counts as an import that was interrupted.
        """
        try:
            return msgspec.json.decode(self.importing.read_bytes(), type=Import)
        except _ABSENT:
            return None
        except msgspec.DecodeError:
            return Import(None, begun=True)

    def write_import(self, state: Import) -> None:
        """Replace the import's state."""
        _write(self.importing, msgspec.json.encode(state))

    def remove_import(self) -> None:
        """Mark the graph as whole and free."""
        self.importing.unlink(missing_ok=True)

    def add_user(self, user: User) -> Path:
        """Note that somebody uses the server; unlink the returned file in the end."""
        users = self.path / "users"
        users.mkdir(exist_ok=True)
        file = users / f"{user.process.pid}-{secrets.token_hex(4)}.json"
        _write(file, msgspec.json.encode(user))
        return file

    def users(self) -> list[User]:
        """Who uses the server now; commands that have died are not among them."""
        return [user for _, user in self._users() if user is not None]

    def prune_users(self) -> None:
        """Remove the files of commands that have died."""
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


def _existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(place for place in (path, *path.parents) if place.exists())


def _write(file: Path, content: bytes) -> None:
    with replacing(file) as unfinished:
        unfinished.write_bytes(content)


@contextlib.contextmanager
def explained_disk(folder: Path) -> Iterator[None]:
    """Turn the system's error about a full disk into a message."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise KgprobeError(disk_is_full(folder) or f"The disk under {folder} takes no more: {error}.") from error
