"""References that are made up are what was asked for."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from benchmarks.replay.synthetic import Synthetic, connected, likeness, synthetic
from kgprobe.base.errors import KgprobeError
from kgprobe.running.replays import Reference


def naive_likeness(reference: Reference) -> float:
    ends = [{int(s), int(o)} for s, o in zip(reference.subjects, reference.objects, strict=True)]
    own, around = [], []
    for number, fact in enumerate(ends):
        others = [reference.theta[other] for other in range(len(ends)) if other != number and ends[other] & fact]
        if others:
            own.append(reference.theta[number])
            around.append(np.mean(others))
    return float(np.corrcoef(own, around)[0, 1])


def test_likeness_is_the_correlation_with_the_facts_around() -> None:
    reference = synthetic(Synthetic(80, likeness=0.8), [1])
    assert likeness(reference) == pytest.approx(naive_likeness(reference))
    with_loops = Reference(np.array([0, 0, 0, 1, 3]), np.array([0, 1, 1, 2, 4]), np.array([0.1, 0.5, 0.3, 0.9, 1.0]))
    assert likeness(with_loops) == pytest.approx(naive_likeness(with_loops))
    assert np.isnan(likeness(Reference(np.array([0, 0]), np.array([1, 2]), np.array([0.5, 0.5]))))
    assert np.isnan(likeness(Reference(np.array([0, 2]), np.array([1, 3]), np.array([0.5, 0.6]))))


def test_largest_connected_part_and_the_hardest_facts() -> None:
    reference = Reference(np.array([0, 1, 3, 5]), np.array([1, 2, 4, 5]), np.array([0.2, 0.9, 0.2, 0.9]))
    assert connected(reference) == 0.5
    assert reference.hardest(3).tolist() == [1, 3, 0]
    assert reference.hardest(9).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(("hard", "spread"), [(0.2, 1.0), (0.5, 3.0), (0.9, 6.0)])
def test_made_up_facts_have_the_given_difficulty(hard: float, spread: float) -> None:
    references = [synthetic(Synthetic(2_000, hard, spread, 0.3), [seed]) for seed in range(5)]
    assert all(connected(reference) == 1 for reference in references)
    assert np.mean([(reference.theta > 0.5).mean() for reference in references]) == pytest.approx(hard, abs=0.03)
    logits = [special.logit(np.clip(reference.theta, 1e-15, 1 - 1e-15)) for reference in references]
    assert np.mean([its.std() for its in logits]) == pytest.approx(spread, rel=0.05)


def logits_of(distribution: str, **wanted: float) -> np.ndarray:
    references = [synthetic(Synthetic(4_000, **wanted, distribution=distribution), [seed]) for seed in range(5)]
    theta = np.concatenate([reference.theta for reference in references])
    return special.logit(np.clip(theta, 1e-15, 1 - 1e-15))


def test_students_t_has_heavier_tails() -> None:
    normal, student = (logits_of(which, likeness=0.0, spread=1.0) for which in ("normal", "student"))
    assert student.std() == pytest.approx(normal.std(), rel=0.1)
    assert np.median(student) == pytest.approx(0, abs=0.05)
    beyond = [(abs(logits) > 4).mean() for logits in (normal, student)]
    # Of a normal variable 6 in 100,000 are four standard deviations out, of this one 6 in 1,000.
    assert beyond[0] < 0.0005
    assert beyond[1] == pytest.approx(2 * stats.t.sf(4 * 3**0.5, 3), rel=0.3)
    # So have the parts of entities.
    alike = [logits_of(which, likeness=0.9, spread=1.0) for which in ("normal", "student")]
    assert (abs(alike[1]) > 4).mean() > 3 * (abs(alike[0]) > 4).mean()


def test_mixture_has_known_and_unknown_facts() -> None:
    logits = logits_of("mixture", hard=0.3)
    assert (logits > 0).mean() == pytest.approx(0.3, abs=0.03)
    for kind in (logits[logits > 0] - 3, logits[logits < 0] + 3):
        assert kind.mean() == pytest.approx(0, abs=0.05)
        assert kind.std() == pytest.approx(0.6, abs=0.05)


def test_likeness_is_a_choice() -> None:
    found = [likeness(synthetic(Synthetic(2_000, likeness=alike), [3])) for alike in (0, 0.5, 0.9)]
    assert abs(found[0]) < 0.1
    assert found[0] + 0.3 < found[1] < found[2] - 0.15


def test_same_seed_makes_the_same_facts() -> None:
    one, same, other = (synthetic(Synthetic(50), [seed]) for seed in (1, 1, 2))
    assert np.array_equal(one.theta, same.theta)
    assert np.array_equal(one.subjects, same.subjects)
    assert not np.array_equal(one.theta, other.theta)
    assert len(synthetic(Synthetic(2), [0]).theta) == 2


@pytest.mark.parametrize("wrong", [{"facts": 1}, {"hard": 1.0}, {"spread": 0.0}, {"likeness": 1.0}])
def test_what_cannot_be_made_up_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(KgprobeError, match="A synthetic reference needs"):
        synthetic(Synthetic(**{"facts": 10} | wrong), [0])
