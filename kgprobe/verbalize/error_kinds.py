"""Kinds of errors in sentences about facts, and their categories.

Table 8 and appendix B of the distractor paper; docs/methods/sentences.md.
"""

from collections.abc import Collection
from dataclasses import dataclass

MINOR, BLUNDER = "minor", "blunder"
FREE, ONLY_MINOR, WITH_BLUNDER = "free of errors", "only minor errors", "with a blunder"


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A kind of error, named as in tables of annotations, of the category ``minor`` or ``blunder``."""

    name: str
    category: str
    meaning: str


ERROR_KINDS = (
    ErrorKind("adj_noun_conjug", MINOR, "a noun or adjective is inflected like a verb"),
    ErrorKind("better_verb", MINOR, "the verb can also mean something else"),
    ErrorKind("obj_deter", MINOR, "the article of the object is missing"),
    ErrorKind("obj_unclear", MINOR, "the object is not clearly separated from the text"),
    ErrorKind("sub_deter", MINOR, "the article of the subject is missing"),
    ErrorKind("sub_unclear", MINOR, "the subject is not clearly separated from the text"),
    ErrorKind("wrong_conjug", MINOR, "the verb is in the wrong tense"),
    ErrorKind("out_of_subject", BLUNDER, "the sentence does not express the fact"),
    ErrorKind("wrong_language", BLUNDER, "the sentence is not in English"),
)

_BLUNDERS = frozenset(kind.name for kind in ERROR_KINDS if kind.category == BLUNDER)


def category_of(errors: Collection[str]) -> str:
    """Return the category of a sentence with these kinds of errors; an unknown kind is minor.

    >>> category_of(["sub_deter", "wrong_language"])
    'with a blunder'
    """
    if not errors:
        return FREE
    return ONLY_MINOR if _BLUNDERS.isdisjoint(errors) else WITH_BLUNDER
