"""Cypher text: its statements and parameters, and the query files by name.

A name is a file's path below ``cypher/`` without extension, such as ``load/facts``. The header of a file, its leading
comment, describes its question, parameters and columns.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from kgprobe.base.errors import KgprobeError, UnknownNameError, expected_one_of
from kgprobe.base.records import TEXT_NAMES, is_english, property_in

# Deepest nesting of brackets. With thousands, a parser's stack overflows: Neo4j answers after two minutes.
_DEEPEST = 200

# Strings, quoted names and comments, in which semicolons and dollar signs have no meaning. Each may lack its end.
_TOKEN = re.compile(
    r"""
      (?P<quoted> '(?:\\.|[^'\\])*(?P<q1>'|\Z) | "(?:\\.|[^"\\])*(?P<q2>"|\Z) | `[^`]*(?P<q3>`|\Z) )
    | (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | \$(?: (?P<parameter>(?!(?:any|all)\() \w+) | `(?P<quoted_parameter>[^`]+)` )
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)


def parameters_in(text: str) -> list[str]:
    """Return the names of the parameters in Cypher text, sorted."""
    names = {token["parameter"] or token["quoted_parameter"] for token in _TOKEN.finditer(text)}
    return sorted(filter(None, names))


def split_statements(text: str) -> tuple[list[str], str]:
    """Return the statements that end with a semicolon, without it, and the rest of the text.

    Statements of only blanks and comments are left out; such a rest is empty.
    """
    *ended, rest = _parts(text)
    return [part.strip() for part in ended if not _is_blank(part)], "" if _is_blank(rest) else rest.strip()


def refuse_deep_nesting(text: str) -> None:
    """Raise KgprobeError if brackets are nested too deeply for an engine's parser."""
    depth = 0
    for bracket in re.findall(r"[(\[{}\])]", _TOKEN.sub("", text)):
        depth += 1 if bracket in "([{" else -1
        if depth > _DEEPEST:
            raise KgprobeError(f"The statement has more than {_DEEPEST} nested brackets; use parameters.")


def _parts(text: str) -> Iterator[str]:
    begin = 0
    for token in _TOKEN.finditer(text):
        if token["end"]:
            yield text[begin : token.start()]
            begin = token.end()
    yield text[begin:]


def _is_blank(text: str) -> bool:
    return not _TOKEN.sub(lambda token: "" if token["comment"] else token[0], text).strip()


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
        in_language: variables whose names and templates are in the language asked; ``?`` marks those for which a name
            as loaded replaces a missing one. Declared by the last line of the header, ``// Language: subject, type?``,
            which the text leaves out.
    """

    name: str
    text: str
    about: str
    in_language: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """Beginning of the header, up to its first full stop, semicolon, colon or question mark."""
        match = _FIRST_WORDS.match(" ".join(self.about.split()))
        return match[1] if match else ""


_LANGUAGE = re.compile(r"^// Language: (.+)\n", re.MULTILINE)
_NAMES = ("label", "description", "aliases")
_TEXT = re.compile(rf"\b(\w+)\.{TEXT_NAMES}\b")


@cache
def text_in(name: str, language: str, *, plain: bool = False) -> str:
    """Return the text of a query with the names and templates of a language, where :attr:`Query.in_language` has them.

    An entity without a name in the language has an empty one. Templates are those of the language alone, for English
    also those as loaded.

    Args:
        plain: True for a graph whose names are in this language alone: only those marked with ``?`` are exchanged.
    """
    query = get_query(name)

    def exchanged(match: "re.Match[str]") -> str:
        owner, text = match.groups()
        if f"{owner}?" in query.in_language:
            missing = match[0] if text in _NAMES or is_english(language) else "[]"
        elif owner in query.in_language and not plain:
            missing = "''" if text in ("label", "description") else "[]"
        else:
            return match[0]
        return f"coalesce({owner}.{property_in(text, language)}, {missing})"

    return _TEXT.sub(exchanged, query.text)


def about_of(text: str) -> str:
    """Return the header of a query's text, without the slashes."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def query_of_text(text: str, name: str = "The query") -> Query:
    """Return a query from a user's Cypher, without a semicolon at its end."""
    statements, rest = split_statements(text)
    statements += [rest] if rest else []
    if len(statements) != 1:
        raise QueryError(
            f"{name} contains {len(statements)} statements instead of one; `kgprobe graph shell` runs several."
        )
    return Query(name=name, text=statements[0], about=about_of(text))


def find_query(query: str) -> Query:
    """Return the query of that name, or with that text."""
    return get_query(query) if _NAME.fullmatch(query) else query_of_text(query)


@cache
def get_query(name: str) -> Query:
    """Return the query of that name."""
    if name not in query_names():
        raise UnknownNameError(f"Unknown query {name!r}{suggestion(name)}")
    text = files("kgprobe.cypher").joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    declared = _LANGUAGE.search(text)
    variables = declared[1].split(", ") if declared else ()
    text = _LANGUAGE.sub("", text)
    return Query(name=name, text=text, about=about_of(text), in_language=tuple(variables))


def suggestion(name: str) -> str:
    """Return the end of a message about an unknown query: all names, and the most similar one."""
    return f"; {expected_one_of(name, explore_names(), lambda query: query.rpartition('/')[2])}."


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
