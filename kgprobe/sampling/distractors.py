"""Distractors: wrong entities in place of a fact's object, drawn at random.

Section 3 of the distractor paper; docs/methods/distractors.md: a distractor of a fact shares a type with its object
(an object without a type: it is an object of the same relation), shares no name with it (ignoring case), and is not an
object of the fact's subject and relation at ``as_of``. They form the set Ω(f), from which every strategy selects.
:class:`FormerObjects` decides on objects that were right in the past.

Random ones are drawn from the type's members (:mod:`.pool_draws`), every distractor with the same probability, and
read from the graph (``cypher/sample/candidates.cypher``). In place of a date or quantity, literals of similar size come
first (:mod:`.similar_literals`).

Temporal distractors are former objects: they were right until a known day (section 3.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Protocol, TypeAlias

from kgprobe.base.dates import day_number
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import AskedFact, describe_facts, read_answers
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.sampling.pool_draws import PoolDraws, Tried, by_number, candidate_row, object_pool, subject_pool
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

    def admits(self, fact: AskedFact, until: int) -> bool:
        """Return True if an object of the fact's subject and relation that ended on a day may be a distractor."""
        return self.before is not None and until < self.before and not fact.is_over(self.before)


EXCLUDED = FormerObjects()

# A fact with the rule for its former objects in a sentence.
RuledFact: TypeAlias = tuple[AskedFact, FormerObjects]

# End of the reason of a former object.
_WAS_RIGHT = "; was right before"

_FACTS_AT_ONCE = 1_000


def former_objects(former: str, as_of: int, present: bool) -> FormerObjects:
    """Return the rule for a sentence.

    >>> former_objects("wrong", 20251231, present=True)
    FormerObjects(before=20251231, names=False)

    ``former`` is an entry of :data:`FORMER`.
    """
    if former == "right":
        return FormerObjects(names=True)
    return FormerObjects(before=as_of) if former == "wrong" and present else EXCLUDED


