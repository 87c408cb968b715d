"""Matched draws from rings of control facts: equal shares of ranges of popularity.

docs/methods/controls.md. The common distribution has, in each range, as many facts as the ring with the fewest
candidates there. A draw depends on no answers: facts chosen by answers regress to the mean in later ones.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgprobe.labelling.rings import ControlCandidate

# Rings with fewer candidates are not matched: they would leave the others almost no facts.
FEWEST = 20
# Highest difference between the mean popularities of two matched rings, in standard deviations of their candidates.
BALANCE = 0.25
# Numbers of ranges of popularity, from the closest match.
_RANGES = (20, 10, 5, 3, 2)

_Floats: TypeAlias = NDArray[np.float64]
_Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatchedRings:
    """Facts drawn from rings.

    Attributes:
        ranges: number of ranges of popularity; 0 if no two rings are matched.
        unmatched: rings with candidates that are not matched.
    """

    drawn: Mapping[str, Sequence[ControlCandidate]]
    ranges: int
    unmatched: Sequence[str]


def match_rings(candidates: Mapping[str, Sequence[ControlCandidate]], limit: int) -> MatchedRings:
    """Draw facts from rings so that all have the same distribution over ranges of popularity, up to rounding.

    As many rings as possible are matched, in as many ranges of popularity as possible. Each draws as many multiples of
    the common distribution as it has candidates for. A match counts if the common distribution has at least half as
    many facts as the smallest ring, or as the limit, and if the mean popularities of any two rings differ by at most
    ``BALANCE``.

    Cost: sorting the candidates of at most 57 selections of rings, once for each number of ranges.

    The candidates of a ring are in random order.
    """
    rings = {
        ring: np.array([candidate.popularity for candidate in own], np.float64)
        for ring, own in candidates.items()
        if len(own) >= FEWEST
    }
    ranges, chosen = _best_match(rings, limit)
    drawn = {ring: list(own[:limit]) for ring, own in candidates.items()}
    drawn |= {ring: [candidates[ring][place] for place in places] for ring, places in chosen.items()}
    unmatched = [ring for ring, own in candidates.items() if own and ring not in chosen]
    return MatchedRings(drawn, ranges, unmatched)


# Popularities of the candidates by ring, and the places of the drawn ones.
_Rings: TypeAlias = Mapping[str, _Floats]
_Drawn: TypeAlias = dict[str, list[int]]


def _best_match(rings: _Rings, limit: int) -> tuple[int, _Drawn]:
    """Return the number of ranges, and the places of the drawn candidates by matched ring; 0 and none without."""
    for size in range(len(rings), 1, -1):
        matches = []
        for names in combinations(rings, size):
            matches += _match({name: rings[name] for name in names}, limit)
        if matches:
            # Of several selections with this many rings, the first with most facts.
            return max(matches, key=lambda match: sum(map(len, match[1].values())))
    return 0, {}


def _match(rings: _Rings, limit: int) -> list[tuple[int, _Drawn]]:
    """Return the match of all these rings in the highest number of ranges in which they are balanced, if any."""
    enough = min(limit, *map(len, rings.values())) / 2
    for ranges in _RANGES:
        strata = dict(_strata(rings, ranges))
        counts = {name: np.bincount(own, minlength=ranges) for name, own in strata.items()}
        common = np.min(list(counts.values()), axis=0)
        if not common.any() or common.sum() < enough:
            continue
        drawn = {name: _draw(own, _numbers(counts[name], common, limit)) for name, own in strata.items()}
        if _is_balanced(rings, drawn):
            return [(ranges, drawn)]
    return []


def _strata(rings: _Rings, ranges: int) -> Iterator[tuple[str, _Ints]]:
    """Yield each ring with the numbers of its candidates' ranges, in which all rings have the same weight."""
    popularity = np.concatenate(list(rings.values()))
    weights = np.concatenate([np.full(len(own), 1 / len(own)) for own in rings.values()])
    order = np.argsort(popularity, kind="stable")
    shares = np.cumsum(weights[order]) / len(rings)
    limits = popularity[order][np.searchsorted(shares, np.arange(1, ranges) / ranges - 1e-9)]
    for name, own in rings.items():
        yield name, np.searchsorted(limits, own, side="left")


def _draw(strata: _Ints, numbers: _Ints) -> list[int]:
    """Return the places of the first candidates in each range, in the order of the candidates."""
    places = [np.flatnonzero(strata == stratum)[: numbers[stratum]] for stratum in np.flatnonzero(numbers)]
    return sorted(np.concatenate(places).tolist())


def _is_balanced(rings: _Rings, drawn: Mapping[str, Sequence[int]]) -> bool:
    """Return True if the mean popularities of any two draws differ by at most ``BALANCE`` standard deviations."""
    means = {name: float(np.mean(rings[name][list(places)])) for name, places in drawn.items()}
    variances = {name: float(np.var(rings[name])) for name in drawn}
    return all(
        abs(means[first] - means[second]) <= BALANCE * math.sqrt((variances[first] + variances[second]) / 2) + 1e-9
        for first, second in combinations(drawn, 2)
    )


def _numbers(counts: _Ints, common: _Ints, limit: int) -> _Ints:
    """Return how many facts a ring draws from each range: the common distribution, scaled and rounded."""
    shared = common > 0
    scale = min(limit / common.sum(), float(np.min(counts[shared] / common[shared])))
    exact = scale * common
    numbers: _Ints = np.floor(exact + 1e-9).astype(np.int64)
    # Largest remainders first, so that the sum is that of the exact numbers.
    missing = math.floor(exact.sum() + 1e-9) - int(numbers.sum())
    first = np.argsort(numbers - exact, kind="stable")[:missing]
    numbers[first] += numbers[first] < counts[first]
    return numbers
