"""Prediction-powered estimates: against their definition, written naively, against peers, and by what they promise."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.errors import ArgumentError
from kgprobe.stats.prediction_powered import (
    EstimatorOptions,
    LabelledFacts,
    PredictionSums,
    estimate_mean,
    sum_predictions,
    sum_predictions_by,
)

Floats = NDArray[np.float64]
# What peers compute: nothing is cross-fitted, and any weight may be chosen.
PLAIN = EstimatorOptions(cross_fitted=False, weight_bounds=(-math.inf, math.inf), lowest=-9, highest=9)


def made_up(seed: int, facts: int = 3000, labels: int = 120) -> tuple[LabelledFacts, Floats, Floats]:
    """Labelled facts drawn with equal probability; all labels, all predictions."""
    random = np.random.default_rng(seed)
    truth = (random.random(facts) < 0.4).astype(float)
    predictions = np.clip(0.6 * truth + 0.4 * random.random(facts), 0, 1)
    drawn = random.choice(facts, labels, replace=False)
    subjects, objects = random.integers(0, 40, facts), random.integers(0, 20, facts)
    return LabelledFacts(truth[drawn], predictions[drawn], None, subjects[drawn], objects[drawn]), truth, predictions


def alone(facts: LabelledFacts) -> LabelledFacts:
    """Without their entities."""
    return replace(facts, subjects=None, objects=None)


def noisy(seed: int) -> tuple[LabelledFacts, Floats]:
    """Labelled facts, and the predictions of 400 others; a fifth of all predictions are the wrong way round."""
    facts, _, predictions = made_up(seed, 520)
    random = np.random.default_rng(seed)
    own, others = facts.predictions, predictions[:400]
    own, others = (np.where(random.random(len(values)) < 0.2, 1 - values, values) for values in (own, others))
    return replace(alone(facts), predictions=own), others


def coins(seed: int, facts: int = 2000) -> tuple[LabelledFacts, Floats, Floats, NDArray[np.bool_], Floats]:
    """Each fact labelled with a probability of its own; all labels, predictions, whether labelled, probabilities."""
    random = np.random.default_rng(seed)
    truth = (random.random(facts) < 0.3).astype(float)
    predictions = np.clip(0.5 * truth + 0.5 * random.random(facts), 0, 1)
    # Some are wrong, so that a weight between 0 and 1 is best.
    predictions = np.where(random.random(facts) < 0.15, 1 - predictions, predictions)
    chances = 0.02 + 0.3 * predictions * (1 - predictions)
    asked = random.random(facts) < chances
    return LabelledFacts(truth[asked], predictions[asked], chances[asked]), truth, predictions, asked, chances


def naive_model(y: Floats, m: Floats, w: Floats, variance: float | None) -> tuple[float, float]:
    """λ and level by labelled facts: least squares, the predictions' variance being known where it is told."""
    importance = np.ones(len(y)) if variance is not None else w * (w - 1)
    y_mean, m_mean = np.average(y, weights=importance), np.average(m, weights=importance)
    together = sum(i * (a - y_mean) * (b - m_mean) for i, a, b in zip(importance, y, m, strict=True))
    squares = variance * (len(y) - 1) if variance is not None else sum(importance * (m - m_mean) ** 2)
    weight = min(1.0, max(-1.0, together / squares))
    return weight, float(np.average(y - weight * m, weights=w))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("equal", [True, False])
def test_it_is_the_cross_fitted_difference_estimator(seed: int, equal: bool) -> None:
    if equal:
        facts, _, predictions = made_up(seed)
        facts, count = alone(facts), len(predictions)
        w = np.full(len(facts.labels), count / len(facts.labels))
        variance = float(predictions.var(ddof=1))
    else:
        facts, _, predictions, _, _ = coins(seed)
        assert facts.probabilities is not None
        w, variance, count = 1 / facts.probabilities, None, len(predictions)
    y, m = facts.labels, facts.predictions
    weight, level = naive_model(y, m, w, variance)
    # What is expected of each fact, by the labels of others: of most facts that is by all labels.
    total = float((weight * predictions + level).sum())
    squares = 0.0
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        its_weight, its_level = naive_model(y[others], m[others], w[others], variance)
        expected = its_weight * m[i] + its_level
        total += expected - (weight * m[i] + level) + w[i] * (y[i] - expected)
        squares += (1 - 1 / w[i]) * (w[i] * (y[i] - expected) / count) ** 2
    found = estimate_mean(facts, sum_predictions(predictions))
    assert found.value == pytest.approx(total / count, abs=1e-12)
    assert found.weight == pytest.approx(weight)
    assert -1 < weight < 1 or equal
    assert found.plain_error == pytest.approx(math.sqrt(squares * (len(y) - 1) / len(y)))
    assert found.raw == pytest.approx(predictions.mean())