@dataclass(frozen=True, slots=True)
class Distractor:
    """An entity in place of a fact's object; ``unlike`` if it shares no feature with it, for lack of similar ones."""

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

    def retrieve(self, ruled: Sequence[RuledFact], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Return distinct distractors of each fact, best first.

        A fact can occur with several rules. Random choices do not depend on the other facts. A list is shorter than
        ``count`` if the graph has fewer.
        """
        ...


def admissible(graph: Graph, ruled: Sequence[RuledFact], tried: Tried) -> list[dict[int, Distractor]]:
    """Return the distractors among entities: the ones in Ω(f).

    Args:
        ruled: facts.
        tried: places of facts, each with numbers of entities.

    Returns:
        One dictionary per row of ``tried``, from numbers, in their order in the row, to distractors.

    Cost: a look-up for each number, and for each fact.
    """
    accepted = {}
    for row in judged(graph, ruled, tried):
        if row["reason"] is not None:
            continue
        fact, is_former = ruled[row["index"]][0], row["until"] is not None
        shared = ", ".join(type_.label for type_ in fact.object_types if type_.id in row["shared"])
        reason = f"{shared}, like {fact.object_label}" if shared else f"object of {fact.relation_label}"
        accepted[row["index"], row["number"]] = Distractor(
            row["id"],
            row["label"],
            tuple(row["aliases"]),
            row["number"],
            reason + _WAS_RIGHT * is_former,
            former=is_former,
        )
    return by_number(tried, accepted)


def judged(graph: Graph, ruled: Sequence[RuledFact], tried: Tried) -> list[Row]:
    """Return the entities of the same kind as a fact's object, each with the reason why it is no distractor.

    Arguments and cost as of :func:`admissible`.

    Rows of the query ``sample/candidates`` have the reason None, ``itself``, ``nameless``, ``right`` or ``namesake``.
    """
    rows = []
    for place, numbers in tried:
        fact, _ = ruled[place]
        of = None if fact.object_types else fact.relation
        rows.append(candidate_row(place, numbers, types=fact.object_types, of=of, fact=fact))
    entities = graph.read("sample/candidates", rows=rows) if rows else []
    names = names_of_objects(graph, {place: ruled[place] for place, _ in tried}, only_own=True)
    for row in entities:
        fact, former = ruled[row["index"]]
        row["reason"] = None
        if row["id"] == fact.object:
            row["reason"] = "itself"
        elif not row["label"]:
            row["reason"] = "nameless"
        elif row["until"] is not None and not former.admits(fact, row["until"]):
            row["reason"] = "right"
        elif not names[row["index"]].isdisjoint(map(name_key, (row["label"], *row["aliases"]))):
            row["reason"] = "namesake"
    return entities


def names_of_objects(graph: Graph, ruled: Mapping[int, RuledFact], only_own: bool) -> dict[int, set[str]]:
    """Return the names that no wrong entity of a fact may have, by the facts' places, as keys without case.

    They are the names of its object, or of all objects that are right for its subject and relation; of those of any
    time if ``former.names`` is set. Names that differ only in case are the same: :func:`.values.name_key`.

    ``only_own`` selects those of its object.
    """
    names = {}
    for place, (fact, _) in ruled.items():
        names[place] = set(map(name_key, filter(None, (fact.object_label, *fact.object_aliases))))
    keys = [fact.key for fact, former in ruled.values() if former.names or not only_own]
    answers = read_answers(graph, list(dict.fromkeys(keys)), 0)
    for place, (fact, former) in ruled.items():
        for row in answers.get(fact.key.fact, ()) if former.names or not only_own else ():
            if former.names or not former.admits(fact, row["until"]):
                names[place].update(map(name_key, filter(None, (row["label"], *row["aliases"]))))
    return names


class RandomDistractors:
    """Random distractors of one graph; members of small types are cached."""

    name = "random"

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._draws = PoolDraws(graph)
        self._similar = SimilarLiterals(graph)

    def describe(self) -> dict[str, Any]:
        """Return the name of the strategy."""
        return {"strategy": self.name}

    def retrieve(self, ruled: Sequence[RuledFact], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Draw distinct distractors of each fact uniformly from Ω(f), in random order; see :class:`Retriever`.

        In place of a literal, those of similar size come first (:mod:`.similar_literals`).
        """
        facts = list(map(itemgetter(0), ruled))
        similar = self._similar.of_objects(facts)
        keys, pools = list(map(attrgetter("key"), facts)), list(map(object_pool, facts))
        return self._draws.draw(keys, pools, count, seed, lambda tried: admissible(self._graph, ruled, tried), similar)


# Orders of former objects: nearest to the interval of the fact, or to the reference date.
FORMER_ORDERS = ("fact", "reference-date")


def former_distractors(
    graph: Graph, ruled: Sequence[RuledFact], as_of: int, order: str = FORMER_ORDERS[0]
) -> list[list[Distractor]]:
    """Return the former objects of each fact that are distractors, those of the nearest time first.

    Cost: a walk through the facts of each subject, and a look-up for each former object.

    Objects that ended before ``as_of`` (``yyyymmdd``) are former.

    Args:
        order: of ``FORMER_ORDERS``; the latter is that of the distractor paper's code.
    """
    keys = list(dict.fromkeys(fact.key for fact, former in ruled if former.before is not None))
    nearest: dict[str, dict[int, Row]] = {key.fact: {} for key in keys}
    rows = graph.read("sample/former", rows=key_rows(keys), as_of=as_of) if keys else []
    # The nearest interval of an object counts.
    for row in sorted(rows, key=lambda row: _distance(row, as_of, order)):
        if row["number"] is not None:
            nearest[row["fact"]].setdefault(row["number"], row)
    tried = [(place, list(nearest[fact.key.fact])) for place, (fact, former) in enumerate(ruled) if former.before]
    distractors: list[list[Distractor]] = [[] for _ in ruled]
    for (place, _), accepted in zip(tried, admissible(graph, ruled, tried), strict=True):
        for number, distractor in accepted.items():
            end = nearest[ruled[place][0].key.fact][number]["end"]
            reason = f"{distractor.reason.removesuffix(_WAS_RIGHT)}; held until {end}"
            distractors[place].append(replace(distractor, reason=reason))
    return distractors


def facts_with_former(graph: Graph, keys: Sequence[FactKey], as_of: int) -> list[FactKey]:
    """Return the facts that have a former object among the distractors of sentences in the present tense.

    Cost: that of :func:`former_distractors`, a thousand facts at once.
    """
    rule = former_objects("wrong", as_of, present=True)
    with_former: list[FactKey] = []
    for first in range(0, len(keys), _FACTS_AT_ONCE):
        block = keys[first : first + _FACTS_AT_ONCE]
        ruled = [(fact, rule) for fact in describe_facts(graph, block)]
        distractors = former_distractors(graph, ruled, as_of)
        with_former += [key for key, former in zip(block, distractors, strict=True) if former]
    return with_former


def _distance(row: Row, as_of: int, order: str) -> tuple[bool, int, int, int]:
    """Return a sort key of former objects: the distance in time, then the latest end, then the number.

    Those without a start come last in the order by the reference date.
    """
    number = -1 if row["number"] is None else row["number"]
    by_date = order == "reference-date"
    middle = _middle(as_of, as_of, as_of) if by_date else _middle(row["from"], row["until"], as_of)
    distance = abs(middle - _middle(row["former_from"], row["former_until"], as_of))
    return by_date and row["former_from"] is None, distance, -row["former_until"], number


def _middle(first: int | None, last: int | None, as_of: int) -> int:
    """Return twice the day number of the middle of an interval, an integer."""
    end = as_of if last is None else last
    return day_number(end if first is None else first) + day_number(end)


def other_subjects(graph: Graph, facts: Sequence[AskedFact], count: int, seed: Sequence[int]) -> list[list[str]]:
    """Draw labels of distinct entities in place of each fact's subject, uniformly; docs/methods/baselines.md.

    They share a type with it; in place of a subject without types, they are subjects of the same relation. The fact may
    also be true of them.

    Cost: the members of each small type, and the subjects of each relation of typeless subjects; for a subject of a
    large type some look-ups for each entity.

    Arguments and result as of :meth:`Retriever.retrieve`; only entities with names are drawn.
    """

    def with_label(tried: Tried) -> list[dict[int, str]]:
        rows = [candidate_row(place, numbers, types=facts[place].subject_types) for place, numbers in tried]
        labels = {}
        for row in graph.read("sample/candidates", rows=rows):
            if row["label"].strip() and row["id"] != facts[row["index"]].key.subject:
                labels[row["index"], row["number"]] = row["label"]
        return by_number(tried, labels)

    keys, pools = list(map(attrgetter("key"), facts)), list(map(subject_pool, facts))
    return PoolDraws(graph).draw(keys, pools, count, [*seed, SUBJECTS], with_label)
