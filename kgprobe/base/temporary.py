"""Temporary folders below kgprobe's folder; the next command deletes the folders of killed processes.

Each folder has a lock file, held by its process; the operating system releases the lock when the process ends.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import make_folder, temporary_files

_SUFFIX = ".lock"


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Create an empty folder, and delete it at the end."""
    below = temporary_files()
    path = below / f"{purpose}-{os.getpid()}-{secrets.token_hex(4)}"
    make_folder(below)
    # Not thread-local: one thread reads a source, another closes it.
    own = filelock.FileLock(f"{path}{_SUFFIX}", thread_local=False)
    try:
        with _alone(below):
            _delete_left(below)
            own.acquire(timeout=0)
            make_folder(path)
    except OSError as error:
        raise KgprobeError(
            f"The folder {path} cannot be created: {error.strerror}. Set KGPROBE_HOME to use another folder."
        ) from error
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            own.release()
            Path(own.lock_file).unlink(missing_ok=True)


def delete_left_folders() -> None:
    """Delete the temporary folders of ended processes, where possible; looks at each temporary folder."""
    below = temporary_files()
    if below.is_dir():
        # If another process holds the lock, it deletes them.
        with suppress(OSError), _alone(below, timeout=0):
            _delete_left(below)


def _alone(below: Path, timeout: float = -1) -> filelock.BaseFileLock:
    """Return the lock for creating and deleting folders: no folder is deleted before its process has locked it."""
    return filelock.FileLock(below / "lock", timeout=timeout)


def _delete_left(below: Path) -> None:
    for file in below.glob(f"*{_SUFFIX}"):
        with suppress(OSError), filelock.FileLock(file, timeout=0):
            shutil.rmtree(file.with_suffix(""), ignore_errors=True)
            file.unlink(missing_ok=True)
