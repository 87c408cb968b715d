"""CSV files of rows for neo4j-admin: one for rows on a single line, read in parallel, one for rows with line breaks.

Texts are in quotation marks, elements of arrays are separated by a control character. A text can contain any
characters: quotation marks are doubled, backslashes have no meaning. An empty column is a missing value, ``""`` the
empty text. Arrays that are empty, contain only the empty text, or contain the delimiter cannot be written: their column
is empty, and :func:`array_fits` returns False. A row has a place, a number with which it can be read or erased.
"""

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

ARRAY_DELIMITER = "\x1f"
# Form for the command line.
ARRAY_DELIMITER_NAME = "U+001F"

_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))(?:,|\Z)')


def quoted(text: str) -> str:
    """Return a text as a column."""
    return '"' + text.replace('"', '""') + '"'


def optional(text: str | None) -> str:
    """Return a text or a missing value as a column."""
    return "" if text is None else quoted(text)


def array_fits(texts: Sequence[str]) -> bool:
    """Return True if a non-empty array can be written as a column."""
    return ARRAY_DELIMITER not in "".join(texts) and (len(texts) > 1 or texts[0] != "")


def array(texts: Sequence[str]) -> str:
    """Return an array as a column, empty if it cannot be written."""
    return quoted(ARRAY_DELIMITER.join(texts)) if texts and array_fits(texts) else ""


def decimal(number: float | None) -> str:
    """Return a number as a column of Java's doubles."""
    # JSON's names of infinite numbers and NaN are those of Java.
    return "" if number is None else json.dumps(float(number))


def columns_of(row: str) -> list[str]:
    """Return the columns of a row without its line break; missing values become empty texts."""
    columns = []
    position = 0
    while True:
        match = _FIELD.match(row, position)
        if match is None:
            raise ValueError(f"not a row of kgprobe: {row[position : position + 80]!r}")
        quoted_text, plain = match.groups()
        columns.append(plain if quoted_text is None else quoted_text.replace('""', '"'))
        position = match.end()
        if not match[0].endswith(",") or position == len(row) + 1:
            return columns
        if position == len(row):
            return [*columns, ""]


def spill_file(folder: Path) -> IO[bytes]:
    """Return a temporary file in a folder, without a name; closing it deletes it."""
    return TemporaryFile(dir=folder)


# A place is an offset; this bit marks the second file.
_LINES_BIT = 1 << 62


class RowFiles:
    """Two files of rows with the same header."""

    def __init__(self, folder: Path, name: str, header: str) -> None:
        self._folder = folder
        self._header = header.encode() + b"\n"
        self._names = (f"{name}.csv", f"{name}-lines.csv")
        self._open = ExitStack()
        self._files = [self._open.enter_context((folder / each).open("wb+")) for each in self._names]
        for file in self._files:
            file.write(self._header)
        self._ends = [len(self._header)] * 2

    def add(self, rows: Sequence[bytes]) -> NDArray[np.uint64]:
        """Write rows in UTF-8 without final line breaks, and return their places."""
        content = b"\n".join(rows)
        if b"\r" not in content and content.count(b"\n") == max(len(rows) - 1, 0):
            self._files[0].write(content + b"\n" if rows else b"")
            lengths = np.fromiter(map(len, rows), np.uint64, len(rows)) + np.uint64(1)
            ends = np.cumsum(lengths, dtype=np.uint64) + np.uint64(self._ends[0])
            self._ends[0] += int(lengths.sum())
            begins: NDArray[np.uint64] = ends - lengths
            return begins
        places = []
        for row in rows:
            second = b"\n" in row or b"\r" in row
            self._files[second].write(row + b"\n")
            places.append(self._ends[second] | (_LINES_BIT if second else 0))
            self._ends[second] += len(row) + 1
        return np.array(places, np.uint64)

    def read(self, place: int) -> str:
        """Return the row at a place."""
        file = self._files[bool(place & _LINES_BIT)]
        file.seek(place & ~_LINES_BIT)
        row = file.readline()
        # A line break inside quotation marks belongs to the row.
        while row.count(b'"') % 2:
            row += file.readline()
        return row[:-1].decode()

    def erase(self, place: int) -> None:
        """Replace a row by blank lines, which the import skips."""
        length = len(self.read(place).encode())
        file = self._files[bool(place & _LINES_BIT)]
        file.seek(place & ~_LINES_BIT)
        file.write(b"\n" * length)

    def close(self) -> list[str]:
        """Close the files, and return the names of the first and of the second if it has rows."""
        self._open.close()
        if self._ends[1] > len(self._header):
            return list(self._names)
        (self._folder / self._names[1]).unlink()
        return [self._names[0]]

    def remove(self) -> None:
        """Close and delete the files."""
        for name in self.close():
            (self._folder / name).unlink()
