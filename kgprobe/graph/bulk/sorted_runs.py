"""External sorting of pairs of key and value: sorted runs on the disk, merged by ranges of keys."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Values = NDArray[np.int64]

# Number of pairs in a run, and in a range while merging.
_AT_ONCE = 4_000_000
_SAMPLES = 1_000


class SortedRuns:
    """Pairs that are added in any order and read sorted by key and value.

    Disk space: 16 bytes per pair. Memory: two or three times four million pairs.
    """

    def __init__(self, folder: Path, name: str, at_once: int = _AT_ONCE) -> None:
        self._path = folder / name
        self._at_once = at_once
        self._waiting: list[tuple[Keys, Values]] = []
        self._count = 0
        self._runs: list[int] = []
        self._file = self._path.open("wb")

    def add(self, keys: Keys, values: Values) -> None:
        """Add pairs."""
        self._waiting.append((keys, values))
        self._count += len(keys)
        if self._count >= self._at_once:
            self._write()

    def _write(self) -> None:
        keys = np.concatenate([keys for keys, _ in self._waiting])
        values = np.concatenate([values for _, values in self._waiting])
        order = np.lexsort((values, keys))
        keys[order].tofile(self._file)
        values[order].tofile(self._file)
        self._runs.append(len(keys))
        self._waiting, self._count = [], 0

    def merged(self) -> Iterator[tuple[Keys, Values]]:
        """Yield all pairs in ranges of keys, and delete the file; no pairs can be added afterwards."""
        if self._count:
            self._write()
        self._file.close()
        try:
            runs: list[tuple[Keys, Values]] = []
            offset = 0
            for count in self._runs:
                keys = np.memmap(self._path, np.uint64, "r", offset, (count,))
                values = np.memmap(self._path, np.int64, "r", offset + 8 * count, (count,))
                runs.append((keys, values))
                offset += 16 * count
            yield from self._ranges(runs)
        finally:
            self._path.unlink()

    def _ranges(self, runs: list[tuple[Keys, Values]]) -> Iterator[tuple[Keys, Values]]:
        if not runs:
            return
        parts = -(-sum(self._runs) // self._at_once)
        samples = np.sort(np.concatenate([keys[:: max(1, len(keys) // _SAMPLES)] for keys, _ in runs]))
        bounds = np.unique(samples[np.arange(1, parts) * len(samples) // parts])
        begins = [0] * len(runs)
        for bound in [*bounds, None]:
            ends = [len(keys) if bound is None else int(np.searchsorted(keys, bound)) for keys, _ in runs]
            slices = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
            keys = np.concatenate([run[0][part] for run, part in zip(runs, slices, strict=True)])
            values = np.concatenate([run[1][part] for run, part in zip(runs, slices, strict=True)])
            order = np.lexsort((values, keys))
            yield keys[order], values[order]
            begins = ends
