"""Names of the graph's entities, to find entities in an answer and to prefer longer names to shorter ones.

docs/methods/questions.md.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from operator import itemgetter

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.answers import normalized


class KnownNameSet:
    """A set of normalized names, 8 bytes each."""

    def __init__(self, names: Iterable[str]) -> None:
        """Store the names' 64-bit hashes. Two of a billion names collide with a probability of 1 in 20."""
        self._hashes = np.unique(np.fromiter(map(hash, names), np.int64))

    def __contains__(self, name: str) -> bool:
        hashed = hash(name)
        place = int(np.searchsorted(self._hashes, hashed))
        return place < len(self._hashes) and int(self._hashes[place]) == hashed


class KnownNames:
    """The names of one graph, read on first use and kept.

    Cost: one walk to the objects of each relation, and one scan of all entities for the whole graph. Both are streamed
    and take 8 bytes per name; later look-ups do not query the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._of_relations: dict[str, KnownNameSet] = {}
        self._of_graph: KnownNameSet | None = None

    def of_relation(self, relation: str, name: str) -> bool:
        """Return True if a normalized name belongs to an object of the relation."""
        if relation not in self._of_relations:
            self._of_relations[relation] = _names(self._graph.stream("sample/object_names", id=relation))
        return name in self._of_relations[relation]

    def of_graph(self, name: str) -> bool:
        """Return True if a normalized name belongs to any entity."""
        if self._of_graph is None:
            self._of_graph = _names(self._graph.stream("sample/names"))
        return name in self._of_graph


def related_names(fact: AskedFact, answers: Iterable[str], known: KnownNames | None) -> Callable[[str], bool]:
    """Return a test of normalized names that is True for the subject's and for those of the relation's objects.

    Such a name may contain a right answer as a part: then only the longer name counts.

    ``answers`` are names of the objects that are, or were, right for the subject; without ``known``,
    the names of other objects do not count.
    """
    near = set(map(normalized, (fact.subject_label, *fact.subject_aliases, *answers)))
    return lambda name: name in near or (known is not None and known.of_relation(fact.relation, name))


def _names(rows: Iterable[Row]) -> KnownNameSet:
    return KnownNameSet(map(normalized, chain.from_iterable(map(itemgetter("names"), rows))))
