"""Negatives of many facts, drawn from columns.

The definition is that of :mod:`kgprobe.sampling.statement_negatives`, without the bounds of queries. Draws depend only
on the seed and a fact's id, not on the other facts or the engine.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import GraphColumns, Int32s, Int64s, UInt64s, members_by
from kgprobe.sampling.columns.links import LinkedColumns, types_or
from kgprobe.sampling.columns.said import Said, mixed
from kgprobe.sampling.columns.unions import Bools, Unions, below, draw_members
from kgprobe.sampling.lists import Lists, lists_of_rows
from kgprobe.sampling.statement_negatives import ENDS, OBJECT, RELATION, equivalent_relations

# Separates the draw of the part from the draws of its replacement.
_PLACE = 4


@dataclass(frozen=True, slots=True)
class NegativeArrays:
    """Negatives of facts, each with one part replaced; all of shape (facts, count).

    Attributes:
        replaced: the part, as a place in ``ENDS``; -1 if a fact has no more negatives.
        subjects, relations, objects: of the negatives.
    """

    replaced: NDArray[np.int8]
    subjects: Int32s
    relations: Int32s
    objects: Int32s


class ColumnNegatives:
    """Negatives of a graph's facts, drawn from its columns."""

    def __init__(
        self,
        columns: GraphColumns,
        said: Said,
        words: Mapping[str, Collection[str]],
        relations: Collection[str],
        *,
        replace: str = OBJECT,
        any_type: bool = False,
    ) -> None:
        """Draw from these columns.

        Args:
            words: wordings of each relation; relations with a common wording are equivalent.
            relations: ids of the relations that may replace another.
            replace: one of ``REPLACED``.
            any_type: see :class:`kgprobe.sampling.statement_negatives.StatementNegatives`.
        """
        self._columns, self._said = columns, said
        self._places = ENDS if replace == "any" else (replace,)
        self._any_type = any_type
        self._alike = _alike(columns.relation_ids, words)
        codes = {relation: code for code, relation in enumerate(columns.relation_ids)}
        self._others = np.array(sorted(codes[relation] for relation in relations if relation in codes), dtype=np.int32)
        self._named = columns.named()
        self._linked = LinkedColumns(columns)

    def draw(self, facts: Int64s, bases: UInt64s, count: int) -> NegativeArrays:
        """Draw distinct negatives of each fact uniformly among those of a part; fewer if it has no more.

        Args:
            facts: places in the columns, shape (facts,).
            bases: a random number per fact, see :func:`kgprobe.sampling.seeded_order.seeded_number`.
            count: number of negatives per fact.

        Cost: some passes over the facts, and for each candidate a look-up for each name of its ends. A fact with fewer
        negatives than ``count``, or few in a large pool, costs a pass over its pool.
        """
        drawn = [self._draw_part(part, facts, mixed(bases, ENDS.index(part)), count) for part in self._places]
        if len(drawn) > 1:
            places, others = _mix_parts(drawn, bases, count)
        else:
            others = drawn[0]
            places = np.where(others >= 0, ENDS.index(self._places[0]), -1).astype(np.int8)
        own = (self._columns.subjects[facts], self._columns.relations[facts], self._columns.objects[facts])
        parts = [
            np.where(places == number, others, values[:, None]).astype(np.int32) for number, values in enumerate(own)
        ]
        return NegativeArrays(places, *parts)

    def _draw_part(self, place: str, facts: Int64s, bases: UInt64s, count: int) -> Int32s:
        """Draw replacements of a part, shape (facts, count); -1 if a fact has fewer."""
        columns = self._columns
        stated = self._named[columns.subjects[facts]] & self._named[columns.objects[facts]]
        if not stated.all():
            replacements = np.full((len(facts), count), -1, dtype=np.int32)
            replacements[stated] = self._draw_part(place, facts[stated], bases[stated], count)
            return replacements
        if place == RELATION:
            unions = self._relations(facts)
        else:
            owners = (columns.objects if place == OBJECT else columns.subjects)[facts].astype(np.int64)
            unions = self._entities(place, facts, owners)

        def test(rows: Int64s, candidates: Int64s) -> Bools:
            if place == RELATION:
                return self._is_absent(place, facts[rows], candidates)
            passes = self._can_replace(place, facts[rows], candidates)
            passes[passes] = self._is_absent(place, facts[rows[passes]], candidates[passes])
            return passes

        return draw_members(unions, bases, count, test)

    def _entities(self, place: str, facts: Int64s, owners: Int64s) -> Unions:
        """Return the lists of candidates for each replaced entity: members of its types, or ends of the relation."""
        columns = self._columns
        if self._any_type:
            literals = (columns.datatypes[owners] >= 0).astype(np.int32)
            return Unions(Lists(np.arange(len(facts) + 1), literals), self._everything)
        # Entities without a type have the list of their relation, behind those of the types.
        lists = types_or(columns.types, owners, len(columns.type_ids) + columns.relations[facts].astype(np.int64))
        members = self._like_objects if place == OBJECT else self._like_subjects
        return Unions(Lists(lists.starts, lists.values.astype(np.int32)), members)

    @cached_property
    def _everything(self) -> Lists[np.int32]:
        """Entities with a name in two lists: other entities, and literals."""
        everything = np.flatnonzero(self._named)
        return members_by((self._columns.datatypes[everything] >= 0).astype(np.int64), everything, 2)

    @cached_property
    def _like_objects(self) -> Lists[np.int32]:
        return self._members_and(self._columns.objects)

    @cached_property
    def _like_subjects(self) -> Lists[np.int32]:
        return self._members_and(self._columns.subjects)

    def _members_and(self, ends: Int32s) -> Lists[np.int32]:
        """Return the named entities of each type, and behind these the named ends of each relation."""
        columns = self._columns
        entities = np.repeat(np.arange(len(columns.types)), np.diff(columns.types.starts))
        owners = np.concatenate([columns.types.values, len(columns.type_ids) + columns.relations]).astype(np.int64)
        members = np.concatenate([entities, ends]).astype(np.int64)
        kept = self._named[members]
        return members_by(owners[kept], members[kept], len(columns.type_ids) + len(columns.relation_ids))

    def _relations(self, facts: Int64s) -> Unions:
        """Return the candidates for each fact's relation, without equivalent ones."""
        columns = self._columns
        own = columns.relations[facts]
        kinds, members = (
            (own, [self._others] * len(columns.relation_ids))
            if self._any_type
            else self._linked.of(facts, self._others)
        )
        # One list for each pair of a kind and a relation.
        pairs, kind_of = np.unique(kinds * np.int64(len(columns.relation_ids)) + own, return_inverse=True)
        lists = []
        for pair in pairs.tolist():
            kind, relation = divmod(pair, len(columns.relation_ids))
            lists.append(members[kind][~np.isin(members[kind], self._alike[relation])].tolist())
        return Unions(Lists(np.arange(len(facts) + 1), kind_of.astype(np.int32)), lists_of_rows(lists, np.int32))

    def _can_replace(self, place: str, facts: Int64s, candidates: Int64s) -> Bools:
        """Return True for named entities other than the ends and their namesakes; literals replace only literals."""
        columns = self._columns
        ends = (columns.objects[facts], columns.subjects[facts])
        replaced, other = ends if place == OBJECT else ends[::-1]
        passes: Bools = (candidates != replaced) & (candidates != other) & self._named[candidates]
        theirs, own = columns.datatypes[candidates], columns.datatypes[replaced]
        passes &= (theirs < 0) == (own < 0)
        if not self._any_type:
            typeless = columns.types.lengths(replaced) == 0
            passes &= ~typeless | (theirs == own)
        left = np.flatnonzero(passes)
        passes[left] = ~_in_common(columns.names, candidates[left], replaced[left])
        return passes

    def _is_absent(self, place: str, facts: Int64s, candidates: Int64s) -> Bools:
        """Return True for candidates whose statement is not in the graph."""
        columns = self._columns
        own = (columns.subjects[facts], columns.relations[facts], columns.objects[facts])
        subjects, relations, objects = (
            candidates if place == part else values for part, values in zip(ENDS, own, strict=True)
        )
        return ~self._said.says(columns.names, subjects, relations, objects, self._alike)


