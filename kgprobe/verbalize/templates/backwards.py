"""A relation read backwards, from the object to the subject: the same words with their placeholders exchanged."""

from collections.abc import Iterable

from kgprobe.records import Relation
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT, check_template


def backwards(relation: Relation) -> Relation:
    """The relation of the facts turned round, with the templates that can be asked of them.

    >>> capital = Relation("P36", clozes=("The capital of [X] is [Y]",), statements=("[Y] is the capital of [X].",))
    >>> backwards(capital).clozes
    ('[X] is the capital of [Y]',)

    Its clozes are what the relation brings as ``reverse_clozes``, and those of its statements and sentences that end
    in the subject. What it has forwards stands in the result as templates of the other direction. A closed list of
    answers is of the objects, and falls away.
    """
    declarative = (*relation.statements, *relation.sentences)
    completed = (sentence.removesuffix(".").rstrip() for sentence in declarative)
    own = (*relation.reverse_clozes, *(bare for bare in completed if not check_template("reverse_cloze", bare)))
    return Relation(
        id=relation.id,
        label=relation.label,
        aliases=relation.aliases,
        description=relation.description,
        active=relation.active,
        clozes=_exchanged(dict.fromkeys(own)),
        past_clozes=_exchanged(relation.reverse_past_clozes),
        statements=_exchanged(relation.statements),
        yes_no_questions=_exchanged(relation.yes_no_questions),
        wh_questions=_exchanged(relation.reverse_wh_questions),
        sentences=_exchanged(relation.sentences),
        reverse_clozes=_exchanged(relation.clozes),
        reverse_past_clozes=_exchanged(relation.past_clozes),
        reverse_wh_questions=_exchanged(relation.wh_questions),
    )


def _exchanged(templates: Iterable[str]) -> tuple[str, ...]:
    """Templates with ``[X]`` for ``[Y]`` and ``[Y]`` for ``[X]``."""
    return tuple(OBJECT.join(part.replace(OBJECT, SUBJECT) for part in text.split(SUBJECT)) for text in templates)
