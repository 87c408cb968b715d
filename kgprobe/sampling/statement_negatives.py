"""Negatives of facts: a fact with another subject, relation or object, which the graph contains at no time.

GraphEval (Section 3 of the paper on evaluating with large graphs). The definition, also that of
:mod:`kgprobe.sampling.columns.statement_negatives`, which draws from arrays of the whole graph:

- **Fact**: both of its ends have a label.
- **Entity in place of the subject or the object**: it has a label, is neither end of the fact, and shares no name with
  the entity that it replaces. Only literals replace literals. It shares a type with the replaced entity; in place of an
  entity without types it is another subject (or object) of the relation, with the same datatype.
- **Relation in place of the relation**: it is one of the given relations, has a fact, and shares no wording with the
  replaced relation. It leads from a subject of the kind of the fact's subject to an object of the kind of its object. A
  kind is a common type; without types, the subjects of the relation, or the objects without types of a datatype.
- **Any type**: the sentences about kinds do not apply.
- **Absent**: the graph contains no fact, at any time, that says the same: with this relation or one that shares a
  wording with it, and with the same subject and an object that shares a name with the object, or with the same object
  and a subject that shares a name with the subject. Names are labels and aliases that are not white space; case is
  ignored, and names that print alike are equal (:func:`~kgprobe.sources.values.name_key`).
- **Draws** are uniform among the negatives of a part, without repetition. With several parts, each negative first draws
  the part, among those with more.

The queries of this module have bounds, so that no cost grows with the graph; arrays have none. ``KIND_MEMBERS``: the
relations of a larger kind of subjects come from a random sample of it. ``NAMESAKES_DEGREE``: namesakes of the subject
are not searched among the facts of an object with more. Draws among more than ``pool_draws.SHUFFLED_MEMBERS``
candidates end after ``pool_draws.PATIENCE`` attempts per negative.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.graph.rows import column_by
from kgprobe.sampling.facts import AskedFact, names_of
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import (
    SHUFFLED_MEMBERS,
    Members,
    ObjectPool,
    PoolDraw,
    PoolDraws,
    Tried,
    by_number,
    generator_of,
    go_through,
    object_pool,
    subject_pool,
)
from kgprobe.sources.values import share_name

# Replaced parts.
SUBJECT, RELATION, OBJECT = "subject", "relation", "object"
ENDS = (SUBJECT, RELATION, OBJECT)

# Maximum number of facts of an object among which namesakes of the subject are searched.
NAMESAKES_DEGREE = 10_000
# Maximum number of members of a kind of subjects whose relations are read.
KIND_MEMBERS = 1_000

# Separates these draws from others with the same seed.
_SEEDS = {SUBJECT: 11, RELATION: 12, OBJECT: 13, "any": 14}
_LINKS = 7


@dataclasses.dataclass(frozen=True, slots=True)
class FalseFact:
    """A fact with one of its parts (``ENDS``) replaced."""

    replaced: str
    subject: str
    subject_label: str
    relation: str
    object: str
    object_label: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible negative of a fact, by the fact's place and the number of its replacement, with all names of ends."""

    place: int
    number: int
    false: FalseFact
    subject_names: Sequence[str]
    object_names: Sequence[str]


