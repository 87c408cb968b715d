"""Templates into sentences: ``[X]`` is the subject, ``[Y]`` the object.

Names get their article where English wants one and the template has none before the placeholder, and a sentence begins with
a capital letter.
"""

import re
from collections.abc import Sequence

from kgprobe.verbalize.articles import mention

SUBJECT = "[X]"
OBJECT = "[Y]"

# A determiner right before a placeholder: the template has seen to the article itself.
_DETERMINED = re.compile(r"(?i)(?:^|\s)(?:the|a|an|its|their|this|that)\s$")


def cloze_prompt(template: str, subject: str) -> str:
    """The text before the blank, without a space at its end.

    Args:
        template: a cloze sentence that ends in ``[Y]``.
        subject: the subject's name.
    """
    return _capital(_fill(template.removesuffix(OBJECT), SUBJECT, subject)).rstrip()


def object_continuations(template: str, names: Sequence[str]) -> list[str]:
    """Names of an entity as they go on a cloze sentence in place of ``[Y]``; each different one once, in order."""
    determined = _is_determined(template, template.rindex(OBJECT))
    return list(dict.fromkeys(name if determined else mention(name) for name in names))


def fill(template: str, subject: str, object_: str) -> str:
    """A statement or a question with both names in it."""
    # The placeholders are split first, so that a name that looks like one stays what it is.
    parts = re.split(r"(\[[XY]\])", template)
    text = ""
    for part in parts:
        name = {SUBJECT: subject, OBJECT: object_}.get(part)
        if name is None:
            text += part
        else:
            text += name if _DETERMINED.search(text) else mention(name)
    return _capital(text)


def _fill(template: str, placeholder: str, name: str) -> str:
    pieces = template.split(placeholder)
    text = pieces[0]
    for piece in pieces[1:]:
        text += (name if _DETERMINED.search(text) else mention(name)) + piece
    return text


def _is_determined(template: str, place: int) -> bool:
    return _DETERMINED.search(template[:place]) is not None


def _capital(text: str) -> str:
    # Only an article is raised: a name that begins with a small letter, such as iPhone, keeps it.
    return "The " + text[4:] if text.startswith("the ") else text
