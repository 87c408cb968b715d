"""Distractors: wrong entities in place of a fact's object, drawn at random.

Section 3 of the distractor paper; docs/methods/distractors.md: a distractor of a fact shares a type with its object
(an object without a type: it is an object of the same relation), shares no name with it (ignoring case), and is not an
object of the fact's subject and relation at ``as_of``. They form the set Ω(f), from which every strategy selects.
:class:`FormerObjects` decides on objects that were right in the past.

Random ones are drawn from the type's members (:mod:`.pool_draws`), every distractor with the same probability. In place
of a date or quantity, literals of similar size come first (:mod:`.similar_literals`).

Temporal distractors are former objects: they were right until a known day (section 3.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Protocol, TypeAlias

import msgspec

from kgprobe.base.dates import day_number
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.sampling.pool_draws import PoolDraws, PoolEntities, PoolEntity, Tried, object_pool, subject_pool
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


class Distractor(msgspec.Struct, frozen=True):
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


def admissible(entities: PoolEntities, ruled: Sequence[RuledFact], tried: Tried) -> list[dict[int, Distractor]]:
    """Return the distractors among entities: the ones in Ω(f).

    Args:
        entities: of the graph.
        ruled: facts.
        tried: places of facts, each with numbers of entities.

    Returns:
        One dictionary per row of ``tried``, from numbers, in their order in the row, to distractors.

    Cost: a look-up for each number that was not read before, and a walk from the subject of each new fact.
    """
    accepted = []
    for (place, _), candidates in zip(tried, judged(entities, ruled, tried), strict=True):
        fact, _ = ruled[place]
        distractors = {}
        reasons: dict[frozenset[str], str] = {}
        for entity, reason, is_former in candidates:
            if reason is not None:
                continue
            if entity.types not in reasons:
                shared = ", ".join(type_.label for type_ in fact.object_types if type_.id in entity.types)
                like = f"{shared}, like {fact.object_label}" if shared else f"object of {fact.relation_label}"
                reasons[entity.types] = like
            distractors[entity.number] = Distractor(
                entity.id,
                entity.label,
                entity.aliases,
                entity.number,
                reasons[entity.types] + _WAS_RIGHT * is_former,
                former=is_former,
            )
        accepted.append(distractors)
    return accepted


def judged(
    entities: PoolEntities, ruled: Sequence[RuledFact], tried: Tried
) -> list[list[tuple[PoolEntity, str | None, bool]]]:
    """Return the entities of the same kind as a fact's object, each with the reason why it is no distractor.

    Arguments and cost as of :func:`admissible`.

    The reason is None, ``itself``, ``nameless``, ``right`` or ``namesake``. The third value is True for objects of the
    fact's subject and relation.
    """
    facts = [ruled[place][0] for place, _ in tried]
    names = names_of_objects(entities, [ruled[place] for place, _ in tried], only_own=True)
    in_pools = entities.in_pools(tried, [object_pool(fact) for fact, _ in ruled])
    rows = []
    for (place, _), ends, own, members in zip(tried, entities.objects_of(facts), names, in_pools, strict=True):
        fact, former = ruled[place]
        candidates = []
        for entity in members:
            reason = None
            until = ends.get(entity.number)
            if entity.id == fact.object:
                reason = "itself"
            elif not entity.label:
                reason = "nameless"
            elif until is not None and not former.admits(fact, until):
                reason = "right"
            elif not own.isdisjoint(entity.keys):
                reason = "namesake"
            candidates.append((entity, reason, until is not None))
        rows.append(candidates)
    return rows


def names_of_objects(entities: PoolEntities, ruled: Sequence[RuledFact], only_own: bool) -> list[set[str]]:
    """Return the names that no wrong entity of a fact may have, as keys without case.

    They are the names of its object, or of all objects that are right for its subject and relation; of those of any
    time if ``former.names`` is set. Names that differ only in case are the same: :func:`.values.name_key`.

    ``only_own`` selects those of its object.
    """
    ends = entities.objects_of([fact for fact, _ in ruled])
    tried = []
    for place, (fact, former) in enumerate(ruled):
        right = []
        if former.names or not only_own:
            right = [number for number, until in ends[place].items() if former.names or not former.admits(fact, until)]
        tried.append((place, right))
    names = []
    for (fact, _), objects in zip(ruled, entities.in_pools(tried, [None] * len(ruled)), strict=True):
        own = map(name_key, filter(None, (fact.object_label, *fact.object_aliases)))
        names.append({*own, *chain.from_iterable(entity.keys for entity in objects)})
    return names


class RandomDistractors:
    """Random distractors of one graph; members of small types and drawn entities are cached."""

    name = "random"

    def __init__(self, graph: Graph) -> None:
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
        entities = self._draws.entities
        return self._draws.draw(keys, pools, count, seed, lambda tried: admissible(entities, ruled, tried), similar)


# Orders of former objects: nearest to the interval of the fact, or to the reference date.
FORMER_ORDERS = ("fact", "reference-date")


def former_distractors(
    entities: PoolEntities, ruled: Sequence[RuledFact], as_of: int, order: str = FORMER_ORDERS[0]
) -> list[list[Distractor]]:
    """Return the former objects of each fact that are distractors, those of the nearest time first.

    Cost: a walk through the facts of each subject, and a look-up for each former object.

    Objects that ended before ``as_of`` (``yyyymmdd``) are former.

    Args:
        order: of ``FORMER_ORDERS``; the latter is that of the distractor paper's code.
    """
    keys = list(dict.fromkeys(fact.key for fact, former in ruled if former.before is not None))
    nearest: dict[str, dict[int, Row]] = {key.fact: {} for key in keys}
    rows = entities.graph.read("sample/former", rows=key_rows(keys), as_of=as_of) if keys else []
    # The nearest interval of an object counts.
    for row in sorted(rows, key=lambda row: _distance(row, as_of, order)):
        if row["number"] is not None:
            nearest[row["fact"]].setdefault(row["number"], row)
    tried = [(place, list(nearest[fact.key.fact])) for place, (fact, former) in enumerate(ruled) if former.before]
    distractors: list[list[Distractor]] = [[] for _ in ruled]
    for (place, _), accepted in zip(tried, admissible(entities, ruled, tried), strict=True):
        for number, distractor in accepted.items():
            end = nearest[ruled[place][0].key.fact][number]["end"]
            reason = f"{distractor.reason.removesuffix(_WAS_RIGHT)}; held until {end}"
            distractors[place].append(msgspec.structs.replace(distractor, reason=reason))
    return distractors


def facts_with_former(graph: Graph, keys: Sequence[FactKey], as_of: int) -> list[FactKey]:
    """Return the facts that have a former object among the distractors of sentences in the present tense.

    Cost: that of :func:`former_distractors`, a thousand facts at once.
    """
    rule = former_objects("wrong", as_of, present=True)
    with_former: list[FactKey] = []
    entities = PoolEntities(graph)
    for first in range(0, len(keys), _FACTS_AT_ONCE):
        block = keys[first : first + _FACTS_AT_ONCE]
        ruled = [(fact, rule) for fact in describe_facts(graph, block)]
        distractors = former_distractors(entities, ruled, as_of)
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
    draws = PoolDraws(graph)
    keys, pools = list(map(attrgetter("key"), facts)), list(map(subject_pool, facts))

    def with_label(tried: Tried) -> list[dict[int, str]]:
        labels = []
        for (place, _), entities in zip(tried, draws.entities.in_pools(tried, pools), strict=True):
            own = facts[place].key.subject
            labels.append({each.number: each.label for each in entities if each.label.strip() and each.id != own})
        return labels

    return draws.draw(keys, pools, count, [*seed, SUBJECTS], with_label)
