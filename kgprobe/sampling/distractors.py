"""Distractors: wrong entities in place of a fact's object, drawn at random.

Section 3 of the distractor paper; docs/methods/distractors.md: a distractor of a fact shares a type with its object
(an object without a type: it is an object of the same relation), shares no name with it (ignoring case), and is not an
object of the fact's subject and relation at ``as_of``. They form the set Ω(f), from which every strategy selects.
:class:`FormerObjects` decides on objects that were right in the past.

Random ones are drawn from the type's members (:mod:`.pool_draws`), every distractor with the same probability, and
tested in the graph (``cypher/sample/distractors.cypher``). In place of a date or quantity, literals of similar size
come first (:mod:`.similar_literals`).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from kgprobe.graph.client import Graph, Row
from kgprobe.graph.rows import column_by
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.sampling.pool_draws import PoolDraws, Tried, by_number, object_pool, subject_pool, tried_rows
from kgprobe.sampling.similar_literals import SimilarLiterals
from kgprobe.sources.values import name_key

# Separates the draws of subjects from others with the same seed.
SUBJECTS = 2


# Values of the option ``former``: former objects are wrong in the present tense, never wrong, or right.
FORMER = ("wrong", "never", "right")


@dataclass(frozen=True, slots=True)
class FormerObjects:
    """A rule for the former objects of a fact's subject and relation in one sentence; by default they are excluded.

    Attributes:
        before: date (``yyyymmdd``); objects that ended on a known day before it are distractors, unless the fact itself
            has ended by then. None excludes all objects of any time.
        names: True to exclude entities that share a name with an object of any time, too.
    """

    before: int | None = None
    names: bool = False


EXCLUDED = FormerObjects()

# End of the reason of a former object.
WAS_RIGHT = "; was right before"


def former_objects(former: str, as_of: int, present: bool) -> FormerObjects:
    """Return the rule for a sentence.

    >>> former_objects("wrong", 20251231, present=True)
    FormerObjects(before=20251231, names=False)

    Args:
        former: an entry of :data:`FORMER`.
        present: True if the sentence describes the present (:func:`kgprobe.verbalize.tense.speaks_of_today`).
    """
    if former == "right":
        return FormerObjects(names=True)
    return FormerObjects(before=as_of) if former == "wrong" and present else EXCLUDED


@dataclass(frozen=True, slots=True)
class Distractor:
    """An entity in place of a fact's object.

    Attributes:
        number: of the entity in the graph.
        reason: phrase that says why it qualifies.
        former: True if it was right in the past.
        unlike: True if it shares no feature with the object, for lack of similar entities.
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    number: int
    reason: str
    former: bool = False
    unlike: bool = False


class Retriever(Protocol):
    """A strategy of retrieval: the selection and the order of a fact's distractors."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the strategy with its options, for results."""
        ...

    def retrieve(
        self, keys: Sequence[FactKey], count: int, seed: Sequence[int], former: FormerObjects = EXCLUDED
    ) -> list[list[Distractor]]:
        """Return distinct distractors of each fact, best first.

        Args:
            keys: facts of the graph.
            count: number of distractors per fact.
            seed: of random choices, which do not depend on the other facts.
            former: rule for former objects.

        Returns:
            One list per fact, in the order of the keys; shorter than ``count`` if the graph has fewer.
        """
        ...


def admissible(graph: Graph, rows: Tried, former: FormerObjects = EXCLUDED) -> list[dict[int, Distractor]]:
    """Return the distractors among entities: the ones in Ω(f).

    Args:
        rows: facts, each with numbers of entities.
        former: rule for former objects of the fact's subject and relation.

    Returns:
        One dictionary per row, from numbers, in their order in the row, to distractors.

    Cost: a look-up for each number and fact, and one for each shared type.
    """
    accepted = [row for row in judged(graph, rows, former) if row["reason"] is None]
    types = sorted(set(chain.from_iterable(map(itemgetter("shared"), accepted))))
    labels = column_by("id", "label", graph.read("sample/labels", ids=types)) if types else {}
    distractors = []
    for row in accepted:
        shared = ", ".join(labels.get(type_, type_) for type_ in row["shared"])
        reason = f"{shared}, like {row['object']}" if shared else f"object of {row['relation']}"
        if row["former"]:
            reason += WAS_RIGHT
        distractor = Distractor(
            row["id"], row["label"], tuple(row["aliases"]), row["number"], reason, former=row["former"]
        )
        distractors.append((row["fact"], row["number"], distractor))
    return by_number(rows, distractors)


