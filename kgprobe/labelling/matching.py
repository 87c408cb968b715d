"""Matched draws from rings of control facts: equal shares of popularity ranges and of the base model's answers.

docs/methods/controls.md. A stratum is a range of popularity together with the base model's answer: right, wrong, or
unasked. The common distribution has, in each stratum, as many facts as the ring with the fewest candidates there.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from kgprobe.labelling.rings import Candidate

RIGHT, WRONG, UNASKED = "right", "wrong", "unasked"

# Rings with fewer candidates are not matched: they would leave the others almost no facts.
FEWEST = 20
# Numbers of ranges of popularity, from the closest match to none.
_RANGES = (5, 3, 2, 1)

_Stratum: TypeAlias = tuple[int, str]


@dataclass(frozen=True, slots=True)
class MatchedRings:
    """Facts drawn from rings.

    Attributes:
        drawn: facts of each ring, in the order of the candidates.
        ranges: number of ranges of popularity; 0 if no rings are matched: fewer than two have enough candidates, or
            these have no stratum in common.
        unmatched: rings with candidates that are not matched.
    """

    drawn: Mapping[str, Sequence[Candidate]]
    ranges: int
    unmatched: Sequence[str]


def answer_of(fact: str, known: Mapping[str, bool]) -> str:
    """Return the base model's answer to a fact: right, wrong or unasked."""
    if fact not in known:
        return UNASKED
    return RIGHT if known[fact] else WRONG


def match_rings(candidates: Mapping[str, Sequence[Candidate]], known: Mapping[str, bool], limit: int) -> MatchedRings:
    """Draw facts from rings so that all have the same distribution over strata, up to rounding.

    Of the numbers of ranges 5, 3, 2 and 1, the highest is used whose common distribution has at least half as many
    facts as the smallest ring, or as the limit. Each ring draws as many multiples of the common distribution as it has
    candidates for.

    Args:
        candidates: by ring, each in random order.
        known: the base model's answers by fact, true if right; empty without a base model.
        limit: maximum number of facts in each ring.
    """
    matched = {ring: own for ring, own in candidates.items() if len(own) >= FEWEST}
    drawn = {ring: list(own[:limit]) for ring, own in candidates.items()}
    ranges, strata, common = _closest_strata(matched, known, limit)
    for ring, own in strata.items():
        drawn[ring] = _drawn_from(matched[ring], own, common, limit)
    unmatched = [ring for ring, own in candidates.items() if own and ring not in strata]
    return MatchedRings(drawn, ranges, unmatched)


_Strata: TypeAlias = dict[_Stratum, list[Candidate]]


def _closest_strata(
    rings: Mapping[str, Sequence[Candidate]], known: Mapping[str, bool], limit: int
) -> tuple[int, dict[str, _Strata], dict[_Stratum, int]]:
    """Return the number of ranges, the strata of each ring, and the common distribution; 0 and none without one."""
    if len(rings) < 2:
        return 0, {}, {}
    enough = min(limit, *map(len, rings.values())) / 2
    for ranges in _RANGES:
        strata = _by_stratum(rings, known, ranges)
        common = _common(strata)
        if sum(common.values()) >= enough:
            break
    return (ranges, strata, common) if common else (0, {}, {})


def _drawn_from(
    candidates: Sequence[Candidate], strata: _Strata, common: Mapping[_Stratum, int], limit: int
) -> list[Candidate]:
    """Return the facts of a ring that follow the common distribution, in the order of the candidates."""
    chosen: set[str] = set()
    for stratum, count in _numbers(strata, common, limit).items():
        chosen.update(candidate.key.fact for candidate in strata[stratum][:count])
    return [candidate for candidate in candidates if candidate.key.fact in chosen]


def _by_stratum(rings: Mapping[str, Sequence[Candidate]], known: Mapping[str, bool], ranges: int) -> dict[str, _Strata]:
    """Return the candidates of each ring by stratum; the ranges have equally many candidates of all rings together."""
    popularities = [candidate.popularity for candidate in chain.from_iterable(rings.values())]
    limits = np.quantile(popularities, np.arange(1, ranges) / ranges)
    by_stratum: dict[str, _Strata] = {}
    for ring, own in rings.items():
        strata: defaultdict[_Stratum, list[Candidate]] = defaultdict(list)
        places = np.searchsorted(limits, [candidate.popularity for candidate in own], side="left").tolist()
        for candidate, place in zip(own, places, strict=True):
            strata[place, answer_of(candidate.key.fact, known)].append(candidate)
        by_stratum[ring] = dict(strata)
    return by_stratum


def _common(by_stratum: Mapping[str, Mapping[_Stratum, Sequence[Candidate]]]) -> dict[_Stratum, int]:
    """Return the smallest number of candidates of any ring in each stratum, where all have some."""
    sizes: defaultdict[_Stratum, list[int]] = defaultdict(list)
    for strata in by_stratum.values():
        for stratum, own in strata.items():
            sizes[stratum].append(len(own))
    return {stratum: min(own) for stratum, own in sorted(sizes.items()) if len(own) == len(by_stratum)}


def _numbers(
    strata: Mapping[_Stratum, Sequence[Candidate]], common: Mapping[_Stratum, int], limit: int
) -> dict[_Stratum, int]:
    """Return how many facts a ring draws from each stratum: the common distribution, scaled and rounded."""
    scale = min(limit / sum(common.values()), *(len(strata[stratum]) / count for stratum, count in common.items()))
    exact = {stratum: scale * count for stratum, count in common.items()}
    numbers = {stratum: math.floor(number + 1e-9) for stratum, number in exact.items()}
    # Largest remainders first, so that the sum is that of the exact numbers.
    missing = math.floor(sum(exact.values()) + 1e-9) - sum(numbers.values())
    remainders = Counter({stratum: exact[stratum] - numbers[stratum] for stratum in exact})
    for stratum, _ in remainders.most_common(missing):
        if numbers[stratum] < len(strata[stratum]):
            numbers[stratum] += 1
    return numbers
