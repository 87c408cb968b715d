"""Sums over a draw: variances and bounds against their definitions, written naively."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgprobe.stats.design_based import clustered_variance, clusters_of, interval_reach, ratio_in_clusters

Draw = list[tuple[str, int, float]]
DRAWS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3), st.floats(-1, 1)), min_size=2, max_size=20)


def naive_way(names: list[object], terms: list[float]) -> float:
    """Return all pairs that share a name, each with itself too."""
    pairs = itertools.product(range(len(terms)), repeat=2)
    squares = sum(terms[i] * terms[j] for i, j in pairs if names[i] == names[j])
    number = len(set(names))
    return squares * number / (number - 1) if number > 1 else math.inf


@given(DRAWS)
def test_what_shares_an_entity_goes_together_and_is_counted_once(draw: Draw) -> None:
    subjects, objects, terms = (list(column) for column in zip(*draw, strict=True))
    clusters = clusters_of(np.array(subjects), np.array(objects))
    assert clusters is not None
    found = clustered_variance(np.array(terms), clusters)
    one, other, both = (naive_way(list(way), terms) for way in (subjects, objects, zip(subjects, objects, strict=True)))
    if math.isinf(one) or math.isinf(other):
        assert math.isinf(found)
    else:
        assert found == pytest.approx(one + other - both, abs=1e-12)


@given(DRAWS)
def test_of_one_way_alone_it_is_the_usual_clustered_variance(draw: Draw) -> None:
    subjects, _, terms = (list(column) for column in zip(*draw, strict=True))
    clusters = clusters_of(np.array(subjects), None)
    assert clusters is not None
    assert clustered_variance(np.array(terms), clusters) == pytest.approx(naive_way(subjects, terms), abs=1e-12)


def test_clusters_are_worth_as_many_equal_ones() -> None:
    assert clusters_of(None, None) is None
    clusters = clusters_of(np.array(["Q1"] * 4 + ["Q2"] * 4), np.arange(8))
    assert clusters is not None
    assert clusters.effective == 2
    assert clusters.mean_size == 4


@given(st.integers(0, 60), st.floats(0.005, 0.2))
def test_bounds_of_a_count_are_poissons(count: int, miss: float) -> None:
    # With a whole unseen term: the exact bounds of a Poisson variable (Garwood, 1936).
    below, above = interval_reach(np.ones(count), float(count), 1.0, 0.0, miss, 1.0)
    assert count + above == pytest.approx(stats.chi2.isf(miss, 2 * count + 2) / 2)
    assert count - below == pytest.approx(stats.chi2.ppf(miss, 2 * count) / 2 if count else 0.0)


def test_of_many_small_terms_bounds_are_normal() -> None:
    terms = np.random.default_rng(0).normal(size=200_000) / 1000
    variance = 2.5 * float(terms @ terms)
    below, above = interval_reach(terms, variance, 0.005, -0.005, 0.05, 0.75)
    normal = stats.norm.isf(0.05) * math.sqrt(variance)
    assert (below, above) == pytest.approx((normal, normal), rel=0.01)


@given(st.lists(st.floats(-1, 1), max_size=30), st.floats(0, 3), st.floats(-3, 0))
def test_what_is_taken_away_is_the_mirror_image(terms: list[float], most: float, least: float) -> None:
    values = np.array(terms)
    variance = 1.3 * float(values @ values)
    below, above = interval_reach(values, variance, most, least, 0.05, 0.75)
    assert min(below, above) >= 0
    assert interval_reach(-values, variance, -least, -most, 0.05, 0.75) == pytest.approx((above, below))


def test_of_nothing_seen_the_bounds_are_those_of_what_can_hide() -> None:
    below, above = interval_reach(np.zeros(50), 0.0, 2.0, 0.0, 0.05, 1.0)
    assert below == 0
    assert above == pytest.approx(-2 * math.log(0.05))


def test_ratio_is_the_mean_of_clusters_that_vary() -> None:
    random = np.random.default_rng(0)
    covered, alone, draws, mean = 0, 0, 300, 0.7
    for _ in range(draws):
        groups = random.integers(20, size=200)
        # Groups differ, as facts about one middle do: the intraclass correlation is 0.3.
        rates = random.beta(mean * 7 / 3, (1 - mean) * 7 / 3, 20)
        values = (random.random(200) < rates[groups]).astype(float)
        found = ratio_in_clusters(values, np.ones(200), groups, 0.0, 1.0)
        assert found is not None
        assert found.value == pytest.approx(values.mean())
        covered += found.low <= mean <= found.high
        apart = ratio_in_clusters(values, np.ones(200), np.arange(200), 0.0, 1.0)
        alone += apart is not None and apart.low <= mean <= apart.high
    assert covered / draws > 0.92
    assert alone / draws < 0.8


def test_ratio_of_one_cluster_or_no_weight_says_nothing() -> None:
    found = ratio_in_clusters(np.ones(3), np.ones(3), np.zeros(3), 0.0, 1.0)
    assert found is not None
    assert (found.value, found.low, found.high) == (1.0, 0.0, 1.0)
    assert ratio_in_clusters(np.ones(2), np.array([0.5, -0.5]), np.arange(2), 0.0, 1.0) is None
    assert ratio_in_clusters(np.ones(0), np.ones(0), np.arange(0), 0.0, 1.0) is None
    weighted = ratio_in_clusters(np.array([1.0, 0.0]), np.array([3.0, 1.0]), np.arange(2), 0.0, 1.0)
    assert weighted is not None
    assert weighted.value == 0.25
