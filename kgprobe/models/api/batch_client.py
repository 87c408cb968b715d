"""Client of OpenAI's protocol for batches: files of requests and of answers (``/files``), batches (``/batches``).

A killed program finds its submitted batches again, and pays once: each is a file in a folder next to the answer cache.
The file is written before the batch is created, gets the server's id afterwards, and is deleted when the answers are
cached. A program that is killed in between leaves a file without an id; the batch at the server then has the same token
in its metadata, and the same file.
"""

import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import filelock
import httpx2
import msgspec
import openai

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON, make_folder, owner_only, read_json, replacing
from kgprobe.base.progress import print_message
from kgprobe.base.waiting import LONGEST_ASKED_WAIT, back_off
from kgprobe.models.api.address import Address
from kgprobe.models.api.connection import Declined, Fault, classify_error, fatal_message
from kgprobe.models.api.spending import ApiOptions

# Seconds of the first back-off.
_FIRST_WAIT = 0.5
# Pages, and batches in each, in which an unfinished submission is searched.
_MOST_PAGES, _PAGE = 100, 100
_TOKEN = "kgprobe"  # noqa: S105  (a key of the metadata)
_ID = re.compile(r"[A-Za-z0-9._:/-]{1,200}")
_ENDED = frozenset(("completed", "failed", "expired", "cancelled"))
_UNDER_WAY = frozenset(("validating", "in_progress", "finalizing", "cancelling"))
_TOO_MANY_TOKENS = "token_limit_exceeded"

T = TypeVar("T")


# Seconds after which servers have deleted the answers of a batch.
_KEPT = 30 * 24 * 3600.0
_REMEDY = "Delete it; the requests of its batch are then submitted again."


class PendingBatch(msgspec.Struct, frozen=True):
    """A batch whose answers are not yet in the cache.

    Attributes:
        token: random name, also in the batch's metadata.
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
        """Return the batches that contain any of these requests, oldest first; delete files of forgotten batches."""
        batches = []
        for path in self._folder.glob("*.json"):
            pending = read_json(path, PendingBatch, _REMEDY)
            if time.time() - pending.created > _KEPT:
                path.unlink(missing_ok=True)
            elif any(key in keys for key in pending.keys):
                batches.append(pending)
        return sorted(batches, key=lambda pending: pending.created)

    def put(self, pending: PendingBatch) -> None:
        """Store a batch durably, replacing its earlier state."""
        make_folder(self._folder)
        with (
            replacing(self.path(pending), durable=True) as unfinished,
            open(unfinished, "wb", opener=owner_only) as file,
        ):
            file.write(msgspec.json.encode(pending))
            file.flush()

    def settle(self, pending: PendingBatch, settled: Collection[str], is_cached: Callable[[str], bool]) -> None:
        """Remove requests from a batch, and cached ones unless it refreshes them; forget a batch without requests."""
        rest = [key for key in pending.keys if key not in settled and (pending.refresh or not is_cached(key))]
        if rest:
            self.put(msgspec.structs.replace(pending, keys=rest))
        else:
            self.forget(pending)

    def forget(self, pending: PendingBatch) -> None:
        """Delete the file of a batch."""
        path = self.path(pending)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise KgprobeError(f"{path} cannot be deleted: {error.strerror}. {_REMEDY}") from error

    def path(self, pending: PendingBatch) -> Path:
        """Return the file of a batch."""
        return self._folder / f"{pending.token}.json"


class _Uploaded(msgspec.Struct):
    id: str


class RequestCounts(msgspec.Struct):
    """Numbers of a batch's requests."""

    total: int = 0
    completed: int = 0
    failed: int = 0


class BatchFault(msgspec.Struct):
    """Error of a batch, or of a request in it."""

    code: str | None = None
    message: str | None = None


class _BatchFaults(msgspec.Struct):
    data: list[BatchFault] | None = None


