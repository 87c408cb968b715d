"""JSON values one at a time, of files too large to be read at once: an array, or one value after the other.

Where JSON is broken, the record is lost that it is broken in, and reading goes on with the next one: of JSON lines on
the next line, in an array where a record begins that can be read again.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kgprobe.records import Rejected
from kgprobe.sources.lines import InputFile

# In characters, which bounds the memory: no record has as many.
VALUE_LIMIT = 16 * 2**20

# What is left in the window when more is read, and how much is read at least.
_TAIL = 256
_LEAST = 2**20
# No escape and no word of JSON is longer: what is wrong nearer to the end may only be cut.
_WORD = 16

_BETWEEN = re.compile(r"[\s,\[\]]*")
_LINE_END = re.compile("\n")
_OBJECT = re.compile(r'\{\s*"')

_decode = json.JSONDecoder().raw_decode


def json_values(file: InputFile, is_record: Callable[[Any], bool]) -> Iterator[tuple[int, Any]]:
    """The values of a file, each with the line where it begins; :class:`Rejected` for one that is broken.

    Bytes that are no UTF-8 stand in texts as half characters (lone surrogates). Memory: the largest value, of at most
    ``VALUE_LIMIT`` characters.

    Args:
        is_record: whether a value is one of those that the file is made of, and not a part of one; asked where reading
            goes on in an array.

    Raises:
        KgprobeError: the file cannot be opened any more.
    """
    window = _Window(file.pieces())
    beginning, begins_alike, lost = _OBJECT, False, False
    while window.seek(beginning) if lost else window.skip():
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
            if not begins_alike and isinstance(value, dict) and value:
                # Parts of a record seldom begin as it does.
                beginning, begins_alike = re.compile(r"\{\s*" + re.escape(json.dumps(next(iter(value))))), True
            yield line, value
    if window.broken is not None:
        yield window.line, window.broken


@dataclass(slots=True)
class _Window:
    """The part of a text that is being read.

    Attributes:
        at: what lies before it in ``text`` was read.
        line: of that place.
        depth: how many arrays are open there.
        ended: whether nothing follows ``text``.
        broken: why the text ends before its time.
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
        """Go to where the next value begins; False at the end."""
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
        """Go to where a pattern is found next; False at the end."""
        while True:
            found = pattern.search(self.text, self.at)
            if found is not None:
                self._advance(found.start())
                return True
            if self.ended:
                self._advance(len(self.text))
                return False
            self._advance(max(self.at, len(self.text) - _TAIL))
            self._fill()

    def value(self) -> Any:
        """The value that begins here; :class:`Rejected` where there is none, ``broken`` if the text ends too early."""
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
                    return self._lose(f"longer than {VALUE_LIMIT:,} characters, which no record is")
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
        """Read on, at least as much as is there, so that a long value is not tried at each piece."""
        parts = [self.text[self.at :]]
        wanted = max(_LEAST, len(parts[0]))
        while wanted > 0 and not self.ended:
            piece = next(self.pieces, None)
            if isinstance(piece, Rejected):
                self.broken = piece
            self.ended = not isinstance(piece, bytes)
            parts.append(self.decoder.decode(piece if isinstance(piece, bytes) else b"", final=self.ended))
            wanted -= len(parts[-1])
        self.text, self.at = "".join(parts), 0


def _cut_short(what: str) -> Rejected:
    return Rejected(f"the file ends within {what} (a download that was cut short?)", broken_off=True)
