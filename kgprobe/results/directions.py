"""Both directions of the same facts: asked from subject to object, and from object to subject.

An inverse graph keeps the facts' ids, by which the directions are paired. docs/methods/reversed-graphs.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kgprobe.results.result import SHOWN_FACTS, Listing, Result
from kgprobe.running.paired_facts import DirectionCounts, OneWayFact, count_directions, one_way_facts
from kgprobe.running.shared_facts import AnsweredFacts, SharedFacts

_BOTH = (
    "A fact counts as known in a direction if it has more right answers than wrong ones. The chance level may differ"
    " between directions: see the table of results."
)


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


def compare_directions(
    answered: Sequence[AnsweredFacts], shared: SharedFacts, names: Mapping[str, str]
) -> Directions | None:
    """Compare the knowledge of the same facts in both directions; None unless two results differ in direction.

    Cost: a pass over the facts per relation.

    Args:
        shared: their shared facts, at least one.
    """
    if len(answered) != 2 or answered[0].reversed == answered[1].reversed:
        return None
    order = [1, 0] if answered[0].reversed else [0, 1]
    first, second = order
    forward, backward = answered[first], answered[second]
    known, back = shared.known[order]
    relations, facts = np.array(shared.relations), np.array(shared.facts)
    groups = []
    for relation in np.unique(relations).tolist():
        chosen = relations == relation
        groups.append(count_directions(relation, names.get(relation, relation), known[chosen], back[chosen]))
    groups.sort(key=lambda counts: (-counts.forwards_alone, str(counts.relation)))
    ahead, behind = shared.labels[first], shared.labels[second]
    one_way = one_way_facts(facts[known & ~back].tolist(), forward, backward, names)
    one_way += one_way_facts(facts[back & ~known].tolist(), backward, forward, names)
    return Directions(
        forwards=ahead,
        backwards=behind,
        overall=count_directions(None, "all", known, back),
        relations=groups,
        one_way_facts=one_way,
    )
