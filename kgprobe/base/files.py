"""kgprobe's folder (``KGPROBE_HOME``), and atomic writing of files and folders."""

import errno
import glob
import hashlib
import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs
import psutil

from kgprobe.base.errors import KgprobeError

T = TypeVar("T")

# Errors of decoding JSON; deep nesting raises the last.
UNREADABLE_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)

# File in a graph's folder with values of options, which a team writes once.
CONFIG_FILE = "kgprobe.toml"
# Name of the demo's run, and of the folder of its graph.
DEMO = "demo"

# With less free space, a failed write is reported as a full disk.
_FULL_BYTES = 32 * 2**20
# Bytes that are digested at once.
_BLOCK = 2**20
_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNUSABLE = (*_FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)
# Parts of the names of unfinished files: the machine, and a number within this process.
_NODE = re.sub(r"[^A-Za-z0-9-]+", "_", platform.node())[:40] or "here"
_numbers = count()


def home() -> Path:
    """Return the folder of graphs, converted models, runs and downloads, without creating it.

    This is ``KGPROBE_HOME`` if set, else the platform's per-user data folder.
    """
    folder = os.environ.get("KGPROBE_HOME")
    if folder:
        return Path(folder).expanduser().absolute()
    return Path(platformdirs.user_data_dir("kgprobe", appauthor=False))


def demo_folder() -> Path:
    """Return the folder of the demo's graph, without creating it."""
    return home() / DEMO


def temporary_files() -> Path:
    """Return the folder of temporary files, without creating it."""
    return home() / "temporary"


def make_folder(folder: Path) -> None:
    """Create a folder and its parents; below kgprobe's folder, only the owner can access them."""
    own = home()
    try:
        for each in (*reversed(folder.parents), folder):
            if not each.is_dir():
                each.mkdir(mode=0o700 if each.is_relative_to(own) else 0o777, exist_ok=True)
        if folder != own and folder.is_relative_to(own):
            # Older versions left it open. A folder of another user stays as it is.
            with suppress(PermissionError):
                folder.chmod(0o700)
    except OSError as error:
        raise KgprobeError(f"The folder {folder} cannot be created: {error.strerror}.{_elsewhere(folder)}") from error


def folder_size(folder: Path) -> int:
    """Return the number of bytes of the files in a folder; 0 if there is no folder."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size


def owner_only(path: str, flags: int) -> int:
    """Open a file for :func:`open` (``opener``); only the owner can access a file created here."""
    return os.open(path, flags, 0o600)


def read_json(path: Path, form: type[T], remedy: str) -> T:
    """Return the content of a JSON file, checked against a type.

    Args:
        form: a struct, or another type that msgspec decodes.
        remedy: last sentence of the error message.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}. {remedy}") from error
    except UNREADABLE_JSON as error:
        raise KgprobeError(f"{path} is damaged: {error}. {remedy}") from error


@contextmanager
def naming_place(path: Path) -> Iterator[None]:
    """Raise KgprobeError with the place and the remedy if a file or folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise KgprobeError(_why(path, error, "written")) from error


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield the path of an unfinished file that replaces ``path`` atomically at the end, unless an error occurs.

    Several processes may write to one path: each has its own unfinished file, and the last to finish wins.
    Unfinished files of killed processes of this machine are deleted first.

    Args:
        durable: flush the content to the disk before the replacement.
    """
    unfinished = _unfinished(path)
    try:
        with naming_place(path):
            _delete_leftovers(path)
            yield unfinished
            if durable:
                with open(unfinished, "rb") as file:
                    os.fsync(file.fileno())
            os.replace(unfinished, path)
    finally:
        # On a read-only disk this fails even without a file, and would hide the message above.
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that is renamed to ``folder`` at the end, unless an error occurs.

    ``folder`` must not exist yet, or be empty. Its parent must exist. Several processes may write to one folder: each
    has its own unfinished one, and the first to finish wins. Unfinished folders of killed processes of this machine are
    deleted first.
    """
    unfinished = _unfinished(folder)
    # A killed process of another container may have had the same number.
    while unfinished.exists():
        unfinished = _unfinished(folder)
    try:
        with naming_place(folder):
            _delete_leftovers(folder)
            unfinished.mkdir()
            yield unfinished
            if folder.is_dir():
                folder.rmdir()
            os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _unfinished(path: Path) -> Path:
    """Return a name next to a path that no other process uses."""
    return path.with_name(f"{path.name}.{_NODE}.{os.getpid()}.{next(_numbers)}.part")


def _delete_leftovers(path: Path) -> None:
    """Delete what killed processes of this machine have left of a path."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.{glob.escape(_NODE)}.*.part"):
        pid = leftover.name.rsplit(".", 3)[1]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal digits. Memory: one mebibyte."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def place_is_unusable(error: OSError) -> str | None:
    """Return a sentence for the user if a disk or folder cannot be written, None for other errors."""
    if isinstance(error.filename, str):
        return _why(Path(error.filename), error, "used") if error.errno in _UNUSABLE else None
    if error.errno not in _FULL:
        return None
    return disk_is_full(home()) or f"A disk is full: {error.strerror or error}. Free some space and continue."


def _why(path: Path, error: OSError, verb: str) -> str:
    if error.errno == errno.ENAMETOOLONG:
        return f"{path} cannot be {verb}: its name is too long. Choose a shorter one."
    full = disk_is_full(path.parent) if error.errno in _FULL else None
    return full or f"{path} cannot be {verb}: {error.strerror or error}.{_elsewhere(path)}"


def _elsewhere(path: Path) -> str:
    return " Set KGPROBE_HOME to use another folder." if path.is_relative_to(home()) else ""


def disk_is_full(folder: Path) -> str | None:
    """Return a sentence for the user if the disk of the folder is full, else None."""
    free = shutil.disk_usage(folder).free
    if free >= _FULL_BYTES:
        return None
    return (
        f"The disk under {folder} is full ({free / 2**20:.0f} MiB left). Committed data is safe: free some space "
        "and continue."
    )
