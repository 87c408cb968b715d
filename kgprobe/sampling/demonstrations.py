"""Demonstrations: other facts of a relation, which tell a model by example what is asked.

Section 3 of the latent-knowledge paper; docs/methods/examples.md. They are facts that are current and have names at
both ends, each of another subject, uniform over the relation's subjects; of a subject with several facts one is
drawn. Each relation has one order of them, which the seed alone decides: whoever needs fewer takes the first.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.seeded_order import seeded_number


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A fact as an example.

    Attributes:
        fact, subject, object: ids.
    """

    fact: str
    subject: str
    subject_label: str
    object: str
    object_label: str


def draw_demonstrations(
    graph: Graph, relations: Sequence[str], count: int, seed: int, as_of: int
) -> dict[str, list[Demonstration]]:
    """Demonstrations of each relation, in random order.

    Cost: one scan of the graph's facts, streamed. Memory: ``count`` keys a relation.

    Args:
        relations: ids.
        count: how many are wanted of each, at least 1.
        seed: what the order follows from, and nothing else: neither the engine nor the order of loading has a say.
        as_of: facts count as current at this date, ``yyyymmdd``.

    Returns:
        by relation, fewer than ``count`` where it has no more subjects with such facts; those whose names are white
        space are left out.
    """
    drawn: dict[str, _Lowest] = {relation: _Lowest(count) for relation in relations}
    for row in graph.stream("sample/demonstrations", relations=list(relations), as_of=as_of):
        drawn[row["relation"]].offer(seed, row["subject"], row["fact"])
    keys = {relation: lowest.in_order() for relation, lowest in drawn.items()}
    described = iter(describe_facts(graph, [key for its in keys.values() for key in its]))
    found = {relation: [next(described) for _ in its] for relation, its in keys.items()}
    return {
        relation: [
            Demonstration(fact.key.fact, fact.key.subject, fact.subject_label, fact.object, fact.object_label)
            for fact in its
            if fact.subject_label.strip() and fact.object_label.strip()
        ]
        for relation, its in found.items()
    }


def demonstrations_for(
    facts: Sequence[AskedFact], demonstrations: Sequence[Demonstration], count: int
) -> list[Demonstration]:
    """The first demonstrations that give none of these facts away.

    One with the subject of an asked fact would name another of its objects, or the very one. One that is an asked fact
    turned around would say it where the relation is symmetric.
    """
    subjects = {fact.key.subject for fact in facts}
    turned = {(fact.object, fact.key.subject) for fact in facts}
    fitting = (one for one in demonstrations if one.subject not in subjects and (one.subject, one.object) not in turned)
    return list(islice(fitting, count))


class _Lowest:
    """The subjects with the lowest numbers, of all that were offered, each with its fact of the lowest number."""

    def __init__(self, count: int) -> None:
        self._count = count
        # The numbers are negated, so that the highest of those kept stands first.
        self._heap: list[tuple[int, str]] = []
        self._facts: dict[str, tuple[int, str]] = {}

    def offer(self, seed: int, subject: str, fact: str) -> None:
        kept = self._facts.get(subject)
        if kept is not None:
            self._facts[subject] = min(kept, (seeded_number(seed, "fact", fact), fact))
            return
        entry = (-seeded_number(seed, "subject", subject), subject)
        if len(self._heap) == self._count:
            if entry <= self._heap[0]:
                return
            _, gone = heapq.heappushpop(self._heap, entry)
            del self._facts[gone]
        else:
            heapq.heappush(self._heap, entry)
        self._facts[subject] = (seeded_number(seed, "fact", fact), fact)

    def in_order(self) -> list[FactKey]:
        return [FactKey(subject, self._facts[subject][1]) for _, subject in sorted(self._heap, reverse=True)]
