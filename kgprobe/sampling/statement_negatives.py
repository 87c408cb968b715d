"""Negatives of facts: a fact with another subject, relation or object, absent from the graph at any time.

Section 3 of the paper on evaluating with large graphs; docs/methods/statements.md. Candidates are drawn as
distractors are. A candidate is rejected if the graph contains the same statement: at any time, for a namesake of one of
its ends, or by another relation with the same words. Namesakes of the subject are searched among the facts of the
object, unless it has more than ``NAMESAKES_DEGREE`` facts.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.distractors import object_pool
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.linked_relations import LinkedRelations
from kgprobe.sampling.pool_draws import SHUFFLED_MEMBERS, PoolDraw, PoolDraws, Test, by_number, generator_of, go_through
from kgprobe.sampling.subjects import subject_pool

# Replaced parts.
SUBJECT, RELATION, OBJECT = "subject", "relation", "object"
ENDS = (SUBJECT, RELATION, OBJECT)
REPLACED = (*ENDS, "any")

# Maximum number of facts of an object among which namesakes of the subject are searched.
NAMESAKES_DEGREE = 10_000

# Separates these draws from others with the same seed.
_SEEDS = {SUBJECT: 11, RELATION: 12, OBJECT: 13, "any": 14}


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible negative, with all names of both ends."""

    fact: FalseFact
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
            words: wordings of each relation, by id; relations with a common wording are equivalent.
            relations: ids of the relations that may replace another.
            replace: one of ``REPLACED``; with ``any`` the part is drawn at random for each negative.
            any_type: True allows any entity (any literal for a literal) or relation as a replacement. Otherwise an
                entity is replaced by one that shares a type (without a type: by another subject, or object of the same
                datatype, of the relation), a relation by one that the graph has between such entities.
        """
        self._graph = graph
        self._order = sorted(relations)
        self._alike = _equivalent(words)
        self._places = ENDS if replace == "any" else (replace,)
        self._any_type = any_type
        self._draws = PoolDraws(graph)
        self._linked = LinkedRelations(graph)

    def draw(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[FalseFact]]:
        """Draw distinct negatives of each fact uniformly among those of a part, in random order.

        Args:
            keys: facts of the graph.
            count: number of negatives per fact.
            seed: of the draws, which do not depend on the other facts.

        Returns:
            One list per fact, in the order of the keys; shorter than ``count`` if the graph has fewer.

        Cost: for each part some walks through the facts of the candidates and of both ends; see :mod:`.pool_draws` and
        :mod:`.linked_relations`.
        """
        if not keys:
            return []
        facts = describe_facts(self._graph, keys)
        rows = [key._asdict() for key in keys]
        objects = {row["fact"]: row for row in self._graph.read("sample/pools", rows=rows)}
        subjects = {row["fact"]: row for row in self._graph.read("sample/subject_pools", rows=rows)}
        drawn: dict[str, list[list[FalseFact]]] = {}
        for place in self._places:
            own_seed = [*seed, _SEEDS[place]]
            if place == RELATION:
                drawn[place] = self._other_relations(facts, objects, subjects, count, own_seed)
            else:
                pools = objects if place == OBJECT else subjects
                drawn[place] = self._other_entities(place, facts, pools, count, own_seed)
        if len(self._places) == 1:
            return drawn[self._places[0]]
        return [
            _mixed([drawn[place][number] for place in self._places], count, generator_of(key, [*seed, _SEEDS["any"]]))
            for number, key in enumerate(keys)
        ]

    def _other_entities(
        self, place: str, facts: Sequence[AskedFact], rows: Mapping[str, Row], count: int, seed: Sequence[int]
    ) -> list[list[FalseFact]]:
        by_key = {fact.key: fact for fact in facts}

        def test(tried: _Tried) -> list[dict[int, FalseFact]]:
            return self._false(tried, self._with_entities(place, by_key, tried))

        if not self._any_type:
            pool_of = object_pool if place == OBJECT else subject_pool
            pools = {fact: pool_of(row) for fact, row in rows.items()}
            return self._draws.draw([fact.key for fact in facts], pools, count, seed, test)
        return _draw_all([_of_all(fact.key, rows[fact.key.fact]["total"], seed) for fact in facts], count, test)

    def _other_relations(
        self,
        facts: Sequence[AskedFact],
        objects: Mapping[str, Row],
        subjects: Mapping[str, Row],
        count: int,
        seed: Sequence[int],
    ) -> list[list[FalseFact]]:
        by_key = {fact.key: fact for fact in facts}
        possible = [set(self._order) for _ in facts]
        if not self._any_type:
            links = self._linked.links([subject_pool(subjects[fact.key.fact]) for fact in facts])
            for fact, relations, of_subject in zip(facts, possible, links, strict=True):
                row = objects[fact.key.fact]
                types = frozenset(type_["id"] for type_ in row["types"])
                relations &= {link.relation for link in of_subject if link.leads_to(types, row["datatype"])}
        draws: list[PoolDraw[FalseFact]] = []
        for fact, relations in zip(facts, possible, strict=True):
            others = relations - self._alike.get(fact.relation, {fact.relation})
            numbers = [number for number, relation in enumerate(self._order) if relation in others]
            draws.append(PoolDraw.of_members(fact.key, np.array(numbers, dtype=np.int64), seed))
        return _draw_all(draws, count, lambda tried: self._false(tried, self._with_relations(by_key, tried)))

    def _with_entities(
        self, place: str, facts: Mapping[FactKey, AskedFact], tried: "_Tried"
    ) -> "list[tuple[str, int, _Candidate]]":
        """Return candidates with the entities of these numbers, as (fact, number, candidate)."""
        requests = []
        for key, numbers in tried:
            fact = facts[key]
            ends = (fact.object, key.subject) if place == OBJECT else (key.subject, fact.object)
            requests.append(
                {
                    "fact": key.fact,
                    "replaced": ends[0],
                    "other": ends[1],
                    "names": _object_names(fact) if place == OBJECT else _subject_names(fact),
                    "relation": fact.relation if place == OBJECT else None,
                    "numbers": list(numbers),
                }
            )
        candidates = []
        by_fact = {key.fact: facts[key] for key, _ in tried}
        for row in self._graph.read("sample/replacements", rows=requests, any_type=self._any_type):
            fact, names = by_fact[row["fact"]], _names(row["label"], row["aliases"])
            if not row["label"].strip():
                continue
            if place == OBJECT:
                false = _changed(fact, place, object=row["id"], object_label=row["label"])
                candidate = _Candidate(false, _subject_names(fact), names)
            else:
                false = _changed(fact, place, subject=row["id"], subject_label=row["label"])
                candidate = _Candidate(false, names, _object_names(fact))
            candidates.append((row["fact"], row["number"], candidate))
        return candidates

    def _with_relations(
        self, facts: Mapping[FactKey, AskedFact], tried: "_Tried"
    ) -> "list[tuple[str, int, _Candidate]]":
        """Return candidates with the relations of these numbers, as (fact, number, candidate)."""
        candidates = []
        for key, numbers in tried:
            fact = facts[key]
            names = _subject_names(fact), _object_names(fact)
            for number in numbers:
                false = _changed(fact, RELATION, relation=self._order[number])
                candidates.append((key.fact, number, _Candidate(false, *names)))
        return candidates

    def _false(
        self, tried: "_Tried", candidates: "Sequence[tuple[str, int, _Candidate]]"
    ) -> list[dict[int, FalseFact]]:
        """Return the candidates that the graph does not contain, by fact and number."""
        contained: set[int] = set()
        rows = [
            {
                "index": index,
                "subject": candidate.fact.subject,
                "relations": sorted(self._alike.get(candidate.fact.relation, {candidate.fact.relation})),
                "object": candidate.fact.object,
                "names": candidate.object_names,
            }
            for index, (_, _, candidate) in enumerate(candidates)
        ]
        if rows:
            contained |= {row["index"] for row in self._graph.read("sample/said", rows=rows)}
        rows = [
            {**row, "names": candidate.subject_names}
            for index, (row, (_, _, candidate)) in enumerate(zip(rows, candidates, strict=True))
            if index not in contained
        ]
        if rows:
            matches = self._graph.read("sample/said_of_namesakes", rows=rows, max_degree=NAMESAKES_DEGREE)
            contained |= {row["index"] for row in matches}
        accepted = []
        for index, (fact, number, candidate) in enumerate(candidates):
            if index not in contained:
                accepted.append((fact, number, candidate.fact))
        return by_number(tried, accepted)


# Facts, each with the tried numbers.
_Tried: TypeAlias = Sequence[tuple[FactKey, Sequence[int]]]


def _equivalent(relations: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return the relations with a common wording by relation, including itself."""
    by_wording: defaultdict[str, set[str]] = defaultdict(set)
    for relation, words in relations.items():
        for wording in words:
            by_wording[wording].add(relation)
    equivalent = {}
    for relation, words in relations.items():
        equivalent[relation] = {relation}.union(*(by_wording[wording] for wording in words))
    return equivalent