def test_no_draw_is_favoured() -> None:
    # Over all 2 ** 5 draws of a graph of 8 facts of which 3 are always drawn, each as often as it is probable.
    labels, predictions = np.array([1.0, 0, 1, 1, 0, 0, 1, 0]), np.array([0.9, 0.2, 0.4, 0.7, 0.5, 0.1, 0.8, 0.6])
    chances = np.array([1, 1, 1, 0.5, 0.2, 0.7, 0.4, 0.6])
    expected = 0.0
    for draw in itertools.product([True, False], repeat=5):
        drawn = np.array([True, True, True, *draw])
        probable = float(np.prod(np.where(drawn, chances, 1 - chances)))
        facts = LabelledFacts(labels[drawn], predictions[drawn], chances[drawn])
        options = EstimatorOptions(lowest=-99, highest=99)
        expected += probable * estimate_mean(facts, sum_predictions(predictions), options).value
    assert expected == pytest.approx(labels.mean(), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_summary_names_this_graph_and_the_undrawn_share(seed: int) -> None:
    facts, _, predictions = made_up(seed)
    found = estimate_mean(alone(facts), sum_predictions(predictions), EstimatorOptions(weight=1.0))
    errors = facts.labels - facts.predictions
    assert found.value == pytest.approx(predictions.mean() + errors.mean())
    missing = 1 - len(errors) / len(predictions)
    assert found.standard_error == pytest.approx(errors.std(ddof=1) * math.sqrt(missing / len(errors)))
    without = facts.labels.std(ddof=1) * math.sqrt(missing / len(errors))
    assert found.labels_worth == pytest.approx(len(errors) * (without / found.standard_error) ** 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [None, 0.0, 0.4, 1.0])
def test_it_equals_ppi_py(seed: int, weight: float | None) -> None:
    ppi_py = pytest.importorskip("ppi_py")
    facts, others, n = *noisy(seed), 120
    columns, sums = (facts.labels, facts.predictions, others), sum_predictions(others)
    options = replace(PLAIN, weight=weight, population="super")
    if weight is None:
        # It divides products by n where it divides squares by n - 1.
        weight = estimate_mean(facts, sums, options).weight * (n - 1) / n
        assert 0.1 < weight < 0.9
    found = estimate_mean(facts, sums, replace(options, weight=weight))
    told = options.weight
    assert found.value == pytest.approx(ppi_py.ppi_mean_pointestimate(*columns, lam=told).item())
    (low,), (high,) = ppi_py.ppi_mean_ci(*columns, alpha=0.1, lam=told)
    assert (high + low) / 2 == pytest.approx(found.value)
    # And variances by n.
    errors = facts.labels - weight * facts.predictions
    outside = weight**2 * others.var() / len(others)
    theirs, ours = errors.var() / n + outside, errors.var(ddof=1) / n + outside * len(others) / (len(others) - 1)
    normal = stats.norm.isf(0.05) * found.standard_error
    assert (high - low) / 2 * math.sqrt(ours / theirs) == pytest.approx(normal)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [0.0, 0.7, 1.0])
def test_weighted_it_has_the_same_value_as_ppi_py(seed: int, weight: float) -> None:
    ppi_py = pytest.importorskip("ppi_py")
    facts, _, predictions, _, _ = coins(seed)
    assert facts.probabilities is not None
    theirs = ppi_py.ppi_mean_pointestimate(
        facts.labels, facts.predictions, predictions, lam=weight, w=1 / facts.probabilities
    )
    found = estimate_mean(facts, sum_predictions(predictions), replace(PLAIN, weight=weight))
    assert found.value == pytest.approx(theirs.item())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["tuned", "plain", "known probabilities"])
