"""Sentences and questions made of the words of a relationship's type: ``ACTED_IN`` is *[X] acted in [Y]*.

Most types are verbs (*DIRECTED, FOLLOWS, LIVE_IN*), participles with a preposition (*LOCATED_IN*), phrases with *of*
(*PART_OF*), or nouns (*GENRE, HAS_GENRE*); the first and last words decide. The questions follow from the sentence
(:func:`.generic.questions_of`); without the base of an unknown verb there is no wh-question. The sentences need a
review.
"""

import re
from dataclasses import dataclass

from kgprobe.sources.values import tidy
from kgprobe.verbalize.templates.generic import PREPOSITIONS, Verb, cloze_of_label, questions_of
from kgprobe.verbalize.templates.kinds import check_template
from kgprobe.verbalize.tense import base_of, in_the_past, third_person

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
_NAMESPACE = re.compile(r"[a-z][A-Za-z0-9]*__(?=.)|[a-z]+://.*[/#](?=.)")
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
    """Return a name in words: ``ACTED_IN`` is *acted in*, ``orderDate`` *order date*, ``TVSeries`` *TV series*.

    A namespace, as neosemantics writes them, is left out: ``ns0__birthPlace``, ``http://example.org/birthPlace``.
    """
    name = without_namespace(name)
    words = []
    for part in filter(None, _WORDS.split(tidy(name))):
        # A word in capitals is an abbreviation, unless the whole name is in capitals.
        is_abbreviation = part.isupper() and len(part) > 1 and not name.isupper()
        words.append(part if is_abbreviation else part.lower())
    return " ".join(words)


def without_namespace(name: str) -> str:
    """Return a name without the prefix or the address of its namespace."""
    return _NAMESPACE.sub("", name)


def sentences_of(type_: str, subject: str | None = None, object_: str | None = None) -> Sentences | None:
    """Return templates made from a type's words; None if they are not a suitable phrase.

    Args:
        subject, object_: nouns for the ends (*person*), for questions; None if they differ.
    """
    words = words_of(type_).split()
    if not words or not all(map(_WORD.fullmatch, words)):
        return None
    cloze, verb = _cloze_of(words)
    if cloze is None:
        return None
    # A noun names its object already: What is the genre of [X]?
    which_object = f"Which {object_}" if object_ and not cloze.startswith("The ") else "What"
    questions = questions_of(cloze, which_object, f"Which {subject}" if subject else "What", verb)
    return _checked(
        Sentences(
            cloze,
            statement=f"{cloze}.",
            yes_no_question=questions.yes_no,
            wh_question=questions.wh,
            reverse_wh_question=questions.reverse_wh,
        )
    )


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
    cloze = cloze_of_label(words) if all(map(str.isalpha, words.split())) else None
    if cloze is None or not cloze.startswith("The "):
        return None
    questions = questions_of(cloze)
    return _checked(Sentences(cloze, statement=f"{cloze}.", yes_no_question=questions.yes_no, wh_question=questions.wh))


def _cloze_of(words: list[str]) -> tuple[str | None, Verb | None]:
    """Return the cloze of a type's words, and its verb if the words begin with one; None if there is no cloze."""
    first, rest = words[0], words[1:]
    if first in _FORMS_OF_BE:
        return " ".join(["[X]", _FORMS_OF_BE[first], *rest, "[Y]"]), None
    if first in ("has", "have") and rest:
        return cloze_of_label(" ".join(rest)), None
    if rest and _is_passive(first, rest[-1]):
        be = "was" if rest[-1] == "by" or first in ("born", "buried") else "is"
        return " ".join(["[X]", be, *words, "[Y]"]), None
    reading = None if first in _NOUNS else _verb(first, alone=not rest)
    if reading is None:
        return cloze_of_label(" ".join(words)), None
    form, verb = reading
    return " ".join(["[X]", form, *rest, "[Y]"]), verb


def _is_passive(participle: str, preposition: str) -> bool:
    if preposition not in PREPOSITIONS or participle in _ACTIVE_BEFORE.get(preposition, ()):
        return False
    return participle in _PASSIVE or (preposition == "by" and re.search("(?:[^e]ed|en)$", participle) is not None)


def _verb(word: str, alone: bool) -> tuple[str, Verb] | None:
    """Return the form of a verb after a subject, and the verb; None if the word is not one."""
    base_and_tense = base_of(word)
    if base_and_tense is not None:
        base, tense = base_and_tense
        form = third_person(base) if word == base and tense == "present" else word
        return form, Verb(base, tense == "past")
    if word in _MORE_VERBS:
        return third_person(word), Verb(word, is_past=False)
    if re.fullmatch(r"\w+[^e]ed", word):
        return word, Verb(word[:-2] if _PLAIN_PAST.fullmatch(word) else None, is_past=True)
    if alone and re.fullmatch(r"\w+[^aious]s", word):
        # A single word that ends in s is more likely a verb than a plural.
        if word.endswith("ies"):
            return word, Verb(f"{word[:-3]}y", is_past=False)
        return word, Verb(None if word.endswith("es") else word[:-1], is_past=False)
    return None


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
