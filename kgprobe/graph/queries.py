"""The Cypher files: found by name, read as text.

A name is a file's path below ``cypher/`` without its ending, such as ``load/facts``. The leading comment of a file says
what it answers, which parameters it takes and what it returns.
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
# No statement of Cypher is a single word, nor two with a slash between them.
_NAME = re.compile(r"[\w-]+(?:/[\w-]+)*")


class QueryError(KgprobeError):
    """A query is not one statement, or not given its parameters; the command line exits with 2."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query file.

    Attributes:
        name: ``group/name``.
        text: the whole file, which is what the engine gets.
        about: its leading comment, without the slashes.
    """

    name: str
    text: str
    about: str

    @property
    def question(self) -> str:
        """What it answers, in the first words of its comment: up to where these pause or end."""
        found = _FIRST_WORDS.match(" ".join(self.about.split()))
        return found[1] if found else ""


def about_of(text: str) -> str:
    """The leading comment of a query's text, without the slashes."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def query_of_text(text: str, name: str = "The query") -> Query:
    """Cypher that a user wrote, without a semicolon at its end.

    Args:
        name: what the user would call it in a message.

    Raises:
        QueryError: it is not one statement.
    """
    ended, rest = split_statements(text)
    statements = [*ended, rest] if rest else ended
    if len(statements) != 1:
        raise QueryError(
            f"{name} holds {len(statements)} statements where one is expected; `kgprobe graph shell` reads several."
        )
    return Query(name=name, text=statements[0], about=about_of(text))


def find_query(query: str) -> Query:
    """The query of that name, or the one that the text is.

    Raises:
        UnknownNameError: it could only be a name, and is none.
        QueryError: it is not one statement.
    """
    return get_query(query) if _NAME.fullmatch(query) else query_of_text(query)


@cache
def get_query(name: str) -> Query:
    """The query of that name.

    Raises:
        UnknownNameError: there is no such file.
    """
    if name not in query_names():
        raise UnknownNameError(f"There is no query {name!r}{suggestion(name)}")
    text = files("kgprobe.cypher").joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    return Query(name=name, text=text, about=about_of(text))


def suggestion(name: str) -> str:
    """The end of a message about a name that no query has: the nearest of those for people, or all of them."""
    called = {known.partition("/")[2]: known for known in explore_names()}
    near = difflib.get_close_matches(name.rpartition("/")[2], called, n=1)
    return f"; did you mean {called[near[0]]}?" if near else f"; there are: {', '.join(explore_names())}."


def explore_names() -> tuple[str, ...]:
    """The names of the queries that are for people, sorted; the others are steps of what kgprobe does."""
    return tuple(name for name in query_names() if name.startswith("explore/"))


@cache
def query_names() -> tuple[str, ...]:
    """The names of all queries, sorted."""
    return tuple(
        sorted(
            f"{folder.name}/{Path(file.name).stem}"
            for folder in files("kgprobe.cypher").iterdir()
            if folder.is_dir()
            for file in folder.iterdir()
            if file.name.endswith(".cypher")
        )
    )
