"""Noun phrases of relations, and composed sentences: *The capital of the country where Tokyo is found is …*.

A phrase stands for the object of a relation and a subject: *the country where Tokyo is found*. Rules derive it from the
relation's own templates, and never make up words:

1. The first cloze sentence in the present tense of the form *The … [X] … is [Y]* or *… was [Y]* gives *the … [X] …*:
   *The place where [X] was born is [Y]* gives *the place where [X] was born*. The article says that there is one.
2. Without such a cloze sentence, a statement of the form *[Y] is the … [X] ….* or *[Y] was …* does.

Templates with *a*, *one of* or *are* give no phrase, because they fit several objects (*A child of [X] is [Y]*), nor
do sentences (*[X] was born in [Y]*), quoted labels, and phrases with a comma or the like. A wh-question is not used:
*Where was [X] born?* lacks the noun.

A phrase takes the place of ``[X]`` in a cloze sentence of the second relation: the first in which ``[X]`` begins the
sentence, or follows a preposition, a relative word or a comma, and is not a possessor. So *The capital of [X] is [Y]*
and *[X] was born in [Y]* take it; *The river [X] flows into [Y]* and *[X]'s capital is [Y]* do not.
"""

import re
from collections.abc import Iterable

from kgprobe.verbalize.sentences import Cloze, wh_question
from kgprobe.verbalize.templates.generic import PREPOSITIONS
from kgprobe.verbalize.templates.kinds import SUBJECT

_CLOZE = re.compile(r"The ([^,;:\"“”()]*\[X\][^,;:\"“”()]*) (?:is|was) \[Y\]")
_STATEMENT = re.compile(r"\[Y\] (is|was) the ([^,;:\"“”()]*\[X\][^,;:\"“”()]*)\.")
# Words after which a noun phrase can follow, besides the prepositions of labels.
_BEFORE_PHRASE = PREPOSITIONS | frozenset(
    """
    about around behind below beside between beyond during if inside like off outside past since than that through
    under until upon when where which while who whom
    """.split()  # noqa: SIM905  (one word per line otherwise)
)
_POSSESSOR = re.compile(r"['’\w-]")


def naming_cloze(clozes: Iterable[str], statements: Iterable[str] = ()) -> str | None:
    """Return the cloze sentence whose text before the verb names the object; None if the rules find none.

    >>> naming_cloze(["[X] was born in [Y]", "The place where [X] was born is [Y]"])
    'The place where [X] was born is [Y]'
    >>> naming_cloze(["A child of [X] is [Y]"], ["[Y] is a child of [X]."])

    ``clozes`` are in the present tense.
    """
    for cloze in clozes:
        if _CLOZE.fullmatch(cloze):
            return cloze
    for statement in statements:
        if match := _STATEMENT.fullmatch(statement):
            return f"The {match[2]} {match[1]} [Y]"
    return None


def noun_phrase(cloze: str, subject: str) -> str:
    """Return the noun phrase of a cloze sentence of :func:`naming_cloze` for a subject.

    >>> noun_phrase("The capital of [X] is [Y]", "Netherlands")
    'the capital of the Netherlands'
    """
    match = _CLOZE.fullmatch(cloze)
    if match is None:
        raise ValueError(f"{cloze!r} names no object")
    return f"the {wh_question(f'The {match[1]}', subject).removeprefix('The ')}"


def cloze_for_phrase(clozes: Iterable[str]) -> str | None:
    """Return the first cloze sentence that takes a noun phrase for its subject; None if there is none.

    >>> cloze_for_phrase(["The term for those who practise [X] is [Y]", "[X] is practised by [Y]"])
    '[X] is practised by [Y]'
    """
    for cloze in clozes:
        before, _, after = cloze.partition(SUBJECT)
        words = before.split()
        follows = not words or words[-1].endswith(",") or words[-1].lower() in _BEFORE_PHRASE
        if follows and not _POSSESSOR.match(after):
            return cloze
    return None


def composed(cloze: str, naming: str, subject: str) -> Cloze:
    """Return the composed cloze sentence of a subject.

    >>> composed("The capital of [X] is [Y]", "The country where [X] is found is [Y]", "Tokyo").prompt
    'The capital of the country where Tokyo is found is'

    Args:
        cloze: of the second relation, of :func:`cloze_for_phrase`.
        naming: of the first relation, of :func:`naming_cloze`.
    """
    return Cloze(cloze, noun_phrase(naming, subject))
