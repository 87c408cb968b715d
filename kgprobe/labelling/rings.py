"""Rings of control facts around taught facts: candidates of each ring, drawn by hashes of seed and fact.

docs/methods/controls.md. Rings are disjoint; the nearest ring of a fact wins. All rings but *same relation* and *far*
are found by walking from the taught facts; these two need one scan of the graph's facts.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from kgprobe.labelling.neighbourhood import NeighbourFact, Neighbourhood, blocks
from kgprobe.labelling.roles import FAR, NEAR
from kgprobe.sampling.keys import FactKey, seeded_number

_SAME_SUBJECT, _INVERSE, _SAME_RELATION, _NEIGHBOUR, _TWO_HOPS = NEAR

# Facts whose distance is computed at once; entities walked at once.
_FACTS_AT_ONCE = 500
# Facts whose distance is computed until enough are far: at most so many times the candidates, but this number of any.
_TESTED_PER_CANDIDATE = 10
_TESTED = 20_000


class ControlCandidate(NamedTuple):
    """A fact that may be a control.

    ``popularity`` is the sum of log(1 + popularity) of both ends, ``of`` the id of the taught fact that it is near to;
    None if there is none in particular.
    """

    key: FactKey
    popularity: float
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Rings:
    """Candidates around taught facts.

    Attributes:
        candidates: by ring, from near to far; in the order of their hashes.
        hubs: labels of taught entities with more than ``max_degree`` facts by id; their neighbours are not read.
        skipped_hubs: hubs among them that are the subject of too many facts, whose own facts are not read either.
        unknown: number of facts left out because the popularity of an end is unknown.
        far_of_taught_relations: True if all far facts are of relations that were taught.
        tested: number of facts whose distance was computed, if there are more of these and too few were far; None
            otherwise.
    """

    candidates: Mapping[str, Sequence[ControlCandidate]]
    hubs: Mapping[str, str]
    skipped_hubs: Sequence[str]
    unknown: int
    far_of_taught_relations: bool
    tested: int | None = None


class _Pool:
    """The facts with the lowest hashes among those that were added, in any order and any number of times."""

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._seed = size, seed
        self._facts: dict[str, tuple[int, NeighbourFact, str | None]] = {}
        self._highest = 2**64
        self._is_cut = False

    def add(self, ends: NeighbourFact, of: str | None = None) -> None:
        """Add a fact; of several taught facts that it is near to, the one with the lowest id is stored."""
        rank = seeded_number(self._seed, "control", ends.fact)
        if rank > self._highest:
            self._is_cut = True
            return
        other = self._facts.get(ends.fact)
        if other is not None and other[2] is not None:
            of = other[2] if of is None else min(of, other[2])
        self._facts[ends.fact] = rank, ends, of
        if len(self._facts) > 2 * self._size:
            self._cut()

    @property
    def is_full(self) -> bool:
        """True with as many facts as the pool may have."""
        return len(self._facts) >= self._size

    @property
    def has_left_out(self) -> bool:
        """True if more facts were added than the pool may have."""
        return self._is_cut or len(self._facts) > self._size

    def facts(self) -> list[tuple[NeighbourFact, str | None]]:
        """Return the facts in the order of their hashes, each with the taught fact."""
        self._cut()
        return [(ends, of) for _, ends, of in self._facts.values()]

    def _cut(self) -> None:
        self._is_cut = self.has_left_out
        lowest = sorted(self._facts.items(), key=lambda entry: entry[1][0])[: self._size]
        self._facts = dict(lowest)
        if len(lowest) == self._size:
            self._highest = lowest[-1][1][0]


@dataclass(slots=True)
class _Centre:
    """The taught facts, and the entities next to them.

    Attributes:
        left_out: ids of the facts that are no controls: taught and held-out ones.
        questions: subjects and relations of taught facts; other answers to them are no controls.
        subjects, objects: entities of the taught facts, with the lowest id of their facts; None for an entity without.
        next_to: entities next to these, through entities that are not hubs; True for an entity that is not a hub.
        of_next: taught fact of each entity in ``next_to``.
    """

    left_out: frozenset[str]
    relations: frozenset[str]
    questions: frozenset[tuple[str, str]]
    subjects: Mapping[str, str | None]
    objects: Mapping[str, str | None]
    next_to: dict[str, bool] = field(default_factory=dict)
    of_next: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def around(cls, taught: Sequence[NeighbourFact], held_out: Iterable[FactKey], entities: Iterable[str]) -> "_Centre":
        subjects: dict[str, str | None] = {}
        objects: dict[str, str | None] = {}
        for ends in sorted(taught, key=lambda ends: ends.fact):
            subjects.setdefault(ends.subject, ends.fact)
            if not ends.literal:
                objects.setdefault(ends.object, ends.fact)
        for entity in entities:
            if entity not in objects:
                subjects.setdefault(entity, None)
        return cls(
            left_out=frozenset([ends.fact for ends in taught] + [key.fact for key in held_out]),
            relations=frozenset(ends.relation for ends in taught),
            questions=frozenset((ends.subject, ends.relation) for ends in taught),
            subjects=subjects,
            objects=objects,
        )

    @property
    def entities(self) -> list[str]:
        """All subjects and objects, sorted."""
        return sorted({*self.subjects, *self.objects})

    def __contains__(self, entity: str) -> bool:
        return entity in self.subjects or entity in self.objects

    def may_be_control(self, ends: NeighbourFact) -> bool:
        """Return True for a fact that is neither taught, held out, nor another answer to a taught question."""
        return ends.fact not in self.left_out and (ends.subject, ends.relation) not in self.questions

    def touches(self, ends: NeighbourFact) -> bool:
        """Return True if an end of the fact is an entity of the taught facts."""
        return any(entity in self for entity in ends.entities)

    def add_next(self, entity: str, through: bool, of: str | None) -> None:
        """Add an entity next to the taught ones."""
        self.next_to[entity] = through
        known = self.of_next.get(entity)
        self.of_next[entity] = of if known is None or (of is not None and of < known) else known

    def fact_at(self, entity: str) -> str | None:
        """Return the taught fact of an entity of the centre."""
        return self.subjects.get(entity) or self.objects.get(entity)


def find_rings(
    around: Neighbourhood,
    taught: Iterable[FactKey],
    held_out: Iterable[FactKey],
    entities: Iterable[str],
    size: int,
    seed: int,
) -> Rings:
    """Find the candidates of each ring.

    Cost: at most ``max_degree`` facts for each taught entity; for *two hops*, of as many further entities as give
    ``size`` facts; one scan of the graph's facts; and the facts of the ends of those whose distance is computed, until
    ``size`` of them are far: at most ten times ``size``, or 20,000.

    Args:
        entities: further entities to which facts of *same subject* belong.
        size: maximum number of candidates in each ring, those with the lowest hashes.
    """
    centre = _Centre.around(list(around.ends_of(taught)), held_out, entities)
    pools = {ring: _Pool(size, seed) for ring in (*NEAR, FAR)}
    for ring in (_SAME_RELATION, FAR):
        pools[ring] = _Pool(max(_TESTED_PER_CANDIDATE * size, _TESTED), seed)
    walked = _walk_centre(around, centre, pools)
    hubs = around.hubs_among(entity for entity in centre.entities if entity not in walked)
    from_hubs, skipped = around.facts_from(hubs)
    for ends in filter(centre.may_be_control, from_hubs):
        _add_outgoing(centre, pools, ends)
    _walk_next(around, centre, pools[_TWO_HOPS], seed)
    _scan(around, centre, pools)
    facts = {ring: pool.facts() for ring, pool in pools.items()}
    tested = len(facts[FAR]) if pools[FAR].has_left_out else None
    facts[FAR] = _far_among(around, centre, facts[FAR], size, 0)[0]
    is_fallback = not facts[FAR]
    if is_fallback:
        facts[FAR], facts[_SAME_RELATION] = _far_among(around, centre, facts[_SAME_RELATION], size, size)
    elif len(facts[FAR]) == size:
        tested = None
    facts[_SAME_RELATION] = facts[_SAME_RELATION][:size]
    candidates = {ring: list(_with_popularity(own)) for ring, own in facts.items()}
    unknown = sum(map(len, facts.values())) - sum(map(len, candidates.values()))
    return Rings(candidates, hubs, skipped, unknown, is_fallback and bool(facts[FAR]), tested)


def _walk_centre(around: Neighbourhood, centre: _Centre, pools: Mapping[str, _Pool]) -> set[str]:
    """Add the facts at taught entities to their pools, and the entities next to these; return the walked entities."""
    walked = set()
    for step in around.facts_around(centre.entities):
        walked.add(step.entity)
        of = centre.fact_at(step.entity)
        if step.other is not None and step.other not in centre:
            centre.add_next(step.other, step.through, of)
        if not step.askable or not centre.may_be_control(step.ends):
            continue
        if step.ends.subject == step.entity:
            _add_outgoing(centre, pools, step.ends)
        elif step.ends.subject not in centre and step.ends.relation not in centre.relations:
            pools[_NEIGHBOUR].add(step.ends, of)
    return walked


def _add_outgoing(centre: _Centre, pools: Mapping[str, _Pool], ends: NeighbourFact) -> None:
    """Add a fact whose subject is a taught entity to its pool."""
    ring = _SAME_SUBJECT if ends.subject in centre.subjects else _INVERSE
    pools[ring].add(ends, centre.fact_at(ends.subject))


def _walk_next(around: Neighbourhood, centre: _Centre, pool: _Pool, seed: int) -> None:
    """Add facts at entities next to the taught ones, in the order of the entities' hashes, until there are enough."""
    through = [entity for entity, is_through in centre.next_to.items() if is_through]
    through.sort(key=lambda entity: (seeded_number(seed, "next", entity), entity))
    for block in blocks(through, _FACTS_AT_ONCE):
        for step in around.facts_around(block):
            ends = step.ends
            is_near = centre.touches(ends) or ends.relation in centre.relations
            if step.askable and not is_near and centre.may_be_control(ends):
                pool.add(ends, centre.of_next[step.entity])
        if pool.is_full:
            return


