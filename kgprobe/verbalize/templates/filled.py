"""Templates filled with facts of the graph, for people to read."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.dates import first_day
from kgprobe.records import Relation
from kgprobe.verbalize.sentences import Cloze, fill, wh_question
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.kinds import KINDS
from kgprobe.verbalize.tense import has_ended, templates_of

# Between a cloze sentence and what fills its blank.
BLANK = "…"


@dataclass(frozen=True, slots=True)
class Filled:
    """A template and a sentence made of it.

    Attributes:
        kind: one of ``KINDS``; ``past_cloze`` also for a cloze that was put in the past.
        template: as it is asked.
        sentence: with the names of a fact; of a cloze, with ``BLANK`` where the model is to go on. None if the
            relation has no fact to fill it with.
        fact: the fact's id, or None.
    """

    kind: str
    template: str
    sentence: str | None
    fact: str | None


def filled_templates(relation: Relation, examples: Sequence[Example], as_of: int) -> list[Filled]:
    """All templates of a relation, each filled with the first fact that it would be asked of, or else another.

    Args:
        examples: facts of the relation.
        as_of: ``yyyymmdd``; facts that ended before it are put in the past.
    """
    begun = [example for example in examples if example.start is None or first_day(example.start) <= as_of]
    holding = next((example for example in begun if not has_ended(example.end, as_of)), None)
    ended = next((example for example in begun if has_ended(example.end, as_of)), None)
    past_clozes = templates_of(relation.clozes, relation.past_clozes, ended=True) if ended else relation.past_clozes
    filled = []
    for kind in KINDS:
        templates = past_clozes if kind == "past_cloze" else getattr(relation, f"{kind}s")
        example = (ended or holding) if kind == "past_cloze" else (holding or ended)
        for template in templates:
            sentence = _sentence(kind, template, example) if example else None
            filled.append(Filled(kind, template, sentence, example.fact if example else None))
    return filled


def _sentence(kind: str, template: str, example: Example) -> str:
    if kind == "wh_question":
        return wh_question(template, example.subject)
    if kind.endswith("cloze"):
        cloze = Cloze(template, example.subject)
        return f"{cloze.prompt} {BLANK} {cloze.continuations([example.object])[0]}"
    return fill(template, example.subject, example.object)
