"""The reference that comes with kgprobe."""

import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import integrate

from kgprobe.loaders.example import open_example
from kgprobe.records import Fact
from kgprobe.studies import demo_reference as module
from kgprobe.studies.demo_reference import demo_reference


def answers() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Facts, right and wrong answers, as the file has them."""
    columns = pq.read_table(module.__file__.removesuffix(".py") + ".parquet").to_pydict()
    return columns["fact"], np.array(columns["right"]), np.array(columns["wrong"])


def test_it_has_the_facts_of_the_example_graph_each_asked_eight_times() -> None:
    facts, right, wrong = answers()
    known = {one.record.id: one.record for one in open_example().facts() if isinstance(one.record, Fact)}
    assert len(set(facts)) == len(facts) == 2_554
    assert set(facts) <= known.keys()
    assert set((right + wrong).tolist()) == {8, 9}
    reference = demo_reference([0])
    # Facts of one subject, object or relation in the file are so in the reference.
    its = [known[fact] for fact in facts]
    for ids, numbers in (
        ([one.subject for one in its] + [one.object for one in its], np.r_[reference.subjects, reference.objects]),
        ([one.relation for one in its], reference.relations),
    ):
        assert numbers is not None
        assert len(set(zip(ids, numbers.tolist(), strict=True))) == len(set(ids)) == len(set(numbers.tolist()))


@pytest.mark.slow
def test_theta_is_drawn_from_what_the_answers_leave_open() -> None:
    _, right, wrong = answers()
    draws = np.array([demo_reference([1, number]).theta for number in range(200)])
    assert draws.mean() == pytest.approx(wrong.sum() / (right + wrong).sum(), abs=0.003)
    # As different as the model's: what two answers about a fact have in common, without bias.
    again = (wrong * (wrong - 1) / ((right + wrong) * (right + wrong - 1))).mean()
    assert (draws**2).mean() == pytest.approx(again, abs=0.003)
    never = draws[:, wrong == 0].mean()
    assert 0.01 < never < 0.06
    assert draws[:, right == 0].mean() > 0.9
    assert np.array_equal(draws[0], demo_reference([1, 0]).theta)


def test_the_prior_makes_the_answers_most_probable() -> None:
    _, right, wrong = answers()
    a, b = module._prior(right.astype(float), wrong.astype(float))

    def half(x: float, near: float, far: float) -> float:
        """Below one half, with theta = x**4, which takes away the pole at 0."""
        return 4 * x ** (4 * near - 1) * (1 - x**4) ** (far - 1)

    def log_likelihood(a: float, b: float) -> float:
        """By integrating over theta, a sum over the different pairs of answers."""
        pairs, counts = np.unique(np.stack([right, wrong]), axis=1, return_counts=True)
        total = 0.0
        for (r, w), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
            shapes = (a + w, b + r)
            low, high = (integrate.quad(half, 0, 0.5**0.25, args=its)[0] for its in (shapes, shapes[::-1]))
            total += count * math.log(low + high)
        return total - len(right) * (math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))

    best = log_likelihood(a, b)
    for other in ((1.03 * a, b), (0.97 * a, b), (a, 1.03 * b), (a, 0.97 * b), (1.03 * a, 1.03 * b)):
        assert log_likelihood(*other) < best