def judged(graph: Graph, rows: Tried, former: FormerObjects = EXCLUDED) -> list[Row]:
    """Return the entities of the same kind as a fact's object, each with the reason why it is no distractor.

    Arguments and cost as of :func:`admissible`.

    Returns:
        Rows of the query ``sample/distractors``; a reason is None, ``itself``, ``nameless``, ``right`` or ``namesake``.
    """
    own = namesakes(graph, rows, former, of="object")
    entities = graph.read("sample/distractors", rows=tried_rows(rows), before=former.before)
    for row in entities:
        if row["reason"] is None and own(row):
            row["reason"] = "namesake"
    return entities


def namesakes(graph: Graph, rows: Tried, former: FormerObjects, of: str) -> Callable[[Row], bool]:
    """Return a test of entities (fact, label, aliases): True if one shares a name with an object of its fact.

    Names that differ only in case are shared: :func:`~kgprobe.sources.values.name_key`.

    Args:
        of: ``object`` for the fact's own object, ``right`` for all that are right for its subject and relation; those
            of any time if ``former.names`` is set.
    """
    keys: dict[str, set[str]] = defaultdict(set)
    own = key_rows([key for key, _ in rows])
    for row in graph.read("sample/right_names", rows=own, before=former.before, of="ever" if former.names else of):
        keys[row["fact"]].update(map(name_key, filter(None, row["names"])))
    return lambda row: not keys[row["fact"]].isdisjoint(map(name_key, (row["label"], *row["aliases"])))


class RandomDistractors:
    """Random distractors of one graph; members of small types are cached."""

    name = "random"

    def __init__(self, graph: Graph) -> None:
        """Draw from this graph."""
        self._graph = graph
        self._draws = PoolDraws(graph)
        self._similar = SimilarLiterals(graph)

    def describe(self) -> dict[str, Any]:
        """Return the name of the strategy."""
        return {"strategy": self.name}

    def retrieve(
        self, keys: Sequence[FactKey], count: int, seed: Sequence[int], former: FormerObjects = EXCLUDED
    ) -> list[list[Distractor]]:
        """Draw distinct distractors of each fact uniformly from Ω(f), in random order; see :class:`Retriever`.

        In place of a literal, those of similar size come first (:mod:`.similar_literals`).
        """
        rows = self._graph.read("sample/pools", rows=key_rows(keys))
        pools = {row["fact"]: object_pool(row) for row in rows}
        similar = self._similar.of_objects(keys, rows)
        return self._draws.draw(keys, pools, count, seed, lambda rows: admissible(self._graph, rows, former), similar)


def other_subjects(graph: Graph, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[str]]:
    """Draw labels of distinct entities in place of each fact's subject, uniformly; docs/methods/baselines.md.

    They share a type with it; in place of a subject without types, they are subjects of the same relation. The fact may
    also be true of them.

    Cost: the members of each small type, and the subjects of each relation of typeless subjects; for a subject of a
    large type some look-ups for each entity.

    Arguments and result as of :meth:`Retriever.retrieve`; only entities with names are drawn.
    """
    rows = graph.read("sample/subject_pools", rows=key_rows(keys))
    pools = {row["fact"]: subject_pool(row) for row in rows}

    def with_label(rows: Tried) -> list[dict[int, str]]:
        matches = graph.read("sample/other_subjects", rows=tried_rows(rows))
        return by_number(rows, ((row["fact"], row["number"], row["label"]) for row in matches if row["label"].strip()))

    return PoolDraws(graph).draw(keys, pools, count, [*seed, SUBJECTS], with_label)
