"""Submitted batches on disk, so that a killed program finds its batches again and pays once.

Each batch is a file in a folder next to the answer cache. It is written before the batch is created, gets the server's
id afterwards, and is deleted when the answers are cached. A program that is killed in between leaves a file without an
id; the batch at the server then has the same token in its metadata, and the same file.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import make_folder, owner_only, read_json, replacing

# Seconds after which servers have deleted the answers of a batch.
_KEPT = 30 * 24 * 3600.0
_REMEDY = "Delete it; the requests of its batch are then submitted again."


class PendingBatch(msgspec.Struct, frozen=True):
    """A batch whose answers are not yet in the cache.

    Attributes:
        token: random name, also in the batch's metadata.
        url, model: server and model.
        keys: cache keys of its requests (:func:`~kgprobe.models.api.cache.answer_key`), which are also their ids in
            the batch.
        created: time of the submission, in seconds since the epoch.
        file: the server's id of the file of requests; None before it is uploaded.
        id: the server's id of the batch; None if it is not known.
        refresh: True if its answers replace cached ones.
    """

    token: str
    url: str
    model: str
    keys: list[str]
    created: float
    file: str | None = None
    id: str | None = None
    refresh: bool = False


class PendingBatches:
    """Folder of pending batches, readable only by its owner."""

    def __init__(self, folder: Path) -> None:
        """Use a folder; it is created for the first batch."""
        self._folder = folder

    @contextmanager
    def submitting(self) -> Iterator[None]:
        """Hold the lock of submissions: without it, another program would take an unfinished one for a killed one."""
        make_folder(self._folder)
        with filelock.FileLock(self._folder / "lock"):
            yield

    def with_any(self, keys: Collection[str]) -> list[PendingBatch]:
        """Return the batches that contain any of these requests, oldest first; delete files of forgotten batches.

        Raises:
            KgprobeError: A file cannot be read.
        """
        batches = []
        for path in self._folder.glob("*.json"):
            pending = read_json(path, PendingBatch, _REMEDY)
            if time.time() - pending.created > _KEPT:
                path.unlink(missing_ok=True)
            elif any(key in keys for key in pending.keys):
                batches.append(pending)
        return sorted(batches, key=lambda pending: pending.created)

    def put(self, pending: PendingBatch) -> None:
        """Store a batch durably, replacing its earlier state.

        Raises:
            KgprobeError: The file cannot be written.
        """
        make_folder(self._folder)
        with (
            replacing(self.path(pending), durable=True) as unfinished,
            open(unfinished, "wb", opener=owner_only) as file,
        ):
            file.write(msgspec.json.encode(pending))
            file.flush()

    def settle(self, pending: PendingBatch, settled: Collection[str], is_cached: Callable[[str], bool]) -> None:
        """Remove requests from a batch, and cached ones unless it refreshes them; forget a batch without requests.

        Args:
            settled: keys of the requests to remove.
            is_cached: returns True if the answer to a request is in the cache.
        """
        rest = [key for key in pending.keys if key not in settled and (pending.refresh or not is_cached(key))]
        if rest:
            self.put(msgspec.structs.replace(pending, keys=rest))
        else:
            self.forget(pending)

    def forget(self, pending: PendingBatch) -> None:
        """Delete the file of a batch.

        Raises:
            KgprobeError: The file cannot be deleted.
        """
        path = self.path(pending)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise KgprobeError(f"{path} cannot be deleted: {error.strerror}. {_REMEDY}") from error

    def path(self, pending: PendingBatch) -> Path:
        """Return the file of a batch."""
        return self._folder / f"{pending.token}.json"
