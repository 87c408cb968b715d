"""Shares of questions in clusters: intervals cover, and widen with dependence."""

import numpy as np
import pytest

from kgprobe.stats.clustered import clustered_loss, clustered_share
from kgprobe.stats.paired_proportions import loss_bounds

CLUSTERS = [f"e{number}" for number in range(200)]


def drawn(generator: np.random.Generator, rate: float, clusters: int, size: int) -> tuple[list[bool], list[str]]:
    """Answers about edits that succeed or fail as a whole, with some noise."""
    rates = generator.beta(rate, 1 - rate, clusters)
    right = generator.random((clusters, size)) < rates[:, None]
    return right.ravel().tolist(), np.repeat(CLUSTERS[:clusters], size).tolist()


@pytest.mark.parametrize(("rate", "clusters", "size"), [(0.5, 20, 6), (0.8, 30, 4), (0.9, 100, 3), (0.3, 40, 1)])
def test_clustered_share_covers_the_rate(rate: float, clusters: int, size: int) -> None:
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        found = clustered_share(*drawn(generator, rate, clusters, size))
        covered += found.low <= rate <= found.high
    assert covered >= 0.92 * 400


def test_clustered_share_dependent_answers_are_less_sure() -> None:
    right = [True] * 30 + [False] * 30
    single = clustered_share(right, CLUSTERS[:60])
    together = clustered_share(right, np.repeat(CLUSTERS[:10], 6).tolist())
    assert (single.value, together.value) == (0.5, 0.5)
    assert together.high - together.low > 1.5 * (single.high - single.low)


def test_clustered_share_of_one_edit_is_unknown() -> None:
    found = clustered_share([True, True, False], ["e", "e", "e"])
    assert (found.low, found.high) == (0, 1)


def test_clustered_loss_of_single_questions_is_tangos() -> None:
    before, after = [True] * 150 + [False] * 50, [True] * 120 + [False] * 70 + [True] * 10
    loss = clustered_loss(before, after, CLUSTERS)
    low, high = loss_bounds(30, 10, 200)
    assert (loss.value, loss.low, loss.high) == pytest.approx((0.1, float(low), float(high)), abs=0.002)


def test_clustered_loss_of_whole_edits_has_wider_bounds() -> None:
    before, after = [True] * 200, [False] * 20 + [True] * 180
    whole = clustered_loss(before, after, np.repeat(CLUSTERS[:40], 5).tolist())
    single = clustered_loss(before, after, CLUSTERS)
    assert whole.value == single.value == 0.1
    assert (whole.low or 0) < (single.low or 0) < (single.high or 0) < (whole.high or 0)


@pytest.mark.parametrize(("clusters", "size"), [(5, 6), (20, 6), (100, 1), (100, 6)])
@pytest.mark.parametrize("common", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1])
def test_clustered_loss_bounds_rarely_miss_the_loss(clusters: int, size: int, common: float, rate: float) -> None:
    # Answers follow the draw of their cluster with the probability ``common``.
    generator = np.random.default_rng(1)
    shape = (2_000, clusters, size)
    draws = np.where(generator.random(shape) < common, generator.random((*shape[:2], 1)), generator.random(shape))
    counts, repetitions = np.unique((draws < rate).sum(axis=(1, 2)), return_counts=True)
    total, below, above = clusters * size, 0, 0
    for lost, repeated in zip(counts.tolist(), repetitions.tolist(), strict=True):
        after = [False] * lost + [True] * (total - lost)
        loss = clustered_loss([True] * total, after, np.repeat(CLUSTERS[:clusters], size).tolist())
        below += repeated * ((loss.high or 0.0) < rate)
        above += repeated * ((loss.low or 0.0) > rate)
    assert max(below, above) <= 0.05 * shape[0]


@pytest.mark.parametrize("gained", [0, 10])
def test_clustered_loss_grows_with_each_lost_answer(gained: int) -> None:
    clusters = np.repeat(CLUSTERS[:20], 6).tolist()
    before, after = [False] * gained + [True] * (120 - gained), [True] * 120
    previous = clustered_loss(before, after, clusters)
    # First answers that were right before, from different edits; then the gained ones.
    for place in [*range(gained, 120, 7), *range(gained)]:
        after[place] = False
        loss = clustered_loss(before, after, clusters)
        assert (loss.low or 0.0) > (previous.low or 0.0)
        assert (loss.high or 0.0) > (previous.high or 0.0)
        previous = loss


def test_clustered_loss_single_lost_answer_of_few_edits_is_unsure() -> None:
    clusters = np.repeat(CLUSTERS[:20], 6).tolist()
    loss = clustered_loss([True] * 120, [True] * 119 + [False], clusters)
    assert (loss.low or 0.0) < -0.15
    assert (loss.high or 0.0) > 0.15
