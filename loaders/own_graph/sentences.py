"""Sentences and questions made of the words of a relationship's type: ``ACTED_IN`` is *[X] acted in [Y]*.

A type in a property graph is mostly a verb (*DIRECTED, FOLLOWS, LIVE_IN*), a participle with a preposition
(*LOCATED_IN*), a phrase with *of* (*PART_OF*), or a noun (*GENRE, HAS_GENRE*). It is read by its first and last words.
Where a question needs the base of a verb that is not known, there is no question. The sentences are plain, and some
read ill: they are for a person to look through.
"""

import re
from dataclasses import dataclass, replace

from kgprobe.sources.values import tidy
from kgprobe.verbalize.templates.kinds import check_template
from kgprobe.verbalize.templates.wording import cloze_of_label
from kgprobe.verbalize.tense import base_of, in_the_past, third_person

_PREPOSITIONS = frozenset(
    [
        "about",
        "above",
        "after",
        "against",
        "as",
        "at",
        "before",
        "below",
        "by",
        "for",
        "from",
        "in",
        "into",
        "near",
        "of",
        "on",
        "over",
        "to",
        "toward",
        "towards",
        "under",
        "with",
        "within",
    ]
)
# Before a preposition these say what is done to the subject, or how it is: located in, but acted in.
_PASSIVE = frozenset(
    [
        "adapted",
        "attached",
        "based",
        "born",
        "buried",
        "composed",
        "connected",
        "dedicated",
        "derived",
        "divorced",
        "employed",
        "engaged",
        "found",
        "given",
        "known",
        "linked",
        "listed",
        "located",
        "made",
        "married",
        "named",
        "owned",
        "played",
        "published",
        "recorded",
        "related",
        "released",
        "set",
        "shown",
        "situated",
        "spoken",
        "taken",
        "used",
        "written",
    ]
)
_ACTIVE_BEFORE = {"for": frozenset(["played"])}
# Known as verbs, and in a type alone mostly nouns.
_NOUNS = frozenset(
    [
        "author",
        "cause",
        "chair",
        "coach",
        "cost",
        "cover",
        "date",
        "director",
        "form",
        "group",
        "host",
        "label",
        "link",
        "list",
        "mother",
        "name",
        "need",
        "note",
        "order",
        "parent",
        "place",
        "plan",
        "play",
        "rank",
        "result",
        "rival",
        "rule",
        "season",
        "source",
        "sponsor",
        "star",
        "start",
        "state",
        "title",
        "view",
    ]
)
# What a verb can be of that is no known one, with its base in front of "ed": acted, followed.
_PLAIN_PAST = re.compile(r"(?:\w*[^aeiou\W]t|\w{2,}[aeo]w)ed")
# Common as types, and no verbs that are known elsewhere.
_MORE_VERBS = frozenset(["act", "like", "rate", "review"])
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")


@dataclass(frozen=True, slots=True)
class Sentences:
    """Templates of a relation; each may be missing but the first."""

    cloze: str
    past_cloze: str | None = None
    statement: str | None = None
    yes_no_question: str | None = None
    wh_question: str | None = None
    reverse_wh_question: str | None = None


def words_of(name: str) -> str:
    """A name in words: ``ACTED_IN`` is *acted in*, ``orderDate`` *order date*, ``TVSeries`` *TV series*."""
    parts = [part for part in _WORDS.split(tidy(name)) if part]
    # All in capitals is a way to write; a word in capitals among others is an abbreviation.
    shouted = name.isupper()
    return " ".join(part if part.isupper() and len(part) > 1 and not shouted else part.lower() for part in parts)


