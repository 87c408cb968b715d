"""A judged graph, made in shards: files of columns that exist as a whole or not at all.

For millions of facts, as measurements are for thousands. A killed process resumes with the first missing shard. Several
processes, or machines with a common disk, can each make a share of the shards.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.answers.callbacks import NO_CALLBACKS, Batch, Callbacks, Start, Stop
from kgprobe.answers.settings import claim
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import make_folder, replacing
from kgprobe.models.computing import timing_the_device
from kgprobe.running.ahead import ask_ahead

# Name of such a folder in messages.
JUDGED_GRAPH = "judged graph"
SHARDS = "shards"
# Target number of shards; a killed process loses one.
_SHARDS = 1000
_FEWEST, _MOST = 500, 50_000
# Time for another process to write the settings of a folder, in seconds.
_CLAIM_SECONDS = 60
# Interval between checks for shards of other processes, in seconds.
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ShardShare:
    """The shards that one process makes: every ``of``-th, from the ``number``-th on."""

    number: int = 1
    of: int = 1

    @classmethod
    def read(cls, text: str) -> "ShardShare":
        """Parse a share such as ``2/4``."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ArgumentError("shard", f"is {text!r}; I/N is expected, such as 1/4, with I from 1 to N.")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


# All shards.
WHOLE = ShardShare()


@dataclass(frozen=True, slots=True)
class Shards:
    """Division of facts into shards of equal size, except for the last.

    >>> shards = shards_of(1200)
    >>> shards.count, shards.places(2)
    (3, range(1000, 1200))
    """

    facts: int
    size: int

    @property
    def count(self) -> int:
        """Number of shards."""
        return math.ceil(self.facts / self.size)

    def places(self, number: int) -> range:
        """Return the places of a shard's facts."""
        return range(number * self.size, min(self.facts, (number + 1) * self.size))

    def numbers_of(self, share: ShardShare) -> range:
        """Return the numbers of a share's shards."""
        return range(share.number - 1, self.count, share.of)

    def facts_in(self, numbers: Iterable[int]) -> int:
        """Return the number of facts in some shards."""
        return sum(len(self.places(number)) for number in numbers)


def shards_of(facts: int) -> Shards:
    """Return a division into about a thousand shards of 500 to 50,000 facts."""
    return Shards(facts, min(_MOST, max(_FEWEST, math.ceil(facts / _SHARDS))))


@dataclass(frozen=True, slots=True)
class JudgedShards:
    """Progress of judging a graph.

    Attributes:
        done: number of facts in finished shards.
        device_waited: share of this call's judging in which the device waited, in [0, 1]; None if no model of this
            process computed, see :mod:`kgprobe.models.computing`.
    """

    facts: int
    done: int
    shards: int
    shards_done: int
    stopped: Stop
    device_waited: float | None = field(default=None, compare=False)

    @property
    def complete(self) -> bool:
        """True if all shards are finished."""
        return self.shards_done == self.shards


def shard_path(folder: Path, number: int) -> Path:
    """Return the path of a shard."""
    return folder / SHARDS / f"{number:05}.parquet"


def judge_shards(
    folder: Path,
    config: Mapping[str, Any],
    shards: Shards,
    judge: Callable[[range], Callable[[], pa.Table]],
    *,
    ahead: bool = False,
    share: ShardShare = WHOLE,
    callbacks: Callbacks = NO_CALLBACKS,
) -> JudgedShards:
    """Make the missing shards in sequence, and wait for shards that other processes make.

    Memory: one shard, or three with ``ahead``.

    Args:
        shards: of facts in a fixed order.
        judge: judges the facts in some places, and returns a function that makes their rows, in this order.
        ahead: True to draw the next shard and to write the one before while the device computes, see
            :mod:`kgprobe.running.ahead`. Does not affect the rows.
        callbacks: ``on_batch`` is called after each shard, ``on_part`` within it if ``judge`` reports its progress.
    """

    def judge_places(number: int) -> Callable[[], pa.Table]:
        places = shards.places(number)
        with callbacks.hearing(len(places)):
            return judge(places)

    make_all = partial(_make_in_sequence, folder, judge_places, ahead)
    return finish_shards(folder, config, shards, make_all, share, callbacks)


