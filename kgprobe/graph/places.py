"""Show the place of an error in a Cypher statement: line, column, and a caret under it."""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import exceptions as bolt

from kgprobe.errors import KgprobeError

# Messages of the engines, with the number of their first column below.
_NEO4J = re.compile(r"(?P<fault>.*?) ?\(line (?P<line>\d+), column (?P<column>\d+)(?: \(offset: \d+\))?\)", re.DOTALL)
_ARCADEDB = re.compile(r"(?P<fault>[^\n]*?) at line (?P<line>\d+), column (?P<column>\d+)")
_ARCADEDB_PARSER = re.compile(r"Syntax error at line (?P<line>\d+):(?P<column>\d+) - (?P<fault>[^\n]*)")
_FORMS = ((_NEO4J, 1), (_ARCADEDB_PARSER, 0), (_ARCADEDB, 0))

# Longest part of a line that is shown.
_SHOWN = 74


@contextmanager
def showing_the_place(address: str, text: str) -> Iterator[None]:
    """Convert errors of a user's statement to KgprobeError with the place of the error."""
    try:
        yield
    except bolt.ClientError as error:
        if not (error.code or "").startswith("Neo.ClientError.Statement."):
            raise
        raise KgprobeError(f"The graph at {address} reports: {with_place(error.message or '', text)}") from error


def with_place(message: str, text: str) -> str:
    """Return an engine's message; if it has a place, with the line of the statement and a caret under it.

    >>> print(with_place("Unexpected input 'RETUN' at line 1, column 8", "MATCH n RETUN n"))
    Unexpected input 'RETUN' (line 1, column 9)
      MATCH n RETUN n
              ^
    """
    for form, first in _FORMS:
        match = form.match(message)
        if match is None:
            continue
        line, column = int(match["line"]), int(match["column"]) - first
        lines = text.split("\n")
        shown = f"{match['fault'].strip()} (line {line}, column {column + 1})"
        if 1 <= line <= len(lines) and 0 <= column <= len(lines[line - 1]):
            shown += "\n" + _with_caret(lines[line - 1].rstrip("\r"), column)
        return shown
    return message.strip().partition("\n")[0] or "the statement was refused without a reason"


def _with_caret(line: str, column: int) -> str:
    begin = max(0, min(column - _SHOWN // 2, len(line) - _SHOWN))
    shown = line[begin : begin + _SHOWN].replace("\t", " ")
    before = "…" if begin else ""
    after = "…" if begin + _SHOWN < len(line) else ""
    return f"  {before}{shown}{after}\n  {' ' * _cells(before + shown[: column - begin])}^"


def _cells(text: str) -> int:
    """Return the width of a text in cells of a terminal."""
    letters = itertools.filterfalse(unicodedata.combining, text)
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in letters)
