"""Matched draws: rings have the same distribution of popularity and answers."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kgprobe.labelling.matching import FEWEST, answer_of, match_rings
from kgprobe.labelling.rings import Candidate
from kgprobe.sampling.keys import FactKey


def ring(name: str, popularities: list[float]) -> list[Candidate]:
    return [Candidate(FactKey("s", f"{name}{number}"), value) for number, value in enumerate(popularities)]


def test_rings_are_drawn_with_equal_shares_of_ranges_and_answers() -> None:
    generator = random.Random(0)
    rings = {
        "a": ring("a", [generator.gauss(3, 1) for _ in range(900)]),
        "b": ring("b", [generator.gauss(4, 1) for _ in range(400)]),
        "c": ring("c", [generator.gauss(3.5, 2) for _ in range(3_000)]),
    }
    shares = {"a": 0.8, "b": 0.3, "c": 0.5}
    known = {candidate.key.fact: generator.random() < shares[name] for name, own in rings.items() for candidate in own}
    matched = match_rings(rings, known, 200)
    assert matched.unmatched == []
    assert matched.ranges > 1
    right, means = {}, {}
    for name, drawn in matched.drawn.items():
        assert 100 <= len(drawn) <= 200, name
        assert len({candidate.key for candidate in drawn}) == len(drawn)
        answers = Counter(answer_of(candidate.key.fact, known) for candidate in drawn)
        right[name] = answers["right"] / len(drawn)
        means[name] = sum(candidate.popularity for candidate in drawn) / len(drawn)
        # Drawn in the order of the candidates.
        places = [rings[name].index(candidate) for candidate in drawn]
        assert places == sorted(places)
    assert max(right.values()) - min(right.values()) < 0.02
    assert max(means.values()) - min(means.values()) < 0.35
    # Without matching they differ by more than a unit, and by half of the answers.
    plain = match_rings(rings, known, 200).drawn
    assert plain == matched.drawn


@given(
    st.lists(st.lists(st.floats(0, 20), max_size=60), min_size=1, max_size=6),
    st.integers(1, 80),
    st.integers(0, 3),
)
def test_every_ring_keeps_facts_within_the_limit(rings: list[list[float]], limit: int, asked: int) -> None:
    candidates = {str(number): ring(f"{number} ", own) for number, own in enumerate(rings)}
    known = {
        candidate.key.fact: place % 2 == 0
        for own in candidates.values()
        for place, candidate in enumerate(own)
        if place % 4 < asked
    }
    matched = match_rings(candidates, known, limit)
    assert list(matched.drawn) == list(candidates)
    for name, drawn in matched.drawn.items():
        assert len(drawn) <= limit
        assert set(drawn) <= set(candidates[name])
        assert bool(drawn) == bool(candidates[name])
        if len(candidates[name]) < FEWEST:
            assert drawn == candidates[name][:limit]
            assert (name in matched.unmatched) == bool(drawn)
        elif matched.ranges:
            assert name not in matched.unmatched


def test_small_ring_does_not_empty_the_others() -> None:
    rings = {"a": ring("a", [1.0] * 300), "b": ring("b", [1.0] * 400), "small": ring("small", [9.0] * 3)}
    matched = match_rings(rings, {}, 250)
    assert {name: len(drawn) for name, drawn in matched.drawn.items()} == {"a": 250, "b": 250, "small": 3}
    assert matched.unmatched == ["small"]


def test_rings_without_common_answers_are_not_matched() -> None:
    rings = {"a": ring("a", [1.0] * 30), "b": ring("b", [1.0] * 30)}
    known = {f"a{number}": True for number in range(30)} | {f"b{number}": False for number in range(30)}
    matched = match_rings(rings, known, 20)
    assert (matched.ranges, matched.unmatched) == (0, ["a", "b"])
    assert [len(drawn) for drawn in matched.drawn.values()] == [20, 20]
