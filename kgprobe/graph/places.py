"""What an engine says of a statement that it refuses, with the place shown: line, column, and a caret under it."""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import exceptions as bolt

from kgprobe.errors import KgprobeError

# As the engines say where, and what their first column is.
_NEO4J = re.compile(r"(?P<what>.*?) ?\(line (?P<line>\d+), column (?P<column>\d+)(?: \(offset: \d+\))?\)", re.DOTALL)
_ARCADEDB = re.compile(r"(?P<what>[^\n]*?) at line (?P<line>\d+), column (?P<column>\d+)")
_ARCADEDB_PARSER = re.compile(r"Syntax error at line (?P<line>\d+):(?P<column>\d+) - (?P<what>[^\n]*)")
_FORMS = ((_NEO4J, 1), (_ARCADEDB_PARSER, 0), (_ARCADEDB, 0))

# Of a long line, as much as fits a terminal.
_SHOWN = 74


@contextmanager
def showing_the_place(address: str, text: str) -> Iterator[None]:
    """Around whatever runs a statement that a user wrote.

    Raises:
        KgprobeError: the engine refuses the statement; the message shows where.
    """
    try:
        yield
    except bolt.ClientError as error:
        if not (error.code or "").startswith("Neo.ClientError.Statement."):
            raise
        raise KgprobeError(f"The graph at {address} reports: {with_place(error.message or '', text)}") from error


def with_place(message: str, text: str) -> str:
    """A message of either engine; where it says a place, with the line of the statement and a caret under it.

    >>> print(with_place("Unexpected input 'RETUN' at line 1, column 8", "MATCH n RETUN n"))
    Unexpected input 'RETUN' (line 1, column 9)
      MATCH n RETUN n
              ^
    """
    for form, first in _FORMS:
        found = form.match(message)
        if found is None:
            continue
        line, column = int(found["line"]), int(found["column"]) - first
        lines = text.split("\n")
        said = f"{found['what'].strip()} (line {line}, column {column + 1})"
        if 1 <= line <= len(lines) and 0 <= column <= len(lines[line - 1]):
            said += "\n" + _pointed_at(lines[line - 1].rstrip("\r"), column)
        return said
    return message.strip().partition("\n")[0] or "the statement is refused, and no reason is given"


def _pointed_at(line: str, column: int) -> str:
    begin = max(0, min(column - _SHOWN // 2, len(line) - _SHOWN))
    shown = line[begin : begin + _SHOWN].replace("\t", " ")
    before, after = "…" if begin else "", "…" if begin + _SHOWN < len(line) else ""
    return f"  {before}{shown}{after}\n  {' ' * _cells(before + shown[: column - begin])}^"


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
