"""A sweep: all facts of a graph, part by part, each part a file of columns that is there whole or not at all.

What a measurement is for thousands of facts, this is for millions. A file that is there is done, so a sweep that was
killed at any moment goes on with the first that is missing; and several processes, or machines that share a disk, may
each make their share of them.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import make_folder, replacing
from kgprobe.progress import hearing_shares
from kgprobe.running.callbacks import NO_CALLBACKS, Batch, Callbacks, Start, Stop
from kgprobe.running.claims import claim

# What such a folder holds, in messages.
SWEEP = "sweep"
SHARDS = "shards"
# About so many shards, whatever the graph; a killed sweep loses one.
_SHARDS = 1000
_FEWEST, _MOST = 500, 50_000
# How long somebody else may take to say what a folder is for, in seconds.
_CLAIM_SECONDS = 60
# Between two looks at shards that other processes make.
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Share:
    """Which of the shards one process makes: every ``of``-th, from the ``number``-th on."""

    number: int = 1
    of: int = 1

    @classmethod
    def read(cls, text: str) -> "Share":
        """Out of ``2/4``.

        Raises:
            ArgumentError: it is none.
        """
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ArgumentError("shard", f"is {text!r}; I/N is expected, such as 1/4, with I from 1 to N.")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class Shards:
    """Into which parts facts are cut: the same number of facts each, but for the last.

    >>> shards = shards_of(1200)
    >>> shards.count, shards.places(2)
    (3, range(1000, 1200))

    Attributes:
        facts: how many there are.
        size: how many of them are in a shard.
    """

    facts: int
    size: int

    @property
    def count(self) -> int:
        """Of shards."""
        return math.ceil(self.facts / self.size)

    def places(self, number: int) -> range:
        """The places of a shard's facts."""
        return range(number * self.size, min(self.facts, (number + 1) * self.size))

    def numbers_of(self, share: Share) -> range:
        """Those of a share."""
        return range(share.number - 1, self.count, share.of)

    def facts_of(self, share: Share) -> int:
        """How many facts a share has."""
        return sum(len(self.places(number)) for number in self.numbers_of(share))


def shards_of(facts: int) -> Shards:
    """So large that some of them are soon done, and so few that a folder can hold them: about a thousand."""
    return Shards(facts, min(_MOST, max(_FEWEST, math.ceil(facts / _SHARDS))))


@dataclass(frozen=True, slots=True)
class Swept:
    """How far a sweep came.

    Attributes:
        facts: how many it is of.
        done: how many of them lie in shards that are there.
        shards, shards_done: likewise.
        stopped: why it ended this time.
    """

    facts: int
    done: int
    shards: int
    shards_done: int
    stopped: Stop

    @property
    def complete(self) -> bool:
        """Whether all facts are done."""
        return self.shards_done == self.shards


def shard_path(folder: Path, number: int) -> Path:
    """Where a shard lies."""
    return folder / SHARDS / f"{number:05}.parquet"


def sweep(
    folder: Path,
    config: Mapping[str, Any],
    shards: Shards,
    make: Callable[[range], pa.Table],
    *,
    share: Share | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> Swept:
    """Make the shards that are missing, one after the other; those that other processes make are waited for.

    Cost and memory: those of one shard at a time.

    Args:
        config: what the answers depend on; kept with them.
        shards: of facts in an order that is always the same.
        make: gives the rows of the facts in some places, in this order.
        share: of the shards; None makes all.
        watch: its ``on_batch`` is called after each shard, its ``on_part`` while one is made, where ``make`` counts.

    Raises:
        KgprobeError: the folder belongs to another sweep, somebody else makes this share, or it cannot be written.
    """
    chosen = share or Share()
    with claimed(folder, config, chosen):
        return _sweep(folder, shards, make, chosen, callbacks)


@contextmanager
def claimed(folder: Path, config: Mapping[str, Any], share: Share) -> Iterator[None]:
    """Make the folder of a sweep, or see that it is of the same; a share of it is one process's alone meanwhile.

    Raises:
        KgprobeError: it belongs to another sweep, somebody else makes this share, or it cannot be written.
    """
    make_folder(folder / SHARDS)
    with filelock.FileLock(folder / "lock", timeout=_CLAIM_SECONDS):
        claim(folder, config, SWEEP)
    try:
        with filelock.FileLock(folder / f"lock-{share.number}-of-{share.of}", timeout=0):
            yield
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process makes the share {share} of {folder} already.") from error


def make_shard(folder: Path, number: int, make: Callable[[], pa.Table]) -> bool:
    """Make and write a shard, whole or not at all, unless another process does.

    Shares of two processes can overlap, so each shard has a lock of its own.

    Args:
        make: gives the shard's rows; not called where the shard is there, or another process makes it.

    Returns:
        whether the shard is there now.
    """
    path = shard_path(folder, number)
    lock = path.with_suffix(".lock")
    try:
        with filelock.FileLock(lock, timeout=0):
            if not path.exists():
                table = make()
                with replacing(path) as unfinished:
                    pq.write_table(table, unfinished, compression="zstd")
            # A process that waits for the old lock finds the shard.
            with suppress(OSError):
                lock.unlink()
    except filelock.Timeout:
        return path.exists()
    return True


def missing_shards(folder: Path, numbers: Iterable[int]) -> list[int]:
    """Those of some shards that are not there. Cost: one look at each."""
    return [number for number in numbers if not shard_path(folder, number).exists()]


def how_far(folder: Path, shards: Shards, stopped: Stop) -> Swept:
    """How far a sweep is, with everybody's shards."""
    there = [number for number in range(shards.count) if shard_path(folder, number).exists()]
    done = sum(len(shards.places(number)) for number in there)
    return Swept(shards.facts, done, shards.count, len(there), stopped)


def _sweep(
    folder: Path, shards: Shards, make: Callable[[range], pa.Table], share: Share, callbacks: Callbacks
) -> Swept:
    own = shards.facts_of(share)
    missing = deque(missing_shards(folder, shards.numbers_of(share)))
    done = own - sum(len(shards.places(number)) for number in missing)
    callbacks.on_start(Start(shards.facts, done, own))
    busy = 0
    while missing:
        number = missing.popleft()
        places = shards.places(number)
        if make_shard(folder, number, partial(_heard, make, places, callbacks)):
            busy = 0
            done += len(places)
            callbacks.on_batch(Batch((), done))
        else:
            # Another process makes it: it comes last, in case that process ends before it is done.
            missing.append(number)
            busy += 1
        if missing and callbacks.should_stop():
            return how_far(folder, shards, Stop.ASKED_TO)
        if busy and busy >= len(missing):
            time.sleep(LOOK_SECONDS)
    return how_far(folder, shards, Stop.DONE)


def _heard(make: Callable[[range], pa.Table], places: range, callbacks: Callbacks) -> pa.Table:
    """Make rows while ``callbacks`` hears how far they are."""
    with hearing_shares(lambda part: callbacks.on_part(part * len(places))):
        return make(places)
