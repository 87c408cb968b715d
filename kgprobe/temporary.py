"""Temporary folders below kgprobe's own folder: those that a killed process has left are deleted by the next command.

Each has a file lock next to it, which its process holds; the operating system releases it when the process ends.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from kgprobe.errors import KgprobeError
from kgprobe.files import make_folder, temporary_files

_SUFFIX = ".lock"


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Make an empty folder, and delete it at the end.

    Args:
        purpose: the first part of its name, such as the loader's.

    Raises:
        KgprobeError: the folder cannot be made there.
    """
    below = temporary_files()
    path = below / f"{purpose}-{os.getpid()}-{secrets.token_hex(4)}"
    make_folder(below)
    # A source is read by one thread and closed by another.
    own = filelock.FileLock(f"{path}{_SUFFIX}", thread_local=False)
    try:
        with _alone(below):
            _delete_left(below)
            own.acquire(timeout=0)
            make_folder(path)
    except OSError as error:
        raise KgprobeError(
            f"The folder {path} cannot be made: {error.strerror}. KGPROBE_HOME names another place."
        ) from error
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            own.release()
            Path(own.lock_file).unlink(missing_ok=True)


def delete_left_folders() -> None:
    """Delete the temporary folders of processes that are gone; what cannot be deleted stays.

    Cost: a look at each temporary folder.
    """
    below = temporary_files()
    if below.is_dir():
        # Another process that is at it does the same.
        with suppress(OSError), _alone(below, timeout=0):
            _delete_left(below)


def _alone(below: Path, timeout: float = -1) -> filelock.BaseFileLock:
    """Return the lock behind which folders are made and deleted: none is deleted before its process has locked it."""
    return filelock.FileLock(below / "lock", timeout=timeout)


def _delete_left(below: Path) -> None:
    for file in below.glob(f"*{_SUFFIX}"):
        with suppress(OSError), filelock.FileLock(file, timeout=0):
            shutil.rmtree(file.with_suffix(""), ignore_errors=True)
            file.unlink(missing_ok=True)
