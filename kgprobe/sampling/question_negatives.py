"""Hard negatives: objects of a fact's relation that are wrong for its subject.

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. The negatives of (s, r, o) are ``C_r -
T_(s,r)``: all objects of r, without those that are true for s and r at ``as_of`` (former ones:
:class:`.FormerObjects`). So the kind of an object does not reveal the answer. For the same reason the negatives of a
literal are literals of its datatype (years for a year), those of similar size first (:mod:`.similar_literals`), and
other objects have none. The subject itself, entities
without a name, and namesakes of a true object are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph
from kgprobe.sampling.distractors import former_objects, namesakes
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.sampling.pool_draws import ObjectPool, PoolDraws, Tried, by_number, objects_pool, tried_rows
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
        self._graph = graph
        self._as_of = as_of
        self._former = former_objects(former, as_of, present=True)
        self._draws = PoolDraws(graph)
        self._similar = SimilarLiterals(graph)

    def draw(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Negative]]:
        """Draw distinct negatives of each fact uniformly, in random order; see :class:`~.distractors.Retriever`.

        Cost: see :mod:`.pool_draws`.
        """
        rows = self._graph.read("sample/pools", rows=key_rows(keys))
        pools = {row["fact"]: objects_pool(row) for row in rows}
        similar = self._similar.of_objects(keys, rows)

        def admissible(rows: Tried) -> list[dict[int, Negative]]:
            return self._admissible(rows, pools)

        return self._draws.draw(keys, pools, count, [*seed, NEGATIVES], admissible, similar)

    def _admissible(self, rows: Tried, pools: Mapping[str, ObjectPool]) -> list[dict[int, Negative]]:
        accepted = []
        is_namesake = namesakes(self._graph, rows, self._former, of="right")
        matches = self._graph.read(
            "sample/negatives", rows=tried_rows(rows), as_of=self._as_of, before=self._former.before
        )
        for row in matches:
            if is_namesake(row):
                continue
            candidates = pools[row["fact"]].size
            negative = Negative(row["id"], row["label"], tuple(row["aliases"]), row["former"], candidates)
            accepted.append((row["fact"], row["number"], negative))
        return by_number(rows, accepted)
