"""Both directions of the same facts: asked from subject to object, and from object to subject.

An inverse graph keeps the facts' ids, by which the directions are paired. docs/methods/reversed-graphs.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kgprobe.base.intervals import Share
from kgprobe.base.tables import Heading, Names, ResultRow
from kgprobe.results.result import SHOWN_FACTS, Listing, Result
from kgprobe.results.shared_facts import Bools, SharedFacts
from kgprobe.stats.proportions import share

_BOTH = (
    "A fact counts as known in a direction if it has more right answers than wrong ones. The chance level may differ"
    " between directions: see the table of results."
)


@dataclass(frozen=True, slots=True)
class OneWayFact(ResultRow):
    """A fact that is known in only one direction.

    Attributes:
        known: ``forwards`` or ``backwards``.
        subject: id of the subject in the graph that is not reversed.
        known_question, known_answer: question and right answer in the direction in which the fact is known.
        missed_question, missed_answer: those of the other direction.
        prediction: the model's answer in the other direction.
    """

    known: str
    fact: str
    subject: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    known_question: str
    known_answer: Annotated[str, Heading("known {known}")]
    missed_question: Annotated[str, Heading("asked")]
    missed_answer: Annotated[str, Heading("missed {missed}")]
    prediction: Annotated[str | None, Heading("prediction")]

    def cells(self, names: Names | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the cells of a table; the headings name the two directions."""
        missed = "backwards" if self.known == "forwards" else "forwards"
        return ResultRow.cells(self, {"known": self.known, "missed": missed})


@dataclass(frozen=True, slots=True)
class DirectionCounts(ResultRow):
    """Knowledge of a group of facts in both directions.

    Attributes:
        relation: id; None for all facts.
        forwards, backwards: shares of the facts that are known.
        both: number of facts that are known in both directions.
        forwards_alone, backwards_alone: number of facts that are known in only this direction.
        not_backwards: the share of facts known forwards that are not known backwards; None where none is known
            forwards.
        not_forwards: the same with the directions swapped.
    """

    relation: str | None
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    forwards: Annotated[Share, Heading("forwards")]
    backwards: Annotated[Share, Heading("backwards")]
    both: Annotated[int, Heading("both")]
    forwards_alone: Annotated[int, Heading("forwards alone")]
    backwards_alone: Annotated[int, Heading("backwards alone")]
    not_backwards: Annotated[Share | None, Heading("not backwards")]
    not_forwards: Annotated[Share | None, Heading("not forwards")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Directions(Result):
    """A comparison of both directions; one row for all facts, then one for each relation.

    Attributes:
        forwards, backwards: names of the results.
        overall: all facts that were asked in both directions.
        relations: counts by relation, those with most facts known only forwards first.
        one_way_facts: the facts that are known in only one direction: forwards, then backwards; by relation.
    """

    forwards: str
    backwards: str
    overall: DirectionCounts
    relations: Sequence[DirectionCounts]
    one_way_facts: Annotated[
        Sequence[OneWayFact],
        Listing("Known forwards and not backwards", where=lambda fact: fact.known == "forwards", show=SHOWN_FACTS),
        Listing(
            "Known backwards and not forwards",
            where=lambda fact: fact.known == "backwards",
            show=SHOWN_FACTS,
            detail=True,
        ),
    ]

    @property
    def groups(self) -> Annotated[Sequence[DirectionCounts], Listing("Known forwards and backwards", _BOTH)]:
        """All facts, then each relation."""
        return [self.overall, *self.relations]

    def summary(self) -> str:
        """Return the share of the facts known in one direction that are not known in the other, in sentences."""
        overall, both = self.overall, self.overall.both
        sentences = [
            f"Directions, over {overall.facts:,} facts: {overall.forwards} known forwards, {overall.backwards}"
            " backwards."
        ]
        if overall.not_backwards is not None:
            known = f"the {overall.forwards_alone + both:,} facts known forwards"
            sentences.append(f"Not known backwards: {overall.not_backwards} of {known}.")
        if overall.not_forwards is not None:
            known = f"the {overall.backwards_alone + both:,} facts known backwards"
            sentences.append(f"Not known forwards: {overall.not_forwards} of {known}.")
        return " ".join(sentences)


def compare_directions(shared: SharedFacts, names: Mapping[str, str]) -> Directions | None:
    """Compare the knowledge of the same facts in both directions; None unless two results differ in direction.

    Cost: a pass over the facts per relation.

    Args:
        shared: facts of the results, at least one.
    """
    if len(shared.abouts) != 2 or shared.abouts[0].reversed == shared.abouts[1].reversed:
        return None
    first, second = [1, 0] if shared.abouts[0].reversed else [0, 1]
    known, back = shared.known[[first, second]]
    relations = np.array(shared.relations)
    groups = []
    for relation in np.unique(relations).tolist():
        chosen = relations == relation
        groups.append(_counts(relation, names.get(relation, relation), known[chosen], back[chosen]))
    groups.sort(key=lambda counts: (-counts.forwards_alone, str(counts.relation)))
    ahead, behind = shared.labels[first], shared.labels[second]
    one_way = _one_way_facts(known & ~back, first, shared, names)
    one_way += _one_way_facts(back & ~known, second, shared, names)
    return Directions(
        forwards=ahead,
        backwards=behind,
        overall=_counts(None, "all", known, back),
        relations=groups,
        one_way_facts=one_way,
    )


def _counts(relation: str | None, name: str, known: Bools, back: Bools) -> DirectionCounts:
    """Count the facts of a group that are known in each direction; ``known`` is forwards, ``back`` backwards."""
    total, first, second, both = len(known), int(known.sum()), int(back.sum()), int((known & back).sum())
    return DirectionCounts(
        relation,
        name,
        total,
        share(first, total),
        share(second, total),
        both,
        first - both,
        second - both,
        share(first - both, first) if first else None,
        share(second - both, second) if second else None,
    )


def _one_way_facts(chosen: Bools, known: int, shared: SharedFacts, names: Mapping[str, str]) -> list[OneWayFact]:
    """Return facts that are known in one direction, by name of the relation; ``known`` is the place of its result."""
    about, one_way = shared.abouts[known], []
    for fact, *rows in shared.rows(chosen):
        row, other = rows[known], rows[1 - known]
        one_way.append(
            OneWayFact(
                about.direction,
                fact,
                other["subject"] if about.reversed else row["subject"],
                row["relation"],
                names.get(row["relation"], row["relation"]),
                row["question"],
                row["right_answer"],
                other["question"],
                other["right_answer"],
                other["prediction"],
            )
        )
    return sorted(one_way, key=lambda fact: (fact.relation_name, fact.fact))