def test_it_equals_glide(seed: int, kind: str) -> None:
    estimators = pytest.importorskip("glide.estimators")
    options = replace(PLAIN, weight=None if kind == "tuned" else 1.0, population="super")
    if kind == "known probabilities":
        facts, truth, others, asked, chances = coins(seed)
        y = np.where(asked, truth, np.nan)
        theirs = estimators.ASIMeanEstimator().estimate(y, others, chances, power_tuning=False)
        options = replace(options, centred=False)
    else:
        facts, others = noisy(seed)
        y, m = np.concatenate([facts.labels, np.full(400, np.nan)]), np.concatenate([facts.predictions, others])
        theirs = estimators.PPIMeanEstimator().estimate(y, m, power_tuning=kind == "tuned")
    found = estimate_mean(facts, sum_predictions(others), options)
    assert found.value == pytest.approx(theirs.mean)
    assert found.standard_error == pytest.approx(theirs.std)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_active_inference_is_the_mean_of_corrected_predictions(seed: int, weight: float) -> None:
    # As glide computes it, over all facts.
    facts, truth, predictions, asked, chances = coins(seed)
    corrected = weight * predictions + np.where(asked, (truth - weight * predictions) / chances, 0)
    options = replace(PLAIN, weight=weight, centred=False, population="super")
    found = estimate_mean(facts, sum_predictions(predictions), options)
    assert found.value == pytest.approx(corrected.mean())
    assert found.standard_error == pytest.approx(corrected.std(ddof=1) / math.sqrt(len(corrected)))


