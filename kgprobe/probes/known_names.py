"""What entities of the graph are called: whether an answer names any, and where a longer name holds a shorter one.

docs/methods/questions.md.
"""

from collections.abc import Callable, Iterable

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import AskedFact
from kgprobe.verbalize.answers import normalized


class Names:
    """A set of normalized names, 8 bytes each."""

    def __init__(self, names: Iterable[str]) -> None:
        """Keep their hashes: two of a billion names have the same with a chance of one in twenty."""
        self._hashes = np.unique(np.fromiter(map(hash, names), np.int64))

    def __contains__(self, name: str) -> bool:
        hashed = hash(name)
        place = int(np.searchsorted(self._hashes, hashed))
        return place < len(self._hashes) and int(self._hashes[place]) == hashed


class KnownNames:
    """The names of one graph, read where an answer first needs them, and kept.

    Cost: for a relation a walk to its objects, once; for the whole graph a scan of its entities, once. Both are
    streamed and take 8 bytes a name; a name is then looked up without the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._of_relations: dict[str, Names] = {}
        self._of_graph: Names | None = None

    def of_relation(self, relation: str, name: str) -> bool:
        """Whether a normalized name is that of an object of a relation."""
        if relation not in self._of_relations:
            self._of_relations[relation] = _names(self._graph.stream("sample/object_names", id=relation))
        return name in self._of_relations[relation]

    def of_graph(self, name: str) -> bool:
        """Whether a normalized name is that of any entity."""
        if self._of_graph is None:
            self._of_graph = _names(self._graph.stream("sample/names"))
        return name in self._of_graph


def beside(fact: AskedFact, answers: Iterable[str], known: KnownNames | None) -> Callable[[str], bool]:
    """Whether a normalized name is one that may hold a right one: of an object of the relation, or of the subject.

    Args:
        answers: the names of what is, or was, right for the subject.
        known: None knows these and the subject's alone.
    """
    near = {normalized(name) for name in (fact.subject_label, *fact.subject_aliases, *answers)}
    return lambda name: name in near or (known is not None and known.of_relation(fact.relation, name))


def _names(rows: Iterable[Row]) -> Names:
    return Names(normalized(name) for row in rows for name in row["names"])
