"""Sentences of data sets, filled as they are written: no article is put, and nothing agrees.

So the same sentences are asked as by lm-pub-quiz, whose rule this is: every ``[X]`` and ``[Y]`` is replaced by a label,
and the first character becomes a capital.
"""

import re
from dataclasses import dataclass

from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

_PLACEHOLDER = re.compile(r"(\[[XY]\])")
# Stands for the answer where a sentence is shown without one.
BLANK = "…"


@dataclass(frozen=True, slots=True)
class Filled:
    """A sentence with an answer in it.

    Attributes:
        start, end: of the answer's first mention: its first character, and the one after its last.
    """

    text: str
    start: int
    end: int


def fill_verbatim(template: str, subject: str, answer: str) -> Filled:
    """A template with both labels in it.

    >>> fill_verbatim("[Y] is the capital of [X].", "Japan", "tokyo")
    Filled(text='Tokyo is the capital of Japan.', start=0, end=5)

    Args:
        template: a sentence with ``[Y]``, and mostly with ``[X]``.
    """
    # The template is split before a label goes in, so that a label which looks like a placeholder stays what it is.
    text, start = "", -1
    for part in _PLACEHOLDER.split(template):
        if part == OBJECT and start < 0:
            start = len(text)
        text += {SUBJECT: subject, OBJECT: answer}.get(part, part)
    capital = text[:1].upper()
    # A ligature becomes two letters.
    longer = len(capital) - 1 if text else 0
    end = start + len(answer) + longer
    return Filled(capital + text[1:], start + longer if start else 0, end)
