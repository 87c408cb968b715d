"""What was forgotten: the verdict and the facts behind it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.results.forgetting import Forgetting, LossVerdict, find_forgetting
from kgprobe.results.shared_facts import find_shared_facts
from kgprobe.stats.paired_proportions import family_bounds, loss_bounds
from tests.results.answered import answered


def forgetting(both: int, lost: int, gained: int, neither: int, margin: float = 0.02) -> Forgetting:
    """Return the forgetting of facts known to both, to the base alone, to the tuned alone, and to neither."""
    known = [(True, True)] * both + [(True, False)] * lost + [(False, True)] * gained + [(False, False)] * neither
    base, tuned = ({f"f{n:04}": pair[side] for n, pair in enumerate(known)} for side in (0, 1))
    return find_forgetting(find_shared_facts([answered("base", base), answered("tuned", tuned)]), {}, margin)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((500, 100, 10, 390), LossVerdict.LOST),
        ((500, 5, 5, 490), LossVerdict.KEPT),
        ((500, 10, 100, 390), LossVerdict.KEPT),
        ((500, 60, 40, 400), LossVerdict.UNDECIDED),
        ((5, 1, 0, 4), LossVerdict.UNDECIDED),
    ],
)
@pytest.mark.representatives(2)
def test_verdict_is_by_the_bounds(counts: tuple[int, int, int, int], verdict: LossVerdict) -> None:
    found = forgetting(*counts)
    assert found.verdict is verdict
    low, high = loss_bounds(counts[1], counts[2], sum(counts))
    assert found.bounds == (float(low), float(high))
    assert found.loss.value == pytest.approx((counts[1] - counts[2]) / sum(counts))
    assert (found.forgotten, found.gained) == counts[1:3]
    if verdict is LossVerdict.UNDECIDED:
        assert found.facts_needed_if_nothing_is_lost is not None
        assert found.facts_needed_if_nothing_is_lost > found.facts


@given(*(st.integers(0, 30) for _ in range(4)), st.sampled_from([0.0, 0.02, 0.2]))
@settings(max_examples=8)
def test_wider_margin_is_kept_sooner(both: int, lost: int, gained: int, neither: int, margin: float) -> None:
    if both + lost + gained + neither == 0:
        neither = 1
    order = [LossVerdict.LOST, LossVerdict.UNDECIDED, LossVerdict.KEPT]
    narrow, wide = (forgetting(both, lost, gained, neither, its) for its in (margin, margin + 0.1))
    assert order.index(narrow.verdict) <= order.index(wide.verdict)
    assert narrow.bounds[0] <= narrow.loss.value <= narrow.bounds[1]


def test_what_each_preferred_stands_beside_a_changed_fact() -> None:
    relations = {"a": "r0", "b": "r1", "c": "r1", "d": "r1"}
    base = answered("base", {"a": True, "b": True, "c": True, "d": False}, relations=relations)
    tuned = answered("tuned", {"a": False, "b": False, "c": False, "d": True}, relations=relations)
    found = find_forgetting(find_shared_facts([base, tuned]), {"r1": "rivers"}, 0.02)
    # By relation, the greatest number lost on balance first; equals by the greater share.
    assert [(one.relation, one.forgotten, one.gained, one.loss) for one in found.relations] == [
        ("r0", 1, 0, 1.0),
        ("r1", 2, 1, 1 / 3),
    ]
    assert [(one.fact, one.change) for one in found.changed_facts] == [
        ("a", "forgotten"),
        ("b", "forgotten"),
        ("c", "forgotten"),
        ("d", "gained"),
    ]
    forgotten, gained = found.changed_facts[1], found.changed_facts[3]
    assert (forgotten.relation_name, forgotten.question) == ("rivers", "The capital of b is …")
    assert (forgotten.base_prediction, forgotten.tuned_prediction) == ("Object of b", "Strong of b")
    assert (gained.base_prediction, gained.tuned_prediction) == ("Strong of d", "Object of d")


def test_nothing_shared_is_said() -> None:
    with pytest.raises(KgprobeError, match="No fact was asked of all of them"):
        find_forgetting(find_shared_facts([answered("base", {"x": True}), answered("tuned", {"y": True})]), {}, 0.02)


@pytest.mark.slow
def test_checks_have_all_facts_and_every_relation() -> None:
    # One relation lost a tenth of its facts, which the mean of twenty hides.
    relations = {f"f{number}": f"r{number % 20:02}" for number in range(20_000)}
    lost = {fact for fact, relation in relations.items() if relation == "r07" and int(fact[1:]) < 2_000}
    base = answered("base", dict.fromkeys(relations, True), relations=relations)
    tuned = answered("tuned", {fact: fact not in lost for fact in relations}, relations=relations)
    found = find_forgetting(find_shared_facts([base, tuned]), {"r07": "rivers"}, 0.02)
    first, *others = found.checks()
    assert (first.name, first.verdict) == ("all facts", found.verdict.value) == ("all facts", "kept")
    assert [(check.name, check.verdict) for check in others if check.verdict != "kept"] == [("rivers", "lost")]
    assert len(others) == 20
    low, _ = family_bounds(100, 0, 1000, 20)
    assert "10.0 points lost on 1,000 facts: 100 forgotten, 0 gained" in others[0].text
    assert f"bounds of the loss {100 * float(low):.1f} and" in others[0].text
    assert float(low) < float(loss_bounds(100, 0, 1000)[0])