def _in_common(names: Lists[np.uint64], first: NDArray[Any], second: NDArray[Any]) -> Bools:
    """Return True for pairs of entities with a common name, shape (pairs,)."""
    places, lengths = names.places(first)
    rows = np.repeat(np.arange(len(first)), lengths)
    theirs, counts = names.places(second[rows])
    pairs = np.repeat(np.arange(len(rows)), counts)
    same = names.values[places][pairs] == names.values[theirs]
    shared = np.zeros(len(first), dtype=bool)
    shared[rows[pairs[same]]] = True
    return shared


def _mix_parts(drawn: Sequence[Int32s], bases: UInt64s, count: int) -> tuple[NDArray[np.int8], Int32s]:
    """Return ``count`` replacements, each of a part drawn at random among those with more, and the parts."""
    stacked = np.stack(drawn, axis=1)
    facts = np.arange(len(bases))
    available = (stacked >= 0).sum(axis=2)
    used = np.zeros_like(available)
    places = np.full((len(bases), count), -1, dtype=np.int8)
    others = np.full((len(bases), count), -1, dtype=np.int32)
    for number in range(count):
        have_more = used < available
        choices = have_more.sum(axis=1)
        chosen = below(choices, mixed(bases, number, _PLACE))
        # Place of the chosen part among those with more.
        place = ((have_more.cumsum(axis=1) <= chosen[:, None]).sum(axis=1)).clip(max=len(drawn) - 1)
        any_left = choices > 0
        others[any_left, number] = stacked[facts, place, used[facts, place].clip(max=count - 1)][any_left]
        places[any_left, number] = place[any_left]
        used[facts[any_left], place[any_left]] += 1
    return places, others


def _alike(relation_ids: Sequence[str], words: Mapping[str, Collection[str]]) -> Lists[np.int32]:
    """Return the relations with a common wording by relation, including itself."""
    codes = {relation: code for code, relation in enumerate(relation_ids)}
    equivalent = equivalent_relations(words)
    rows = []
    for relation in relation_ids:
        alike = equivalent.get(relation, {relation})
        rows.append(sorted(codes[other] for other in alike if other in codes))
    return lists_of_rows(rows, np.int32)
