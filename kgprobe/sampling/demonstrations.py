"""Demonstrations: other facts of a relation, as few-shot examples.

Section 3 of the latent-knowledge paper; docs/methods/examples.md. They are current facts with names at both ends,
one per subject, uniform over the relation's subjects. The order of each relation's demonstrations depends only on the
seed; a smaller number is a prefix of it.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey, seeded_number


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A fact as an example."""

    fact: str
    subject: str
    subject_label: str
    object: str
    object_label: str


def draw_demonstrations(
    graph: Graph, relations: Sequence[str], count: int, seed: int, as_of: int
) -> dict[str, list[Demonstration]]:
    """Draw demonstrations of each relation, in random order.

    Cost: one scan of the graph's facts, streamed. Memory: ``count`` keys per relation.

    A relation with fewer subjects has fewer. Facts with a name of white space are left out.
    """
    drawn: dict[str, _Lowest] = {relation: _Lowest(count) for relation in relations}
    for row in graph.stream("sample/demonstrations", relations=list(relations), as_of=as_of):
        drawn[row["relation"]].offer(seed, row["subject"], row["fact"])
    keys = {relation: lowest.in_order() for relation, lowest in drawn.items()}
    demonstrations: dict[str, list[Demonstration]] = {relation: [] for relation in keys}
    for fact in describe_facts(graph, list(chain.from_iterable(keys.values()))):
        if fact.subject_label.strip() and fact.object_label.strip():
            demonstrations[fact.relation].append(
                Demonstration(fact.key.fact, fact.key.subject, fact.subject_label, fact.object, fact.object_label)
            )
    return demonstrations


def demonstrations_for(
    facts: Sequence[AskedFact], demonstrations: Sequence[Demonstration], count: int
) -> list[Demonstration]:
    """Return the first demonstrations that do not reveal the asked facts.

    A demonstration with the subject of an asked fact could name its object. The inverse of an asked fact reveals it if
    the relation is symmetric.
    """
    subjects = set(map(attrgetter("key.subject"), facts))
    inverse = {(fact.object, fact.key.subject) for fact in facts}
    fitting: list[Demonstration] = []
    for example in demonstrations:
        if len(fitting) == count:
            break
        if example.subject not in subjects and (example.subject, example.object) not in inverse:
            fitting.append(example)
    return fitting


class _Lowest:
    """The subjects with the lowest hashes, each with its fact of the lowest hash."""

    def __init__(self, count: int) -> None:
        self._count = count
        # Hashes are negated, so the heap begins with the highest one.
        self._heap: list[tuple[int, str]] = []
        self._facts: dict[str, tuple[int, str]] = {}

    def offer(self, seed: int, subject: str, fact: str) -> None:
        ranked = (seeded_number(seed, "fact", fact), fact)
        if subject in self._facts:
            self._facts[subject] = min(self._facts[subject], ranked)
            return
        self._facts[subject] = ranked
        heapq.heappush(self._heap, (-seeded_number(seed, "subject", subject), subject))
        if len(self._heap) > self._count:
            _, removed = heapq.heappop(self._heap)
            del self._facts[removed]

    def in_order(self) -> list[FactKey]:
        return [FactKey(subject, self._facts[subject][1]) for _, subject in sorted(self._heap, reverse=True)]
