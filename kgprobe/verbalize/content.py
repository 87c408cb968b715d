"""Content words of a text, which distinguish relations, and words of negation."""

import re

from kgprobe.verbalize.answers import LITTLE_WORDS, normalized
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|without|cannot|false|incorrect|wrong)\b|n['’]t\b", re.IGNORECASE
)


def content_words(text: str) -> set[str]:
    """Return the content words of a text or template in lower case, without placeholders."""
    return set(normalized(text.replace(SUBJECT, " ").replace(OBJECT, " ")).split()) - LITTLE_WORDS
