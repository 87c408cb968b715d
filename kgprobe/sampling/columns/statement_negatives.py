"""Negatives of many facts, drawn from columns.

The definition is that of :mod:`kgprobe.sampling.statement_negatives`, without the bounds of queries. Draws depend only
on the seed and a fact's id, not on the other facts or the engine.

Members of unions of lists are drawn by hashes of the fact, and tested; if few draws do not suffice, all members are
tested in random order. The relations between kinds of entities come from the columns of all facts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import GraphColumns, Int32s, Int64s, Said, UInt64s, members_by, mixed
from kgprobe.sampling.lists import Lists, lists_of, lists_of_rows, places_among
from kgprobe.sampling.statement_negatives import ENDS, OBJECT, RELATION, equivalent_relations

Bools = NDArray[np.bool_]

# Number of draws from a union before all members are tested.
DRAWS = 48
# Number of members per test, when all are tested.
_TRIED = 4096

# Purposes of hashes, which make them independent.
_PICK, _KEEP, _ORDER = 1, 2, 3

# Test: returns True for accepted pairs of a row and a candidate.
Test = Callable[[Int64s, Int64s], Bools]


@dataclass(frozen=True, slots=True)
class Unions:
    """A union of lists for each fact, at least one; the members of a list are ascending."""

    lists: Lists[np.int32]
    members: Lists[np.int32]


def _add(accepted: Int32s, rows: Int64s, candidates: Int64s) -> None:
    """Add a member to each of some distinct facts, unless the fact has it."""
    new = ~(accepted[rows] == candidates[:, None]).any(axis=1)
    rows = rows[new]
    accepted[rows, np.count_nonzero(accepted[rows] >= 0, axis=1)] = candidates[new]


def draw_members(unions: Unions, bases: UInt64s, count: int, test: Test) -> Int32s:
    """Draw distinct members that pass a test, uniformly and in random order.

    ``bases`` are random numbers, from which each fact's draws follow. The result has the shape (facts, count), with -1
    where the lists have fewer.

    Cost: some passes over the facts; a pass over its lists for a fact with fewer members than ``count``, or few among
    many.
    """
    # Members of two lists count twice.
    sizes = unions.lists.sums(np.arange(len(unions.lists)), np.diff(unions.members.starts))
    accepted = np.full((len(sizes), count), -1, dtype=np.int32)
    pending = np.flatnonzero(sizes > 0)
    for attempt in range(DRAWS):
        if not len(pending):
            break
        candidates, kept = _draw(unions, pending, sizes, bases, attempt)
        rows, candidates = pending[kept], candidates[kept]
        passes = test(rows, candidates)
        _add(accepted, rows[passes], candidates[passes])
        pending = pending[(accepted[pending] < 0).any(axis=1)]
    for row in pending.tolist():
        _test_all(unions, row, bases[row], accepted, test)
    return accepted


def _draw(unions: Unions, rows: Int64s, sizes: Int64s, bases: UInt64s, attempt: int) -> tuple[Int64s, Bools]:
    """Draw a member for each fact, and return True if it is kept: with probability 1 / (number of its lists)."""
    places, lengths = unions.lists.places(rows)
    owners = unions.lists.values[places]
    ends = np.cumsum(unions.members.lengths(owners))
    first = np.concatenate([[0], ends])[np.cumsum(lengths) - lengths]
    target = first + below(sizes[rows], mixed(bases[rows], attempt, _PICK))
    slots = np.searchsorted(ends, target, side="right")
    member = unions.members.starts[owners[slots]] + target - (ends[slots] - unions.members.lengths(owners[slots]))
    candidates = unions.members.values[member].astype(np.int64)
    kept = np.ones(len(rows), dtype=bool)
    several = np.flatnonzero(lengths > 1)
    if len(several):
        times = _times(unions, rows[several], candidates[several])
        kept[several] = below(times, mixed(bases[rows[several]], attempt, _KEEP)) == 0
    return candidates, kept


def _times(unions: Unions, rows: Int64s, candidates: Int64s) -> Int64s:
    """Return the number of a fact's lists that contain a candidate."""
    places, lengths = unions.lists.places(rows)
    owners = unions.lists.values[places]
    targets = np.repeat(candidates, lengths)
    low, high = unions.members.starts[owners].copy(), unions.members.starts[owners + 1].copy()
    last = high
    # Vectorised binary search in the ascending members.
    while (low < high).any():
        middle = (low + high) // 2
        smaller = (low < high) & (unions.members.values[np.minimum(middle, len(unions.members.values) - 1)] < targets)
        low, high = np.where(smaller, middle + 1, low), np.where(smaller, high, np.minimum(middle, high))
    contains = (low < last) & (unions.members.values[np.minimum(low, len(unions.members.values) - 1)] == targets)
    return np.add.reduceat(contains.astype(np.int64), np.cumsum(lengths) - lengths)


