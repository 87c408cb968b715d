"""Parse values in Cypher or JSON: ``1``, ``'text'``, ``[1, 2]``, ``{id: 'Q142', limit: 25}``."""

import json
import re
from typing import Any

from kgprobe.graph.queries import QueryError

_TOKEN = re.compile(
    r"""
      (?P<number> [+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w) )
    | (?P<text> '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" )
    | (?P<name> `[^`]+` | [^\W\d]\w* )
    | (?P<mark> [\[\]{},:] )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\(?:u(?P<four>[0-9a-fA-F]{4})|U(?P<eight>[0-9a-fA-F]{8})|(?P<character>.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/"}
_WORDS = {"true": True, "false": False, "null": None}

# Deepest nesting of a value.
_MOST_DEPTH = 50


def parse_literal(text: str) -> Any:
    """Return the value of a text in JSON or Cypher.

    >>> parse_literal("{id: 'Q142', limits: [1, 2.5], as_of: null}")
    {'id': 'Q142', 'limits': [1, 2.5], 'as_of': None}

    Raises:
        QueryError: the text is not a value; the message shows the place.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    reader = _Reader(text)
    value = reader.value(0)
    if reader.peek() is not None:
        raise reader.error()
    return value


class _Reader:
    """A parser that reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def peek(self) -> "re.Match[str] | None":
        """Return the next token; None at the end.

        Raises:
            QueryError: a character is not allowed in a value.
        """
        blank = _BLANK.match(self._text, self._place)
        self._place = blank.end() if blank else self._place
        if self._place == len(self._text):
            return None
        token = _TOKEN.match(self._text, self._place)
        if token is None:
            raise self.error()
        return token

    def error(self) -> QueryError:
        rest = self._text[self._place :]
        shown = f"{rest[:30]!r}{' …' if len(rest) > 30 else ''} is" if rest else "its end is"
        whole = f"{self._text[:60]}{' …' if len(self._text) > 60 else ''}"
        return QueryError(
            f"{whole!r} is not a value: {shown} unexpected. Write 1, 2.5, true, null, 'text', [1, 2] or {{id: 'Q142'}}."
        )

    def value(self, depth: int) -> Any:
        token = self.peek()
        if token is None or depth > _MOST_DEPTH:
            raise self.error()
        if token["mark"] == "[":
            return self._list(depth)
        if token["mark"] == "{":
            return self._map(depth)
        if token["name"] and token["name"].lower() in _WORDS:
            self._place = token.end()
            return _WORDS[token["name"].lower()]
        if not (token["number"] or token["text"]):
            raise self.error()
        return self._plain(token)

    def _plain(self, token: "re.Match[str]") -> Any:
        try:
            value = _number(token["number"]) if token["number"] else _unquoted(token["text"])
        except (ValueError, OverflowError) as error:
            # Too many digits, or a code above the largest character.
            raise self.error() from error
        self._place = token.end()
        return value

    def _list(self, depth: int) -> list[Any]:
        values: list[Any] = []
        self._take("[")
        while not self._takes("]"):
            if values:
                self._take(",")
            values.append(self.value(depth + 1))
        return values

    def _map(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._take("{")
        while not self._takes("}"):
            if values:
                self._take(",")
            key = self.peek()
            if key is None or not (key["name"] or key["text"]):
                raise self.error()
            name = key["name"].strip("`") if key["name"] else self._plain(key)
            self._place = key.end()
            self._take(":")
            values[name] = self.value(depth + 1)
        return values

    def _takes(self, mark: str) -> bool:
        token = self.peek()
        if token is None or token["mark"] != mark:
            return False
        self._place = token.end()
        return True

    def _take(self, mark: str) -> None:
        if not self._takes(mark):
            raise self.error()


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _unquoted(text: str) -> str:
    def character(escape: "re.Match[str]") -> str:
        code = escape["four"] or escape["eight"]
        return chr(int(code, 16)) if code else _ESCAPED.get(escape["character"], escape[0])

    return _ESCAPE.sub(character, text[1:-1])
