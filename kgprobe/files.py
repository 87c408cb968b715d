"""Where kgprobe keeps its files, one folder of the user's named by ``KGPROBE_HOME``, and how it writes them."""

import errno
import glob
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

from kgprobe.errors import KgprobeError

T = TypeVar("T")

# A program needs some room to write at all; below this a failed write has its reason in the disk.
_FULL_BYTES = 32 * 2**20
_UNUSABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
# Parts of the names of unfinished files: this machine, and a number within this process.
_NODE = re.sub(r"[^A-Za-z0-9-]+", "_", platform.node())[:40] or "here"
_numbers = count()


def home() -> Path:
    """The folder that holds graphs, converted models, runs and downloads.

    ``KGPROBE_HOME`` if set, else the platform's per-user data folder. It is not created here.
    """
    named = os.environ.get("KGPROBE_HOME")
    return (
        Path(named).expanduser().absolute() if named else Path(platformdirs.user_data_dir("kgprobe", appauthor=False))
    )


def temporary_files() -> Path:
    """Return the folder that holds temporary files; it is not created here."""
    return home() / "temporary"


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; within kgprobe's own, each is for its owner alone.

    Raises:
        KgprobeError: that is not possible there.
    """
    own = home()
    try:
        for each in (*reversed(folder.parents), folder):
            if not each.is_dir():
                each.mkdir(mode=0o700 if each.is_relative_to(own) else 0o777, exist_ok=True)
        if folder != own and folder.is_relative_to(own):
            # It may be older than this rule; one that somebody else made is theirs to close.
            with suppress(PermissionError):
                folder.chmod(0o700)
    except OSError as error:
        raise KgprobeError(f"The folder {folder} cannot be made: {error.strerror}.{_elsewhere(folder)}") from error


def owner_only(path: str, flags: int) -> int:
    """An opener for :func:`open`: a file that it makes is for its owner alone."""
    return os.open(path, flags, 0o600)


def read_json(path: Path, form: type[T], remedy: str) -> T:
    """Return the content of a JSON file, checked against a type.

    Args:
        form: a struct, or another type that msgspec decodes.
        remedy: a sentence for the message about a damaged file.

    Raises:
        FileNotFoundError: there is no such file.
        KgprobeError: the file cannot be read, or has another form.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}. {remedy}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KgprobeError(f"{path} is damaged: {error}. {remedy}") from error


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Give a file to write to, which takes the place of ``path`` when it is whole: at once, or not at all.

    Several processes may write to one path: each has an unfinished file of its own, and the last to finish stays.
    Unfinished files of processes of this machine that are no longer running are deleted first.

    Args:
        durable: whether its content has reached the disk before it takes that place.

    Raises:
        KgprobeError: it cannot be written there.
    """
    unfinished = path.with_name(f"{path.name}.{_NODE}.{os.getpid()}.{next(_numbers)}.part")
    try:
        _delete_leftovers(path)
        yield unfinished
        if durable:
            with open(unfinished, "rb") as file:
                os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        # On a read-only disk this fails even where there is no file, and would hide the message above.
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _delete_leftovers(path: Path) -> None:
    """Delete what killed processes of this machine left of a file."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.{glob.escape(_NODE)}.*.part"):
        pid = leftover.name.rsplit(".", 3)[1]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            leftover.unlink(missing_ok=True)


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes ``folder``, where there is none yet, when it is whole, or not at all.

    What a killed process left of it is deleted first. One process at a time may make a folder; whoever cannot be sure
    of that holds a lock.

    Raises:
        KgprobeError: it cannot be made there.
    """
    unfinished = folder.with_name(f"{folder.name}.part")
    try:
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir()
        yield unfinished
        os.rename(unfinished, folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> KgprobeError:
    full = disk_is_full(path.parent) if error.errno in (errno.ENOSPC, errno.EDQUOT) else None
    return KgprobeError(full or f"{path} cannot be written: {error.strerror or error}.{_elsewhere(path)}")


def place_is_unusable(error: OSError) -> str | None:
    """Return a sentence for the user if the error is about a disk or folder that takes no files, else None."""
    if error.errno not in _UNUSABLE or not isinstance(error.filename, str):
        return None
    path = Path(error.filename)
    full = disk_is_full(path.parent) if error.errno in (errno.ENOSPC, errno.EDQUOT) else None
    return full or f"{path} cannot be used: {error.strerror}.{_elsewhere(path)}"


def _elsewhere(path: Path) -> str:
    return " KGPROBE_HOME names another place." if path.is_relative_to(home()) else ""


def disk_is_full(folder: Path) -> str | None:
    """A sentence for the user if the disk under the folder is full, else None."""
    free = shutil.disk_usage(folder).free
    if free >= _FULL_BYTES:
        return None
    return (
        f"The disk under {folder} is full ({free / 2**20:.0f} MiB left). What was committed before is safe: make room, "
        "and go on."
    )
