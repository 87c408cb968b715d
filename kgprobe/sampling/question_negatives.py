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
from kgprobe.sampling.pool_draws import PoolDraws, Tried, objects_pool
from kgprobe.sampling.similar_literals import SimilarLiterals

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
        self._former = former_objects(former, as_of, present=True)
        self._draws = PoolDraws(graph)
        self._similar = SimilarLiterals(graph)

    def draw(self, facts: Sequence[AskedFact], count: int, seed: Sequence[int]) -> list[list[Negative]]:
        """Draw distinct negatives of each fact uniformly, in random order; see :class:`~.distractors.Retriever`.

        Cost: see :mod:`.pool_draws`.
        """
        entities = self._draws.entities
        names = names_of_objects(entities, [(fact, self._former) for fact in facts], only_own=False)
        ends = entities.objects_of(facts)
        keys, pools = list(map(attrgetter("key"), facts)), list(map(objects_pool, facts))

        def admissible(tried: Tried) -> list[dict[int, Negative]]:
            accepted = []
            for (place, _), members in zip(tried, entities.in_pools(tried, pools), strict=True):
                fact = facts[place]
                negatives = {}
                for entity in members:
                    until = ends[place].get(entity.number)
                    is_right = until is not None and not self._former.admits(fact, until)
                    if is_right or not entity.label or entity.id == fact.key.subject:
                        continue
                    if entity.datatype == fact.object_datatype and names[place].isdisjoint(entity.keys):
                        negatives[entity.number] = Negative(
                            entity.id, entity.label, entity.aliases, until is not None, fact.relation_size
                        )
                accepted.append(negatives)
            return accepted

        similar = self._similar.of_objects(facts)
        return self._draws.draw(keys, pools, count, [*seed, NEGATIVES], admissible, similar)
