"""Negatives of many facts at once, out of columns.

The same definition (docs/methods/statements.md) as :mod:`kgprobe.sampling.statement_negatives` has in the graph
itself, drawn by numbers that follow from the seed and a fact's id: neither what stands beside a fact nor the engine
has a say. Two things differ, since columns make them cheap: namesakes of the subject are looked for at any object,
however many facts it has, and the relations that the graph has between two kinds are those of all their members, not
of a sample.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import GraphColumns, Int32s, Int64s, UInt64s, members_by
from kgprobe.sampling.columns.links import LinkedColumns
from kgprobe.sampling.columns.said import Said, mixed
from kgprobe.sampling.columns.unions import Bools, Unions, below, draw_members
from kgprobe.sampling.lists import Lists, lists_of_rows
from kgprobe.sampling.statement_negatives import ENDS, OBJECT, RELATION

# Sets the drawing of a place apart from those of what stands in it.
_PLACE = 4


@dataclass(frozen=True, slots=True)
class Negatives:
    """Negatives of facts, each with one part replaced; shape (facts, wanted) each.

    Attributes:
        replaced: the part, by its place in ``ENDS``; -1 where a fact has no more negatives.
        subjects, relations, objects: of what each says.
    """

    replaced: NDArray[np.int8]
    subjects: Int32s
    relations: Int32s
    objects: Int32s


class ColumnNegatives:
    """Draws negatives of a graph's facts, given its columns."""

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
        """Draw such negatives.

        Args:
            words: what says each relation; those that share words say the same.
            relations: ids of those that may stand in a relation's place.
            replace: one of ``REPLACED``.
            any_type: as of :class:`kgprobe.sampling.statement_negatives.StatementNegatives`.
        """
        self._columns, self._said = columns, said
        self._places = ENDS if replace == "any" else (replace,)
        self._any_type = any_type
        self._alike = _alike(columns.relation_ids, words)
        codes = {relation: code for code, relation in enumerate(columns.relation_ids)}
        self._others = np.array(sorted(codes[relation] for relation in relations if relation in codes), dtype=np.int32)
        self._named = columns.named()
        self._linked = LinkedColumns(columns)

    def draw(self, facts: Int64s, bases: UInt64s, count: int) -> Negatives:
        """Distinct negatives of each fact, uniform over all it has in a place; fewer where it has no more.

        Args:
            facts: their places in the columns, shape (facts,).
            bases: a random number for each, see :func:`kgprobe.sampling.seeded_order.seeded_number`.
            count: how many are wanted.

        Cost: some passes over the facts, and for each candidate as many look-ups as both ends have names. Those of a
        fact that has fewer than are wanted, or few among many, cost a pass over its pool.
        """
        found = {place: self._replaced(place, facts, mixed(bases, ENDS.index(place)), count) for place in self._places}
        if len(self._places) > 1:
            chosen = _mixed_places([found[place] for place in ENDS], bases, count)
        else:
            place = self._places[0]
            chosen = np.where(found[place] >= 0, ENDS.index(place), -1).astype(np.int8), found[place]
        places, others = chosen
        own = (self._columns.subjects[facts], self._columns.relations[facts], self._columns.objects[facts])
        parts = [
            np.where(places == number, others, values[:, None]).astype(np.int32) for number, values in enumerate(own)
        ]
        return Negatives(places, *parts)

    def _replaced(self, place: str, facts: Int64s, bases: UInt64s, count: int) -> Int32s:
        """What stands in a part's place, shape (facts, count); -1 where there is no more."""
        columns = self._columns
        if place == RELATION:
            unions = self._relations(facts)
        else:
            owners = (columns.objects if place == OBJECT else columns.subjects)[facts].astype(np.int64)
            unions = self._entities(place, facts, owners)

        def test(rows: Int64s, candidates: Int64s) -> Bools:
            if place == RELATION:
                return self._says_something_else(place, facts[rows], candidates)
            passes = self._can_stand(place, facts[rows], candidates)
            passes[passes] = self._says_something_else(place, facts[rows[passes]], candidates[passes])
            return passes

        return draw_members(unions, bases, count, test)

    def _entities(self, place: str, facts: Int64s, owners: Int64s) -> Unions:
        """The types of what is replaced, with their members; all entities, or those of the relation, in a list more."""
        columns = self._columns
        if self._any_type:
            literals = (columns.datatypes[owners] >= 0).astype(np.int32)
            return Unions(Lists(np.arange(len(facts) + 1), literals), self._everything)
        places, lengths = columns.types.places(owners)
        starts = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))])
        # What has no type has the relation's own list, behind those of the types.
        values = np.empty(starts[-1], dtype=np.int32)
        typed = np.repeat(lengths > 0, np.maximum(lengths, 1))
        values[typed] = columns.types.values[places]
        values[~typed] = len(columns.type_ids) + columns.relations[facts[lengths == 0]]
        members = self._like_objects if place == OBJECT else self._like_subjects
        return Unions(Lists(starts, values), members)

    @cached_property
    def _everything(self) -> Lists[np.int32]:
        """All that have a name: what is no literal, and literals."""
        everything = np.flatnonzero(self._named)
        return members_by((self._columns.datatypes[everything] >= 0).astype(np.int64), everything, 2)

    @cached_property
    def _like_objects(self) -> Lists[np.int32]:
        return self._members_and(self._columns.objects)

    @cached_property
    def _like_subjects(self) -> Lists[np.int32]:
        return self._members_and(self._columns.subjects)

    def _members_and(self, ends: Int32s) -> Lists[np.int32]:
        """The entities of each type that have a name, and behind these those at one end of each relation."""
        columns = self._columns
        entities = np.repeat(np.arange(len(columns.types)), np.diff(columns.types.starts))
        owners = np.concatenate([columns.types.values, len(columns.type_ids) + columns.relations]).astype(np.int64)
        members = np.concatenate([entities, ends]).astype(np.int64)
        kept = self._named[members]
        return members_by(owners[kept], members[kept], len(columns.type_ids) + len(columns.relation_ids))

    def _relations(self, facts: Int64s) -> Unions:
        """The relations that can stand in the place of each fact's, those that say the same left out."""
        columns = self._columns
        own = columns.relations[facts]
        kinds, members = (
            (own, [self._others] * len(columns.relation_ids))
            if self._any_type
            else self._linked.of(facts, self._others)
        )
        # One list for each kind of fact and relation that is asked.
        pairs, kind_of = np.unique(kinds * np.int64(len(columns.relation_ids)) + own, return_inverse=True)
        lists = [
            members[pair // len(columns.relation_ids)][
                ~np.isin(members[pair // len(columns.relation_ids)], self._alike[pair % len(columns.relation_ids)])
            ]
            for pair in pairs.tolist()
        ]
        return Unions(
            Lists(np.arange(len(facts) + 1), kind_of.astype(np.int32)),
            lists_of_rows([its.tolist() for its in lists], np.int32),
        )

    def _can_stand(self, place: str, facts: Int64s, candidates: Int64s) -> Bools:
        """Named, neither of the ends, no name in common with what it replaces; a literal in place of literals alone."""
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

    def _says_something_else(self, place: str, facts: Int64s, candidates: Int64s) -> Bools:
        """That the graph says nowhere."""
        columns = self._columns
        own = (columns.subjects[facts], columns.relations[facts], columns.objects[facts])
        subjects, relations, objects = (
            candidates if place == part else values for part, values in zip(ENDS, own, strict=True)
        )
        return ~self._said.says(columns.names, subjects, relations, objects, self._alike)


def _in_common(names: Lists[np.uint64], first: NDArray[Any], second: NDArray[Any]) -> Bools:
    """Whether two entities share a name, shape (pairs,)."""
    places, lengths = names.places(first)
    rows = np.repeat(np.arange(len(first)), lengths)
    theirs, counts = names.places(second[rows])
    pairs = np.repeat(np.arange(len(rows)), counts)
    same = names.values[places][pairs] == names.values[theirs]
    shared = np.zeros(len(first), dtype=bool)
    shared[rows[pairs[same]]] = True
    return shared


def _mixed_places(found: Sequence[Int32s], bases: UInt64s, count: int) -> tuple[NDArray[np.int8], Int32s]:
    """So many of several places, each from one drawn at random among those that have more."""
    stacked = np.stack(found, axis=1)
    facts = np.arange(len(bases))
    left = (stacked >= 0).sum(axis=2)
    taken = np.zeros_like(left)
    places = np.full((len(bases), count), -1, dtype=np.int8)
    others = np.full((len(bases), count), -1, dtype=np.int32)
    for number in range(count):
        have_more = taken < left
        choices = have_more.sum(axis=1)
        chosen = below(choices, mixed(bases, number, _PLACE))
        # The chosen one of those that have more.
        place = ((have_more.cumsum(axis=1) <= chosen[:, None]).sum(axis=1)).clip(max=len(found) - 1)
        any_left = choices > 0
        others[any_left, number] = stacked[facts, place, taken[facts, place].clip(max=count - 1)][any_left]
        places[any_left, number] = place[any_left]
        taken[facts[any_left], place[any_left]] += 1
    return places, others


def _alike(relation_ids: Sequence[str], words: Mapping[str, Collection[str]]) -> Lists[np.int32]:
    """For each relation all that share words with it, itself among them."""
    by_words: dict[str, set[int]] = {}
    for code, relation in enumerate(relation_ids):
        for said in words.get(relation, ()):
            by_words.setdefault(said, set()).add(code)
    rows = [
        sorted({code}.union(*(by_words[said] for said in words.get(relation, ()))))
        for code, relation in enumerate(relation_ids)
    ]
    return lists_of_rows(rows, np.int32)
