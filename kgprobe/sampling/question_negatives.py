"""Hard negatives: objects of a fact's relation that are wrong for its subject.

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. The negatives of (s, r, o) are ``C_r -
T_(s,r)``: all objects of r, without those that are true for s and r at ``as_of`` (former ones:
:class:`.FormerObjects`). So the kind of an object does not reveal the answer. For the same reason the negatives of a
literal are literals of its datatype (years for a year), those of similar size first (:mod:`.similar_literals`), and
other objects have none. The subject itself, entities
without a name, and namesakes of a true object are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from kgprobe.graph.client import Graph
from kgprobe.sampling.distractors import former_objects, names_of_objects
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.pool_draws import PoolDraws, Tried, by_number, candidate_row, objects_pool
from kgprobe.sampling.similar_literals import SimilarLiterals
from kgprobe.sources.values import name_key

# Separates these draws from others with the same seed.
NEGATIVES = 4


@dataclass(frozen=True, slots=True)
class Negative:
    """An entity in place of a fact's object.

    Attributes:
        former: True if it was right in the past.
        candidates: number of objects of the relation in the graph, C_r, from which it was drawn; None if unknown.
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    former: bool
    candidates: int | None = None


class Negatives:
    """Hard negatives of one graph; the objects of relations are cached."""

    def __init__(self, graph: Graph, as_of: int, former: str = "wrong") -> None:
        """Draw from this graph, except for true objects at ``as_of`` (``yyyymmdd``).

        Args:
            former: an entry of :data:`~kgprobe.sampling.distractors.FORMER`. Questions are in the present tense, so
                former objects are ``wrong`` by default; of a fact that has ended they are never drawn.
        """
        self._graph = graph
        self._former = former_objects(former, as_of, present=True)
        self._draws = PoolDraws(graph)
        self._similar = SimilarLiterals(graph)

    def draw(self, facts: Sequence[AskedFact], count: int, seed: Sequence[int]) -> list[list[Negative]]:
        """Draw distinct negatives of each fact uniformly, in random order; see :class:`~.distractors.Retriever`.

        Cost: see :mod:`.pool_draws`.
        """
        names = names_of_objects(self._graph, {n: (fact, self._former) for n, fact in enumerate(facts)}, only_own=False)

        def admissible(tried: Tried) -> list[dict[int, Negative]]:
            rows = []
            for place, numbers in tried:
                fact = facts[place]
                kind = fact.object_datatype
                rows.append(candidate_row(place, numbers, of=fact.relation, datatype=kind, fact=fact))
            accepted = {}
            for row in self._graph.read("sample/candidates", rows=rows):
                place, until = row["index"], row["until"]
                is_right = until is not None and not self._former.admits(facts[place], until)
                if is_right or not row["label"] or row["id"] == facts[place].key.subject:
                    continue
                if names[place].isdisjoint(map(name_key, (row["label"], *row["aliases"]))):
                    aliases, candidates = tuple(row["aliases"]), facts[place].relation_size
                    negative = Negative(row["id"], row["label"], aliases, until is not None, candidates)
                    accepted[place, row["number"]] = negative
            return by_number(tried, accepted)

        keys, pools = list(map(attrgetter("key"), facts)), list(map(objects_pool, facts))
        similar = self._similar.of_objects(facts)
        return self._draws.draw(keys, pools, count, [*seed, NEGATIVES], admissible, similar)
