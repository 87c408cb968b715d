"""Query parameters: parsed from text, and completed with the query's defaults.

On the command line, parameters are ``name=value``, with a value in JSON or else a text. In the shell and the headers of
queries, values are in Cypher or JSON: ``1``, ``'text'``, ``[1, 2]``, ``{id: 'Q142', limit: 25}``.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from kgprobe.graph.queries import Query, QueryError, parameters_in

_TOKEN = re.compile(
    r"""
      (?P<number> [+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w) )
    | (?P<text> '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" )
    | (?P<name> `[^`]+` | [^\W\d]\w* )
    | (?P<mark> [\[\]{},:] )
    | (?P<blank> \s+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_WHOLE = re.compile(r"[+-]?\d+")
_ESCAPE = re.compile(r"\\(?:u(?P<four>[0-9a-fA-F]{4})|U(?P<eight>[0-9a-fA-F]{8})|(?P<character>.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/"}
_WORDS = ("true", "false", "null")

# Deepest nesting of a value.
_MOST_DEPTH = 50


def parse_literal(text: str) -> Any:
    """Return the value of a text in JSON or Cypher.

    >>> parse_literal("{id: 'Q142', limits: [1, 2.5], as_of: null}")
    {'id': 'Q142', 'limits': [1, 2.5], 'as_of': None}
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    # Cypher as JSON, token by token; the empty token marks the end.
    tokens = [*_json_tokens(text), (len(text), "")]
    starts = list(accumulate((len(token) + 1 for _, token in tokens), initial=0))
    try:
        return json.loads(" ".join(token for _, token in tokens))
    except json.JSONDecodeError as error:
        place, _ = tokens[bisect_right(starts, error.pos) - 1]
        raise _unexpected(text, place) from error


def _json_tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield the tokens of a value with their places; words, numbers, texts and keys as JSON writes them."""
    place = depth = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise _unexpected(text, place)
        kind, written = token.lastgroup, token[0]
        is_key = text[token.end() :].lstrip().startswith(":")
        depth += (written in "[{") - (written in "]}")
        is_word = is_key or written.lower() in _WORDS
        if depth > _MOST_DEPTH or (kind == "name" and not is_word):
            raise _unexpected(text, place)
        try:
            if kind == "text":
                written = json.dumps(_unquoted(written))
            elif kind == "number":
                written = json.dumps(int(written) if _WHOLE.fullmatch(written) else float(written))
            elif kind == "name":
                written = json.dumps(written.strip("`")) if is_key else written.lower()
        except (ValueError, OverflowError) as error:
            # Too many digits, or a code above the largest character.
            raise _unexpected(text, place) from error
        if kind != "blank":
            yield place, written
        place = token.end()


def _unexpected(text: str, place: int) -> QueryError:
    rest = text[place:]
    shown = f"{rest[:30]!r}{' …' if len(rest) > 30 else ''} is" if rest else "its end is"
    whole = f"{text[:60]}{' …' if len(text) > 60 else ''}"
    return QueryError(
        f"{whole!r} is not a value: {shown} unexpected. Write 1, 2.5, true, null, 'text', [1, 2] or {{id: 'Q142'}}."
    )


def _unquoted(text: str) -> str:
    def character(escape: "re.Match[str]") -> str:
        code = escape["four"] or escape["eight"]
        return chr(int(code, 16)) if code else _ESCAPED.get(escape["character"], escape[0])

    return _ESCAPE.sub(character, text[1:-1])


_DEFAULTS = re.compile(r"^Unless given: (\{.*\})$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"(?P<name>\w+|`[^`]+`)\s*=>\s*(?P<value>.*)", re.DOTALL)


def parse_parameters(typed: Iterable[str]) -> dict[str, Any]:
    """Return parameters from ``name=value`` texts; the last one of a name counts."""
    parameters = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise QueryError(f"{text!r} is not of the form name=value.")
        try:
            parameters[name.strip()] = json.loads(value)
        except ValueError:
            parameters[name.strip()] = value
        except RecursionError as error:
            raise QueryError(f"The parameter {name.strip()} is nested too deeply.") from error
    return parameters


def parse_assignment(typed: str) -> dict[str, Any]:
    """Return a parameter from ``name => value``, the syntax of cypher-shell.

    >>> parse_assignment("id => 'Q142'")
    {'id': 'Q142'}
    """
    match = _ASSIGNMENT.fullmatch(typed.strip())
    if match is None:
        raise QueryError(f"{typed!r} is not of the form name => value, such as id => 'Q142'.")
    return {match["name"].strip("`"): parse_literal(match["value"])}


def parse_map(typed: str) -> dict[str, Any]:
    """Return parameters from a map ``{name: value, …}`` in Cypher or JSON."""
    value = parse_literal(typed)
    if not isinstance(value, dict):
        raise QueryError(f"{typed!r} is not of the form {{name: value}}, such as {{id: 'Q142', limit: 25}}.")
    return value


def default_parameters(query: Query) -> dict[str, Any]:
    """Return the defaults of a query, from the line ``Unless given: {…}`` of its header."""
    match = _DEFAULTS.search(query.about)
    return parse_map(match[1]) if match else {}


def complete_parameters(query: Query, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a query: the given values, else its defaults.

    This check makes engines behave alike: some refuse a missing parameter, others use null.
    """
    parameters = default_parameters(query) | dict(given)
    names = parameters_in(query.text)
    missing = [name for name in names if name not in parameters]
    unknown = [name for name in given if name not in names]
    faults = []
    if missing:
        faults.append(f"{query.name} needs the parameter {', '.join(missing)}.")
    if unknown:
        faults.append(f"{query.name} has no parameter {', '.join(unknown)}; it takes {', '.join(names) or 'none'}.")
    if faults:
        raise QueryError("\n".join(filter(None, [*faults, query.about])))
    return {name: parameters[name] for name in names}
