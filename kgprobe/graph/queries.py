"""Find and read the Cypher files by name.

A name is a file's path below ``cypher/`` without extension, such as ``load/facts``. The header of a file, its leading
comment, describes its question, parameters and columns.
"""

import difflib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.statements import split_statements

_FIRST_WORDS = re.compile(r"(.*?)(?:[.;:](?: |$)|(?<=\?)(?: |$)|$)")
# A Cypher statement is never a single word, or words with slashes between them.
_NAME = re.compile(r"[\w-]+(?:/[\w-]+)*")


class QueryError(KgprobeError):
    """A query is not one statement, or lacks parameters; the command line exits with 2."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query file.

    Attributes:
        name: ``group/name``.
        text: content of the file, as it is sent to the engine.
        about: header, without the slashes.
    """

    name: str
    text: str
    about: str

    @property
    def question(self) -> str:
        """Beginning of the header, up to its first full stop, semicolon, colon or question mark."""
        match = _FIRST_WORDS.match(" ".join(self.about.split()))
        return match[1] if match else ""


def about_of(text: str) -> str:
    """Return the header of a query's text, without the slashes."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def query_of_text(text: str, name: str = "The query") -> Query:
    """Return a query from a user's Cypher, without a semicolon at its end.

    Args:
        name: name for messages.

    Raises:
        QueryError: the text is not one statement.
    """
    statements, rest = split_statements(text)
    statements += [rest] if rest else []
    if len(statements) != 1:
        raise QueryError(
            f"{name} contains {len(statements)} statements instead of one; `kgprobe graph shell` runs several."
        )
    return Query(name=name, text=statements[0], about=about_of(text))


def find_query(query: str) -> Query:
    """Return the query of that name, or with that text.

    Raises:
        UnknownNameError: the name is unknown.
        QueryError: the text is not one statement.
    """
    return get_query(query) if _NAME.fullmatch(query) else query_of_text(query)


@cache
def get_query(name: str) -> Query:
    """Return the query of that name.

    Raises:
        UnknownNameError: the name is unknown.
    """
    if name not in query_names():
        raise UnknownNameError(f"Unknown query {name!r}{suggestion(name)}")
    text = files("kgprobe.cypher").joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    return Query(name=name, text=text, about=about_of(text))


def suggestion(name: str) -> str:
    """Return the end of a message about an unknown query: the most similar name, or all names."""
    known = {query.partition("/")[2]: query for query in explore_names()}
    similar = difflib.get_close_matches(name.rpartition("/")[2], known, n=1)
    return f"; did you mean {known[similar[0]]}?" if similar else f"; known are: {', '.join(explore_names())}."


def explore_names() -> tuple[str, ...]:
    """Return the names of the queries for users, sorted; kgprobe uses the others internally."""
    return tuple(name for name in query_names() if name.startswith("explore/"))


@cache
def query_names() -> tuple[str, ...]:
    """Return the names of all queries, sorted."""
    names = []
    for folder in files("kgprobe.cypher").iterdir():
        entries = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        names += [f"{folder.name}/{Path(entry).stem}" for entry in entries if entry.endswith(".cypher")]
    return tuple(sorted(names))
