"""N-Triples and Turtle, triple by triple with the line of each, read by pyoxigraph (the extra ``dbpedia``).

DBpedia's dumps are N-Triples, independently of their names: one triple per line. They are parsed in chunks of some
hundred lines; a chunk with an error is parsed line by line, so that a bad line does not affect others. Files with
prefixes are Turtle; a bad statement may invalidate the rest of its line.

N-Triples: https://www.w3.org/TR/n-triples/. Turtle: https://www.w3.org/TR/turtle/.

How often pages are read: a table of a page and a number a line, parted by a tab or by space.
"""

import io
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

from pyoxigraph import Quad, RdfFormat, parse

from kgprobe.base.records import Rejected
from kgprobe.sources.lines import InputFile

from .identifiers import RESOURCE

# Lines that are parsed at once: more make no difference to the speed.
_BLOCK = 500

# Among so many lines of Turtle the first prefix is looked for; comments may go before it.
_HEAD = 200
_DIRECTIVE = re.compile(rb"\s*(?:@prefix|@base|prefix|base)\s", re.IGNORECASE)
_MESSAGE = re.compile(r"Parser error (.*?): (.*?)(?: \(line \d+\))?", re.DOTALL)
_COLUMN = re.compile(r"columns? (\d+)")


def read_triples(file: InputFile) -> Iterator[tuple[int, Quad | Rejected]]:
    """Yield the triples of a file with their lines (in Turtle, the line of the object's end), and rejected lines.

    Lines that are not UTF-8 are rejected. Cost: about 1 µs per triple; memory for some hundred lines.
    """
    return _turtle(file) if _is_turtle(file) else _n_triples(file)


def _is_turtle(file: InputFile) -> bool:
    head = itertools.islice(InputFile(file.path, file.size).lines(), _HEAD)
    return any(isinstance(line, bytes) and _DIRECTIVE.match(line) for _, line in head)


def _n_triples(file: InputFile) -> Iterator[tuple[int, Quad | Rejected]]:
    lines = file.lines()
    while block := list(itertools.islice(lines, _BLOCK)):
        # Only the last line can be broken off, and one that is too long is rare: each ends a part.
        part: list[tuple[int, bytes]] = []
        for number, line in block:
            if isinstance(line, bytes):
                part.append((number, line))
                continue
            yield from _parsed(part)
            yield number, line
            part = []
        yield from _parsed(part)


def _parsed(lines: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, Quad | Rejected]]:
    try:
        quads = list(parse(b"\n".join([line for _, line in lines]), format=RdfFormat.N_TRIPLES))
    except SyntaxError as error:
        if len(lines) == 1:
            yield lines[0][0], Rejected(_reason(error))
            return
    else:
        if len(quads) == len(lines):
            for (number, _), quad in zip(lines, quads, strict=True):
                yield number, quad
            return
        if len(lines) == 1:
            # A comment, an empty line, or one within which there is a carriage return.
            for quad in quads:
                yield lines[0][0], quad
            return
    # An error, or not a triple: bisect the lines to find it.
    middle = len(lines) // 2
    yield from _parsed(lines[:middle])
    yield from _parsed(lines[middle:])


class _Lines:
    """A file of lines, one per call, so that the reader's position is the last line's number."""

    def __init__(self, file: InputFile) -> None:
        self._lines = file.lines()
        self._line = io.BytesIO()
        self.number = 0
        self.rejected: list[tuple[int, Rejected]] = []
        self.broken_off = False

    def read(self, size: int) -> bytes:
        """Return the next line, or the next part of a line longer than this; empty at the end."""
        part = self._line.read(size)
        if not part:
            self._line = io.BytesIO(self._next())
            part = self._line.read(size)
        return part

    def _next(self) -> bytes:
        for number, line in self._lines:
            self.number = number
            if isinstance(line, Rejected):
                self.rejected.append((number, line))
                self.broken_off = self.broken_off or line.broken_off
                continue
            try:
                line.decode()
            except UnicodeDecodeError as error:
                self.rejected.append((number, Rejected(f"not UTF-8: {error.reason} at byte {error.start + 1}")))
                continue
            return line + b"\n"
        return b""


def _turtle(file: InputFile) -> Iterator[tuple[int, Quad | Rejected]]:
    lines = _Lines(file)
    quads = iter(parse(cast("BinaryIO", lines), format=RdfFormat.TURTLE))
    last = 0
    while True:
        read: Quad | Rejected | None = None
        try:
            read = next(quads, None)
            ended = read is None
        except SyntaxError as error:
            ended = False
            # The rest of a broken statement is also invalid; a truncated file ends in one.
            if lines.number != last and not lines.broken_off:
                read = Rejected(_reason(error))
            last = lines.number
        yield from lines.rejected
        lines.rejected.clear()
        if read is not None:
            yield lines.number, read
        if ended:
            return


def _reason(error: SyntaxError) -> str:
    message = str(error)
    if "nvalid UTF-8" in message:
        return "not UTF-8"
    matched = _MESSAGE.fullmatch(message)
    if matched is None:
        return f"no triple: {message}"
    column = _COLUMN.search(matched[1])
    return f"no triple: {matched[2][:1].lower()}{matched[2][1:]}{f', column {column[1]}' if column else ''}"


def read_popularity(file: InputFile) -> Iterator[tuple[int, tuple[str, float] | Rejected]]:
    """Yield the rows: line, and id with number. A page is named by its title, its id (``dbr:Paris``) or its IRI.

    Blank lines and lines that begin with ``#`` are none; nor is the first where its number is none: a header.
    """
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line
            continue
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            yield number, Rejected(f"not UTF-8: {error.reason} at byte {error.start + 1}")
            continue
        if not text or text.startswith("#"):
            continue
        name, _, count = text.rpartition("\t") if "\t" in text else text.rpartition(" ")
        views = _count(count)
        if views is not None and name.strip():
            yield number, (_id(name.strip()), views)
        elif number > 1:
            yield number, Rejected(f"{text[:80]!r} is not a page followed by a count")


def _count(text: str) -> float | None:
    try:
        views = float(text)
    except ValueError:
        return None
    return views if math.isfinite(views) and views >= 0 else None


def _id(name: str) -> str:
    if name.startswith(("dbr:", "dbr-")):
        return name
    name = name.removeprefix("<").removesuffix(">").removeprefix(RESOURCE)
    return f"dbr:{name.replace(' ', '_')}"
