"""What a reversed graph is the reversal of: kept in it, so that it is known for one, and for a stale one.

A reversed graph has the facts of another graph from object to subject, where a relation has few enough subjects an
object; docs/methods/reversed-graphs.md.
"""

from collections.abc import Sequence

import msgspec

from kgprobe.graph.client import Graph


class ReversedRelation(msgspec.Struct, frozen=True):
    """How single a relation is backwards.

    Attributes:
        facts: whose object is no literal.
        lasting: those of them that have no end.
        objects: different ones that these have.
        kept: whether its facts are in the reversed graph.
    """

    id: str
    label: str
    facts: int
    lasting: int
    objects: int
    kept: bool

    @property
    def subjects_an_object(self) -> float:
        """The mean number of subjects that an object has at a time; 0 where all facts have ended."""
        return self.lasting / self.objects if self.objects else 0.0

    @property
    def called(self) -> str:
        """Its label, or its id where it has none."""
        return self.label or self.id


class Reversal(msgspec.Struct, frozen=True):
    """What a reversed graph was made of.

    Attributes:
        of: the state of that graph, see :func:`~kgprobe.graph.state.graph_state`.
        most_subjects: of an object, on average, in the relations that were kept.
        relations: all that have a fact whose object is no literal, by id.
    """

    of: str
    most_subjects: float
    relations: Sequence[ReversedRelation]

    @property
    def kept(self) -> list[ReversedRelation]:
        """The relations whose facts are in the reversed graph."""
        return [one for one in self.relations if one.kept]

    @property
    def left_out(self) -> list[ReversedRelation]:
        """The relations with too many subjects an object, the fewest first."""
        return sorted((one for one in self.relations if not one.kept), key=lambda one: (one.subjects_an_object, one.id))


def reversal_of(graph: Graph) -> Reversal | None:
    """What a graph is the reversal of; None of one that is none."""
    kept = graph.read("reverse/origin")[0]["reversal"]
    return None if kept is None else msgspec.json.decode(kept, type=Reversal)


def mark_reversal(graph: Graph, reversal: Reversal, uid: str) -> None:
    """Say of an empty graph what it will be the reversal of.

    Args:
        uid: the graph's own name; the same reversal of the same graph has the same.
    """
    graph.write("reverse/mark", uid=uid, reversal=msgspec.json.encode(reversal).decode())


def asked_by(probe: str, is_reversed: bool) -> str:
    """A probe's name, and the direction where it is the other one.

    >>> asked_by("examples", True)
    'examples backwards'
    """
    return f"{probe} backwards" if is_reversed else probe
