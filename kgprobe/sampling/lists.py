"""Many lists of numbers as two arrays, in memory or mapped from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Lists(Generic[Number]):
    """Many lists of numbers, one behind the other.

    >>> lists = Lists(np.array([0, 2, 2]), np.array([7, 8]))
    >>> lists[0], lists[1]
    (array([7, 8]), array([], dtype=int64))

    Attributes:
        starts: where each begins, and behind them where the last one ends, shape (lists + 1,).
        values: of all lists.
    """

    starts: Int64s
    values: NDArray[Number]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> NDArray[Number]:
        return self.values[self.starts[number] : self.starts[number + 1]]

    def lengths(self, numbers: NDArray[Any]) -> Int64s:
        """How long these lists are."""
        lengths: Int64s = self.starts[numbers + 1] - self.starts[numbers]
        return lengths

    def places(self, numbers: NDArray[Any]) -> tuple[Int64s, Int64s]:
        """Where the values of these lists lie, one list behind the other; and how long each is."""
        lengths = self.lengths(numbers)
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        return np.repeat(self.starts[numbers] - ends + lengths, lengths) + np.arange(total), lengths

    def sums(self, numbers: NDArray[Any], of: Int64s) -> Int64s:
        """For each of these lists of numbers of something, the sum of ``of`` over its values."""
        places, lengths = self.places(numbers)
        ends = np.cumsum(lengths)
        # Where it runs over, differences are right nevertheless.
        running = np.concatenate([[0], np.cumsum(of[self.values[places]])])
        sums: Int64s = running[ends] - running[ends - lengths]
        return sums

    def save(self, folder: Path, name: str) -> None:
        """Write them into a folder, as two files."""
        np.save(folder / f"{name}.starts.npy", self.starts)
        np.save(folder / f"{name}.values.npy", self.values)


def lists_of(owners: NDArray[Any], values: NDArray[Number], count: int) -> Lists[Number]:
    """Lists of values by owner; owners ascending, from 0 and below ``count``."""
    return Lists(np.searchsorted(owners, np.arange(count + 1)), values)


def lists_of_rows(rows: Sequence[Sequence[int]], dtype: type[Number]) -> Lists[Number]:
    """Lists as they stand in Python."""
    starts = np.cumsum([0, *map(len, rows)])
    return Lists(starts, np.fromiter((value for row in rows for value in row), dtype=dtype, count=int(starts[-1])))


def mapped_array(folder: Path, name: str) -> NDArray[Any]:
    """An array of a folder, mapped into memory."""
    # As a plain array: the subclass that maps files costs time at each access.
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


def mapped_lists(folder: Path, name: str) -> Lists[Any]:
    """What :meth:`Lists.save` wrote, mapped into memory."""
    return Lists(mapped_array(folder, f"{name}.starts"), mapped_array(folder, f"{name}.values"))
