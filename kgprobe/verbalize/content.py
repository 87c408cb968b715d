"""Which words of a text say something: those that tell one relation from another, and those that deny."""

import re

from kgprobe.verbalize.answers import normalized
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

# Words of a template that say nothing of which relation it is.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by did do does for from has have he her his how in into is it its of on or she that"
        " the there they this to true was were what when where which who whom whose with",
    )
)
NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|without|cannot|false|incorrect|wrong)\b|n['’]t\b", re.IGNORECASE
)


def content_words(text: str) -> set[str]:
    """The words of a text or template that say what it is about, in small letters, without names' placeholders."""
    return set(normalized(text.replace(SUBJECT, " ").replace(OBJECT, " ")).split()) - _FUNCTION_WORDS