class BatchState(msgspec.Struct):
    """State of a batch at the server."""

    id: str
    status: str
    metadata: dict[str, str] | None = None
    input_file_id: str | None = None
    request_counts: RequestCounts | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _BatchFaults | None = None

    def __post_init__(self) -> None:
        """Write the status as OpenAI does; other servers use capitals."""
        self.status = self.status.lower()

    @property
    def has_ended(self) -> bool:
        """True if the state is final; an unknown status is, if the batch has files of answers."""
        return self.status in _ENDED or (self.is_unknown and bool(self.output_file_id or self.error_file_id))

    @property
    def is_unknown(self) -> bool:
        """True for a status that OpenAI's protocol does not have."""
        return self.status not in _ENDED and self.status not in _UNDER_WAY

    @property
    def faults(self) -> list[BatchFault]:
        """Reasons for which the batch failed."""
        return (self.errors.data if self.errors else None) or []

    @property
    def exceeds_limit(self) -> bool:
        """True if the batch failed because the server has accepted too many tokens already."""
        return any(fault.code == _TOO_MANY_TOKENS for fault in self.faults)


class _Page(msgspec.Struct):
    data: list[BatchState]
    has_more: bool | None = None


class _RefusedError(KgprobeError):
    """Raised when the server declines a request of the protocol."""

    def __init__(self, message: str, declined: Declined) -> None:
        super().__init__(message)
        self.declined = declined


