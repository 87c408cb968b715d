"""Uniform draws from unions of lists, for many facts at once.

Members are drawn by hashes of the fact, and tested. If few draws do not suffice, all members are tested in random
order. :mod:`kgprobe.sampling.pool_draws` does the same with pools in the graph.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import Int32s, Int64s, UInt64s
from kgprobe.sampling.columns.said import mixed
from kgprobe.sampling.lists import Lists

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
    """A union of lists for each fact.

    Attributes:
        lists: numbers of the lists of each fact, at least one.
        members: of each list, ascending.
    """

    lists: Lists[np.int32]
    members: Lists[np.int32]

    def sizes(self) -> Int64s:
        """Return the total length of each fact's lists; members of two lists count twice."""
        rows = np.repeat(np.arange(len(self.lists)), np.diff(self.lists.starts))
        lengths = self.members.lengths(self.lists.values)
        return np.bincount(rows, weights=lengths, minlength=len(self.lists)).astype(np.int64)


@dataclass(slots=True)
class _Search:
    """The accepted members of each fact."""

    accepted: Int32s
    counts: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(len(self.accepted), dtype=np.int64)

    def add(self, rows: Int64s, candidates: Int64s) -> None:
        """Add a member to each of some facts, unless it has it."""
        new = ~(self.accepted[rows] == candidates[:, None]).any(axis=1)
        rows = rows[new]
        self.accepted[rows, self.counts[rows]] = candidates[new]
        self.counts[rows] += 1


def draw_members(unions: Unions, bases: UInt64s, count: int, test: Test) -> Int32s:
    """Draw distinct members that pass a test, uniformly and in random order.

    Args:
        bases: a random number per fact, from which its draws follow.
        count: number of members per fact.

    Returns:
        Shape (facts, count); -1 if the lists have fewer.

    Cost: some passes over the facts; a pass over its lists for a fact with fewer members than ``count``, or few among
    many.
    """
    sizes = unions.sizes()
    search = _Search(np.full((len(sizes), count), -1, dtype=np.int32))
    pending = np.flatnonzero(sizes > 0)
    for attempt in range(DRAWS):
        if not len(pending):
            break
        candidates, kept = _draw(unions, pending, sizes, bases, attempt)
        rows, candidates = pending[kept], candidates[kept]
        passes = test(rows, candidates)
        search.add(rows[passes], candidates[passes])
        pending = pending[search.counts[pending] < count]
    for row in pending.tolist():
        _test_all(unions, row, bases[row], count, search, test)
    return search.accepted


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


def _test_all(unions: Unions, row: int, base: np.uint64, count: int, search: _Search, test: Test) -> None:
    """Test all members for a fact in random order, until it has enough."""
    members = np.unique(np.concatenate([unions.members[owner] for owner in unions.lists[row]])).astype(np.int64)
    members = members[np.argsort(mixed(members, np.asarray(base), _ORDER), kind="stable")]
    for first in range(0, len(members), _TRIED):
        tried = members[first : first + _TRIED]
        for member in tried[test(np.full(len(tried), row), tried)]:
            search.add(np.array([row]), np.array([member]))
            if search.counts[row] == count:
                return


def below(bounds: Int64s, numbers: UInt64s) -> Int64s:
    """Return a number from 0 and below each bound, from a hash."""
    shares = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn: Int64s = (shares * bounds).astype(np.int64)
    return drawn