def finish_shards(
    folder: Path,
    config: Mapping[str, Any],
    shards: Shards,
    make_all: Callable[[list[int]], Generator[int | None]],
    share: ShardShare,
    callbacks: Callbacks,
) -> JudgedShards:
    """Make the missing shards of a share, and report the progress.

    Args:
        make_all: makes the shards of these numbers; yields the number of each finished shard, or None while it waits.
    """
    stopped = Stop.DONE
    with _lock_share(folder, config, share):
        missing = missing_shards(folder, shards.numbers_of(share))
        total = shards.facts_in(shards.numbers_of(share))
        done = total - shards.facts_in(missing)
        callbacks.on_start(Start(shards.facts, done, total))
        with timing_the_device() as timed, closing(make_all(missing)) as finished:
            for number in finished:
                if number is not None:
                    done += len(shards.places(number))
                    callbacks.on_batch(Batch((), done))
                if done < total and callbacks.should_stop():
                    stopped = Stop.ASKED_TO
                    break
    # With the shards of all processes.
    missing = missing_shards(folder, range(shards.count))
    facts = shards.facts - shards.facts_in(missing)
    return JudgedShards(shards.facts, facts, shards.count, shards.count - len(missing), stopped, timed.waited)


@contextmanager
def _lock_share(folder: Path, config: Mapping[str, Any], share: ShardShare) -> Iterator[None]:
    """Create the folder with its settings, or compare them, and lock the share for this process."""
    make_folder(folder / SHARDS)
    with filelock.FileLock(folder / "lock", timeout=_CLAIM_SECONDS):
        claim(folder, config, JUDGED_GRAPH)
    try:
        with filelock.FileLock(folder / f"lock-{share.number}-of-{share.of}", timeout=0):
            yield
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process makes the share {share} of {folder}.") from error


def make_shard(folder: Path, number: int, judge: Callable[[], Callable[[], pa.Table]]) -> Callable[[], None] | None:
    """Judge the facts of a shard, and return the function that writes it; None while another process makes it.

    Shares of two processes can overlap, so each shard has its own lock, until it is written.

    Args:
        judge: returns the function that makes the shard's rows; not called if the shard exists.
    """
    path = shard_path(folder, number)
    lock = path.with_suffix(".lock")
    with ExitStack() as stack:
        try:
            stack.enter_context(filelock.FileLock(lock, timeout=0, thread_local=False))
        except filelock.Timeout:
            return (lambda: None) if path.exists() else None
        stack.callback(_remove, lock)
        make = None if path.exists() else judge()
        return partial(_write, path, make, stack.pop_all())


def _write(path: Path, make: Callable[[], pa.Table] | None, lock: ExitStack) -> None:
    """Write a shard atomically, unless it exists, and release its lock."""
    with lock:
        if make is not None:
            table = make()
            with replacing(path) as unfinished:
                pq.write_table(table, unfinished, compression="zstd")


def _remove(lock: Path) -> None:
    """Remove the file of a lock; a process that waits for it will see the shard."""
    with suppress(OSError):
        lock.unlink()


def missing_shards(folder: Path, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of missing shards."""
    return [number for number in numbers if not shard_path(folder, number).exists()]


def _make_in_sequence(
    folder: Path, judge: Callable[[int], Callable[[], pa.Table]], ahead: bool, missing: list[int]
) -> Generator[int | None]:
    waiting, begun = deque(missing), deque[int]()
    busy = 0

    def begin() -> Callable[[], Callable[[], None] | None] | None:
        if not waiting:
            return None
        begun.append(waiting.popleft())
        return partial(make_shard, folder, begun[-1], partial(judge, begun[-1]))

    with ThreadPoolExecutor(1) as writer, closing(ask_ahead(begin, ahead=ahead)) as writes:
        written: Future[None] | None = None
        for write in writes:
            number = begun.popleft()
            if write is None:
                # Another process makes it: check again last, in case that process stops before the end.
                waiting.append(number)
                busy += 1
                yield None
            else:
                busy = 0
                before, written = written, writer.submit(write)
                if before is not None:
                    before.result()
                if not ahead:
                    written.result()
                yield number
            if busy and busy >= len(waiting):
                time.sleep(LOOK_SECONDS)
        if written is not None:
            written.result()
