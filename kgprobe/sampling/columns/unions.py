"""Random members of unions of lists, each as probable as any other, for many facts at once.

Members are drawn by numbers that follow from the fact alone, and tested; what few draws do not find is looked for among
all members, in random order. :mod:`kgprobe.sampling.pool_draws` does the same with pools that lie in the graph.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import Int32s, Int64s, UInt64s
from kgprobe.sampling.columns.said import mixed
from kgprobe.sampling.lists import Lists

Bools = NDArray[np.bool_]

# Of a union so many members are drawn at random; what is wanted then is looked for among all of them.
DRAWS = 48
# Members that are tried at a time, when all are.
_TRIED = 4096

# Sets numbers drawn for one thing apart from those for others.
_PICK, _KEEP, _ORDER = 1, 2, 3

# Which of the candidates passes for the fact in the row beside it.
Test = Callable[[Int64s, Int64s], Bools]


@dataclass(frozen=True, slots=True)
class Unions:
    """For each fact the union of some lists.

    Attributes:
        lists: of each fact, by their numbers; at least one.
        members: of each list, ascending.
    """

    lists: Lists[np.int32]
    members: Lists[np.int32]

    def sizes(self) -> Int64s:
        """The members of each fact's lists, those of two lists counted twice."""
        rows = np.repeat(np.arange(len(self.lists)), np.diff(self.lists.starts))
        lengths = self.members.lengths(self.lists.values)
        return np.bincount(rows, weights=lengths, minlength=len(self.lists)).astype(np.int64)


@dataclass(slots=True)
class _Search:
    """What has been found for each fact."""

    found: Int32s
    counts: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(len(self.found), dtype=np.int64)

    def add(self, rows: Int64s, candidates: Int64s) -> None:
        """One for each of these facts, unless it has been found."""
        new = ~(self.found[rows] == candidates[:, None]).any(axis=1)
        rows = rows[new]
        self.found[rows, self.counts[rows]] = candidates[new]
        self.counts[rows] += 1


def draw_members(unions: Unions, bases: UInt64s, count: int, test: Test) -> Int32s:
    """Distinct members that pass a test, uniform over all that do, in random order.

    Args:
        bases: a random number for each fact, which its draws follow from.
        count: how many are wanted for each.

    Returns:
        shape (facts, count); -1 where there are no more.

    Cost: some passes over the facts; for one that has fewer than are wanted, or few among many, a pass over its lists.
    """
    sizes = unions.sizes()
    search = _Search(np.full((len(sizes), count), -1, dtype=np.int32))
    pending = np.flatnonzero(sizes > 0)
    for attempt in range(DRAWS):
        if not len(pending):
            break
        candidates, kept = _drawn(unions, pending, sizes, bases, attempt)
        rows, candidates = pending[kept], candidates[kept]
        passes = test(rows, candidates)
        search.add(rows[passes], candidates[passes])
        pending = pending[search.counts[pending] < count]
    for row in pending.tolist():
        _go_through_all(unions, row, bases[row], count, search, test)
    return search.found


def _drawn(unions: Unions, rows: Int64s, sizes: Int64s, bases: UInt64s, attempt: int) -> tuple[Int64s, Bools]:
    """A member for each fact; and whether it is kept: of one that is in several of its lists, the more seldom."""
    places, lengths = unions.lists.places(rows)
    owners = unions.lists.values[places]
    ends = np.cumsum(unions.members.lengths(owners))
    first = np.concatenate([[0], ends])[np.cumsum(lengths) - lengths]
    target = first + below(sizes[rows], mixed(bases[rows], attempt, _PICK))
    which = np.searchsorted(ends, target, side="right")
    member = unions.members.starts[owners[which]] + target - (ends[which] - unions.members.lengths(owners[which]))
    candidates = unions.members.values[member].astype(np.int64)
    kept = np.ones(len(rows), dtype=bool)
    several = np.flatnonzero(lengths > 1)
    if len(several):
        times = _times(unions, rows[several], candidates[several])
        kept[several] = below(times, mixed(bases[rows[several]], attempt, _KEEP)) == 0
    return candidates, kept


def _times(unions: Unions, rows: Int64s, candidates: Int64s) -> Int64s:
    """In how many of a fact's lists a candidate is."""
    places, lengths = unions.lists.places(rows)
    owners = unions.lists.values[places]
    wanted = np.repeat(candidates, lengths)
    low, high = unions.members.starts[owners].copy(), unions.members.starts[owners + 1].copy()
    last = high
    # Members ascend: each is looked for by halves, all at once.
    while (low < high).any():
        middle = (low + high) // 2
        smaller = (low < high) & (unions.members.values[np.minimum(middle, len(unions.members.values) - 1)] < wanted)
        low, high = np.where(smaller, middle + 1, low), np.where(smaller, high, np.minimum(middle, high))
    there = (low < last) & (unions.members.values[np.minimum(low, len(unions.members.values) - 1)] == wanted)
    return np.add.reduceat(there.astype(np.int64), np.cumsum(lengths) - lengths)


def _go_through_all(unions: Unions, row: int, base: np.uint64, count: int, search: _Search, test: Test) -> None:
    """All members for one fact, in random order, until it has enough."""
    members = np.unique(np.concatenate([unions.members[owner] for owner in unions.lists[row]])).astype(np.int64)
    members = members[np.argsort(mixed(members, np.asarray(base), _ORDER), kind="stable")]
    for first in range(0, len(members), _TRIED):
        tried = members[first : first + _TRIED]
        for member in tried[test(np.full(len(tried), row), tried)]:
            search.add(np.array([row]), np.array([member]))
            if search.counts[row] == count:
                return


def below(bounds: Int64s, numbers: UInt64s) -> Int64s:
    """A number from 0 and below each bound."""
    shares = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn: Int64s = (shares * bounds).astype(np.int64)
    return drawn
