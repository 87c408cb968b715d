"""Sentences of data sets, filled verbatim: no article is added, and no word is inflected.

The rule is that of lm-pub-quiz, so that both ask the same sentences: every ``[X]`` and ``[Y]`` is replaced by a label,
and the first character becomes a capital.
"""

import re
from dataclasses import dataclass

from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

_PLACEHOLDER = re.compile(r"(\[[XY]\])")
# Placeholder for the answer in a displayed sentence, or separator before it.
BLANK = "…"


@dataclass(frozen=True, slots=True)
class FilledSentence:
    """A sentence that contains an answer.

    Attributes:
        start, end: span of the first mention of the answer, in characters.
    """

    text: str
    start: int
    end: int


def fill_verbatim(template: str, subject: str, answer: str) -> FilledSentence:
    """Return a template filled with both labels.

    >>> fill_verbatim("[Y] is the capital of [X].", "Japan", "tokyo")
    FilledSentence(text='Tokyo is the capital of Japan.', start=0, end=5)

    Args:
        template: a sentence with ``[Y]``, and usually with ``[X]``.
    """
    # Split the template first, so that a label that looks like a placeholder is left alone.
    text, start = "", -1
    for part in _PLACEHOLDER.split(template):
        if part == OBJECT and start < 0:
            start = len(text)
        text += {SUBJECT: subject, OBJECT: answer}.get(part, part)
    capital = text[:1].upper()
    # A ligature becomes two letters.
    longer = len(capital) - 1 if text else 0
    end = start + len(answer) + longer
    return FilledSentence(capital + text[1:], start + longer if start else 0, end)
