"""Matched draws: rings have the same distribution of popularity."""

import random
from itertools import combinations
from statistics import fmean, pvariance

from hypothesis import given
from hypothesis import strategies as st

from kgprobe.labelling.matching import BALANCE, FEWEST, MatchedRings, match_rings
from kgprobe.labelling.rings import ControlCandidate
from kgprobe.sampling.keys import FactKey


def ring(name: str, popularities: list[float]) -> list[ControlCandidate]:
    return [ControlCandidate(FactKey("s", f"{name}{number}"), value) for number, value in enumerate(popularities)]


def assert_balanced(rings: dict[str, list[ControlCandidate]], matched: MatchedRings) -> None:
    """The mean popularities of matched rings differ by at most a quarter of a standard deviation."""
    names = [name for name, own in rings.items() if own and name not in matched.unmatched]
    assert len(names) > 1
    for pair in combinations(names, 2):
        means = [fmean(candidate.popularity for candidate in matched.drawn[name]) for name in pair]
        variance = fmean(pvariance([candidate.popularity for candidate in rings[name]]) for name in pair)
        assert abs(means[0] - means[1]) <= BALANCE * variance**0.5 + 1e-6, pair


def test_rings_are_drawn_with_equal_shares_of_ranges() -> None:
    generator = random.Random(0)
    rings = {
        "a": ring("a", [generator.gauss(3, 1) for _ in range(900)]),
        "b": ring("b", [generator.gauss(4, 1) for _ in range(400)]),
        "c": ring("c", [generator.gauss(3.5, 2) for _ in range(3_000)]),
    }
    matched = match_rings(rings, 200)
    assert matched.unmatched == []
    assert matched.ranges > 1
    means = {}
    for name, drawn in matched.drawn.items():
        assert 100 <= len(drawn) <= 200, name
        assert len({candidate.key for candidate in drawn}) == len(drawn)
        means[name] = sum(candidate.popularity for candidate in drawn) / len(drawn)
        # Drawn in the order of the candidates.
        places = [rings[name].index(candidate) for candidate in drawn]
        assert places == sorted(places)
    # Without matching they differ by a unit.
    assert max(means.values()) - min(means.values()) < 0.35
    assert match_rings(rings, 200).drawn == matched.drawn


@given(
    st.lists(st.lists(st.floats(0, 20), max_size=60), min_size=1, max_size=6),
    st.integers(1, 80),
)
def test_every_ring_keeps_facts_within_the_limit(rings: list[list[float]], limit: int) -> None:
    candidates = {str(number): ring(f"{number} ", own) for number, own in enumerate(rings)}
    matched = match_rings(candidates, limit)
    assert list(matched.drawn) == list(candidates)
    for name, drawn in matched.drawn.items():
        assert len(drawn) <= limit
        assert set(drawn) <= set(candidates[name])
        assert bool(drawn) == bool(candidates[name])
        if len(candidates[name]) < FEWEST:
            assert drawn == candidates[name][:limit]
            assert (name in matched.unmatched) == bool(drawn)
    if matched.ranges:
        assert_balanced(candidates, matched)


def normal(name: str, size: int, mean: float) -> list[ControlCandidate]:
    generator = random.Random(name)
    return ring(name, [generator.gauss(mean, 1) for _ in range(size)])


def test_ring_without_common_support_is_not_matched() -> None:
    rings = {"a": normal("a", 30, 0), "b": normal("b", 500, 8), "c": normal("c", 5_000, 8)}
    matched = match_rings(rings, 500)
    assert (matched.ranges > 1, matched.unmatched) == (True, ["a"])
    assert_balanced(rings, matched)
    assert {name: len(drawn) for name, drawn in matched.drawn.items()}["a"] == 30
    # Without another ring like it, none is matched.
    apart = match_rings({name: rings[name] for name in ("a", "c")}, 500)
    assert (apart.ranges, apart.unmatched) == (0, ["a", "c"])


def test_large_rings_do_not_set_the_ranges() -> None:
    rings = {"a": normal("a", 60, 7), "b": normal("b", 4_000, 8), "c": normal("c", 5_000, 8)}
    matched = match_rings(rings, 500)
    assert matched.unmatched == []
    assert_balanced(rings, matched)


def test_small_ring_does_not_empty_the_others() -> None:
    rings = {"a": ring("a", [1.0] * 300), "b": ring("b", [1.0] * 400), "small": ring("small", [9.0] * 3)}
    matched = match_rings(rings, 250)
    assert {name: len(drawn) for name, drawn in matched.drawn.items()} == {"a": 250, "b": 250, "small": 3}
    assert matched.unmatched == ["small"]
