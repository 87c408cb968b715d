"""Reading Cypher just closely enough to end a statement and to name its parameters."""

import re
from collections.abc import Iterator

from kgprobe.errors import KgprobeError

# Nobody writes so many. With thousands, a parser runs out of its stack: Neo4j answers after two minutes.
_DEEPEST = 200

# What may hold a semicolon or a dollar sign that means neither: strings, quoted names, comments. Each may lack its end.
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
    """The names of the parameters that Cypher text mentions, sorted."""
    return sorted(
        {name for token in _TOKEN.finditer(text) if (name := token["parameter"] or token["quoted_parameter"])}
    )


def split_statements(text: str) -> tuple[list[str], str]:
    """Statements that end with a semicolon (which is taken off), and what follows the last of them.

    Statements without content are left out, and so is a rest of only blanks and comments.
    """
    parts = list(_parts(text))
    *ended, rest = parts
    return [part.strip() for part in ended if not _is_blank(part)], "" if _is_blank(rest) else rest.strip()


def refuse_deep_nesting(text: str) -> None:
    """See that a statement has no more brackets within each other than an engine's parser gets over.

    Raises:
        KgprobeError: it has.
    """
    depth = 0
    for bracket in re.findall(r"[(\[{}\])]", _TOKEN.sub("", text)):
        depth += 1 if bracket in "([{" else -1
        if depth > _DEEPEST:
            raise KgprobeError(f"The statement has more than {_DEEPEST} brackets within each other; use parameters.")


def _parts(text: str) -> Iterator[str]:
    begin = 0
    for token in _TOKEN.finditer(text):
        if token["end"]:
            yield text[begin : token.start()]
            begin = token.end()
    yield text[begin:]


def _is_blank(text: str) -> bool:
    return not _TOKEN.sub(lambda token: "" if token["comment"] else token[0], text).strip()
