"""Split Cypher into statements, and find their parameters."""

import re
from collections.abc import Iterator

from kgprobe.errors import KgprobeError

# Deepest nesting of brackets. With thousands, a parser's stack overflows: Neo4j answers after two minutes.
_DEEPEST = 200

# Strings, quoted names and comments, in which semicolons and dollar signs have no meaning. Each may lack its end.
_TOKEN = re.compile(
    r"""
      (?P<quoted> '(?:\\.|[^'\\])*(?P<q1>'|\Z) | "(?:\\.|[^"\\])*(?P<q2>"|\Z) | `[^`]*(?P<q3>`|\Z) )
    | (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | \$(?: (?P<parameter>\w+) | `(?P<quoted_parameter>[^`]+)` )
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
