"""Cloze sentences made from labels of relations, without a model.

The first and last words determine the kind of the label: a verb (*shares border with*), a participle (*located in*), a
noun before a preposition (*member of*), a plural (*characters*), or else a noun (*capital*). Other labels give no
sentence. The sentences are plain and can read badly: review them.
"""

import re

from kgprobe.verbalize.articles import indefinite, without_article
from kgprobe.verbalize.tense import tense_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PREPOSITIONS = _words("about above after against as at before below by for from in into of on over to under with")
# Before one of these, a word in -s is a verb, not a plural: connects with, but archives at.
_OF_VERBS = frozenset({"from", "into", "to", "with"})
# Words used like participles before a preposition; other participles end in -ed.
_LIKE_PARTICIPLES = _words(
    "adjacent born built different endemic equal equivalent found held identical indigenous known led made native next"
    " opposite parallel present related said set shown similar spoken taught used won worn written"
)
_WITHOUT_ARTICLE = frozenset({"part"})
# Before "of", these describe the subject: member of sports team, but place of birth.
_ROLES = frozenset({"coach", "member", "part"})
# Maximum words of a noun phrase with a preposition at the end; longer ones are misread.
_LONGEST_NOUN = 4


def cloze_of_label(label: str) -> str | None:
    """Return a cloze sentence in the present tense for a relation's label; None if its form is unclear.

    Args:
        label: an English name of a relation. Remarks in brackets and all alternatives but the first (``director /
            manager``) are dropped, and ``birthPlace`` is read as *birth place*.
    """
    phrase = _phrase(label)
    words = phrase.split()
    if not words or re.search(r"[^\w\s'’.-]", phrase):
        return None
    first, last = words[0].lower(), words[-1].lower()
    if _is_verb(first, phrase, words):
        return f"[X] {phrase} [Y]"
    if first in _PREPOSITIONS or (_is_participle(first) and not _PREPOSITIONS.isdisjoint(words)):
        return f"[X] is {phrase} [Y]"
    if last in _PREPOSITIONS or (first in _ROLES and words[1:2] == ["of"]):
        return _role_cloze(phrase, words)
    preposition = "by" if _is_participle(last) else "of"
    verb = "are" if _is_plural(_head(words)) else "is"
    return f"The {phrase} {preposition} [X] {verb} [Y]"


def _is_verb(first: str, phrase: str, words: list[str]) -> bool:
    """Return True if the first word of a phrase is a verb."""
    if first in ("has", "is"):
        return True
    return _is_plural(first) and (tense_of(f"[X] {phrase} [Y]") == "present" or not _OF_VERBS.isdisjoint(words))


def _role_cloze(phrase: str, words: list[str]) -> str | None:
    """Return the cloze of a noun phrase with a preposition at the end, or of a role: member of sports team."""
    if len(words) > _LONGEST_NOUN or any(map(_is_participle, words)):
        return None
    if _is_plural(_head(words)):
        return f"[X] has {phrase} [Y]"
    article = "" if words[0].lower() in _WITHOUT_ARTICLE else f"{indefinite(phrase)} "
    return f"[X] is {article}{phrase} [Y]"


def _phrase(label: str) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", label.replace("_", " ")) if " " not in label.strip() else label
    if spaced != label:
        spaced = spaced.lower()
    bare = re.sub(r"\s*\([^)]*\)", "", spaced)
    return without_article(" ".join(re.split(r"\s/\s", bare)[0].split()))


def _head(words: list[str]) -> str:
    """Return the head noun of a phrase: the word before its first preposition or participle, else the last word."""
    for place, word in enumerate(words[1:], start=1):
        if word in _PREPOSITIONS or _is_participle(word):
            return words[place - 1]
    return words[-1]


def _is_participle(word: str) -> bool:
    return word in _LIKE_PARTICIPLES or re.search("[^e]ed$", word) is not None


def _is_plural(noun: str) -> bool:
    return re.search(r"(?i)[^aious]s$", noun) is not None and noun.lower() not in ("series", "species")
