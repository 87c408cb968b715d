"""Sums over a draw: variances and bounds against their definitions, written naively."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgprobe.stats.design_based import clustered_variance, clusters_of, interval_reach

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