class BatchClient:
    """Client of a server's batch API; every request is repeated after faults."""

    def __init__(
        self, client: openai.OpenAI, address: Address, options: ApiOptions, pending_batches: PendingBatches
    ) -> None:
        self._client = client
        self._address = address
        self._options = options
        self._pending = pending_batches

    def submit(self, pending: PendingBatch, content: bytes, path: str) -> PendingBatch:
        """Create a batch; each step is stored on disk before the next.

        Args:
            content: its requests, one JSON object on each line.
            path: path of the requests, such as ``/chat/completions``.
        """
        self._pending.put(pending)
        try:
            uploaded = self._repeatedly(partial(self._upload, pending, content))
            pending = msgspec.structs.replace(pending, file=self._valid_id(uploaded.id))
            self._pending.put(pending)
            state = self._repeatedly(partial(self._create, pending, path), partial(self._find, pending))
        except _RefusedError as error:
            self._pending.forget(pending)
            raise KgprobeError(self._refusal(error.declined)) from error
        return self._identified(pending, state)

    def completed(self, pending: PendingBatch) -> PendingBatch | None:
        """Return a batch on disk with its id at the server; forget it and return None if it was never created."""
        if pending.id is not None:
            return pending
        state = self._find(pending)
        if state is None:
            self._pending.forget(pending)
            return None
        return self._identified(pending, state)

    def state(self, pending: PendingBatch) -> BatchState:
        """Return the current state of a batch."""

        def retrieve() -> BatchState:
            response = self._client.batches.with_raw_response.retrieve(str(pending.id))
            return msgspec.json.decode(response.content, type=BatchState)

        return self._of_batch(pending, retrieve)

    def lines(self, pending: PendingBatch, file: str) -> Iterator[bytes]:
        """Yield the lines of a file of a batch at the server, which is copied first."""
        with tempfile.TemporaryFile() as copy:

            def download() -> None:
                copy.seek(0)
                copy.truncate()
                with self._client.files.with_streaming_response.content(file) as response:
                    for chunk in response.iter_bytes():
                        copy.write(chunk)

            self._of_batch(pending, download)
            copy.seek(0)
            for line in copy:
                if line.strip():
                    yield line

    def _identified(self, pending: PendingBatch, state: BatchState) -> PendingBatch:
        pending = msgspec.structs.replace(pending, id=self._valid_id(state.id))
        self._pending.put(pending)
        return pending

    def _valid_id(self, value: str) -> str:
        """Return an id of the server, which is stored and shown; raise KgprobeError if it can be something else."""
        if _ID.fullmatch(value) and self._address.without_key(value) == value:
            return value
        raise KgprobeError(f"The batch API of {self._address.name} returned an invalid id.")

    def _upload(self, pending: PendingBatch, content: bytes) -> _Uploaded:
        file = (f"kgprobe-{pending.token}.jsonl", content, "application/jsonl")
        response = self._client.files.with_raw_response.create(file=file, purpose="batch")
        return msgspec.json.decode(response.content, type=_Uploaded)

    def _create(self, pending: PendingBatch, path: str) -> BatchState:
        endpoint: Any = f"/v1{path}"
        response = self._client.batches.with_raw_response.create(
            completion_window="24h",
            endpoint=endpoint,
            input_file_id=str(pending.file),
            metadata={_TOKEN: pending.token},
        )
        return msgspec.json.decode(response.content, type=BatchState)

    def _find(self, pending: PendingBatch) -> BatchState | None:
        """Return the batch that an unfinished submission created; None if it created none."""
        after: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                page = self._repeatedly(partial(self._list, after))
            except _RefusedError as error:
                if not error.declined.missing:
                    raise
                print_message(f"{self._address.name} does not list its batches; the last one may run twice.")
                return None
            for state in page.data:
                if _is_of(state, pending):
                    return state
            last = page.data[-1].id if page.data else None
            # Not all servers tell if there are more; one that ignores `after` repeats its first page.
            if last in (None, after) or not (len(page.data) >= _PAGE if page.has_more is None else page.has_more):
                break
            after = last
        return None

    def _list(self, after: str | None) -> _Page:
        response = self._client.batches.with_raw_response.list(
            limit=_PAGE, after=openai.omit if after is None else after
        )
        return msgspec.json.decode(response.content, type=_Page)

    def _refusal(self, declined: Declined) -> str:
        if not declined.missing:
            return fatal_message(self._address, declined)
        return (
            f"{self._address.url} seems to have no batch API (/files and /batches):"
            f" {self._address.without_key(declined.reason)}. Leave out `batch_api`; the servers of vLLM and llama.cpp"
            " have none."
        )

    def _of_batch(self, pending: PendingBatch, action: Callable[[], T]) -> T:
        """Return the result of an action on a batch that the server should know."""
        try:
            return self._repeatedly(action)
        except _RefusedError as error:
            if not error.declined.missing:
                raise
            reason = self._address.without_key(error.declined.reason)
            day = time.strftime("%Y-%m-%d", time.localtime(pending.created))
            raise KgprobeError(
                f"{self._address.name} does not know batch {pending.id} of {day}: {reason}. Was it submitted with"
                f" another key? Delete {self._pending.path(pending)} to submit its requests again."
            ) from error

    def _repeatedly(self, action: Callable[[], T], instead: Callable[[], T | None] = lambda: None) -> T:
        """Return the result of an action, repeated after faults.

        Args:
            instead: called after a fault; returns the result if the action was successful after all.
        """
        failed = 0
        while True:
            try:
                return action()
            except openai.APIError as error:
                fault = classify_error(error, time.time())
            except httpx2.HTTPError as error:
                fault = Fault(f"the connection broke off: {error}")
            except UNREADABLE_JSON as error:
                fault = Fault(f"the server's answer is invalid: {error}")
            if isinstance(fault, Declined):
                raise _RefusedError(fatal_message(self._address, fault), fault)
            failed += 1
            if fault.wait > LONGEST_ASKED_WAIT:
                raise KgprobeError(f"{self._address.name} asks to wait for {fault.wait:,.0f} seconds.")
            if failed >= self._options.attempts:
                reason = self._address.without_key(fault.reason)
                raise KgprobeError(
                    f"The batch API of {self._address.name} fails: {reason} ({failed} attempts). The address is"
                    f" {self._address.url}."
                )
            time.sleep(max(fault.wait, back_off(failed - 1, _FIRST_WAIT)))
            result = instead()
            if result is not None:
                return result


def _is_of(state: BatchState, pending: PendingBatch) -> bool:
    """Return True if a batch at the server is the one on disk."""
    if pending.file is not None and state.input_file_id == pending.file:
        return True
    return (state.metadata or {}).get(_TOKEN) == pending.token
