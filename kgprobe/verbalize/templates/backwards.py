"""Reversed relations, from the object to the subject: the same templates with exchanged placeholders."""

from collections.abc import Iterable

from kgprobe.records import Relation
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT, check_template


def backwards(relation: Relation) -> Relation:
    """Return the reversed relation with its templates.

    >>> capital = Relation("P36", clozes=("The capital of [X] is [Y]",), statements=("[Y] is the capital of [X].",))
    >>> backwards(capital).clozes
    ('[X] is the capital of [Y]',)

    Its clozes are the ``reverse_clozes`` of the relation, and the statements and sentences that end in the subject.
    Forward templates become its reverse templates. A closed list of answers contains objects, and is dropped.
    """
    declarative = (*relation.statements, *relation.sentences)
    bare = (sentence.removesuffix(".").rstrip() for sentence in declarative)
    clozes = [*relation.reverse_clozes, *(text for text in bare if not check_template("reverse_cloze", text))]
    return Relation(
        id=relation.id,
        label=relation.label,
        aliases=relation.aliases,
        description=relation.description,
        active=relation.active,
        clozes=_exchanged(dict.fromkeys(clozes)),
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
    """Return templates with ``[X]`` and ``[Y]`` exchanged."""
    exchanged = []
    for template in templates:
        parts = [part.replace(OBJECT, SUBJECT) for part in template.split(SUBJECT)]
        exchanged.append(OBJECT.join(parts))
    return tuple(exchanged)
