"""Lines on disk in partitions by the hash of a key, so that all lines of a key can be read together.

Joining files in different orders needs memory for one side, or sorting. Here, lines go into one of many files by a hash
of their key (the partitioning of a Grace hash join: Kitsuregawa, Tanaka, Moto-oka, 1983), and one file at a time fits
into memory. Writing and reading are linear.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from kgprobe.base.errors import KgprobeError

# Lines that wait to be written, all files together: some tens of megabytes.
_WAITING = 200_000


class Partitions:
    """Lines by key, in files of a folder. The same lines in the same order are always given in the same order.

    Memory: that of ``_WAITING`` lines while it is written; one file while it is read.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._paths = [folder / f"{number:04}" for number in range(count)]
        self._lines: list[list[str]] = [[] for _ in range(count)]
        self._count = count
        self._waiting = 0
        self._read = 0
        with writing(folder):
            folder.mkdir()

    def add(self, key: str, line: str) -> None:
        """Add a line of a key."""
        self._lines[crc32(key.encode()) % self._count].append(line)
        self._waiting += 1
        if self._waiting >= _WAITING:
            self.write()

    def write(self) -> None:
        """Flush the buffers: before reading, and when they are large."""
        for path, lines in zip(self._paths, self._lines, strict=True):
            if lines:
                with writing(path), path.open("a", encoding="utf-8", newline="\n") as file:
                    file.writelines(lines)
                lines.clear()
        self._waiting = 0

    def __iter__(self) -> Iterator[list[str]]:
        """Yield parts one after the other: all lines of the keys in a part, without line breaks."""
        self._read = 0
        for number, path in enumerate(self._paths, start=1):
            if path.exists():
                # Not splitlines, for which there are more line breaks than one.
                yield path.read_bytes().decode().removesuffix("\n").split("\n")
            self._read = number

    @property
    def given(self) -> float:
        """Share of the partitions that the latest reading has finished."""
        return self._read / self._count


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of scratch files into messages."""
    try:
        yield
    except OSError as error:
        raise KgprobeError(
            f"{path} cannot be written: {error.strerror}. While a load reads, it keeps about as much as the unpacked"
            " input there; KGPROBE_HOME names another place."
        ) from error
