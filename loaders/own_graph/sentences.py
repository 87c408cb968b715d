"""Sentences and questions made of the words of a relationship's type: ``ACTED_IN`` is *[X] acted in [Y]*.

Most types are verbs (*DIRECTED, FOLLOWS, LIVE_IN*), participles with a preposition (*LOCATED_IN*), phrases with *of*
(*PART_OF*), or nouns (*GENRE, HAS_GENRE*); the first and last words decide. Questions that need the base of an unknown
verb are left out. The sentences need a review.
"""

import re
from dataclasses import dataclass, replace

from kgprobe.sources.values import tidy
from kgprobe.verbalize.templates.generic import cloze_of_label
from kgprobe.verbalize.templates.kinds import check_template
from kgprobe.verbalize.tense import base_of, in_the_past, third_person

_PREPOSITIONS = frozenset(
    """
    about above after against as at before below by for from in into near of on over to toward towards under with
    within
    """.split()  # noqa: SIM905  (one word per line otherwise)
)
# Passive before a preposition: is located in, but acted in.
_PASSIVE = frozenset(
    """
    adapted attached based born buried composed connected dedicated derived divorced employed engaged found given
    known linked listed located made married named owned played published recorded related released set shown
    situated spoken taken used written
    """.split()  # noqa: SIM905  (one word per line otherwise)
)
_FORMS_OF_BE = {"is": "is", "are": "is", "was": "was", "were": "was"}
_ACTIVE_BEFORE = {"for": frozenset(["played"])}
# Words that are also verbs, but mostly nouns as a type.
_NOUNS = frozenset(
    """
    author cause chair coach cost cover date director form group host label link list mother name need note order
    parent place plan play rank result rival rule season source sponsor star start state title view
    """.split()  # noqa: SIM905  (one word per line otherwise)
)
# Past tense of unknown verbs whose base is the part before "ed": acted, followed.
_PLAIN_PAST = re.compile(r"(?:\w*[^aeiou\W]t|\w{2,}[aeo]w)ed")
# Common verbs of types that the tense module does not know.
_MORE_VERBS = frozenset(["act", "like", "rate", "review"])
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")


@dataclass(frozen=True, slots=True)
class Sentences:
    """Templates of a relation; only the first is required."""

    cloze: str
    past_cloze: str | None = None
    statement: str | None = None
    yes_no_question: str | None = None
    wh_question: str | None = None
    reverse_wh_question: str | None = None


def words_of(name: str) -> str:
    """Return a name in words: ``ACTED_IN`` is *acted in*, ``orderDate`` *order date*, ``TVSeries`` *TV series*."""
    words = []
    for part in filter(None, _WORDS.split(tidy(name))):
        # A word in capitals is an abbreviation, unless the whole name is in capitals.
        is_abbreviation = part.isupper() and len(part) > 1 and not name.isupper()
        words.append(part if is_abbreviation else part.lower())
    return " ".join(words)


def sentences_of(type_: str, subject: str | None = None, object_: str | None = None) -> Sentences | None:
    """Return templates made from a type's words; None if they are not a suitable phrase.

    Args:
        subject, object_: nouns for the ends (*person*), for questions; None if they differ.
    """
    words = words_of(type_).split()
    if not words or not all(map(_WORD.fullmatch, words)):
        return None
    which_subject = which_object = "what"
    if subject:
        which_subject = f"which {subject}"
    if object_:
        which_object = f"which {object_}"
    return _checked(_of_words(words, which_subject, which_object))


def sentences_of_date(name: str) -> Sentences | None:
    """Return templates for a property with a year or a date: ``released`` is *was released in*."""
    words = words_of(name)
    if re.fullmatch(r"\w*[^e]ed|born|built|made|found|written|set up", words):
        return _checked(
            Sentences(
                f"[X] was {words} in [Y]",
                statement=f"[X] was {words} in [Y].",
                yes_no_question=f"Was [X] {words} in [Y]?",
                wh_question=f"When was [X] {words}?",
            )
        )
    if not all(map(str.isalpha, words.split())):
        return None
    sentences = _checked(_of_noun(words))
    return sentences if sentences is not None and sentences.cloze.startswith("The ") else None