@given(st.integers(0, 10**6), st.integers(3, 80), st.sampled_from([0.05, 0.5, 0.9]), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_labels_the_other_way_round_are_the_mirror_image(
    seed: int, labels: int, rate: float, told: bool, graded: bool
) -> None:
    random = np.random.default_rng(seed)
    truth = random.random(500) if graded else (random.random(500) < rate).astype(float)
    predictions = np.clip(truth + random.normal(size=500) / 3, 0, 1)
    drawn = random.choice(500, labels, replace=False)
    names = random.integers(0, 9, labels) if told else None
    facts = LabelledFacts(truth[drawn], predictions[drawn], None, names, names)
    found = estimate_mean(facts, sum_predictions(predictions))
    turned = replace(facts, labels=1 - facts.labels, predictions=1 - facts.predictions)
    mirrored = estimate_mean(turned, sum_predictions(1 - predictions))
    assert (1 - mirrored.high, 1 - mirrored.value, 1 - mirrored.low) == pytest.approx(
        (found.low, found.value, found.high), abs=1e-9
    )
    # Predictions that say the opposite serve as well as they do.
    opposite = estimate_mean(replace(facts, predictions=1 - facts.predictions), sum_predictions(1 - predictions))
    assert (opposite.low, opposite.high) == pytest.approx((found.low, found.high), abs=1e-9)
    # In another unit.
    scaled = replace(facts, labels=7 * facts.labels - 2, predictions=7 * facts.predictions - 2)
    large = estimate_mean(scaled, sum_predictions(7 * predictions - 2), EstimatorOptions(lowest=-2, highest=5))
    assert ((large.low + 2) / 7, (large.high + 2) / 7) == pytest.approx((found.low, found.high), abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1


@given(st.integers(0, 10**6), st.integers(3, 100), st.floats(0, 1))
@settings(max_examples=40)
def test_constant_predictions_give_the_classical_interval(seed: int, labels: int, constant: float) -> None:
    facts, *_ = made_up(seed, 500, labels)
    facts = replace(facts, predictions=np.full(labels, constant))
    sums = sum_predictions(np.full(500, constant))
    found, classical = estimate_mean(facts, sums), estimate_mean(facts, sums, EstimatorOptions(weight=0.0))
    assert (found.low, found.value, found.high) == pytest.approx((classical.low, classical.value, classical.high))
    assert classical.value == pytest.approx(facts.labels.mean())
    assert found.labels_worth is None or found.labels_worth <= labels * (1 + 1e-9)


@pytest.mark.parametrize("labels", [20, 200, 2000])
def test_perfect_predictions_keep_the_unseen_rest(labels: int) -> None:
    facts, truth, _ = made_up(0, 100_000, labels)
    perfect = replace(alone(facts), predictions=facts.labels)
    found = estimate_mean(perfect, sum_predictions(truth), EstimatorOptions(weight=1.0))
    assert found.value == pytest.approx(truth.mean())
    # Of so many labels, each end hides at most three in n: the rule of three, at 97.5%.
    hidden = stats.gamma.isf(0.025, 0.75) / labels
    assert found.high - found.value == pytest.approx(hidden, rel=0.35)
    assert found.low == pytest.approx(2 * found.value - found.high)
    classical = estimate_mean(perfect, sum_predictions(truth), EstimatorOptions(weight=0.0))
    assert found.high - found.low < 2.1 * (classical.high - classical.low) * math.sqrt(3 / labels)
    assert found.standard_error == 0
    assert found.labels_worth is None


def test_of_a_graph_that_is_labelled_as_a_whole_all_is_known() -> None:
    _, truth, predictions = made_up(0)
    found = estimate_mean(LabelledFacts(truth, predictions), sum_predictions(predictions))
    assert (found.low, found.value, found.high) == pytest.approx((truth.mean(),) * 3)
    certain = LabelledFacts(truth, predictions, np.ones(len(truth)))
    assert estimate_mean(certain, sum_predictions(predictions)).low == pytest.approx(truth.mean())


@pytest.mark.parametrize(("confidence", "least"), [(0.9, 0.875), (0.95, 0.94)])
@pytest.mark.parametrize("labels", [50, 200])
def test_interval_without_predictions_covers_at_its_level(confidence: float, least: float, labels: int) -> None:
    # Exactly: over all numbers of ones that labels drawn from a huge graph can have.
    nothing = sum_predictions(np.zeros(3)) + PredictionSums(10**9, 0.0, 0.0, 0.0, 0.0)
    counts = np.arange(labels + 1)
    options = EstimatorOptions(confidence=confidence, weight=0.0)
    columns = [(np.arange(labels) < count).astype(float) for count in counts]
    found = [estimate_mean(LabelledFacts(column, np.zeros(labels)), nothing, options) for column in columns]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    rates = np.linspace(0.5 / labels, 0.5, 400)[:, None]
    held = (stats.binom.pmf(counts, labels, rates) * ((low <= rates) & (rates <= high))).sum(axis=1)
    assert held.min() >= least
    assert (held < confidence - 0.01).mean() < 0.01
    # Not by being wide: Wilson's interval, which holds less often, is little narrower.
    z = stats.norm.ppf(0.5 + confidence / 2)
    share = counts / labels
    wilson = 2 * z / (1 + z * z / labels) * np.sqrt(share * (1 - share) / labels + (z / (2 * labels)) ** 2)
    probable = stats.binom.pmf(counts, labels, rates[200])
    assert probable @ (high - low) < 1.15 * (probable @ wilson)


def test_facts_sharing_an_entity_never_narrow_the_interval() -> None:
    random = np.random.default_rng(0)
    by_subject = random.integers(0, 2, 50)
    subjects = np.repeat(np.arange(50), 8)
    labels = by_subject[subjects].astype(float)
    sums = sum_predictions(np.zeros(100_000))
    facts = LabelledFacts(labels, np.zeros(400), subjects=subjects)
    found = estimate_mean(facts, sums)
    # Eight labels are worth one.
    assert found.standard_error == pytest.approx(math.sqrt(8) * found.plain_error, rel=0.02)
    assert found.labels_worth == pytest.approx(50, rel=0.05)
    likewise = estimate_mean(replace(facts, subjects=None, objects=subjects), sums)
    assert (likewise.low, likewise.high) == (found.low, found.high)
    both = estimate_mean(replace(facts, objects=np.arange(400)), sums)
    assert both.standard_error == pytest.approx(found.standard_error, rel=0.01)
    # Facts of a subject that are less alike than others: the plain variance stands.
    apart = estimate_mean(LabelledFacts(np.tile([0.0, 1.0], 200), np.zeros(400), subjects=subjects), sums)
    assert apart.standard_error == apart.plain_error
    single = estimate_mean(LabelledFacts(labels, np.zeros(400), subjects=np.zeros(400)), sums)
    assert (single.low, single.high) == (0, 1)


def test_where_nothing_differs_a_subject_counts_once() -> None:
    nothing = sum_predictions(np.zeros(10**7))
    whole = estimate_mean(LabelledFacts(np.zeros(60), np.zeros(60), subjects=np.arange(20).repeat(3)), nothing)
    single = estimate_mean(LabelledFacts(np.zeros(20), np.zeros(20)), nothing)
    assert whole.high == pytest.approx(single.high, rel=1e-4)
    assert whole.low == single.low == 0
    # And Student's quantile of as many subjects.
    labels = np.tile([0.0, 1.0], 10)
    whole = estimate_mean(LabelledFacts(labels.repeat(3), np.zeros(60), subjects=np.arange(20).repeat(3)), nothing)
    single = estimate_mean(LabelledFacts(labels, np.zeros(20)), nothing)
    assert (whole.low, whole.high) == pytest.approx((single.low, single.high), rel=0.02)


def test_figures_of_equal_facts_compare_by_difference() -> None:
    random = np.random.default_rng(1)
    one, other = random.random(5000) < 0.6, random.random(5000) < 0.5
    drawn = random.choice(5000, 400, replace=False)
    labels = one.astype(float) - other
    sums = sum_predictions(np.zeros(5000))
    found = estimate_mean(LabelledFacts(labels[drawn], np.zeros(400)), sums, EstimatorOptions(lowest=-1))
    assert found.value == pytest.approx(one[drawn].mean() - other[drawn].mean())
    assert found.low < labels.mean() < found.high


FACTS, SUMS = LabelledFacts(np.array([0.0, 1, 1]), np.array([0.2, 0.5, 0.9])), sum_predictions([0.2, 0.5, 0.9, 0.1])


@pytest.mark.parametrize(
    ("facts", "sums", "options", "message"),
    [
        (FACTS.where(np.array([True, True, False])), SUMS, EstimatorOptions(), "`facts` are 2; at least 3"),
        (
            replace(FACTS, labels=np.array([0, 1.0, 2])),
            SUMS,
            EstimatorOptions(),
            r"`labels` has 2\.0; 0 to 1 is expected",
        ),
        (
            FACTS,
            sum_predictions([0.2, 0.5]),
            EstimatorOptions(),
            "`predictions` are of 2 facts; all are expected, and 3 have",
        ),
        (FACTS, PredictionSums(), EstimatorOptions(), "`predictions` are of 0 facts"),
        (
            FACTS,
            sum_predictions([0.2]),
            EstimatorOptions(population="super"),
            "`predictions` are of 1 facts; at least 2",
        ),
        (replace(FACTS, subjects=np.arange(3)), SUMS, EstimatorOptions(population="super"), "`population` is 'super'"),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    facts: LabelledFacts, sums: PredictionSums, options: EstimatorOptions, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        estimate_mean(facts, sums, options)


@pytest.mark.parametrize("options", [{"confidence": 1.0}, {"confidence": 90}, {"lowest": 1.0}])
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match="is expected"):
        EstimatorOptions(**options)  # type: ignore[arg-type]


VALUES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), max_size=60)


def plain(sums: PredictionSums) -> tuple[float, ...]:
    return sums.count, sums.mean, sums.squares, sums.least, sums.most


@given(VALUES)
def test_sums_of_parts_are_those_of_the_whole(values: list[tuple[float, int]]) -> None:
    predictions = np.array([value for value, _ in values])
    groups = np.array([group for _, group in values], dtype=np.int64)
    each = sum_predictions_by(predictions, groups, 5)
    for group, sums in enumerate(each):
        expected = plain(sum_predictions(predictions[groups == group]))
        assert plain(sums) == pytest.approx(expected, abs=1e-12)
    joined = sum(each, PredictionSums())
    assert plain(joined) == pytest.approx(plain(sum_predictions(predictions)), abs=1e-12)
    if len(predictions) > 1:
        assert joined.variance == pytest.approx(predictions.var(ddof=1), abs=1e-12)


def test_digits_are_kept_where_predictions_hardly_differ() -> None:
    predictions = 1 - 1e-9 * np.random.default_rng(0).random(100_000)
    joined = sum((sum_predictions(part) for part in np.array_split(predictions, 97)), PredictionSums())
    assert joined.variance == pytest.approx(np.var(predictions - 1, ddof=1), rel=1e-5)


def test_part_has_all_columns_of_its_facts() -> None:
    facts = LabelledFacts(np.array([0.0, 1, 1]), np.array([0.1, 0.2, 0.3]), subjects=np.array(["a", "b", "c"]))
    part = facts.where(np.array([True, False, True]))
    assert part.labels.tolist() == [0, 1]
    assert part.predictions.tolist() == [0.1, 0.3]
    assert part.subjects is not None
    assert part.subjects.tolist() == ["a", "c"]
    assert part.probabilities is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"labels": [0.0, float("nan")]}, "`labels` has nan"),
        ({"predictions": [0.5]}, "`predictions` has 1 values; 2 are expected"),
        ({"probabilities": [0.0, 0.5]}, "`probabilities` must be above 0"),
        ({"probabilities": [0.5, 1.1]}, "`probabilities` must be above 0, and at most 1"),
        ({"labels": [[0.0, 1.0]]}, "`labels` has 2 dimensions"),
        ({"objects": np.array(["a"])}, "`objects` has 1 values"),
    ],
)
def test_facts_that_cannot_be_are_refused(columns: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"labels": [0.0, 1.0], "predictions": [0.5, 0.5]}
    with pytest.raises(ArgumentError, match=message):
        LabelledFacts(**{**good, **columns})  # type: ignore[arg-type]


@pytest.mark.parametrize("groups", [[0], [0, 2], [-1, 0]])
def test_groups_that_cannot_be_are_refused(groups: list[int]) -> None:
    with pytest.raises(ArgumentError, match="`groups` must be one per prediction"):
        sum_predictions_by([0.1, 0.2], np.array(groups), 2)
