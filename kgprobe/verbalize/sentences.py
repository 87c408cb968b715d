"""Templates into sentences: ``[X]`` is the subject, ``[Y]`` the object.

A name gets its article where English wants one (:mod:`.articles`), unless the template has a determiner there; then the
name goes in bare, so that nothing reads "the the". ``a``, ``an`` or ``a/an`` before a name agrees with it; in front of
a cloze's blank it belongs to what fills the blank, since it differs from name to name. A name's possessive is ``'s``,
after a plural's s ``'`` alone. A sentence begins with a capital.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.verbalize.articles import indefinite, mention, without_article
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

_PLACEHOLDER = re.compile(r"(\[[XY]\])")
_THE = re.compile(r"(?i)\bthe\s$")
_INDEFINITE = re.compile(r"(?i)\b(a/an|an?)\s$")
_DETERMINER = re.compile(r"(?i)\b(?:an?|its|his|her|their|this|that|any|each|every)\s$")


@dataclass(frozen=True, slots=True)
class Cloze:
    """A cloze sentence about one subject.

    Attributes:
        template: ends in ``[Y]``; may have no ``[X]`` where the subject stands in it already.
        subject: the subject's name.
    """

    template: str
    subject: str

    @property
    def prompt(self) -> str:
        """The text before the blank, see :func:`cloze_prompt`."""
        return cloze_prompt(self.template, self.subject)

    def continuations(self, names: Sequence[str]) -> list[str]:
        """Names of an entity as they fill the blank, see :func:`object_continuations`."""
        return object_continuations(self.template, names)


def cloze_prompt(template: str, subject: str) -> str:
    """The text before the blank, without white space at its end.

    Args:
        template: a cloze sentence that ends in ``[Y]``.
        subject: the subject's name.
    """
    return _fill(_INDEFINITE.sub("", template.removesuffix(OBJECT)), {SUBJECT: subject}).rstrip()


def object_continuations(template: str, names: Sequence[str]) -> list[str]:
    """Names of an entity as they go on a cloze sentence in place of ``[Y]``; each different one once, in their order.

    Args:
        template: a cloze sentence that ends in ``[Y]``.
        names: the entity's label and aliases.

    Returns:
        texts without white space at their ends, to be joined to the prompt by one space; at most one a name.
    """
    before = template.removesuffix(OBJECT)
    article = _INDEFINITE.search(before) is not None
    placed = (_placed(before, name) for name in names if name.strip())
    return list(dict.fromkeys(f"{indefinite(name)} {name}" if article else name for name in placed))


def fill(template: str, subject: str, object_: str) -> str:
    """A statement or a yes/no question with both names in it."""
    return _fill(template, {SUBJECT: subject, OBJECT: object_})


def wh_question(template: str, subject: str) -> str:
    """A question whose answer is the object."""
    return _fill(template, {SUBJECT: subject})


def _fill(template: str, names: Mapping[str, str]) -> str:
    # The template is split before a name goes in, so that a name which looks like a placeholder stays what it is.
    text = ""
    plural = False
    for part in _PLACEHOLDER.split(template):
        if part in names:
            placed = _placed(text, names[part])
            # A plural with the article ends in an s that speaks for itself: the Netherlands' capital, but Laos's.
            plural = placed.endswith("s") and (placed[:4].lower() == "the " or _THE.search(text) is not None)
            if indefinite_before := _INDEFINITE.search(text):
                agreeing = indefinite(placed)
                start = indefinite_before.start()
                text = f"{text[:start]}{agreeing.capitalize() if text[start].isupper() else agreeing} "
            text += placed
        elif part.startswith(("'s", "’s")) and text.endswith(("'s", "’s", "s'", "s’")):
            text += part[2:]
        elif part.startswith(("'s", "’s")) and plural:
            text += part[0] + part[2:]
        elif part.startswith(".") and text.endswith("."):
            # A full stop that ends an abbreviation ends the sentence too: Washington, D.C.
            text += part[1:]
        else:
            text += part
    return _capitalized(text)


def _placed(before: str, name: str) -> str:
    name = name.strip()
    if _THE.search(before) or _INDEFINITE.search(before):
        return without_article(name)
    return name if _DETERMINER.search(before) else mention(name)


def _capitalized(text: str) -> str:
    # A name with capitals elsewhere is written that way: iPhone, eBay; but al-Andalus and d'Artagnan begin a sentence.
    first = re.split("[ '’-]", text, maxsplit=1)[0]
    return text[:1].upper() + text[1:] if first.islower() else text
