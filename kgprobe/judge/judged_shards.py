"""A judged graph, made in shards: files of columns that exist as a whole or not at all.

For millions of facts, as measurements are for thousands. A killed process resumes with the first missing shard. Several
processes, or machines with a common disk, can each make a share of the shards.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
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
    make: Callable[[range], pa.Table],
    *,
    share: ShardShare = WHOLE,
    callbacks: Callbacks = NO_CALLBACKS,
) -> JudgedShards:
    """Make the missing shards in sequence, and wait for shards that other processes make.

    Memory: one shard.

    Args:
        shards: of facts in a fixed order.
        make: returns the rows of the facts in some places, in this order.
        callbacks: ``on_batch`` is called after each shard, ``on_part`` within it if ``make`` reports its progress.
    """

    def make_places(number: int) -> pa.Table:
        places = shards.places(number)
        with callbacks.hearing(len(places)):
            return make(places)

    return finish_shards(folder, config, shards, partial(_make_in_sequence, folder, make_places), share, callbacks)


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


def make_shard(folder: Path, number: int, make: Callable[[], pa.Table]) -> bool:
    """Make a shard and write it atomically, unless another process makes it.

    Shares of two processes can overlap, so each shard has its own lock.

    Args:
        make: returns the shard's rows; not called if the shard exists or another process makes it.

    Returns:
        True if the shard exists now.
    """
    path = shard_path(folder, number)
    lock = path.with_suffix(".lock")
    try:
        with filelock.FileLock(lock, timeout=0):
            if not path.exists():
                table = make()
                with replacing(path) as unfinished:
                    pq.write_table(table, unfinished, compression="zstd")
            # A process that waits for the old lock will see the shard.
            with suppress(OSError):
                lock.unlink()
    except filelock.Timeout:
        return path.exists()
    return True


def missing_shards(folder: Path, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of missing shards."""
    return [number for number in numbers if not shard_path(folder, number).exists()]


def _make_in_sequence(folder: Path, make: Callable[[int], pa.Table], missing: list[int]) -> Generator[int | None]:
    waiting = deque(missing)
    busy = 0
    while waiting:
        number = waiting.popleft()
        if make_shard(folder, number, partial(make, number)):
            busy = 0
            yield number
        else:
            # Another process makes it: check again last, in case that process stops before the end.
            waiting.append(number)
            busy += 1
            yield None
        if busy and busy >= len(waiting):
            time.sleep(LOOK_SECONDS)
