"""Closed answer space of a relation: the answers given by its data set, or else all of its objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph

# Number of answers without a name in a message.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AnswerSpace:
    """The answers of a relation, in order.

    Attributes:
        ids, labels: ids and labels of the answers.
        reason: why the relation has no answer space; None if it has one.
    """

    ids: Sequence[str]
    labels: Sequence[str]
    reason: str | None = None


class AnswerSpaces:
    """Answer spaces of a graph's relations, read on first use and kept."""

    def __init__(self, graph: Graph, given: Mapping[str, Sequence[str]], most: int) -> None:
        """Make the spaces.

        Args:
            given: ids of the answers by relation, in the order of the data set. The answers of other relations are
                their objects, by entity number.
            most: maximum number of answers of a relation; one with more has no space.
        """
        self._graph = graph
        self._given = given
        self._most = most
        self._read: dict[str, AnswerSpace] = {}

    def of(self, relation: str) -> AnswerSpace:
        """Return the answers of a relation. Cost: on first use, a look-up for each, up to the maximum plus one."""
        if relation not in self._read:
            given = self._given.get(relation)
            self._read[relation] = self._given_space(relation, given) if given else self._object_space(relation)
        return self._read[relation]

    def _given_space(self, relation: str, ids: Sequence[str]) -> AnswerSpace:
        if len(ids) > self._most:
            return self._too_large(relation, f"{len(ids):,} answers")
        labels = {row["id"]: row["label"] for row in self._graph.read("sample/closed_answers", ids=list(ids))}
        nameless = [identifier for identifier in ids if not labels.get(identifier, "").strip()]
        if nameless:
            listed = ", ".join(nameless[:_SHOWN]) + (", …" if len(nameless) > _SHOWN else "")
            reason = f"of the {len(ids):,} answers of {relation}, the graph has no name of {len(nameless):,}: {listed}"
            return AnswerSpace((), (), reason)
        return AnswerSpace(ids, [labels[identifier] for identifier in ids])

    def _object_space(self, relation: str) -> AnswerSpace:
        rows = self._graph.read("sample/object_labels", id=relation, limit=self._most + 1)
        if len(rows) > self._most:
            return self._too_large(relation, f"more than {self._most:,} objects")
        labelled = [row for row in rows if row["label"].strip()]
        return AnswerSpace([row["id"] for row in labelled], [row["label"] for row in labelled])

    def _too_large(self, relation: str, has: str) -> AnswerSpace:
        return AnswerSpace((), (), f"the relation {relation} has {has}; `max_choices` allows {self._most:,}")