class StatementNegatives:
    """Negatives of one graph's facts; members of kinds and relations between kinds are cached."""

    def __init__(
        self,
        graph: Graph,
        words: Mapping[str, Collection[str]],
        relations: Collection[str],
        *,
        replace: str = OBJECT,
        any_type: bool = False,
    ) -> None:
        """Draw from this graph.

        Args:
            words: wordings of each relation, by id.
            replace: one of ``ENDS``, or ``any``, with which the part is drawn at random for each negative.
        """
        self._graph = graph
        self._order = sorted(relations)
        self._alike = equivalent_relations(words)
        self._parts = ENDS if replace == "any" else (replace,)
        self._any_type = any_type
        self._draws = PoolDraws(graph)
        self._linked = _LinkedRelations(graph)

    def draw(self, facts: Sequence[AskedFact], count: int, seed: Sequence[int]) -> list[list[FalseFact]]:
        """Draw distinct negatives of each fact uniformly among those of a part, in random order.

        Arguments and result as of :meth:`.distractors.Retriever.retrieve`.

        Cost: for each part some walks through the facts of the candidates and of both ends, see :mod:`.pool_draws`; for
        a new kind of subjects whose relation is replaced, walks through the facts of ``KIND_MEMBERS`` of them.
        """
        labelled = [fact for fact in facts if fact.subject_label.strip() and fact.object_label.strip()]
        parts = self._parts if labelled else ()
        drawn = [self._negatives(part, labelled, count, [*seed, _SEEDS[part]]) for part in parts]
        negatives = []
        for fact in facts:
            of_parts = [of_part.get(fact.key, []) for of_part in drawn]
            negatives.append(_mixed(of_parts, count, generator_of(fact.key, [*seed, _SEEDS["any"]])))
        return negatives

    def _negatives(
        self, part: str, facts: Sequence[AskedFact], count: int, seed: Sequence[int]
    ) -> dict[FactKey, list[FalseFact]]:
        """Return the negatives of each fact that replace a part."""
        keys = list(map(attrgetter("key"), facts))
        draws: list[PoolDraw[FalseFact]]
        if part == RELATION:
            draws = self._relation_draws(facts, seed)
        elif self._any_type:
            draws = [self._draw_of_all(place, fact, part, seed) for place, fact in enumerate(facts)]
        else:
            pools = map(object_pool if part == OBJECT else subject_pool, facts)
            draws = self._draws.begin(keys, list(pools), seed)

        def test(tried: Tried) -> list[dict[int, FalseFact]]:
            absent = self._absent(self._candidates(part, facts, tried))
            return by_number(tried, {(each.place, each.number): each.false for each in absent})

        go_through(draws, count, test)
        return {keys[draw.place]: list(draw.accepted.values())[:count] for draw in draws}

    def _draw_of_all(self, place: int, fact: AskedFact, part: str, seed: Sequence[int]) -> PoolDraw[FalseFact]:
        """Return draws from all entities, or from all literals."""
        generator = generator_of(fact.key, seed)
        if fact.total <= SHUFFLED_MEMBERS:
            return PoolDraw.of_members(place, np.arange(fact.total), generator)
        if part == OBJECT and fact.object_datatype:
            literals = ObjectPool((("sample/literals", ""),), self._literals, fact.total)
            draw: PoolDraw[FalseFact]
            [draw] = self._draws.begin([fact.key], [literals], seed)
            draw.place = place
            return draw
        share = max(fact.total - self._literals, 1) / fact.total
        return PoolDraw(place, generator, None, None, fact.total, share)

    @cached_property
    def _literals(self) -> int:
        """Number of literals."""
        return int(self._graph.read("sample/literal_count")[0]["literals"])

    @cached_property
    def _used(self) -> set[str]:
        """Relations that have facts."""
        return {row["id"] for row in self._graph.read("sample/used_relations")}

    def _relation_draws(self, facts: Sequence[AskedFact], seed: Sequence[int]) -> list[PoolDraw[FalseFact]]:
        """Return draws from the relations that can replace that of each fact, by their places in the order."""
        linked = [self._used] * len(facts) if self._any_type else self._linked.between(facts)
        draws: list[PoolDraw[FalseFact]] = []
        for place, (fact, relations) in enumerate(zip(facts, linked, strict=True)):
            others = relations - self._alike.get(fact.relation, {fact.relation})
            members = np.flatnonzero(np.isin(self._order, list(others)))
            draws.append(PoolDraw.of_members(place, members, generator_of(fact.key, seed)))
        return draws

    def _candidates(self, part: str, facts: Sequence[AskedFact], tried: Tried) -> list[_Candidate]:
        """Return the candidates with the entities or relations of these numbers."""
        candidates = []
        if part == RELATION:
            for place, numbers in tried:
                fact = facts[place]
                for number in numbers:
                    false = _changed(fact, RELATION, relation=self._order[number])
                    candidates.append(_Candidate(place, number, false, fact.subject_names, fact.object_names))
            return candidates
        pools: list[ObjectPool | None] = [None] * len(facts)
        if not self._any_type:
            pools = list(map(object_pool if part == OBJECT else subject_pool, facts))
        for (place, _), entities in zip(tried, self._draws.entities.in_pools(tried, pools), strict=True):
            fact = facts[place]
            own_names, own_types, own_datatype = fact.subject_names, fact.subject_types, fact.subject_datatype
            if part == OBJECT:
                own_names, own_types, own_datatype = fact.object_names, fact.object_types, fact.object_datatype
            is_exact = not self._any_type and not own_types
            for entity in entities:
                label, names = entity.label, names_of(entity.label, entity.aliases)
                is_end = entity.id in (fact.key.subject, fact.object)
                is_of_kind = bool(entity.datatype) == bool(own_datatype)
                if is_exact:
                    is_of_kind = entity.datatype == own_datatype
                if not label.strip() or is_end or not is_of_kind or share_name(names, own_names):
                    continue
                if part == OBJECT:
                    false = _changed(fact, part, object=entity.id, object_label=label)
                    both = fact.subject_names, names
                else:
                    false = _changed(fact, part, subject=entity.id, subject_label=label)
                    both = names, fact.object_names
                candidates.append(_Candidate(place, entity.number, false, *both))
        return candidates

    def _absent(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Return the candidates that the graph does not contain."""
        rows: list[Row] = []
        for index, candidate in enumerate(candidates):
            false = candidate.false
            alike = sorted(self._alike.get(false.relation, {false.relation}))
            row = {"index": index, "subject": false.subject, "relations": alike, "object": false.object}
            rows.append({**row, "names": candidate.object_names})
        contained = self._contained("sample/said", rows)
        rest = []
        for row, candidate in zip(rows, candidates, strict=True):
            if row["index"] not in contained:
                rest.append({**row, "names": candidate.subject_names})
        contained |= self._contained("sample/said_of_namesakes", rest, max_degree=NAMESAKES_DEGREE)
        return [candidate for index, candidate in enumerate(candidates) if index not in contained]

    def _contained(self, query: str, rows: Sequence[Row], **limits: int) -> set[int]:
        """Return the indices of the statements that the graph contains about an entity with one of the row's names."""
        if not rows:
            return set()
        # Names with an equal key are equal in this form, too.
        in_cypher = [{**row, "names": [name.lower().upper() for name in row["names"]]} for row in rows]
        names = column_by("index", "names", rows)
        matches = self._graph.read(query, rows=in_cypher, **limits)
        return {match["index"] for match in matches if share_name(names[match["index"]], match["names"])}


def equivalent_relations(words: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return the relations that share a wording with each relation, including itself."""
    by_wording: defaultdict[str, set[str]] = defaultdict(set)
    for relation, wordings in words.items():
        for wording in wordings:
            by_wording[wording].add(relation)
    equivalent = {}
    for relation, wordings in words.items():
        equivalent[relation] = {relation}.union(*map(by_wording.__getitem__, wordings))
    return equivalent


def _changed(fact: AskedFact, replaced: str, **other: str) -> FalseFact:
    same = FalseFact(replaced, fact.key.subject, fact.subject_label, fact.relation, fact.object, fact.object_label)
    return dataclasses.replace(same, **other)


def _mixed(lists: Sequence[Sequence[FalseFact]], count: int, generator: np.random.Generator) -> list[FalseFact]:
    """Return ``count`` negatives, each from a list drawn at random among those with more."""
    rests = [list(reversed(negatives)) for negatives in lists]
    mixed: list[FalseFact] = []
    while len(mixed) < count and any(rests):
        rest = rests[generator.integers(len(rests))]
        if rest:
            mixed.append(rest.pop())
    return mixed


@dataclasses.dataclass(frozen=True, slots=True)
class _Link:
    """A relation with the kind of its objects: their types, or without types their datatype, empty for entities."""

    relation: str
    types: frozenset[str]
    datatype: str

    def leads_to(self, types: frozenset[str], datatype: str) -> bool:
        """Return True for objects of this kind."""
        return bool(self.types & types) if types else not self.types and self.datatype == datatype


class _LinkedRelations:
    """Relations between kinds of entities in one graph, cached. Samples of kinds do not depend on the seed."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._draws = PoolDraws(graph)
        self._links: dict[tuple[Members, ...], frozenset[_Link]] = {}

    def between(self, facts: Sequence[AskedFact]) -> list[set[str]]:
        """Return the relations from the kind of each fact's subject to the kind of its object."""
        pools = list(map(subject_pool, facts))
        new = {pool.lists: pool for pool in pools if pool.lists not in self._links}
        if new:
            kinds = list(new)
            # These keys are of kinds instead of facts.
            keys = [FactKey("", "\n".join(id_ for _, id_ in lists)) for lists in kinds]
            drawn = self._draws.draw(
                keys, list(new.values()), KIND_MEMBERS, [_LINKS], lambda tried: self._members(tried, kinds)
            )
            for kind, members in zip(kinds, drawn, strict=True):
                self._links[kind] = frozenset().union(*members)
        relations = []
        for pool, fact in zip(pools, facts, strict=True):
            types = frozenset(map(attrgetter("id"), fact.object_types))
            links = self._links[pool.lists]
            relations.append({link.relation for link in links if link.leads_to(types, fact.object_datatype)})
        return relations

    def _members(self, tried: Tried, kinds: Sequence[tuple[Members, ...]]) -> list[dict[int, frozenset[_Link]]]:
        """Return the links of the members of each kind with these numbers."""
        rows = []
        for place, numbers in tried:
            types = [id_ for query, id_ in kinds[place] if query == "sample/members"]
            rows.append({"kind": place, "types": types, "numbers": list(numbers)})
        accepted = {}
        for row in self._graph.read("sample/links", rows=rows):
            links = (_Link(link["relation"], frozenset(link["types"]), link["datatype"]) for link in row["links"])
            accepted[row["kind"], row["number"]] = frozenset(links)
        return by_number(tried, accepted)
