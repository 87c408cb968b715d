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
from operator import itemgetter

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.graph.rows import column_by, rows_by
from kgprobe.sampling.facts import AskedFact, describe_facts, names_of
from kgprobe.sampling.keys import FactKey, key_rows
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
REPLACED = (*ENDS, "any")

# Maximum number of facts of an object among which namesakes of the subject are searched.
NAMESAKES_DEGREE = 10_000
# Maximum number of members of a kind of subjects whose relations are read.
KIND_MEMBERS = 1_000

# Separates these draws from others with the same seed.
_SEEDS = {SUBJECT: 11, RELATION: 12, OBJECT: 13, "any": 14}
_LINKS = 7


@dataclasses.dataclass(frozen=True, slots=True)
class FalseFact:
    """A fact with one of its parts replaced.

    Attributes:
        replaced: one of ``ENDS``.
        subject, relation, object: ids.
    """

    replaced: str
    subject: str
    subject_label: str
    relation: str
    object: str
    object_label: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible negative of a fact, by the number of its replacement, with all names of both ends."""

    fact: str
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
            relations: ids of the relations that may replace another.
            replace: one of ``REPLACED``; with ``any`` the part is drawn at random for each negative.
            any_type: True allows replacements of any kind.
        """
        self._graph = graph
        self._order = sorted(relations)
        self._alike = equivalent_relations(words)
        self._places = ENDS if replace == "any" else (replace,)
        self._any_type = any_type
        self._draws = PoolDraws(graph)
        self._linked = _LinkedRelations(graph)

    def draw(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[FalseFact]]:
        """Draw distinct negatives of each fact uniformly among those of a part, in random order.

        Arguments and result as of :meth:`.distractors.Retriever.retrieve`.

        Cost: for each part some walks through the facts of the candidates and of both ends, see :mod:`.pool_draws`; for
        a new kind of subjects whose relation is replaced, walks through the facts of ``KIND_MEMBERS`` of them.
        """
        if not keys:
            return []
        facts = {}
        for fact in describe_facts(self._graph, keys):
            if fact.subject_label.strip() and fact.object_label.strip():
                facts[fact.key] = fact
        rows = key_rows(facts)
        objects = rows_by("fact", self._graph.read("sample/pools", rows=rows))
        subjects = rows_by("fact", self._graph.read("sample/subject_pools", rows=rows))
        drawn: list[dict[str, list[FalseFact]]] = []
        for place in self._places:
            own_seed = [*seed, _SEEDS[place]]
            if place == RELATION:
                draws = self._relation_draws(facts, objects, subjects, own_seed)
            else:
                draws = self._entity_draws(place, list(facts), objects if place == OBJECT else subjects, own_seed)
            drawn.append(self._negatives(place, facts, draws, count))
        negatives = []
        for key in keys:
            of_parts = [of_part.get(key.fact, []) for of_part in drawn]
            negatives.append(_mixed(of_parts, count, generator_of(key, [*seed, _SEEDS["any"]])))
        return negatives

    def _negatives(
        self, place: str, facts: Mapping[FactKey, AskedFact], draws: Sequence[PoolDraw[FalseFact]], count: int
    ) -> dict[str, list[FalseFact]]:
        """Return the negatives of each fact's draws, by the fact's id."""

        def test(tried: Tried) -> list[dict[int, FalseFact]]:
            absent = self._absent(self._candidates(place, facts, tried))
            return by_number(tried, ((each.fact, each.number, each.false) for each in absent))

        go_through(draws, count, test)
        return {draw.key.fact: list(draw.accepted.values())[:count] for draw in draws}

    def _entity_draws(
        self, place: str, keys: Sequence[FactKey], rows: Mapping[str, Row], seed: Sequence[int]
    ) -> list[PoolDraw[FalseFact]]:
        """Return draws from the pool of the entity in this place of each fact."""
        if self._any_type:
            return [self._draw_of_all(key, rows[key.fact], seed) for key in keys]
        pool_of = object_pool if place == OBJECT else subject_pool
        return self._draws.begin(keys, {fact: pool_of(row) for fact, row in rows.items()}, seed)

    def _draw_of_all(self, key: FactKey, row: Row, seed: Sequence[int]) -> PoolDraw[FalseFact]:
        """Return draws from all entities, or from all literals."""
        total = row["total"]
        if total <= SHUFFLED_MEMBERS:
            return PoolDraw.of_members(key, np.arange(total), seed)
        if row.get("datatype"):
            literals = ObjectPool((("sample/literals", ""),), self._literals, total)
            return self._draws.begin([key], {key.fact: literals}, seed)[0]
        share = max(total - self._literals, 1) / total
        return PoolDraw(key, generator_of(key, seed), None, None, total, share)

    @cached_property
    def _literals(self) -> int:
        """Number of literals."""
        return int(self._graph.read("sample/literal_count")[0]["literals"])

    @cached_property
    def _used(self) -> set[str]:
        """Relations that have facts."""
        return {row["id"] for row in self._graph.read("sample/used_relations")}

    def _relation_draws(
        self,
        facts: Mapping[FactKey, AskedFact],
        objects: Mapping[str, Row],
        subjects: Mapping[str, Row],
        seed: Sequence[int],
    ) -> list[PoolDraw[FalseFact]]:
        """Return draws from the relations that can replace that of each fact, by their places in the order."""
        if self._any_type:
            linked = [self._used] * len(facts)
        else:
            linked = self._linked.between(
                [subject_pool(subjects[key.fact]) for key in facts], [objects[key.fact] for key in facts]
            )
        draws: list[PoolDraw[FalseFact]] = []
        for fact, relations in zip(facts.values(), linked, strict=True):
            others = relations - self._alike.get(fact.relation, {fact.relation})
            draws.append(PoolDraw.of_members(fact.key, np.flatnonzero(np.isin(self._order, list(others))), seed))
        return draws

    def _candidates(self, place: str, facts: Mapping[FactKey, AskedFact], tried: Tried) -> list[_Candidate]:
        """Return the candidates with the entities or relations of these numbers."""
        candidates = []
        if place == RELATION:
            for key, numbers in tried:
                fact = facts[key]
                for number in numbers:
                    false = _changed(fact, RELATION, relation=self._order[number])
                    candidates.append(_Candidate(key.fact, number, false, fact.subject_names, fact.object_names))
            return candidates
        requests = []
        for key, numbers in tried:
            fact = facts[key]
            request: Row = {"fact": key.fact, "numbers": list(numbers)}
            if place == OBJECT:
                request |= {"replaced": fact.object, "other": key.subject, "relation": fact.relation}
            else:
                request |= {"replaced": key.subject, "other": fact.object, "relation": None}
            requests.append(request)
        by_fact = {key.fact: facts[key] for key, _ in tried}
        for row in self._graph.read("sample/replacements", rows=requests, any_type=self._any_type):
            label, fact = row["label"], by_fact[row["fact"]]
            names = names_of(label, row["aliases"])
            if not label.strip() or share_name(names, fact.object_names if place == OBJECT else fact.subject_names):
                continue
            if place == OBJECT:
                false, both = _changed(fact, place, object=row["id"], object_label=label), (fact.subject_names, names)
            else:
                false, both = _changed(fact, place, subject=row["id"], subject_label=label), (names, fact.object_names)
            candidates.append(_Candidate(row["fact"], row["number"], false, *both))
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

    def between(self, pools: Sequence[ObjectPool], objects: Sequence[Row]) -> list[set[str]]:
        """Return the relations from each pool of subjects to the kind of each object, a row of ``sample/pools``."""
        new = {"\n".join(id_ for _, id_ in pool.lists): pool for pool in pools if pool.lists not in self._links}
        if new:
            # These keys are of kinds instead of facts.
            kinds = [FactKey("", kind) for kind in new]
            drawn = self._draws.draw(kinds, new, KIND_MEMBERS, [_LINKS], lambda rows: self._members(rows, new))
            for pool, members in zip(new.values(), drawn, strict=True):
                self._links[pool.lists] = frozenset().union(*members)
        relations = []
        for pool, row in zip(pools, objects, strict=True):
            types = frozenset(map(itemgetter("id"), row["types"]))
            relations.append(
                {link.relation for link in self._links[pool.lists] if link.leads_to(types, row["datatype"])}
            )
        return relations

    def _members(self, rows: Tried, pools: Mapping[str, ObjectPool]) -> list[dict[int, frozenset[_Link]]]:
        """Return the links of the members of each kind with these numbers."""
        members = []
        for key, numbers in rows:
            types = [id_ for query, id_ in pools[key.fact].lists if query == "sample/members"]
            members.append({"kind": key.fact, "types": types, "numbers": list(numbers)})
        accepted = []
        for row in self._graph.read("sample/links", rows=members):
            links = (_Link(link["relation"], frozenset(link["types"]), link["datatype"]) for link in row["links"])
            accepted.append((row["kind"], row["number"], frozenset(links)))
        return by_number(rows, accepted)
