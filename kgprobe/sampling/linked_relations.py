"""Relations between kinds of entities, estimated from a sample of each kind.

docs/methods/statements.md. The sample does not depend on the seed, so each kind is read once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import Members, ObjectPool, PoolDraws, by_number

# Size of the sample of a kind.
SAMPLE_SIZE = 300

# Separates this draw from others.
_LINKS = 7


@dataclass(frozen=True, slots=True)
class Link:
    """A relation with the kind of its objects.

    Attributes:
        types: of the object.
        datatype: of a literal object; else empty.
    """

    relation: str
    types: frozenset[str]
    datatype: str

    def leads_to(self, types: frozenset[str], datatype: str) -> bool:
        """Return True if the object shares a type; without types, if it has no type and the same datatype."""
        return bool(self.types & types) if types else not self.types and self.datatype == datatype


class LinkedRelations:
    """Relations between kinds of entities in one graph, cached."""

    def __init__(self, graph: Graph) -> None:
        """Read from this graph."""
        self._graph = graph
        self._draws = PoolDraws(graph)
        self._links: dict[tuple[Members, ...], frozenset[Link]] = {}

    def links(self, pools: Sequence[ObjectPool]) -> list[frozenset[Link]]:
        """Return the links of each pool, from at most ``SAMPLE_SIZE`` random members.

        Cost: for a new pool, a walk through the facts of these members; see also :mod:`.pool_draws`.

        Args:
            pools: of subjects, see :func:`.subjects.subject_pool`.
        """
        new = {"\n".join(id_ for _, id_ in pool.lists): pool for pool in pools if pool.lists not in self._links}
        if new:
            # These keys are of kinds instead of facts.
            kinds = [FactKey("", kind) for kind in new]
            drawn = self._draws.draw(kinds, new, SAMPLE_SIZE, [_LINKS], lambda rows: self._members(rows, new))
            for pool, members in zip(new.values(), drawn, strict=True):
                self._links[pool.lists] = frozenset().union(*members)
        return [self._links[pool.lists] for pool in pools]

    def _members(
        self, rows: Sequence[tuple[FactKey, Sequence[int]]], pools: Mapping[str, ObjectPool]
    ) -> list[dict[int, frozenset[Link]]]:
        members = []
        for key, numbers in rows:
            types = [id_ for query, id_ in pools[key.fact].lists if query == "sample/members"]
            members.append({"kind": key.fact, "types": types, "numbers": list(numbers)})
        accepted = []
        for row in self._graph.read("sample/links", rows=members):
            links = (Link(link["relation"], frozenset(link["types"]), link["datatype"]) for link in row["links"])
            accepted.append((row["kind"], row["number"], frozenset(links)))
        return by_number(rows, accepted)