def _test_all(unions: Unions, row: int, base: np.uint64, accepted: Int32s, test: Test) -> None:
    """Test all members for a fact in random order, until it has enough."""
    members = np.unique(np.concatenate([unions.members[owner] for owner in unions.lists[row]])).astype(np.int64)
    members = members[np.argsort(mixed(members, np.asarray(base), _ORDER), kind="stable")]
    for first in range(0, len(members), _TRIED):
        tried = members[first : first + _TRIED]
        for member in tried[test(np.full(len(tried), row), tried)]:
            _add(accepted, np.array([row]), np.array([member]))
            if (accepted[row] >= 0).all():
                return


def below(bounds: Int64s, numbers: UInt64s) -> Int64s:
    """Return a number from 0 and below each bound, from a hash."""
    shares = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn: Int64s = (shares * bounds).astype(np.int64)
    return drawn


# Number of facts per block.
_FACTS = 500_000


class LinkedColumns:
    """Relations between kinds of entities.

    A kind of subjects is a type, or for subjects without a type all subjects of their relation; a kind of objects is a
    type, or for objects without a type all of the same datatype.
    """

    def __init__(self, columns: GraphColumns) -> None:
        """Use these columns; passes over all facts are made on first use."""
        self._columns = columns
        self._places: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self._lists: list[Int32s] = []

    def of(self, facts: Int64s, relations: Int32s) -> tuple[Int64s, list[Int32s]]:
        """Return the number of each fact's list, and the lists: relations that link the kinds of its ends.

        ``facts`` are places in the columns; the ``relations`` to include are the same in every call.
        """
        columns = self._columns
        relations_as_kinds = len(columns.type_ids) + columns.relations[facts].astype(np.int64)
        subjects = types_or(columns.types, columns.subjects[facts], relations_as_kinds)
        objects = self._kinds_of_objects(columns.objects[facts])
        kinds = np.empty(len(facts), dtype=np.int64)
        for row in range(len(facts)):
            key = tuple(subjects[row].tolist()), tuple(objects[row].tolist())
            if key not in self._places:
                self._places[key] = len(self._lists)
                self._lists.append(np.intersect1d(self._between(*key), relations))
            kinds[row] = self._places[key]
        return kinds, self._lists

    def _between(self, subjects: tuple[int, ...], objects: tuple[int, ...]) -> Int32s:
        pairs = np.add.outer(np.array(subjects, np.int64) * self._object_kinds, np.array(objects, np.int64)).ravel()
        links, relations = self._links
        places = places_among(links, pairs)
        return np.unique(relations.pairs(places[places >= 0])[1])

    @property
    def _object_kinds(self) -> int:
        # Types, then typeless entities, then the datatypes of literals.
        return len(self._columns.type_ids) + 1 + len(self._columns.datatype_names)

    def _kinds_of_objects(self, objects: NDArray[Any]) -> Lists[np.int64]:
        columns = self._columns
        alone = len(columns.type_ids) + 1 + columns.datatypes[objects].astype(np.int64)
        return types_or(columns.types, objects, alone)

    @cached_property
    def _links(self) -> tuple[Int64s, Lists[np.int32]]:
        """Pairs of kinds, ascending, and the relations of each."""
        columns = self._columns
        relations = len(columns.relation_ids)
        parts = [np.empty(0, dtype=np.int64)]
        for first in range(0, len(columns.subjects), _FACTS):
            facts = np.arange(first, min(first + _FACTS, len(columns.subjects)))
            owners, subjects = self._all_kinds_of(columns.subjects[facts])
            objects = self._kinds_of_objects(columns.objects[facts])
            rows, kinds = objects.pairs(owners)
            pairs = subjects[rows] * self._object_kinds + kinds
            parts.append(np.unique(pairs * relations + columns.relations[facts[owners[rows]]]))
        links, codes = np.divmod(np.unique(np.concatenate(parts)), max(1, relations))
        pairs, owners = np.unique(links, return_inverse=True)
        return pairs, lists_of(owners, codes.astype(np.int32), len(pairs))

    def _all_kinds_of(self, subjects: Int32s) -> tuple[Int64s, Int64s]:
        """Return places of facts, each with a kind of its subject: its types, and the subjects of its relations."""
        columns = self._columns
        typed, types = columns.types.pairs(subjects)
        related, relations = self._relations_of.pairs(subjects)
        kinds = np.concatenate([types.astype(np.int64), len(columns.type_ids) + relations.astype(np.int64)])
        return np.concatenate([typed, related]), kinds

    @cached_property
    def _relations_of(self) -> Lists[np.int32]:
        """Relations of each subject, among those that have subjects without a type."""
        columns = self._columns
        typeless = columns.types.lengths(columns.subjects) == 0
        needed = np.zeros(len(columns.relation_ids), dtype=bool)
        needed[columns.relations[typeless]] = True
        kept = needed[columns.relations]
        subjects, relations = columns.subjects[kept].astype(np.int64), columns.relations[kept].astype(np.int64)
        return members_by(subjects, relations, len(columns.types))


