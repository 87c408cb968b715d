"""Many lists of numbers as two arrays, in memory or mapped from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Lists(Generic[Number]):
    """Many lists of numbers in one array.

    >>> lists = Lists(np.array([0, 2, 2]), np.array([7, 8]))
    >>> lists[0], lists[1]
    (array([7, 8]), array([], dtype=int64))

    ``starts`` has the start of each list, and the end of the last one; shape (lists + 1,).
    """

    starts: Int64s
    values: NDArray[Number]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> NDArray[Number]:
        return self.values[self.starts[number] : self.starts[number + 1]]

    def lengths(self, numbers: NDArray[Any]) -> Int64s:
        """Return the lengths of lists."""
        lengths: Int64s = self.starts[numbers + 1] - self.starts[numbers]
        return lengths

    def places(self, numbers: NDArray[Any]) -> tuple[Int64s, Int64s]:
        """Return the places of the values of lists, in the order of the lists, and the lengths of the lists."""
        lengths = self.lengths(numbers)
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        return np.repeat(self.starts[numbers] - ends + lengths, lengths) + np.arange(total), lengths

    def pairs(self, numbers: NDArray[Any]) -> tuple[Int64s, NDArray[Number]]:
        """Return the values of lists, in the order of the lists, and for each the index of its list in ``numbers``."""
        places, lengths = self.places(numbers)
        return np.repeat(np.arange(len(numbers)), lengths), self.values[places]

    def sums(self, numbers: NDArray[Any], of: Int64s) -> Int64s:
        """Return the sum of ``of[value]`` over the values of each list."""
        places, lengths = self.places(numbers)
        ends = np.cumsum(lengths)
        # If the running sum overflows, differences are still exact.
        running = np.concatenate([[0], np.cumsum(of[self.values[places]])])
        sums: Int64s = running[ends] - running[ends - lengths]
        return sums

    def save(self, folder: Path, name: str) -> None:
        """Write the lists into a folder, as two files."""
        np.save(folder / f"{name}.starts.npy", self.starts)
        np.save(folder / f"{name}.values.npy", self.values)


def lists_of(owners: NDArray[Any], values: NDArray[Number], count: int) -> Lists[Number]:
    """Return lists of values by owner; owners are ascending, from 0 and below ``count``."""
    return Lists(np.searchsorted(owners, np.arange(count + 1)), values)


def places_among(ascending: NDArray[Any], values: NDArray[Any]) -> Int64s:
    """Return the place of each value in an ascending array; -1 where it is missing."""
    if not len(ascending):
        return np.full(len(values), -1)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[places] == values, places, -1)


def lists_of_rows(rows: Sequence[Sequence[int]], dtype: type[Number]) -> Lists[Number]:
    """Convert Python lists."""
    starts = np.cumsum([0, *map(len, rows)])
    return Lists(starts, np.fromiter(chain.from_iterable(rows), dtype=dtype, count=int(starts[-1])))


def mapped_array(folder: Path, name: str) -> NDArray[Any]:
    """Return an array of a folder, mapped into memory."""
    # A plain array is faster to index than numpy's memmap.
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


def mapped_lists(folder: Path, name: str) -> Lists[Any]:
    """Return lists that :meth:`Lists.save` has written, mapped into memory."""
    return Lists(mapped_array(folder, f"{name}.starts"), mapped_array(folder, f"{name}.values"))