def _changed(fact: AskedFact, replaced: str, **other: str) -> FalseFact:
    own = {
        "subject": fact.key.subject,
        "subject_label": fact.subject_label,
        "relation": fact.relation,
        "object": fact.object,
        "object_label": fact.object_label,
    }
    return FalseFact(replaced, **(own | other))


def _names(label: str, aliases: Sequence[str]) -> list[str]:
    return [name for name in (label, *aliases) if name.strip()]


def _subject_names(fact: AskedFact) -> list[str]:
    return _names(fact.subject_label, fact.subject_aliases)


def _object_names(fact: AskedFact) -> list[str]:
    return _names(fact.object_label, fact.object_aliases)


def _of_all(key: FactKey, total: int, seed: Sequence[int]) -> PoolDraw[FalseFact]:
    """Return draws from all entities; few are shuffled, so that none is missed."""
    if total <= SHUFFLED_MEMBERS:
        return PoolDraw.of_members(key, np.arange(total), seed)
    return PoolDraw(key, generator_of(key, seed), None, None, total, 1.0)


def _draw_all(draws: Sequence[PoolDraw[FalseFact]], count: int, test: Test[FalseFact]) -> list[list[FalseFact]]:
    go_through(draws, count, test)
    return [list(draw.accepted.values())[:count] for draw in draws]


def _mixed(lists: Sequence[Sequence[FalseFact]], count: int, generator: np.random.Generator) -> list[FalseFact]:
    """Return ``count`` negatives, each from a list drawn at random among those with more."""
    rests = [list(reversed(negatives)) for negatives in lists]
    mixed: list[FalseFact] = []
    while len(mixed) < count and any(rests):
        rest = rests[generator.integers(len(rests))]
        if rest:
            mixed.append(rest.pop())
    return mixed
