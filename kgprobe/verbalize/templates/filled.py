"""Templates filled with facts of the graph, for display."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.dates import first_day
from kgprobe.records import Relation
from kgprobe.verbalize.sentences import Cloze, fill, wh_question
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.kinds import KINDS
from kgprobe.verbalize.tense import has_ended, templates_of
from kgprobe.verbalize.verbatim import BLANK


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """A template with an example sentence.

    Attributes:
        kind: one of ``KINDS``; ``past_cloze`` also for a cloze that was put in the past.
        template: the template as used in prompts.
        sentence: the template with the names of a fact, and ``BLANK`` between a cloze and its continuation; None if
            the relation has no suitable fact.
        fact: id of the fact, or None.
    """

    kind: str
    template: str
    sentence: str | None
    fact: str | None


def filled_templates(relation: Relation, examples: Sequence[Example], as_of: int) -> list[FilledTemplate]:
    """Return all templates of a relation, each filled with the first fact that suits it, or else another.

    Args:
        examples: facts of the relation.
        as_of: ``yyyymmdd``; facts that ended before it are put in the past.
    """
    begun = [example for example in examples if example.start is None or first_day(example.start) <= as_of]
    current_first = sorted(begun, key=lambda example: has_ended(example.end, as_of))
    ended_first = sorted(begun, key=lambda example: not has_ended(example.end, as_of))
    clozes = {kind: getattr(relation, f"{kind}s") for kind in KINDS}
    if ended_first and has_ended(ended_first[0].end, as_of):
        clozes["past_cloze"] = templates_of(relation.clozes, relation.past_clozes, ended=True)
    filled = []
    for kind, templates in clozes.items():
        suitable = ended_first if kind == "past_cloze" else current_first
        for template in templates:
            if suitable:
                filled.append(FilledTemplate(kind, template, _sentence(kind, template, suitable[0]), suitable[0].fact))
            else:
                filled.append(FilledTemplate(kind, template, None, None))
    return filled


def _sentence(kind: str, template: str, example: Example) -> str:
    if kind == "wh_question":
        return wh_question(template, example.subject)
    if kind.endswith("cloze"):
        cloze = Cloze(template, example.subject)
        return f"{cloze.prompt} {BLANK} {cloze.continuations([example.object])[0]}"
    return fill(template, example.subject, example.object)
