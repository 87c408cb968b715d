"""Random walks over graphs small enough to know what they have to do."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.base.records import Fact
from kgprobe.loaders import sparql_walk
from kgprobe.loaders.sparql_walk import WalkPlan, walk

# Q1 leads to one item, and ninety-nine lead to it.
STAR = [Fact("out", "Q1", "P1", "Q2"), *(Fact(f"in{n}", f"Q{n}", "P1", "Q1") for n in range(3, 102))]


class Facts:
    """Surroundings that are all there; what was asked is remembered."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = list(facts)

    def outgoing(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        return {name: [fact for fact in self.facts if fact.subject == name] for name in ids}

    def incoming(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        return {name: [fact for fact in self.facts if fact.object == name] for name in ids}


def everybody(ids: Sequence[str]) -> set[str]:
    return set(ids)


def first_steps(facts: Iterable[Fact], allowed: set[str] | None = None, seeds: int = 1000) -> Counter[str]:
    """Return where one step from Q1 leads, in many walks."""
    around = Facts(facts)
    return Counter(
        walk(["Q1"], WalkPlan(1, 1, 100, seed), around, (), lambda ids: set(ids) & allowed if allowed else set(ids))[-1]
        for seed in range(seeds)
    )


def test_each_direction_has_half_the_chance() -> None:
    reached = first_steps(STAR)
    assert 430 < reached["Q2"] < 570
    assert len(reached) > 95


def test_within_a_direction_each_statement_has_the_same_chance() -> None:
    twice = [Fact("a", "Q1", "P1", "Q2"), Fact("b", "Q1", "P2", "Q2"), Fact("c", "Q1", "P1", "Q3")]
    assert 610 < first_steps(twice)["Q2"] < 720


def test_what_is_not_admitted_is_as_if_it_were_not_there() -> None:
    allowed = {f"Q{n}" for n in range(50, 60)}
    reached = first_steps(STAR, allowed)
    assert set(reached) == allowed
    assert min(reached.values()) > 60
    both = first_steps(STAR, {"Q2", "Q50", "Q51"})
    assert 430 < both["Q2"] < 570


def test_limit_counts_the_centres() -> None:
    around = Facts(STAR)
    assert len(walk(["Q1", "Q2", "Q3"], WalkPlan(1, 50, 10), around, (), everybody)) == 10
    assert walk(["Q1", "Q2", "Q3"], WalkPlan(1, 50, 2), around, (), everybody) == ["Q1", "Q2", "Q3"]


def test_it_is_told_after_each_step() -> None:
    told: list[tuple[int, int]] = []
    line = [Fact("a", "Q1", "P1", "Q2"), Fact("b", "Q2", "P1", "Q3")]
    walk(["Q1"], WalkPlan(3, 2), Facts(line), (), everybody, lambda *step: told.append(step))
    assert told == [(1, 2), (2, 3), (3, 3)]


edges = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 3), st.integers(1, 12)), max_size=60)


@settings(max_examples=60, deadline=None)
@given(edges, st.sets(st.integers(1, 12)), st.integers(0, 5), st.integers(1, 30), st.integers(3, 20))
def test_how_far_it_looks_ahead_changes_nothing(
    triples: list[tuple[int, int, int]], allowed: set[int], seed: int, ahead: int, limit: int
) -> None:
    facts = [Fact(f"f{n}", f"Q{s}", f"P{r}", f"Q{o}") for n, (s, r, o) in enumerate(triples)]
    good = {f"Q{n}" for n in allowed}
    found = []
    for look in (1, ahead, 10_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sparql_walk, "LOOK_AHEAD", look)
            found.append(
                walk(
                    ["Q1", "Q2"], WalkPlan(3, 5, limit, seed), Facts(facts), {"P3"}, lambda ids: good.intersection(ids)
                )
            )
    assert found[0] == found[1] == found[2]
    assert set(found[0]) - {"Q1", "Q2"} <= good
    assert len(found[0]) <= limit
