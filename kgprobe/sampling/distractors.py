"""Distractors: the entities that could stand in the object's place and are wrong there; drawn at random.

Section 3 of the distractor paper; docs/methods/distractors.md: a distractor of a fact shares a type with its object
(where the object has no type: it is an object of the same relation), shares no name with it, and was no object of the
fact's subject and relation at any time: a sentence seldom says when it is true. These are the fact's Ω(f), of which
every strategy of retrieval takes its own; only the temporal one also takes former objects.

Random ones are drawn from the type's members (:mod:`.pool_draws`), every distractor with the same probability, and
tested in the graph (``cypher/sample/distractors.cypher``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import Pool, PoolDraws, by_number


@dataclass(frozen=True, slots=True)
class Distractor:
    """An entity in place of a fact's object.

    Attributes:
        number: the entity's in the graph, by which strategies name it.
        reason: why it qualifies, a phrase for people.
        former: whether it is a temporal distractor: right in the past.
        unlike: whether it was taken for want of others that are like the object: it shares no feature with it.
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    number: int
    reason: str
    former: bool = False
    unlike: bool = False


class Retriever(Protocol):
    """A strategy of retrieval: which of a fact's distractors stand beside it, and in which order."""

    @property
    def name(self) -> str:
        """The strategy, as it is named on the command line."""
        ...

    def describe(self) -> dict[str, Any]:
        """The strategy with its options: what a result has to say of it."""
        ...

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Distinct distractors of each fact, best first.

        Args:
            keys: facts of the graph.
            count: how many are wanted for each.
            seed: what random choices follow from; whatever stands beside a fact has no say.

        Returns:
            One list a fact, in the order of the keys; shorter than ``count`` where the graph has no more.
        """
        ...


def admissible(
    graph: Graph, rows: Sequence[tuple[FactKey, Sequence[int]]], before: int | None = None
) -> list[dict[int, Distractor]]:
    """Which of the entities with these numbers are distractors of a fact: those in its Ω(f).

    Args:
        rows: facts, each with numbers of entities.
        before: with a date (``yyyymmdd``), objects of the fact's subject and relation that were right until a day
            before it are among them, unless the fact itself has ended by then.

    Returns:
        One dictionary a row, from numbers, in their order in the row, to distractors.

    Cost: a look-up for each number, and one for each type that is shared.
    """
    asked = [{**key._asdict(), "numbers": list(numbers)} for key, numbers in rows]
    found = graph.read("sample/distractors", rows=asked, before=before, refused=False)
    types = sorted({type_ for row in found for type_ in row["shared"]})
    labels = {row["id"]: row["label"] for row in graph.read("sample/labels", ids=types)} if types else {}

    def made(row: Row) -> Distractor:
        shared = ", ".join(labels.get(type_, type_) for type_ in row["shared"])
        reason = f"{shared}, like {row['object']}" if shared else f"object of {row['relation']}"
        return Distractor(row["id"], row["label"], tuple(row["aliases"]), row["number"], reason)

    return by_number(rows, ((row["fact"], row["number"], made(row)) for row in found))


class RandomDistractors:
    """Draws random distractors from one graph; remembers the members of small types."""

    name = "random"

    def __init__(self, graph: Graph) -> None:
        """Draw from this graph."""
        self._graph = graph
        self._draws = PoolDraws(graph)

    def describe(self) -> dict[str, Any]:
        """The strategy; see :class:`Retriever`."""
        return {"strategy": self.name}

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Distinct random distractors of each fact, uniform over its Ω(f), in random order; see :class:`Retriever`."""
        rows = self._graph.read("sample/pools", rows=[key._asdict() for key in keys])
        pools = {row["fact"]: object_pool(row) for row in rows}
        return self._draws.draw(keys, pools, count, seed, lambda rows: admissible(self._graph, rows))


def object_pool(row: Row) -> Pool:
    """Entities of the object's types, or else objects of its relation; from a row of ``sample/pools``."""
    if not row["types"]:
        return Pool((("sample/objects", row["relation"]["id"]),), row["relation"]["size"], row["total"])
    lists = tuple(("sample/members", type_["id"]) for type_ in row["types"])
    return Pool(lists, sum(type_["size"] for type_ in row["types"]), row["total"])