def _of_words(words: list[str], which_subject: str, which_object: str) -> Sentences | None:
    first, rest = words[0], words[1:]
    if first in _FORMS_OF_BE:
        return _with_be(_FORMS_OF_BE[first], rest, which_subject, which_object)
    if first in ("has", "have") and rest:
        return _of_noun(" ".join(rest))
    if rest and _is_passive(first, rest[-1]):
        be = "was" if rest[-1] == "by" or first in ("born", "buried") else "is"
        return _with_be(be, words, which_subject, which_object)
    verb = None if first in _NOUNS else _verb(first, alone=not rest)
    if verb is not None:
        return _with_verb(*verb, rest, which_subject, which_object)
    return _of_phrase(words, which_subject, which_object)


def _of_phrase(words: list[str], which_subject: str, which_object: str) -> Sentences | None:
    """Return the sentences of a noun, or of a phrase that ends in a preposition."""
    phrase = " ".join(words)
    cloze = cloze_of_label(phrase)
    if cloze is None or words[-1] not in _PREPOSITIONS:
        return _of_noun(phrase)
    match = re.fullmatch(r"\[X\] is (.+) \[Y\]", cloze)
    return _with_be("is", match[1].split(), which_subject, which_object) if match else Sentences(cloze)


def _is_passive(participle: str, preposition: str) -> bool:
    if preposition not in _PREPOSITIONS or participle in _ACTIVE_BEFORE.get(preposition, ()):
        return False
    return participle in _PASSIVE or (preposition == "by" and re.search("(?:[^e]ed|en)$", participle) is not None)


def _verb(word: str, alone: bool) -> tuple[str, str | None, bool] | None:
    """Return a verb in its form after a subject, its base if known, and True for the past tense."""
    base_and_tense = base_of(word)
    if base_and_tense is not None:
        base, tense = base_and_tense
        return (third_person(base) if word == base and tense == "present" else word), base, tense == "past"
    if word in _MORE_VERBS:
        return third_person(word), word, False
    if re.fullmatch(r"\w+[^e]ed", word):
        return word, word[:-2] if _PLAIN_PAST.fullmatch(word) else None, True
    if alone and re.fullmatch(r"\w+[^aious]s", word):
        # A single word that ends in s is more likely a verb than a plural.
        if word.endswith("ies"):
            return word, f"{word[:-3]}y", False
        return word, None if word.endswith("es") else word[:-1], False
    return None


def _with_verb(
    form: str, base: str | None, past: bool, rest: list[str], which_subject: str, which_object: str
) -> Sentences:
    behind = " ".join(["", *rest])
    sentences = Sentences(
        f"[X] {form}{behind} [Y]",
        statement=f"[X] {form}{behind} [Y].",
        reverse_wh_question=f"{_capital(which_subject)} {form}{behind} [Y]?",
    )
    if base is None:
        return sentences
    do = "did" if past else "does"
    wh = f"{_capital(which_object)} {do} [X] {base}{behind}?"
    return replace(
        sentences,
        yes_no_question=f"{_capital(do)} [X] {base}{behind} [Y]?",
        wh_question=wh if not rest or rest[-1] in _PREPOSITIONS else None,
    )


def _with_be(be: str, rest: list[str], which_subject: str, which_object: str) -> Sentences:
    phrase = " ".join(["", *rest])
    return Sentences(
        f"[X] {be}{phrase} [Y]",
        statement=f"[X] {be}{phrase} [Y].",
        yes_no_question=f"{_capital(be)} [X]{phrase} [Y]?",
        wh_question=f"{_capital(which_object)} {be} [X]{phrase}?" if rest and rest[-1] in _PREPOSITIONS else None,
        reverse_wh_question=f"{_capital(which_subject)} {be}{phrase} [Y]?",
    )


def _of_noun(noun: str) -> Sentences | None:
    cloze = cloze_of_label(noun)
    if cloze is None:
        return None
    match = re.fullmatch(r"The (.+) \[X\] (is|are) \[Y\]", cloze)
    if match is None:
        return Sentences(cloze, statement=f"{cloze}.")
    of, be = match.groups()
    return Sentences(
        cloze,
        statement=f"{cloze}.",
        yes_no_question=f"{_capital(be)} the {of} [X] [Y]?",
        wh_question=f"What {be} the {of} [X]?",
    )


def _checked(sentences: Sentences | None) -> Sentences | None:
    """Return the valid templates, with the cloze in the past; None without a valid cloze."""
    if sentences is None or check_template("cloze", sentences.cloze):
        return None
    past = in_the_past(sentences.cloze)
    kept = {}
    for kind in ("statement", "yes_no_question", "wh_question", "reverse_wh_question"):
        text = getattr(sentences, kind)
        if text is not None and not check_template(kind, text):
            kept[kind] = text
    return Sentences(sentences.cloze, past if past != sentences.cloze else None, **kept)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
