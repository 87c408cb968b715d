"""Clozes for relations without clozes, made from their labels or written by a model (:mod:`.writing`)."""

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

# An id without words, such as P36.
_NUMBER = re.compile("[A-Za-z]?[0-9]+")

LABEL = "label"


@dataclass(frozen=True, slots=True)
class WrittenRelation:
    """Result of writing clozes for a relation.

    Attributes:
        relation: the relation with the new clozes, or unchanged if there are none.
        written_by: the model, or ``LABEL``.
        weighed: the clozes with their scores; empty for clozes made from labels.
        reason: reason for the lack of clozes, a clause; None if there are some.
    """

    relation: Relation
    written_by: str
    weighed: Sequence[Weighed] = ()
    reason: str | None = None

    def remarks(self) -> dict[str, Any]:
        """Return notes on the clozes for a file."""
        if not self.weighed:
            return {"written_by": self.written_by}
        return {
            "written_by": self.written_by,
            "log_probabilities": [round(cloze.log_probability, 3) for cloze in self.weighed],
            "told_apart": [None if cloze.paired is None else round(cloze.paired, 3) for cloze in self.weighed],
        }


def write_from_labels(graph: Graph, relations: Sequence[Relation], as_of: int) -> Iterator[WrittenRelation]:
    """Write a cloze for each relation from its label, or from an id in words, if it passes the checks.

    Args:
        as_of: reference date (``yyyymmdd``) of the facts used in the checks.
    """
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        label = relation.label or ("" if _NUMBER.fullmatch(relation.id) else relation.id.replace("_", " "))
        cloze = cloze_of_label(label)
        if not label:
            yield WrittenRelation(relation, LABEL, reason="it has no label")
        elif cloze is None:
            source = "label" if relation.label else "id, used as its label,"
            yield WrittenRelation(relation, LABEL, reason=f"its {source} is not a phrase that can form a sentence")
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
    """Write clozes for each relation with a model, and keep those that pass the checks.

    Other arguments and cost per relation as in :func:`.writing.write_clozes`.

    Args:
        name: name of the model.
        known: all relations of the graph: few-shot examples, and meanings that a cloze must not express.
        proposals: number of answers per relation.
    """
    shots = shots_of(known, lambda relation: examples_of(graph, relation.id, as_of), seed)
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        if not examples:
            reason = "it has no fact with a name at both ends, as required for the prompt"
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
        clozes = [weighed.cloze for weighed in written.clozes]
        yield WrittenRelation(_with_clozes(relation, clozes, examples), name, written.clozes)


def _with_clozes(relation: Relation, clozes: Sequence[str], examples: Sequence[Example]) -> Relation:
    """Return the relation with these clozes, and with past clozes if any of its facts has ended."""
    past_clozes = relation.past_clozes
    if any(example.end for example in examples):
        converted = map(in_the_past, clozes)
        past_clozes = tuple(past for past in converted if past is not None and past not in clozes) or past_clozes
    return replace(relation, clozes=tuple(clozes), past_clozes=past_clozes)
