"""Names of the graph's entities, to find entities in an answer and to prefer longer names to shorter ones.

docs/methods/questions.md.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import itemgetter

import numpy as np

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.answers import normalized


class KnownNameSet:
    """A set of normalized names, 8 bytes each; 16 with the numbers of their entities."""

    def __init__(self, names: Iterable[str], entities: Iterable[int] = ()) -> None:
        """Store the names' 64-bit hashes. Two of a billion names collide with a probability of 1 in 20.

        Args:
            entities: number of each name's entity, read after all names; empty if :meth:`entity` is not needed.
        """
        self._hashes, first = np.unique(np.fromiter(map(hash, names), np.int64), return_index=True)
        numbers = np.fromiter(entities, np.int64)
        self._entities = numbers[first] if len(numbers) else numbers

    def __contains__(self, name: str) -> bool:
        return self._place(name) is not None

    def entity(self, name: str) -> int | None:
        """Return the number of the first entity with a name; None for an unknown name."""
        place = self._place(name)
        return None if place is None else int(self._entities[place])

    def _place(self, name: str) -> int | None:
        hashed = hash(name)
        place = int(np.searchsorted(self._hashes, hashed))
        return place if place < len(self._hashes) and int(self._hashes[place]) == hashed else None


class KnownNames:
    """The names of one graph, read on first use and kept.

    Cost: one walk to the objects of each relation, and one scan of all entities for the whole graph. Both are streamed
    and take 8 bytes per name, those of relations 16; later look-ups do not query the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._of_relations: dict[str, KnownNameSet] = {}
        self._of_graph: KnownNameSet | None = None

    def of_relation(self, relation: str, name: str) -> bool:
        """Return True if a normalized name belongs to an object of the relation."""
        return name in self._relation(relation)

    def entity(self, relation: str, name: str) -> int | None:
        """Return the number of the relation's first object with a normalized name; None for an unknown name."""
        return self._relation(relation).entity(name)

    def _relation(self, relation: str) -> KnownNameSet:
        if relation not in self._of_relations:
            numbers = array("q")

            def names() -> Iterator[str]:
                for row in self._graph.stream("sample/object_names", id=relation):
                    numbers.extend([row["number"]] * len(row["names"]))
                    yield from map(normalized, row["names"])

            self._of_relations[relation] = KnownNameSet(names(), numbers)
        return self._of_relations[relation]

    def of_graph(self, name: str) -> bool:
        """Return True if a normalized name belongs to any entity."""
        if self._of_graph is None:
            rows = self._graph.stream("sample/names")
            self._of_graph = KnownNameSet(map(normalized, chain.from_iterable(map(itemgetter("names"), rows))))
        return name in self._of_graph


def related_names(fact: AskedFact, answers: Iterable[str], known: KnownNames | None) -> Callable[[str], bool]:
    """Return a test of normalized names that is True for the subject's and for those of the relation's objects.

    Such a name may contain a right answer as a part: then only the longer name counts.

    ``answers`` are names of the objects that are, or were, right for the subject; without ``known``,
    the names of other objects do not count.
    """
    near = set(map(normalized, (fact.subject_label, *fact.subject_aliases, *answers)))
    return lambda name: name in near or (known is not None and known.of_relation(fact.relation, name))
