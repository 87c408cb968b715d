"""Stream JSON values from large files: the items of an array, or consecutive values.

A record with a JSON error is rejected, and reading continues with the next record: after an error in JSON lines on the
next line, in an array at the next record that can be read.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kgprobe.base.records import Rejected
from kgprobe.sources.lines import InputFile

# Longest record in characters; bounds the memory.
VALUE_LIMIT = 16 * 2**20

# Characters that stay in the window during a search, and least number of characters to read.
_TAIL = 256
_LEAST = 2**20
# Longest escape or word of JSON: an error nearer to the end may be a value that continues.
_WORD = 16

_BETWEEN = re.compile(r"[\s,\[\]]*")
_LINE_END = re.compile("\n")
_OBJECT = re.compile(r'\{\s*"')

_decode = json.JSONDecoder().raw_decode


def json_values(file: InputFile, is_record: Callable[[Any], bool]) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with their first lines; :class:`Rejected` for a value with an error.

    Bytes that are not UTF-8 become lone surrogates. Memory: the largest value, at most ``VALUE_LIMIT`` characters.

    Args:
        is_record: returns True for a record of the file, False for a part of a record; called for values after an
            error in an array.
    """
    window = _Window(file.pieces())
    record_start: re.Pattern[str] | None = None
    lost = False
    while window.seek(record_start or _OBJECT) if lost else window.skip():
        line = window.line
        value = window.value()
        if isinstance(value, Rejected):
            if value is window.broken:
                break
            if not lost:
                yield line, value
            if window.depth:
                lost = True
            else:
                window.seek(_LINE_END)
        elif not lost or is_record(value):
            lost = False
            record_start = record_start or _start_of(value)
            yield line, value
    if window.broken is not None:
        yield window.line, window.broken


def _start_of(record: Any) -> re.Pattern[str] | None:
    """Return a pattern of the record's first key, with which parts of a record seldom begin; None without one."""
    if not isinstance(record, dict) or not record:
        return None
    return re.compile(r"\{\s*" + re.escape(json.dumps(next(iter(record)))))


@dataclass(slots=True)
class _Window:
    """The part of a text that is being read.

    Attributes:
        at: position in ``text``; the text before it was read.
        line: line of that position.
        depth: number of arrays that are open there.
        ended: True if nothing follows ``text``.
        broken: the reason if the text ends too early.
    """

    pieces: Iterator[bytes | Rejected]
    text: str = ""
    at: int = 0
    line: int = 1
    depth: int = 0
    ended: bool = False
    broken: Rejected | None = None
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("surrogateescape")
    )

    def skip(self) -> bool:
        """Move to the beginning of the next value; return False at the end."""
        while True:
            between = _BETWEEN.match(self.text, self.at)
            passed = between[0] if between else ""
            self.depth = max(0, self.depth + passed.count("[") - passed.count("]"))
            self._advance(self.at + len(passed))
            if self.at < len(self.text):
                return True
            if self.ended:
                if self.depth and self.broken is None:
                    self.broken = _cut_short("its array")
                return False
            self._fill()

    def seek(self, pattern: re.Pattern[str]) -> bool:
        """Move to the next match of a pattern; return False at the end."""
        while True:
            match = pattern.search(self.text, self.at)
            if match is not None:
                self._advance(match.start())
                return True
            if self.ended:
                self._advance(len(self.text))
                return False
            self._advance(max(self.at, len(self.text) - _TAIL))
            self._fill()

    def value(self) -> Any:
        """Return the value that begins here, :class:`Rejected` for an error, ``broken`` if the text ends too early."""
        while True:
            try:
                value, end = _decode(self.text, self.at)
            except RecursionError:
                return self._lose("nested too deeply")
            except json.JSONDecodeError as error:
                reason = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}, {error.pos - self.at:,} characters in"
                if not self._may_be_cut(error):
                    return self._lose(reason)
                if self.ended:
                    self.broken = self.broken or _cut_short("a record")
                    return self.broken
                if len(self.text) - self.at > VALUE_LIMIT:
                    return self._lose(f"longer than {VALUE_LIMIT:,} characters, the limit for a record")
            except ValueError as error:
                return self._lose(f"not JSON: {error}")
            else:
                if end < len(self.text) or self.ended:
                    self._advance(end)
                    return value
            self._fill()

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        near = len(self.text.rstrip()) if self.ended else len(self.text) - _WORD
        return error.pos >= near or error.msg.startswith("Unterminated string")

    def _lose(self, reason: str) -> Rejected:
        self._advance(self.at + 1)
        return Rejected(reason)

    def _advance(self, at: int) -> None:
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def _fill(self) -> None:
        """Read at least as much as the window holds, so that a long value is not decoded after every piece."""
        parts = [self.text[self.at :]]
        missing = max(_LEAST, len(parts[0]))
        while missing > 0 and not self.ended:
            piece = next(self.pieces, None)
            if isinstance(piece, Rejected):
                self.broken = piece
            self.ended = not isinstance(piece, bytes)
            parts.append(self.decoder.decode(piece if isinstance(piece, bytes) else b"", final=self.ended))
            missing -= len(parts[-1])
        self.text, self.at = "".join(parts), 0


def _cut_short(unfinished: str) -> Rejected:
    return Rejected(f"the file ends within {unfinished} (a download that was cut short?)", broken_off=True)
