"""Generic templates of a relation, made from its label, without a model.

The first and last words determine the form of the label: a verb (*shares border with*), a participle (*located in*), a
noun before a preposition (*member of*), a plural (*characters*), or else a noun (*capital*). A label in another form is
quoted: *The "50% of" of [X] is [Y]*. The sentences are plain and can read badly: review them. Those in other languages
are made by :mod:`.forms`.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from kgprobe.base.records import Relation
from kgprobe.verbalize.articles import indefinite, without_article
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.templates.forms import templates_of_label
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT
from kgprobe.verbalize.tense import base_of, in_the_past, tense_of

PREPOSITIONS = frozenset(
    """
    about above after against as at before below by for from in into near of on over to toward towards under with
    within
    """.split()  # noqa: SIM905  (one word per line otherwise)
)
# Before one of these, a word in -s is a verb, not a plural: connects with, but archives at.
_OF_VERBS = frozenset({"from", "into", "to", "with"})
# Before "of", these describe the subject: member of sports team, but place of birth.
_ROLES = frozenset({"coach", "member", "part"})
# Where an identifier has a space when it is read: birthPlace, birth_place.
_INNER_SPACE = re.compile(r"_|(?<=[a-z])(?=[A-Z][a-z])")
# Participles, and words used like them before a preposition.
_PARTICIPLE = re.compile(
    r"[^e]ed$|^(?:adjacent|born|built|different|endemic|equal|equivalent|found|held|identical|indigenous|known|led|made"
    r"|native|next|opposite|parallel|present|related|said|set|shown|similar|spoken|taught|used|won|worn|written)$"
)
# Past forms that are verbs of the subject before a preposition, not participles: acted in, but located in; with bases.
_ACTIVE = {
    "acted": "act",
    "appeared": "appear",
    "competed": "compete",
    "debuted": "debut",
    "died": "die",
    "fought": "fight",
    "graduated": "graduate",
    "lived": "live",
    "participated": "participate",
    "performed": "perform",
    "played": "play",
    "resided": "reside",
    "served": "serve",
    "starred": "star",
    "studied": "study",
    "worked": "work",
}
_PLURAL = re.compile("(?i)^(?!(?:series|species)$).*[^aious]s$")
# Maximum words of a noun phrase with a preposition at the end; longer ones are misread.
_LONGEST_NOUN = 4
# An id without words, such as P31.
_NO_WORDS = re.compile("[A-Za-z]?[0-9]*")
# Fields of the kinds of generic templates.
FIELDS = ("clozes", "past_clozes", "statements", "yes_no_questions", "wh_questions", "reverse_clozes")
_LETTER = re.compile(r"[^\W\d_]")


def cloze_of_label(label: str) -> str | None:
    """Return a cloze sentence in the present tense for a relation's label; None if its form is unclear.

    Remarks in brackets and all alternatives but the first (``director / manager``) are dropped, and ``birthPlace`` is
    read as *birth place*.
    """
    phrase = _phrase(label)
    words = phrase.split()
    if not words or re.search(r"[^\w\s'’.-]", phrase):
        return None
    first, last = words[0].lower(), words[-1].lower()
    if _is_verb(first, phrase, words) or _is_active(words):
        return f"[X] {phrase} [Y]"
    if first in PREPOSITIONS or (_PARTICIPLE.search(first) is not None and not PREPOSITIONS.isdisjoint(words)):
        return f"[X] is {phrase} [Y]"
    is_role = first in _ROLES and words[1:2] == ["of"]
    if last in PREPOSITIONS or is_role:
        return _role_cloze(phrase, words)
    preposition = "by" if _PARTICIPLE.search(last) else "of"
    verb = "are" if _PLURAL.search(_head(words)) else "is"
    return f"The {phrase} {preposition} [X] {verb} [Y]"


def label_of(relation: Relation) -> str:
    """Return a relation's label, or else its id in words; empty if the id has no words, such as P31.

    >>> label_of(Relation("ACTED_IN")), label_of(Relation("P31"))
    ('acted in', '')
    """
    if relation.label or _NO_WORDS.fullmatch(relation.id):
        return relation.label
    words = relation.id.replace("_", " ")
    return words.lower() if words.isupper() else words


def generic_relation(relation: Relation, who: bool = False, language: Language = ENGLISH) -> Relation:
    """Return a relation with templates of all kinds made from its label, in place of its own.

    >>> generic_relation(Relation("P36", "capital")).wh_questions
    ('What is the capital of [X]?',)

    ``who`` means that the objects are persons. The result is without any template if :func:`label_of` is empty, or the
    language has no forms. A wh-question or a reverse cloze is missing where the form of the label gives none.
    """
    label = label_of(relation)
    if not _LETTER.search(label):
        return _without_templates(relation)
    if not language.is_english:
        return _in_language(relation, label, who, language)
    cloze = cloze_of_label(label) or f"The {_quoted(label)} of [X] is [Y]"
    questions = questions_of(cloze, "Who" if who else "What")
    return replace(
        _without_templates(relation),
        clozes=(cloze,),
        past_clozes=_past_clozes(cloze),
        statements=(f"{cloze}.",),
        yes_no_questions=(questions.yes_no,),
        wh_questions=(questions.wh,) if questions.wh else (),
        reverse_clozes=(questions.reverse_cloze,) if questions.reverse_cloze else (),
    )


def _in_language(relation: Relation, label: str, who: bool, language: Language) -> Relation:
    templates = templates_of_label(label, language, who=who)
    if templates is None:
        return _without_templates(relation)
    return replace(
        _without_templates(relation),
        clozes=(templates.cloze,),
        past_clozes=(templates.past_cloze,),
        statements=(language.sentence(templates.cloze),),
        yes_no_questions=(templates.yes_no_question,),
        wh_questions=tuple(filter(None, [templates.wh_question])),
        reverse_clozes=tuple(filter(None, [templates.reverse_cloze])),
    )


def completed(relation: Relation, who: bool = False, language: Language = ENGLISH) -> Relation:
    """Return a relation with generic templates of each kind that it lacks; see :func:`generic_relation`."""
    generic = generic_relation(relation, who, language)
    missing = {name: getattr(generic, name) for name in FIELDS if not getattr(relation, name)}
    return replace(relation, **missing)


def _without_templates(relation: Relation) -> Relation:
    bare = Relation(relation.id, relation.label, relation.aliases, relation.description, relation.active)
    return replace(bare, answers=relation.answers)


def _quoted(label: str) -> str:
    # A template has no brackets but its placeholders, and no other quotation marks.
    inner = " ".join(label.replace('"', "'").replace("[", "(").replace("]", ")").split())
    return f'"{inner}"'


def _past_clozes(cloze: str) -> tuple[str, ...]:
    if '"' in cloze:
        return (cloze.removesuffix(" is [Y]") + " was [Y]",)
    if _is_active(cloze.split()[1:-1]):
        return (cloze,)
    past = in_the_past(cloze)
    return () if past in (None, cloze) else (past,)


def _is_active(words: list[str]) -> bool:
    return len(words) > 1 and words[0].lower() in _ACTIVE and words[1] in PREPOSITIONS


class Verb(NamedTuple):
    """The first verb of a cloze; its base is None if it is unknown."""

    base: str | None
    is_past: bool


class Questions(NamedTuple):
    """Questions of a relation, and its reverse cloze; None where the cloze gives none."""

    yes_no: str
    wh: str | None = None
    reverse_cloze: str | None = None
    reverse_wh: str | None = None


def questions_of(
    cloze: str, which_object: str = "What", which_subject: str = "What", verb: Verb | None = None
) -> Questions:
    """Return the questions and the reverse cloze of a cloze.

    >>> questions_of("[X] acted in [Y]", "Which film").wh
    'Which film did [X] act in?'

    The cloze begins with its subject, or is *The … of [X] is [Y]*; its verb is recognized if it is None.
    """
    if noun := re.fullmatch(r"The (.+ (?:of|by) \[X\]) (is|are) \[Y\]", cloze):
        return _questions_of_noun(noun[1], noun[2] == "are", which_object)
    middle = cloze.removeprefix(f"{SUBJECT} ").removesuffix(f" {OBJECT}")
    form, _, rest = middle.partition(" ")
    reverse_wh = f"{which_subject} {middle} [Y]?"
    if form in ("is", "was"):
        return _questions_of_verb(form, rest, which_object, reverse_wh)
    base, is_past = verb or _verb_of(form, _is_active(middle.split()))
    if base is None:
        return Questions(f"Is it true that {cloze}?", reverse_wh=reverse_wh)
    return _questions_of_verb("did" if is_past else "does", f"{base} {rest}".rstrip(), which_object, reverse_wh)


def _verb_of(form: str, is_active: bool) -> Verb:
    if is_active:
        return Verb(_ACTIVE[form.lower()], is_past=True)
    if form == "has":
        return Verb("have", is_past=False)
    known = base_of(form)
    return Verb(known[0], known[1] == "past") if known else Verb(None, is_past=False)


def _questions_of_noun(noun: str, is_plural: bool, asking: str) -> Questions:
    article = "one of the" if is_plural else "the"
    verb = "are" if is_plural else "is"
    return Questions(f"Is [Y] {article} {noun}?", f"{asking} {verb} the {noun}?", f"[Y] is {article} {noun}")


def _questions_of_verb(auxiliary: str, phrase: str, asking: str, reverse_wh: str) -> Questions:
    """Return the questions of a phrase behind the subject, such as *located in time zone* of *is located in …*.

    A noun at the phrase's end belongs to the object: *Which time zone is [X] located in?*
    """
    words = phrase.split()
    places = [place for place, word in enumerate(words) if word in PREPOSITIONS]
    # A preposition may be part of the object's noun: located next to body of water.
    outer = [place for place in places if words[place] != "of"] or places
    # A verb alone needs no preposition: What does [X] follow?
    last = outer[-1] if outer else 0
    noun = without_article(" ".join(words[last + 1 :]))
    if noun and not _PARTICIPLE.search(words[-1]):
        asking = f"Which {noun}"
    yes_no = " ".join([f"{auxiliary.capitalize()} [X]", *words, "[Y]?"])
    wh = " ".join([f"{asking} {auxiliary} [X]", *words[: last + 1]])
    return Questions(yes_no, f"{wh}?", reverse_wh=reverse_wh)


def _is_verb(first: str, phrase: str, words: list[str]) -> bool:
    """Return True if the first word of a phrase is a verb."""
    if not _PLURAL.search(first):
        return first in ("has", "is")
    return tense_of(f"[X] {phrase} [Y]") == "present" or not _OF_VERBS.isdisjoint(words)


def _role_cloze(phrase: str, words: list[str]) -> str | None:
    """Return the cloze of a noun phrase with a preposition at the end, or of a role: member of sports team."""
    if len(words) > _LONGEST_NOUN or any(map(_PARTICIPLE.search, words)):
        return None
    if _PLURAL.search(_head(words)):
        return f"[X] has {phrase} [Y]"
    article = "" if words[0].lower() == "part" else f"{indefinite(phrase)} "
    return f"[X] is {article}{phrase} [Y]"


def _phrase(label: str) -> str:
    if " " not in label.strip() and _INNER_SPACE.search(label):
        label = _INNER_SPACE.sub(" ", label).lower()
    bare = re.sub(r"\s*\([^)]*\)", "", label)
    return without_article(" ".join(re.split(r"\s/\s", bare)[0].split()))


def _head(words: list[str]) -> str:
    """Return the head noun of a phrase: the word before its first preposition or participle, else the last word."""
    for place, word in enumerate(words[1:], start=1):
        if word in PREPOSITIONS or _PARTICIPLE.search(word):
            return words[place - 1]
    return words[-1]
