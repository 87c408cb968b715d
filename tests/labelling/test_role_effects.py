"""Effects of a fine-tune by role: verdicts of rings with Holm's correction, gains, and facts without answers."""

from collections.abc import Mapping

import numpy as np
import pytest

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.labelling.role_effects import RINGS, RoleComparison, find_role_effects
from kgprobe.labelling.roles import FAR, HELD_OUT, TAUGHT, FactRole
from kgprobe.results.forgetting import LossVerdict, find_forgetting
from kgprobe.results.shared_facts import find_shared_facts
from kgprobe.stats.paired_proportions import directional_levels, loss_bounds, loss_interval, loss_p_values
from tests.results.answered import answered

Counts = tuple[int, int, int, int]


def effects(counts: Mapping[str, Counts], margin: float = 0.02) -> RoleComparison:
    """Return the effects where each role has facts known to both, to the base alone, to the tuned alone, to neither."""
    base, tuned, roles = {}, {}, []
    for role, (both, lost, gained, neither) in counts.items():
        pairs = [(True, True)] * both + [(True, False)] * lost + [(False, True)] * gained + [(False, False)] * neither
        for number, (before, after) in enumerate(pairs):
            fact = f"{role} {number:05}"
            base[fact], tuned[fact] = before, after
            roles.append(FactRole(f"s-{fact}", fact, role))
    return find_role_effects(find_shared_facts([answered("base", base), answered("tuned", tuned)]), roles, {}, margin)


def test_rings_are_tested_by_holm_from_the_clearest() -> None:
    # One-sided p-values: about 1e-20, 0.5 and 0.6 against the levels 4.94%/3, 4.94%/2 and 4.94%.
    counts = {"same subject": (700, 100, 5, 195), "neighbour": (500, 25, 5, 470), FAR: (500, 28, 10, 462)}
    found = effects(counts)
    first, second, third = found.rings
    assert [ring.role for ring in found.rings] == ["same subject", "neighbour", "far"]
    assert [first.confidence, second.confidence] == pytest.approx([1 - 0.04939 / 3, 1 - 0.04939 / 2], abs=1e-6)
    for ring in found.rings:
        _, lost, gained, _ = counts[ring.role]
        assert ring.facts == sum(counts[ring.role])
        assert (ring.forgotten, ring.gained) == (lost, gained)
        assert ring.loss is not None
        assert ring.confidence is not None
        low, high = loss_bounds(lost, gained, ring.facts, ring.confidence)
        assert (ring.loss.value, ring.loss.low, ring.loss.high) == ((lost - gained) / ring.facts, low, high)
        assert ring.verdict == LossVerdict.of(float(low), float(high), 0.02).value
    assert first.verdict == "lost"
    assert third.verdict == "undecided"
    assert third.needed is not None
    assert third.needed > 500


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((480, 20, 0, 0), ["The base model has all 500 far facts right. ", "some seem lost by chance"]),
        ((0, 0, 20, 480), ["The base model has all 500 far facts wrong. ", "some seem gained by chance", " 0.0% of "]),
        ((5, 3, 20, 472), ["has 1.6% of the far facts right, so that they cannot lose more than the margin."]),
        ((7, 3, 20, 470), ["has 2.0% of the far facts right, so that they cannot lose more than the margin."]),
        ((8, 3, 20, 469), []),
        ((460, 20, 19, 1), []),
        ((19, 0, 0, 0), []),
    ],
)
@pytest.mark.representatives(2)
def test_ring_notes_answers_that_decide_its_verdict(counts: Counts, expected: list[str]) -> None:
    notes = " ".join(effects({FAR: counts}).notes)
    assert bool(notes) == bool(expected)
    assert [text for text in expected if text not in notes] == []


def test_gains_note_facts_that_the_base_has_all_wrong() -> None:
    notes = effects({TAUGHT: (0, 0, 20, 20), HELD_OUT: (1, 0, 20, 20)}).notes
    assert [note.partition(". ")[0] for note in notes] == ["The base model has all 40 taught facts wrong"]


def test_one_ring_alone_has_the_verdict_of_forgetting() -> None:
    for counts in ((500, 100, 10, 390), (500, 5, 5, 490), (500, 60, 40, 400)):
        ring = effects({FAR: counts}).rings[0]
        known = [(True, True)] * counts[0] + [(True, False)] * counts[1]
        known += [(False, True)] * counts[2] + [(False, False)] * counts[3]
        base, tuned = ({f"f{n:04}": pair[side] for n, pair in enumerate(known)} for side in (0, 1))
        alone = find_forgetting(find_shared_facts([answered("base", base), answered("tuned", tuned)]), {}, 0.02)
        assert ring.verdict == alone.verdict.value
        assert ring.loss is not None
        assert (ring.loss.low, ring.loss.high) == pytest.approx(alone.bounds)