def sentences_of(type_: str, subject: str | None = None, object_: str | None = None) -> Sentences | None:
    """Templates made of a type's words; None where these are no phrase that a sentence can be made of.

    Args:
        subject, object_: nouns for what stands at the ends (*person*), for questions; None where that differs.
    """
    words = words_of(type_).split()
    if not words or not all(re.fullmatch(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", word) for word in words):
        return None
    made = _of_words(words, f"which {subject}" if subject else "what", f"which {object_}" if object_ else "what")
    return None if made is None else _checked(made)


def sentences_of_date(name: str) -> Sentences | None:
    """Templates made of the name of a property that is a year or a date: ``released`` is *was released in*."""
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
    made = _of_noun(words) if all(word.isalpha() for word in words.split()) else None
    return _checked(made) if made is not None and made.cloze.startswith("The ") else None


def _of_words(words: list[str], asked_subject: str, asked_object: str) -> Sentences | None:
    first, rest = words[0], words[1:]
    if first in ("is", "are", "was", "were"):
        return _with_be("was" if first in ("was", "were") else "is", rest, asked_subject, asked_object)
    if first in ("has", "have") and rest:
        return _of_noun(" ".join(rest))
    if rest and rest[-1] in _PREPOSITIONS and _is_passive(first, rest[-1]):
        be = "was" if rest[-1] == "by" or first in ("born", "buried") else "is"
        return _with_be(be, words, asked_subject, asked_object)
    if len(words) == 1 and first in _NOUNS:
        return _of_noun(first)
    if (verb := _verb(first, alone=not rest)) is not None and (not rest or first not in _NOUNS):
        return _with_verb(*verb, rest, asked_subject, asked_object)
    if words[-1] in _PREPOSITIONS and (cloze := cloze_of_label(" ".join(words))) is not None:
        matched = re.fullmatch(r"\[X\] is (.+) \[Y\]", cloze)
        return _with_be("is", matched[1].split(), asked_subject, asked_object) if matched else Sentences(cloze)
    return _of_noun(" ".join(words))


def _is_passive(participle: str, preposition: str) -> bool:
    if participle in _ACTIVE_BEFORE.get(preposition, ()):
        return False
    return participle in _PASSIVE or (preposition == "by" and re.search("(?:[^e]ed|en)$", participle) is not None)


def _verb(word: str, alone: bool) -> tuple[str, str | None, bool] | None:
    """A verb as it stands behind a subject, its base where that is sure, and whether it is in the past."""
    known = base_of(word)
    if known is not None:
        base, tense = known
        return (third_person(base) if word == base and tense == "present" else word), base, tense == "past"
    if word in _MORE_VERBS:
        return third_person(word), word, False
    if re.fullmatch(r"\w+[^e]ed", word):
        return word, word[:-2] if _PLAIN_PAST.fullmatch(word) else None, True
    if alone and re.fullmatch(r"\w+[^aious]s", word):
        # A type alone that ends in s is a verb sooner than a plural.
        return word, f"{word[:-3]}y" if word.endswith("ies") else None if word.endswith("es") else word[:-1], False
    return None


def _with_verb(
    form: str, base: str | None, past: bool, rest: list[str], asked_subject: str, asked_object: str
) -> Sentences:
    behind = "".join(f" {word}" for word in rest)
    made = Sentences(
        f"[X] {form}{behind} [Y]",
        statement=f"[X] {form}{behind} [Y].",
        reverse_wh_question=f"{_capital(asked_subject)} {form}{behind} [Y]?",
    )
    if base is None:
        return made
    do = "did" if past else "does"
    wh = f"{_capital(asked_object)} {do} [X] {base}{behind}?"
    return replace(
        made,
        yes_no_question=f"{_capital(do)} [X] {base}{behind} [Y]?",
        wh_question=wh if not rest or rest[-1] in _PREPOSITIONS else None,
    )


def _with_be(be: str, rest: list[str], asked_subject: str, asked_object: str) -> Sentences:
    phrase = "".join(f" {word}" for word in rest)
    return Sentences(
        f"[X] {be}{phrase} [Y]",
        statement=f"[X] {be}{phrase} [Y].",
        yes_no_question=f"{_capital(be)} [X]{phrase} [Y]?",
        wh_question=f"{_capital(asked_object)} {be} [X]{phrase}?" if rest and rest[-1] in _PREPOSITIONS else None,
        reverse_wh_question=f"{_capital(asked_subject)} {be}{phrase} [Y]?",
    )


def _of_noun(noun: str) -> Sentences | None:
    cloze = cloze_of_label(noun)
    if cloze is None:
        return None
    matched = re.fullmatch(r"The (.+) \[X\] (is|are) \[Y\]", cloze)
    if matched is None:
        return Sentences(cloze, statement=f"{cloze}.")
    of, be = matched.groups()
    return Sentences(
        cloze,
        statement=f"{cloze}.",
        yes_no_question=f"{_capital(be)} the {of} [X] [Y]?",
        wh_question=f"What {be} the {of} [X]?",
    )


def _checked(made: Sentences) -> Sentences | None:
    """The templates that can be filled, with the cloze in the past."""
    if check_template("cloze", made.cloze):
        return None
    past = in_the_past(made.cloze)
    kept = {
        kind: text
        for kind in ("statement", "yes_no_question", "wh_question", "reverse_wh_question")
        if (text := getattr(made, kind)) is not None and not check_template(kind, text)
    }
    return Sentences(made.cloze, past if past != made.cloze else None, **kept)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
