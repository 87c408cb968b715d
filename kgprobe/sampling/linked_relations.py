"""Which relations link entities of a kind with entities of another, as far as a sample of them shows.

docs/methods/statements.md. A sample has the same members for every seed, so what is learned of a kind is learned once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import Members, Pool, PoolDraws, by_number

# Members of a kind whose facts are looked at.
LOOKED_AT = 300

# Sets this draw apart from all others.
_LINKS = 7


@dataclass(frozen=True, slots=True)
class Link:
    """A relation, and the kind of what it leads to.

    Attributes:
        types: the object's.
        datatype: of a literal; empty of what is none.
    """

    relation: str
    types: frozenset[str]
    datatype: str

    def leads_to(self, types: frozenset[str], datatype: str) -> bool:
        """Whether its object is of a kind: shares a type with it, or has none either and the same datatype."""
        return bool(self.types & types) if types else not self.types and self.datatype == datatype


class LinkedRelations:
    """Reads relations between kinds of entities from one graph, and remembers them."""

    def __init__(self, graph: Graph) -> None:
        """Read from this graph."""
        self._graph = graph
        self._draws = PoolDraws(graph)
        self._links: dict[tuple[Members, ...], frozenset[Link]] = {}

    def links(self, pools: Sequence[Pool]) -> list[frozenset[Link]]:
        """The links that members of each pool have, up to ``LOOKED_AT`` of them, drawn at random.

        Cost: for a pool that is new, a walk through the facts of these members; see also :mod:`.pool_draws`.

        Args:
            pools: of subjects, see :func:`.subjects.subject_pool`.
        """
        new = {"\n".join(id_ for _, id_ in pool.lists): pool for pool in pools if pool.lists not in self._links}
        if new:
            # No fact stands behind these: what is drawn for is a kind.
            kinds = [FactKey("", kind) for kind in new]
            drawn = self._draws.draw(kinds, new, LOOKED_AT, [_LINKS], lambda rows: self._members(rows, new))
            for pool, members in zip(new.values(), drawn, strict=True):
                self._links[pool.lists] = frozenset().union(*members)
        return [self._links[pool.lists] for pool in pools]

    def _members(
        self, rows: Sequence[tuple[FactKey, Sequence[int]]], pools: Mapping[str, Pool]
    ) -> list[dict[int, frozenset[Link]]]:
        asked = [
            {
                "kind": key.fact,
                "types": [id_ for query, id_ in pools[key.fact].lists if query == "sample/members"],
                "numbers": list(numbers),
            }
            for key, numbers in rows
        ]
        return by_number(
            rows,
            (
                (
                    row["kind"],
                    row["number"],
                    frozenset(
                        Link(link["relation"], frozenset(link["types"]), link["datatype"]) for link in row["links"]
                    ),
                )
                for row in self._graph.read("sample/links", rows=asked)
            ),
        )