def _scan(around: Neighbourhood, centre: _Centre, pools: Mapping[str, _Pool]) -> None:
    """Add the facts of taught relations with other subjects, and those that may be far."""
    for ends in around.all_askable():
        if ends.subject in centre or not centre.may_be_control(ends):
            continue
        if ends.relation in centre.relations:
            pools[_SAME_RELATION].add(ends)
        elif not centre.touches(ends) and centre.next_to.keys().isdisjoint(ends.entities):
            pools[FAR].add(ends)


_Found = list[tuple[NeighbourFact, str | None]]


def _far_among(around: Neighbourhood, centre: _Centre, facts: _Found, size: int, others: int) -> tuple[_Found, _Found]:
    """Return the first ``size`` facts that are farther than two steps, and the first ``others`` that are not."""
    far: _Found = []
    rest: _Found = []
    for block in blocks(facts, _FACTS_AT_ONCE):
        if len(far) >= size and len(rest) >= others:
            break
        entities = set(chain.from_iterable(ends.entities for ends, _ in block))
        far_entities = _far_entities(around, centre, sorted(entities))
        for ends, of in block:
            (far if far_entities.issuperset(ends.entities) else rest).append((ends, of))
    return far[:size], rest[:others]


def _far_entities(around: Neighbourhood, centre: _Centre, entities: Sequence[str]) -> set[str]:
    """Return the entities that are farther than two steps from the taught ones; hubs are not far."""
    far: set[str] = set()
    near: set[str] = set()
    for step in around.facts_around(entities):
        far.add(step.entity)
        if step.other is not None and centre.next_to.get(step.other):
            near.add(step.entity)
    return {entity for entity in far - near if entity not in centre and entity not in centre.next_to}


def _with_popularity(facts: Iterable[tuple[NeighbourFact, str | None]]) -> Iterator[ControlCandidate]:
    """Yield the facts whose ends both have a known popularity."""
    for ends, of in facts:
        if ends.of_subject is not None and ends.of_object is not None:
            yield ControlCandidate(ends.key, math.log1p(ends.of_subject) + math.log1p(ends.of_object), of)
