"""A cloze sentence made of a relation's label alone, without any model.

The label is read by its first and last words: a verb (*shares border with*), a participle (*located in*), a noun before
a preposition (*member of*), a plural (*characters*), or else a noun (*capital*). Nothing is made of a label that is no
phrase of these kinds. The sentences are plain, and some read ill: they are for a person to look through.
"""

import re

from kgprobe.verbalize.articles import indefinite, without_article
from kgprobe.verbalize.tense import tense_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PREPOSITIONS = _words("about above after against as at before below by for from in into of on over to under with")
# With one of these behind it, a word that ends in s is a verb, not a plural: connects with, but archives at.
_OF_VERBS = frozenset({"from", "into", "to", "with"})
# What stands before a preposition like a participle; other participles end in -ed.
_LIKE_PARTICIPLES = _words(
    "adjacent born built different endemic equal equivalent found held identical indigenous known led made native next"
    " opposite parallel present related said set shown similar spoken taught used won worn written"
)
_WITHOUT_ARTICLE = frozenset({"part"})
# Before "of" these are what the subject is, not what it has: member of sports team, but place of birth.
_ROLES = frozenset({"coach", "member", "part"})
# A noun before a preposition at the end: longer ones are read wrongly.
_LONGEST_NOUN = 4


def cloze_of_label(label: str) -> str | None:
    """A cloze sentence in the present that says what a relation's label says; None where there is no sure form.

    Args:
        label: a relation's name in English; remarks in brackets and all but the first of alternatives (``director /
            manager``) are left out, and ``birthPlace`` is read as *birth place*.
    """
    phrase = _phrase(label)
    words = phrase.split()
    if not words or re.search(r"[^\w\s'’.-]", phrase):
        return None
    first, last = words[0].lower(), words[-1].lower()
    if first in ("has", "is") or (
        _is_plural(first) and (tense_of(f"[X] {phrase} [Y]") == "present" or not _OF_VERBS.isdisjoint(words))
    ):
        return f"[X] {phrase} [Y]"
    if first in _PREPOSITIONS or (_is_participle(first) and not _PREPOSITIONS.isdisjoint(words)):
        return f"[X] is {phrase} [Y]"
    if last in _PREPOSITIONS or (first in _ROLES and words[1:2] == ["of"]):
        if len(words) > _LONGEST_NOUN or any(map(_is_participle, words)):
            return None
        if _is_plural(_head(words)):
            return f"[X] has {phrase} [Y]"
        article = "" if first in _WITHOUT_ARTICLE else f"{indefinite(phrase)} "
        return f"[X] is {article}{phrase} [Y]"
    of = "by" if _is_participle(last) else "of"
    return f"The {phrase} {of} [X] {'are' if _is_plural(_head(words)) else 'is'} [Y]"


def _phrase(label: str) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", label.replace("_", " ")) if " " not in label.strip() else label
    if spaced != label:
        spaced = spaced.lower()
    bare = re.sub(r"\s*\([^)]*\)", "", spaced)
    return without_article(" ".join(re.split(r"\s/\s", bare)[0].split()))


def _head(words: list[str]) -> str:
    """The noun that a phrase is about: the last word before its first preposition or participle behind it."""
    for place, word in enumerate(words[1:], start=1):
        if word in _PREPOSITIONS or _is_participle(word):
            return words[place - 1]
    return words[-1]


def _is_participle(word: str) -> bool:
    return word in _LIKE_PARTICIPLES or re.search("[^e]ed$", word) is not None


def _is_plural(noun: str) -> bool:
    return re.search(r"(?i)[^aious]s$", noun) is not None and noun.lower() not in ("series", "species")
