"""Rows of delimited text (CSV, TSV), read by Python's CSV reader: a quoted cell may contain line breaks.

Quotes follow RFC 4180. The first line break of a file (LF, CRLF or CR) ends its rows; a break of another kind outside
quotes is an error of its row. A row that cannot be read is rejected with all lines that may belong to it, so that no
part of it is taken for another row.
"""

import codecs
import csv
import re
from collections import deque
from collections.abc import Iterator

from kgprobe.base.records import Rejected

from . import lines as reading
from .lines import InputFile

# The first line that Excel understands: it names the separator.
_SEPARATOR = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
_BREAK = re.compile(r"\r?\n|\r(?=[^\n])")
# Bytes that are not UTF-8, as `surrogateescape` decodes them.
_ESCAPED = re.compile("[\udc80-\udcff]")
# Characters after an error in which the end of a quoted cell is looked for; the CSV reader's own limit of a cell.
_LONGEST_CELL = 2**17

_REASONS = {
    "expected after": "text follows a closing quote; double the quotes within a cell",
    "new-line character": "an unquoted cell contains a line break unlike those of the file; quote the cell",
    "larger than": f"a cell is longer than {_LONGEST_CELL:,} characters",
}


class _BrokenOffError(Exception):
    """The rest of the file is lost."""


class _Lines:
    """The lines of a file, for the CSV reader: counted, bounded, and with a memory for those read ahead.

    Attributes:
        number: number of the latest line.
        quotes, size: numbers of quotes and characters since the beginning of the row.
        ended: True after the last line.
    """

    def __init__(self, file: InputFile) -> None:
        self._lines = _split(file)
        self._ahead: deque[str] = deque()
        self.number = 0
        self.ended = False
        self.begin_row()

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._ahead.popleft() if self._ahead else next(self._lines, None)
        if line is None:
            self.ended = True
            raise StopIteration
        self.number += 1
        self.quotes += line.count('"')
        self.size += len(line)
        if self.size > reading.LINE_LIMIT:
            raise _BrokenOffError(f"longer than {reading.LINE_LIMIT // 2**20} MiB, the limit for a row")
        return line

    def begin_row(self) -> None:
        """Forget the quotes and characters of the row before."""
        self.quotes = self.size = 0

    def skip_open_cell(self) -> None:
        """Skip the lines up to the end of a quoted cell that may have begun; none if it does not end soon."""
        ahead: list[str] = []
        self.begin_row()
        while self.size <= _LONGEST_CELL and (line := next(self, None)) is not None:
            ahead.append(line)
            if self.quotes % 2:
                return
        self._ahead.extendleft(reversed(ahead))
        self.number -= len(ahead)
        self.ended = False


def read_rows(file: InputFile, delimiter: str) -> Iterator[tuple[int, list[str] | Rejected]]:
    """Yield the first line and the cells of each row; blank lines are rows without cells.

    If the file is damaged, or a quote is not closed, the last item is :class:`Rejected`: all rows after it are lost.
    """
    lines = _Lines(file)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = lines.number + 1
        lines.begin_row()
        try:
            cells = next(reader)
            yield first, _checked(cells)
        except StopIteration:
            return
        except csv.Error as error:
            rejected = _rejected(first, lines, str(error))
            yield first, rejected
            if rejected.broken_off:
                return
        except _BrokenOffError as error:
            yield first, Rejected(f"{error}; this row and all after it are lost", broken_off=True)
            return


def separator_of(file: InputFile) -> str | None:
    """Return the separator that the first line ``sep=;`` of a table for Excel names; None without such a line."""
    try:
        matched = _SEPARATOR.fullmatch(next(_Lines(file), ""))
    except _BrokenOffError:
        return None
    return matched[1] if matched else None


def _split(file: InputFile) -> Iterator[str]:
    """Yield the lines of a file with their breaks, all of the kind of the first one.

    Bytes that are not UTF-8 become surrogates, as in names of files.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    newline, rest = "", ""
    for piece in file.pieces():
        if isinstance(piece, Rejected):
            raise _BrokenOffError(piece.reason.removesuffix("; what follows is lost"))
        rest += decoder.decode(piece)
        if not newline and (line_break := _BREAK.search(rest)):
            newline = line_break[0][-1]
        if newline:
            *whole, rest = rest.split(newline)
            for line in whole:
                yield line + newline
        if len(rest) > reading.LINE_LIMIT:
            raise _BrokenOffError(f"longer than {reading.LINE_LIMIT // 2**20} MiB, the limit for a row")
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest


def _checked(cells: list[str]) -> list[str] | Rejected:
    """Return the cells, unless one has bytes that are not UTF-8."""
    for number, cell in enumerate(cells, start=1):
        if not cell.isascii() and _ESCAPED.search(cell):
            return Rejected(f"not UTF-8: invalid bytes in column {number}; save the table as UTF-8")
    return cells


def _rejected(first: int, lines: _Lines, error: str) -> Rejected:
    """Return the error of a row, after skipping the lines that may belong to it."""
    if lines.ended or ("larger than" in error and lines.quotes):
        return Rejected(
            "a quoted cell of this row is not closed, or is too long; close the quote, and double the quotes within"
            " cells. This row and all after it are lost",
            broken_off=True,
        )
    reason = next((text for part, text in _REASONS.items() if part in error), error)
    if lines.quotes % 2:
        lines.skip_open_cell()
    where = f" (lines {first} to {lines.number})" if lines.number > first else ""
    return Rejected(f"not a row of the table{where}: {reason}")
