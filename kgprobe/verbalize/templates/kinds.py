"""Kinds of templates: sentences or questions with ``[X]`` for the subject and ``[Y]`` for the object."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgprobe.base.errors import UnknownNameError, expected_one_of
from kgprobe.base.records import Relation

SUBJECT = "[X]"
OBJECT = "[Y]"

KINDS = ("cloze", "mined_cloze", "past_cloze", "statement", "yes_no_question", "wh_question")
# Reverse templates contain the object and ask for the subject.
REVERSE_KINDS = ("reverse_cloze", "reverse_past_cloze", "reverse_wh_question")
# Property of the graph for each origin of cloze sentences.
CLOZES = {"hand": "clozes", "mined": "mined_clozes", "generic": "clozes"}
# Origin of templates that are made of the label of every relation, also of those with templates of their own.
GENERIC = "generic"
# A verbatim sentence of a data set, which is also stored under its kind.
SENTENCE = "sentence"
FULL_STOPS = (".", "。", "।", "۔", "։")
QUESTION_MARKS = ("?", "？", "؟", "՞")


def check_template(kind: str, text: str) -> list[str]:
    """Return the problems of a template that cannot be filled, or does not have the form of its kind.

    A template may begin with a lower-case letter; its sentences begin with a capital.

    ``kind`` is one of ``KINDS`` or ``REVERSE_KINDS``, or ``SENTENCE``; a wh-question has one of ``[X]`` and ``[Y]``.
    """
    if kind not in (*KINDS, *REVERSE_KINDS, SENTENCE):
        raise UnknownNameError(f"Unknown kind of template {kind!r}; {expected_one_of(kind, (*KINDS, *REVERSE_KINDS))}.")
    answer = SUBJECT if kind in REVERSE_KINDS else OBJECT
    problems = []
    if text != " ".join(text.split()):
        problems.append("has white space at an end, or more than one space in a row")
    for placeholder in (SUBJECT, OBJECT):
        expected = 0 if placeholder == answer and kind.endswith("wh_question") else 1
        if text.count(placeholder) != expected:
            problems.append(f"has {placeholder} {text.count(placeholder)} times where {expected} is expected")
    if "[" in text.replace(SUBJECT, "").replace(OBJECT, ""):
        problems.append(f"has a bracket that is neither {SUBJECT} nor {OBJECT}")
    endings = (
        ("cloze", (answer,), answer),
        ("statement", FULL_STOPS, "a full stop"),
        ("question", QUESTION_MARKS, "a question mark"),
    )
    for name, marks, description in endings:
        if kind.endswith(name) and not text.endswith(marks):
            problems.append(f"does not end in {description}")
    return problems


def backwards(relation: Relation) -> Relation:
    """Return the reversed relation with its templates.

    >>> capital = Relation("P36", clozes=("The capital of [X] is [Y]",), statements=("[Y] is the capital of [X].",))
    >>> backwards(capital).clozes
    ('[X] is the capital of [Y]',)

    Its clozes are the ``reverse_clozes`` of the relation, and the statements and sentences that end in the subject.
    Forward templates become its reverse templates. A closed list of answers contains objects, and is dropped.
    """
    texts = {}
    for language, own in relation.texts.items():
        names = {name: own[name] for name in ("label", "aliases", "description") if name in own}
        texts[language] = {**names, **_backwards(own)}
    return Relation(
        id=relation.id,
        label=relation.label,
        aliases=relation.aliases,
        description=relation.description,
        active=relation.active,
        texts=texts,
        **_backwards({f"{kind}s": getattr(relation, f"{kind}s") for kind in (*KINDS, SENTENCE, *REVERSE_KINDS)}),
    )


def _backwards(templates: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """Return the reversed templates of a relation, by property."""

    def of(name: str) -> Iterable[str]:
        return templates.get(name, ())

    bare = (sentence.rstrip("".join(FULL_STOPS)).rstrip() for sentence in (*of("statements"), *of("sentences")))
    clozes = [*of("reverse_clozes"), *(text for text in bare if not check_template("reverse_cloze", text))]
    names = {
        "past_clozes": "reverse_past_clozes",
        "statements": "statements",
        "yes_no_questions": "yes_no_questions",
        "wh_questions": "reverse_wh_questions",
        "sentences": "sentences",
        "reverse_clozes": "clozes",
        "reverse_past_clozes": "past_clozes",
        "reverse_wh_questions": "wh_questions",
    }
    reversed_ = {name: _exchanged(of(other)) for name, other in names.items()}
    return {"clozes": _exchanged(dict.fromkeys(clozes)), **reversed_}


def exchanged(template: str) -> str:
    """Return a template with ``[X]`` and ``[Y]`` exchanged."""
    return OBJECT.join(part.replace(OBJECT, SUBJECT) for part in template.split(SUBJECT))


def _exchanged(templates: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(exchanged, templates))
