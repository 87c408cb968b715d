"""A sweep: all facts of a graph, part by part, each part a file of columns that is there whole or not at all.

What a measurement is for thousands of facts, this is for millions. A file that is there is done, so a sweep that was
killed at any moment goes on with the first that is missing; and several processes, or machines that share a disk, may
each make their share of them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.asking.claims import claim
from kgprobe.asking.watch import NOBODY, Batch, Start, Stop, Watch
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import make_folder, replacing
from kgprobe.progress import hearing_shares

# What a folder of a sweep holds, in messages.
SWEEP = "sweep"
FOLDER = "shards"
# About so many shards, whatever the graph; a killed sweep loses one.
_SHARDS = 1000
_FEWEST, _MOST = 500, 50_000
# How long somebody else may take to say what a folder is for, in seconds.
_CLAIM_SECONDS = 60


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

    >>> Shards(1200).count, Shards(1200).places(2)
    (3, range(1000, 1200))
    """

    facts: int

    @property
    def size(self) -> int:
        """Facts in a shard."""
        return min(_MOST, max(_FEWEST, math.ceil(self.facts / _SHARDS)))

    @property
    def count(self) -> int:
        """Of shards."""
        return math.ceil(self.facts / self.size)

    def places(self, number: int) -> range:
        """The places of a shard's facts."""
        return range(number * self.size, min(self.facts, (number + 1) * self.size))


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
    return folder / FOLDER / f"{number:05}.parquet"


def sweep(
    folder: Path,
    config: Mapping[str, Any],
    facts: int,
    make: Callable[[range], pa.Table],
    *,
    share: Share | None = None,
    watch: Watch = NOBODY,
) -> Swept:
    """Make the shards that are missing, one after the other.

    Cost and memory: those of one shard at a time.

    Args:
        config: what the answers depend on; kept with them.
        facts: how many there are, in an order that is always the same.
        make: gives the rows of the facts in some places, in this order.
        share: of the shards; None makes all.
        watch: its ``on_batch`` is called after each shard, its ``on_part`` while one is made, where ``make`` counts.

    Raises:
        KgprobeError: the folder belongs to another sweep, somebody else makes this share, or it cannot be written.
    """
    chosen = share or Share()
    shards = Shards(facts)
    claim_sweep(folder, config)
    try:
        with filelock.FileLock(folder / f"lock-{chosen.number}-of-{chosen.of}", timeout=0):
            return _sweep(folder, shards, make, chosen, watch)
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process makes the share {chosen} of {folder} already.") from error


def claim_sweep(folder: Path, config: Mapping[str, Any]) -> None:
    """Make the folder of a sweep, or see that it is of the same.

    Raises:
        KgprobeError: it belongs to another one, or it cannot be written.
    """
    make_folder(folder / FOLDER)
    with filelock.FileLock(folder / "lock", timeout=_CLAIM_SECONDS):
        claim(folder, config, SWEEP)


def write_shard(folder: Path, number: int, table: pa.Table) -> None:
    """Write a shard, whole or not at all."""
    with replacing(shard_path(folder, number)) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def missing_shards(folder: Path, shards: Shards, share: Share) -> list[int]:
    """The shards of a share that are not there."""
    own = range(share.number - 1, shards.count, share.of)
    return [number for number in own if not shard_path(folder, number).exists()]


def how_far(folder: Path, shards: Shards, stopped: Stop) -> Swept:
    """How far a sweep is, with everybody's shards."""
    there = [number for number in range(shards.count) if shard_path(folder, number).exists()]
    done = sum(len(shards.places(number)) for number in there)
    return Swept(shards.facts, done, shards.count, len(there), stopped)


def _sweep(folder: Path, shards: Shards, make: Callable[[range], pa.Table], share: Share, watch: Watch) -> Swept:
    own = sum(len(shards.places(number)) for number in range(share.number - 1, shards.count, share.of))
    missing = missing_shards(folder, shards, share)
    done = own - sum(len(shards.places(number)) for number in missing)
    watch.on_start(Start(shards.facts, done, own))
    stopped = Stop.DONE
    for number in missing:
        places = shards.places(number)

        def heard(part: float, size: int = len(places)) -> None:
            watch.on_part(part * size)

        with hearing_shares(heard):
            table = make(places)
        write_shard(folder, number, table)
        done += len(places)
        watch.on_batch(Batch((), done))
        if watch.should_stop() and number != missing[-1]:
            stopped = Stop.ASKED_TO
            break
    return how_far(folder, shards, stopped)
