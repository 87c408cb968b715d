"""Agreement with people, against loops over folds and pairs of facts; and with itself on flawed sentences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from kgprobe.base.errors import KgprobeError
from kgprobe.papers.baselines.measures import COUNTS
from kgprobe.stats.agreement import agreement, calibrate, cohen_kappa, fleiss_kappa, robustness


def naive_tau(values: list[float], scores: list[float]) -> float:
    """τ-b from all pairs; 0 where one side orders nothing."""
    together = alone = other = 0
    for i in range(len(values)):
        for j in range(i):
            a, b = np.sign(values[i] - values[j]), np.sign(scores[i] - scores[j])
            together, alone, other = together + a * b, alone + a * a, other + b * b
    return together / math.sqrt(alone * other) if alone * other else 0.0


few_values = some.integers(0, 4).map(float)


@given(some.data())
def test_agreement_is_kendalls_tau_b(data: some.DataObject) -> None:
    facts = data.draw(some.integers(2, 12))
    values, scores = (data.draw(arrays.arrays(float, facts, elements=few_values)) for _ in range(2))
    assert agreement(values, scores) == pytest.approx(naive_tau(values.tolist(), scores.tolist()), abs=1e-12)


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_calibration_is_a_loop_over_folds(folds: int) -> None:
    generator = np.random.default_rng(folds)
    facts, options, seed = 60, 7, 11
    scores = generator.integers(0, 10, facts) / 10
    values = generator.normal(size=(facts, options)) + np.linspace(0, 2, options) * scores[:, None]
    values[3, 2] = values[7, 0] = scores[20] = np.nan
    result = calibrate(values, scores, folds=folds, seed=seed)

    order = np.random.default_rng(seed).permutation(facts).tolist()
    usable = [fact for fact in range(facts) if fact not in (3, 7, 20)]
    taus = []
    for fold in range(folds):
        own = [fact for fact in usable if order.index(fact) % folds == fold]
        rest = [fact for fact in usable if fact not in own]
        training = [naive_tau([values[f, n] for f in rest], [scores[f] for f in rest]) for n in range(options)]
        best = max(range(options), key=lambda n: training[n])
        taus.append(naive_tau([values[f, best] for f in own], [scores[f] for f in own]))
        assert result.folds[fold].best == best
        assert result.folds[fold].training == pytest.approx(training[best])
        assert result.folds[fold].tau == pytest.approx(taus[-1])
        assert result.folds[fold].facts == len(own)
    mean = sum(taus) / folds
    assert result.mean == pytest.approx(mean)
    assert result.deviation == pytest.approx(math.sqrt(sum((tau - mean) ** 2 for tau in taus) / (folds - 1)))
    assert result.facts == 57
    assert calibrate(values, scores, folds=folds, seed=seed) == result
    assert calibrate(values, scores, folds=folds, seed=seed + 1) != result


def test_equal_configurations_take_the_first() -> None:
    scores = np.arange(12.0)
    table = np.stack([np.full(12, 0.5), scores, scores], axis=1)
    result = calibrate(table, scores)
    assert [fold.best for fold in result.folds] == [1, 1, 1]
    assert (result.mean, result.deviation) == (1, 0)
    result = calibrate(np.stack([np.full(12, 0.5), -scores], axis=1), scores)
    assert [(fold.best, fold.tau) for fold in result.folds] == [(0, 0)] * 3


def test_fold_that_lost_facts_leaves_the_others_as_they_are() -> None:
    scores = np.random.default_rng(2).normal(size=30)
    values = scores[:, None] + np.random.default_rng(3).normal(size=(30, 2))
    whole = calibrate(values, scores)
    first = int(np.random.default_rng(0).permutation(30)[0])
    values[first] = np.nan
    less = calibrate(values, scores)
    assert less.folds[0].facts == whole.folds[0].facts - 1
    assert [fold.facts for fold in less.folds[1:]] == [fold.facts for fold in whole.folds[1:]]


def test_grid() -> None:
    assert COUNTS == (1, 2, 5, 10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200)


@pytest.mark.parametrize(
    ("shape", "folds", "message"),
    [((6, 0), 3, "configurations"), ((5, 2), 3, "2 on both sides"), ((6, 2), 1, "2 folds"), ((4, 2), 3, "2 on both")],
)
def test_too_little_is_refused(shape: tuple[int, int], folds: int, message: str) -> None:
    with pytest.raises(KgprobeError, match=message):
        calibrate(np.zeros(shape), np.zeros(shape[0]), folds=folds)
    with pytest.raises(KgprobeError, match="shape"):
        calibrate(np.zeros((6, 2)), np.zeros(5))


def test_robustness_is_kendalls_tau_with_a_bootstrap_over_pairs() -> None:
    generator = np.random.default_rng(1)
    flawed = generator.integers(0, 6, 25).astype(float)
    corrected = np.round(flawed + generator.normal(size=25))
    flawed[4], corrected[9] = np.nan, np.nan
    result = robustness(flawed, corrected, samples=400, seed=3)
    kept = [n for n in range(25) if n not in (4, 9)]
    first, second = flawed[kept], corrected[kept]
    assert result.tau == pytest.approx(stats.kendalltau(first, second).statistic)
    assert (result.pairs, result.left_out) == (23, 2)
    taus = []
    for counts in np.random.default_rng(3).multinomial(23, np.full(23, 1 / 23), size=400):
        drawn = np.repeat(np.arange(23), counts)
        taus.append(stats.kendalltau(first[drawn], second[drawn]).statistic)
    assert [result.low, result.high] == pytest.approx(np.quantile(taus, [0.025, 0.975]))
    assert result.low < result.tau < result.high
    assert robustness(flawed, corrected, samples=400, seed=4) != result


def test_few_pairs_in_the_same_order_are_no_certainty() -> None:
    widths = []
    for pairs in (2, 5, 20, 200):
        values = np.arange(float(pairs))
        result = robustness(values, values)
        assert result.tau == pytest.approx(1)
        widths.append(1 - result.low)
        assert result.high == pytest.approx(1)
    assert widths == sorted(widths, reverse=True)
    # Two pairs are compatible with nearly everything.
    assert widths[0] > 1.5
    assert widths[-1] < 0.1


def test_ties_and_infinities_and_what_has_no_order() -> None:
    values = np.array([-np.inf, 1.0, 1.0, np.inf])
    assert robustness(values, values).tau == pytest.approx(1)
    for flawed, corrected in ((np.zeros(4), values), (values[:1], values[:1]), (values[:0], values[:0])):
        result = robustness(flawed, corrected)
        assert math.isnan(result.tau)
        assert math.isnan(result.low)
        assert result.pairs == len(flawed)


@given(arrays.arrays(np.int64, some.tuples(some.integers(1, 15), some.just(2)), elements=some.integers(0, 2)))
def test_cohen_kappa_equals_scikit_learn(labels: np.ndarray) -> None:
    kappa = cohen_kappa(labels[:, 0], labels[:, 1])
    if len(set(labels.ravel().tolist())) == 1:
        assert np.isnan(kappa)
    else:
        assert kappa == pytest.approx(cohen_kappa_score(labels[:, 0], labels[:, 1]))


@given(arrays.arrays(np.int64, some.tuples(some.integers(1, 8), some.integers(2, 4)), elements=some.integers(0, 2)))
def test_fleiss_kappa_equals_a_count_of_pairs(labels: np.ndarray) -> None:
    rows = labels.tolist()
    every = [label for row in rows for label in row]
    if len(set(every)) == 1:
        assert np.isnan(fleiss_kappa(labels))
        return
    agreed = [a == b for row in rows for i, a in enumerate(row) for j, b in enumerate(row) if i != j]
    expected = sum((every.count(label) / len(every)) ** 2 for label in set(every))
    assert fleiss_kappa(labels) == pytest.approx((sum(agreed) / len(agreed) - expected) / (1 - expected))


def test_kappa_without_items_is_undefined() -> None:
    nothing = np.empty((0, 2), dtype=np.int64)
    assert np.isnan([cohen_kappa(nothing[:, 0], nothing[:, 1]), fleiss_kappa(nothing)]).all()


def test_robustness_is_the_mean_of_defined_taus() -> None:
    generator = np.random.default_rng(1)
    flawed, corrected = generator.random((20, 3)), generator.random((20, 3))
    flawed[:, 2] = 1.0
    flawed[4, 0] = np.nan
    kept = [pair for pair in range(20) if pair != 4]
    result = robustness(flawed, corrected)
    taus = [naive_tau(flawed[kept, n].tolist(), corrected[kept, n].tolist()) for n in (0, 1)]
    assert (result.tau, result.pairs, result.left_out) == (pytest.approx(sum(taus) / 2), 19, 1)
    assert result.low < result.tau < result.high
    alone = robustness(flawed[:, 1], corrected[:, 1])
    assert robustness(flawed[:, [1, 1]], corrected[:, [1, 1]]) == alone