def types_or(types: Lists[np.int32], entities: NDArray[Any], alone: Int64s) -> Lists[np.int64]:
    """Return the types of each entity, or its value in ``alone`` if it has none."""
    places, lengths = types.places(entities)
    counts = np.maximum(lengths, 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    values = np.empty(starts[-1], dtype=np.int64)
    typed = np.repeat(lengths > 0, counts)
    values[typed] = types.values[places]
    values[~typed] = alone[lengths == 0]
    return Lists(starts, values)


# Separates the draw of the part from the draws of its replacement.
_PLACE = 4


@dataclass(frozen=True, slots=True)
class NegativeArrays:
    """Negatives of facts, each with one part replaced; all of shape (facts, count).

    Attributes:
        replaced: the part, as a place in ``ENDS``; -1 if a fact has no more negatives.
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
        """Draw from these columns; see :class:`kgprobe.sampling.statement_negatives.StatementNegatives`."""
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

        ``facts`` are places in the columns, ``bases`` random numbers (:func:`kgprobe.sampling.keys.seeded_number`).

        Cost: some passes over the facts, and for each candidate a look-up for each name of its ends. A fact with fewer
        negatives than ``count``, or few in a large pool, costs a pass over its pool.
        """
        drawn = [self._draw_part(part, facts, mixed(bases, ENDS.index(part)), count) for part in self._places]
        if len(drawn) > 1:
            places, others = _mix_parts(drawn, bases, count)
        else:
            others = drawn[0]
            places = np.where(others >= 0, ENDS.index(self._places[0]), -1).astype(np.int8)
        parts = []
        for number, own in enumerate(self._ends(facts)):
            part = np.where(places == number, others, own[:, None])
            parts.append(part.astype(np.int32))
        return NegativeArrays(places, *parts)

    def _ends(self, facts: Int64s) -> list[Int32s]:
        """Return the subjects, relations and objects of facts."""
        return [self._columns.subjects[facts], self._columns.relations[facts], self._columns.objects[facts]]

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
        if self._any_type:
            kinds, members = own.astype(np.int64), [self._others] * len(columns.relation_ids)
        else:
            kinds, members = self._linked.of(facts, self._others)
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
        statement: list[NDArray[Any]] = [*self._ends(facts)]
        statement[ENDS.index(place)] = candidates
        subjects, relations, objects = statement
        return ~self._said.says(self._columns.names, subjects, relations, objects, self._alike)


def _in_common(names: Lists[np.uint64], first: NDArray[Any], second: NDArray[Any]) -> Bools:
    """Return True for pairs of entities with a common name, shape (pairs,)."""
    rows, hashes = names.pairs(first)
    pairs, theirs = names.pairs(second[rows])
    shared = np.zeros(len(first), dtype=bool)
    shared[rows[pairs[hashes[pairs] == theirs]]] = True
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
