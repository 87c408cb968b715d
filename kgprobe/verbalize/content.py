"""Which words of a text say something: those that tell one relation from another, and those that deny."""

import re

from kgprobe.verbalize.answers import LITTLE_WORDS, normalized
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|without|cannot|false|incorrect|wrong)\b|n['’]t\b", re.IGNORECASE
)


def content_words(text: str) -> set[str]:
    """The words of a text or template that say what it is about, in small letters, without names' placeholders."""
    return set(normalized(text.replace(SUBJECT, " ").replace(OBJECT, " ")).split()) - LITTLE_WORDS
