"""Hard negatives: what a fact's relation is true of elsewhere, and is wrong for its subject.

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. The negatives of (s, r, o) are ``C_r -
T_(s,r)``: all objects seen with r, less those that are true for s and r at ``as_of``. So a question about one cannot
be answered by its kind alone; for the same reason a literal has literals of its own datatype beside it, such as years
beside a year, and what is no literal has none. Left out are also the subject itself, whatever has no name, and
whatever shares a name with an object that is true.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import Pool, PoolDraws, by_number

# Sets this draw apart from all others that follow from the same seed.
NEGATIVES = 4


@dataclass(frozen=True, slots=True)
class Negative:
    """An entity in place of a fact's object.

    Attributes:
        former: whether it was right in the past: who takes it for right is out of date.
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    former: bool


class Negatives:
    """Draws hard negatives from one graph; remembers the objects of relations."""

    def __init__(self, graph: Graph, as_of: int) -> None:
        """Draw from this graph, with what is true at ``as_of`` (``yyyymmdd``) left out."""
        self._graph = graph
        self._as_of = as_of
        self._draws = PoolDraws(graph)

    def draw(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Negative]]:
        """Distinct negatives of each fact, uniform over all it has, in random order.

        Args:
            keys: facts of the graph.
            count: how many are wanted for each.
            seed: what the draws follow from; whatever stands beside a fact has no say.

        Returns:
            one list a fact, in the order of the keys; shorter than ``count`` where the graph has no more.

        Cost: see :mod:`.pool_draws`.
        """
        rows = self._graph.read("sample/pools", rows=[key._asdict() for key in keys])
        pools = {
            row["fact"]: Pool((("sample/objects", row["relation"]["id"]),), row["relation"]["size"], row["total"])
            for row in rows
        }
        return self._draws.draw(keys, pools, count, [*seed, NEGATIVES], self._admissible)

    def _admissible(self, rows: Sequence[tuple[FactKey, Sequence[int]]]) -> list[dict[int, Negative]]:
        asked = [{**key._asdict(), "numbers": list(numbers)} for key, numbers in rows]
        found = self._graph.read("sample/negatives", rows=asked, as_of=self._as_of)
        return by_number(
            rows,
            (
                (row["fact"], row["number"], Negative(row["id"], row["label"], tuple(row["aliases"]), row["former"]))
                for row in found
            ),
        )
