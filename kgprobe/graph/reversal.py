"""The origin of an inverse graph, stored in it to recognize reversed and outdated graphs.

An inverse graph has the facts of another graph from object to subject, for relations with few enough subjects per
object; docs/methods/reversed-graphs.md.
"""

from collections.abc import Sequence

import msgspec

from kgprobe.graph.client import Graph


class ReversedRelation(msgspec.Struct, frozen=True):
    """Number of subjects per object of a relation.

    Attributes:
        facts: number of facts whose object is not a literal.
        lasting: number of these facts without an end.
        objects: number of different objects of the lasting facts.
        kept: True if its facts are in the inverse graph.
    """

    id: str
    label: str
    facts: int
    lasting: int
    objects: int
    kept: bool

    @property
    def subjects_an_object(self) -> float:
        """Mean number of subjects of an object at a time; 0 if all facts have ended."""
        return self.lasting / self.objects if self.objects else 0.0

    @property
    def called(self) -> str:
        """Label, or id without a label."""
        return self.label or self.id


class Reversal(msgspec.Struct, frozen=True):
    """Origin of an inverse graph.

    Attributes:
        of: state of the original graph, see :func:`~kgprobe.graph.state.graph_state`.
        most_subjects: largest mean number of subjects per object of a kept relation.
        relations: relations with a fact whose object is not a literal, sorted by id.
    """

    of: str
    most_subjects: float
    relations: Sequence[ReversedRelation]

    @property
    def kept(self) -> list[ReversedRelation]:
        """Relations whose facts are in the inverse graph."""
        return [relation for relation in self.relations if relation.kept]

    @property
    def left_out(self) -> list[ReversedRelation]:
        """Relations with too many subjects per object, the fewest first."""
        left_out = [relation for relation in self.relations if not relation.kept]
        return sorted(left_out, key=lambda relation: (relation.subjects_an_object, relation.id))


def reversal_of(graph: Graph) -> Reversal | None:
    """Return the origin of an inverse graph; None for other graphs."""
    origin = graph.read("reverse/origin")[0]["reversal"]
    return None if origin is None else msgspec.json.decode(origin, type=Reversal)


def mark_reversal(graph: Graph, reversal: Reversal, uid: str) -> None:
    """Store the origin of an inverse graph in an empty graph."""
    graph.write("reverse/mark", uid=uid, reversal=msgspec.json.encode(reversal).decode())


def asked_by(probe: str, is_reversed: bool, ask_in: str | None = None) -> str:
    """Return a probe's name, with the direction for an inverse graph, and the language if one was chosen.

    >>> asked_by("examples", True), asked_by("questions", False, "de")
    ('examples backwards', 'questions in de')
    """
    return f"{probe}{' backwards' if is_reversed else ''}{f' in {ask_in}' if ask_in else ''}"
