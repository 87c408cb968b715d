"""Clozes for relations that have none, a relation at a time: of their labels, or by a model (:mod:`.writing`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.records import Relation
from kgprobe.verbalize.templates.examples import Example, examples_of
from kgprobe.verbalize.templates.proposals import objections, shots_of
from kgprobe.verbalize.templates.wording import cloze_of_label
from kgprobe.verbalize.templates.writing import Weighed, reason_for_none, write_clozes
from kgprobe.verbalize.tense import in_the_past

# An id that says nothing, such as P36.
_NUMBER = re.compile("[A-Za-z]?[0-9]+")

LABEL = "label"


@dataclass(frozen=True, slots=True)
class WrittenRelation:
    """A relation that clozes were to be written for.

    Attributes:
        relation: with what was written; as it was where nothing was.
        written_by: the model, or ``LABEL``.
        weighed: the clozes with what the model makes of them; empty where no model wrote them.
        reason: why nothing was written, a phrase; None where something was.
    """

    relation: Relation
    written_by: str
    weighed: Sequence[Weighed] = ()
    reason: str | None = None

    def remarks(self) -> dict[str, Any]:
        """What is said of the clozes beside them in a file."""
        if not self.weighed:
            return {"written_by": self.written_by}
        return {
            "written_by": self.written_by,
            "log_probabilities": [round(one.log_probability, 3) for one in self.weighed],
            "told_apart": [one.paired if one.paired is None else round(one.paired, 3) for one in self.weighed],
        }


def write_from_labels(graph: Graph, relations: Sequence[Relation], as_of: int) -> Iterator[WrittenRelation]:
    """Each relation with a cloze of its label, or of an id in words where it has none, where that passes the checks.

    Args:
        as_of: the reference date (``yyyymmdd``) of the facts that the checks look at.
    """
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        label = relation.label or ("" if _NUMBER.fullmatch(relation.id) else relation.id.replace("_", " "))
        cloze = cloze_of_label(label)
        if not label:
            yield WrittenRelation(relation, LABEL, reason="it has no label")
        elif cloze is None:
            which = "label" if relation.label else "id, which stands for a label,"
            yield WrittenRelation(relation, LABEL, reason=f"its {which} is no phrase that a sentence can be made of")
        elif problems := objections(cloze, relation, examples, ()):
            yield WrittenRelation(relation, LABEL, reason=f"{cloze!r} {', '.join(problems)}")
        else:
            yield WrittenRelation(_with_clozes(relation, [cloze], examples), LABEL)


def write_by_model(
    graph: Graph,
    scorer: Scorer,
    name: str,
    relations: Sequence[Relation],
    known: Sequence[Relation],
    *,
    proposals: int,
    keep: int,
    seed: int,
    as_of: int,
) -> Iterator[WrittenRelation]:
    """Each relation with the clozes that a model wrote for it, where some pass the checks.

    Args:
        scorer: the model that writes and weighs.
        name: what the user calls it.
        known: all of the graph's relations, from which the model learns, and none of which it may speak of instead.
        proposals: how often the model answers, a relation.
        keep: how many clozes are kept, at most.
        seed: what its answers follow from.
        as_of: the reference date (``yyyymmdd``) of the facts that it is shown.

    Cost: see :func:`.writing.write_clozes`, for each relation.
    """
    shots = shots_of(known, lambda relation: examples_of(graph, relation.id, as_of), seed)
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        if not examples:
            reason = "it has no fact with a name at both ends, which a model could be shown"
            yield WrittenRelation(relation, name, reason=reason)
            continue
        try:
            written = write_clozes(
                scorer, relation, examples, shots, known, answers=proposals, keep=keep, seed=seed, as_of=as_of
            )
        except TextError as error:
            yield WrittenRelation(relation, name, reason=str(error).rstrip("."))
            continue
        if not written.clozes:
            yield WrittenRelation(relation, name, reason=reason_for_none(written, proposals))
            continue
        clozes = [one.cloze for one in written.clozes]
        yield WrittenRelation(_with_clozes(relation, clozes, examples), name, written.clozes)


def _with_clozes(relation: Relation, clozes: Sequence[str], examples: Sequence[Example]) -> Relation:
    """The relation with these clozes, and with those of the past where its facts end."""
    ended = any(example.end for example in examples)
    past = [each for cloze in clozes if ended and (each := in_the_past(cloze)) is not None and each not in clozes]
    return replace(relation, clozes=tuple(clozes), past_clozes=tuple(past) or relation.past_clozes)