@pytest.mark.parametrize(
    ("near", "far", "verdict", "words"),
    [
        ((500, 100, 10, 390), (500, 0, 0, 500), "lost", ("Lost near (inverse, 9.0 points lost on 1,000)", "Kept far")),
        ((500, 0, 0, 500), (500, 100, 10, 390), "lost", ("Kept near", "Lost far (9.0 points lost on 1,000)")),
        ((500, 0, 0, 500), (5, 1, 0, 4), "undecided", ("Kept near", "Undecided far", "Facts that decide every ring")),
        ((500, 0, 0, 500), (500, 0, 0, 500), "kept", ("Kept near", "Kept far")),
    ],
)
@pytest.mark.representatives(2)
def test_worst_ring_is_the_verdict(near: Counts, far: Counts, verdict: str, words: tuple[str, ...]) -> None:
    found = effects({"inverse": near, FAR: far})
    assert found.verdict is not None
    assert found.verdict.value == verdict
    assert all(word in found.summary() for word in words), found.summary()


@pytest.mark.parametrize("count", [pytest.param(2, marks=pytest.mark.slow), 6])
@pytest.mark.slow
def test_facts_needed_decide_all_rings_in_80_percent(count: int) -> None:
    rings = RINGS[:count]
    undecided = effects(dict.fromkeys(rings, (15, 3, 3, 9)))
    needed = [ring.needed for ring in undecided.rings if ring.listed]
    assert len(needed) == count
    total = max(filter(None, needed))
    changed = np.random.default_rng(7).binomial(total, 0.2, (400, count))
    lost = np.random.default_rng(8).binomial(changed, 0.5)
    kept = 0
    for each_lost, each_changed in zip(lost, changed, strict=True):
        exceeds, within = loss_p_values(each_lost, each_changed - each_lost, np.full(count, total), 0.02)
        levels = directional_levels(np.minimum(exceeds, within), 0.05)
        kept += bool((loss_bounds(each_lost, each_changed - each_lost, total, 1 - levels)[1] <= 0.02).all())
    assert kept / 400 == pytest.approx(0.8, abs=0.06)


def test_gains_have_two_sided_intervals_and_no_verdict() -> None:
    found = effects({TAUGHT: (10, 5, 60, 25), HELD_OUT: (40, 4, 6, 50)})
    assert (found.verdict, found.near, found.far, found.rings) == (None, None, None, [])
    taught, held_out = found.gains
    low, high = loss_interval(5, 60, 100)
    assert taught.gain is not None
    assert (taught.gain.value, taught.gain.low, taught.gain.high) == (0.55, -high, -low)
    assert held_out.role == "held out"
    assert "Gain of the taught facts: +55.0 points on 100" in found.summary()
    assert [fact.change for fact in found.changed_facts[:65]] == ["forgotten"] * 5 + ["gained"] * 60


def test_facts_without_answers_are_counted_and_named() -> None:
    roles = [FactRole("s", name, role) for name, role in (("a", FAR), ("b", FAR), ("c", TAUGHT), ("d", "inverse"))]
    base, tuned = answered("base", {"a": True, "b": True, "e": True}), answered("tuned", {"a": True, "e": True})
    found = find_role_effects(find_shared_facts([base, tuned]), roles, {}, 0.02)
    assert [(ring.role, ring.listed, ring.facts, ring.verdict) for ring in found.rings] == [
        ("inverse", 1, 0, None),
        ("far", 2, 1, "undecided"),
    ]
    assert [(fact.fact, fact.base, fact.tuned) for fact in found.unanswered] == [
        ("b", None, "not asked"),
        ("c", "not asked", "not asked"),
        ("d", "not asked", "not asked"),
    ]
    assert found.notes == (
        "1 of the 4 facts with a role are compared. base lacks 2 (not asked: 2), tuned lacks 3 (not asked: 3); among"
        " them b (far), c (taught), d (inverse).",
        "Left out: 1 answered fact without a role.",
    )


def test_roles_that_contradict_or_hit_nothing_are_refused() -> None:
    models = find_shared_facts([answered("base", {"a": True})] * 2)
    with pytest.raises(ArgumentError, match="the fact a twice: as 'far' and as 'taught'"):
        find_role_effects(models, [FactRole("s", "a", FAR), FactRole("s", "a", TAUGHT)], {}, 0.02)
    with pytest.raises(KgprobeError, match=r"none of the facts with a role \(1\), such as x \(far\)"):
        find_role_effects(models, [FactRole("s", "x", FAR)], {}, 0.02)
    with pytest.raises(ArgumentError, match="has no facts"):
        find_role_effects(models, [], {}, 0.02)
