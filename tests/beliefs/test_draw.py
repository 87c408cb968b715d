"""Which facts are asked: Thompson draws against drawing every fact, uniform ones, and one after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from kgprobe.base.errors import UnknownNameError
from kgprobe.beliefs.draw import Beliefs, highest_uniforms


def beliefs_of(count: int, touched: dict[int, tuple[float, float, bool]]) -> Beliefs:
    beliefs = Beliefs.untouched(count)
    positions = np.array(list(touched), dtype=np.int64)
    alpha, beta, askable = (
        (np.array(column) for column in zip(*touched.values(), strict=True)) if touched else (np.empty(0),) * 3
    )
    beliefs.update(positions, alpha.astype(float), beta.astype(float), askable.astype(bool))
    return beliefs


parameters = some.tuples(some.integers(1, 50).map(float), some.integers(1, 50).map(float), some.booleans())


@given(some.integers(1, 60), some.data())
def test_update_is_a_dictionary(count: int, data: some.DataObject) -> None:
    reference: dict[int, tuple[float, float, bool]] = {}
    beliefs = Beliefs.untouched(count)
    for _ in range(data.draw(some.integers(0, 4))):
        # -1 stands for a fact that is not askable in this run; it is left out.
        batch = data.draw(some.dictionaries(some.integers(-1, count - 1), parameters, max_size=10))
        if -1 in batch or batch:
            positions = np.array(list(batch), dtype=np.int64)
            columns = list(zip(*batch.values(), strict=True))
            beliefs.update(positions, *map(np.array, columns))
        reference |= {position: value for position, value in batch.items() if position >= 0}
    assert beliefs.positions.tolist() == sorted(reference)
    for position, alpha, beta, askable in zip(
        beliefs.positions, beliefs.alpha, beliefs.beta, beliefs.askable, strict=True
    ):
        assert reference[int(position)] == (alpha, beta, askable)


@given(some.integers(0, 60), some.integers(1, 70), some.data())
def test_draw_is_distinct_askable_and_repeatable(count: int, size: int, data: some.DataObject) -> None:
    touched = data.draw(some.dictionaries(some.integers(0, max(0, count - 1)), parameters, max_size=count))
    beliefs = beliefs_of(count, touched if count else {})
    askable = set(range(count)) - {position for position, (_, _, askable) in touched.items() if not askable}
    assert beliefs.has_askable() == bool(askable)
    for sampling in ("thompson", "uniform"):
        drawn = beliefs.choose(sampling, size, 1, np.random.default_rng(7)).positions.tolist()
        assert len(set(drawn)) == len(drawn) == min(size, len(askable))
        assert set(drawn) <= askable
        assert drawn == beliefs.choose(sampling, size, 1, np.random.default_rng(7)).positions.tolist()


@given(some.integers(1, 40), some.integers(1, 50), some.data())
def test_iteration_asks_each_fact_once_before_any_again(count: int, size: int, data: some.DataObject) -> None:
    touched = data.draw(some.dictionaries(some.integers(0, count - 1), parameters, max_size=count))
    beliefs = beliefs_of(count, touched)
    askable = [position for position in range(count) if touched.get(position, (1, 1, True))[2]]
    numbers = range(1, 2 * count + 1)
    rounds = [beliefs.choose("sequential", size, n, np.random.default_rng(n)).positions.tolist() for n in numbers]
    assert all(len(set(asked)) == len(asked) for asked in rounds)
    flat = [position for asked in rounds for position in asked]
    passes = 2 * min(size, count)
    assert flat == askable * passes


def test_uniform_is_uniform_whatever_was_learned() -> None:
    count, size, repetitions = 30, 6, 5_000
    generator = np.random.default_rng(3)
    beliefs = beliefs_of(count, {0: (50.0, 1.0, True), 1: (1.0, 50.0, True), 2: (9.0, 9.0, False)})
    often = np.zeros(count)
    for _ in range(repetitions):
        often[beliefs.choose("uniform", size, 1, generator).positions] += 1
    assert often[2] == 0
    expected = np.delete(np.full(count, repetitions * size / (count - 1)), 2)
    assert stats.chisquare(np.delete(often, 2), expected).pvalue > 1e-3


def test_another_sampling_is_named() -> None:
    with pytest.raises(UnknownNameError, match="thompson, uniform, sequential"):
        Beliefs.untouched(3).choose("best", 1, 1, np.random.default_rng(0))


@given(some.integers(0, 12), some.data())
def test_width_is_the_mean_over_facts_that_can_be_asked(count: int, data: some.DataObject) -> None:
    touched = data.draw(some.dictionaries(some.integers(0, max(0, count - 1)), parameters, max_size=count))
    beliefs = beliefs_of(count, touched if count else {})
    widths = []
    for position in range(count):
        alpha, beta, askable = touched.get(position, (1.0, 1.0, True))
        if askable:
            low, high = stats.beta(alpha, beta).interval(0.9)
            widths.append(high - low)
    assert beliefs.width() == pytest.approx(np.mean(widths) if widths else np.nan, nan_ok=True)


def test_highest_uniforms_are_the_highest_of_uniforms() -> None:
    generator = np.random.default_rng(0)
    # Few, so that what remains below each draw counts.
    count, size, repetitions = 12, 8, 6_000
    ours = np.array([highest_uniforms(count, size, generator) for _ in range(repetitions)])
    naive = -np.sort(-generator.random((repetitions, count)), axis=1)[:, :size]
    for place in range(size):
        assert stats.ks_2samp(ours[:, place], naive[:, place]).pvalue > 1e-3
        # The k-th highest of m uniforms is Beta(m - k + 1, k).
        assert stats.kstest(ours[:, place], stats.beta(count - place, place + 1).cdf).pvalue > 1e-3
    # Neighbouring order statistics depend on each other; independent draws would miss that.
    assert abs(np.corrcoef(ours[:, 0], ours[:, 1])[0, 1] - np.corrcoef(naive[:, 0], naive[:, 1])[0, 1]) < 0.06


@pytest.mark.parametrize("touched_share", [0.2, 0.8], ids=["few touched", "most touched"])
def test_draws_choose_facts_as_drawing_all_of_them_would(touched_share: float) -> None:
    count, size, repetitions = 40, 8, 6_000
    generator = np.random.default_rng(1)
    touched = {
        position: (float(generator.integers(1, 6)), float(generator.integers(1, 6)), True)
        for position in range(int(count * touched_share))
    }
    beliefs = beliefs_of(count, touched)
    alpha = np.array([touched.get(position, (1.0, 1.0, True))[0] for position in range(count)])
    beta = np.array([touched.get(position, (1.0, 1.0, True))[1] for position in range(count)])
    ours, naive = np.zeros(count), np.zeros(count)
    for _ in range(repetitions):
        ours[beliefs.choose("thompson", size, 1, generator).positions] += 1
        naive[np.argsort(-generator.beta(alpha, beta))[:size]] += 1
    # Each count is about binomial; five standard deviations of a difference of two, over forty facts.
    assert np.abs(ours - naive).max() < 5 * np.sqrt(2 * repetitions * 0.25)
    assert stats.pearsonr(ours, naive).statistic > 0.98
