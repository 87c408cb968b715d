"""Moments of answers times a normal, against adaptive quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import integrate, optimize, special

from kgprobe.beliefs.tilted_moments import tilted


def by_quadrature(mean: float, variance: float, wrong: int, answers: int) -> tuple[float, float, float, float]:
    """Mean and variance of x and of theta, by SciPy."""

    def log_density(x: float) -> float:
        return float(wrong * x - answers * np.logaddexp(0, x) - (x - mean) ** 2 / (2 * variance))

    reach = 12 * variance**0.5 + min(variance * answers, 40.0)
    mode = float(optimize.minimize_scalar(lambda x: -log_density(x), bounds=(mean - reach, mean + reach)).x)
    top = log_density(mode)

    def expected(function: object) -> float:
        def weighted(x: float) -> float:
            return float(function(x)) * np.exp(log_density(x) - top)  # type: ignore[operator]

        low, high = mode - 12 * variance**0.5, mode + 12 * variance**0.5
        points = [mode, *(mode + step for step in (-4.0, -1.0, 1.0, 4.0) if low < mode + step < high)]
        return float(integrate.quad(weighted, low, high, points=points, limit=400)[0])

    mass = expected(lambda _: 1.0)
    centre, theta = expected(lambda x: x) / mass, expected(special.expit) / mass
    around = expected(lambda x: (x - centre) ** 2) / mass
    return centre, around, theta, expected(lambda x: (special.expit(x) - theta) ** 2) / mass


@settings(max_examples=60, deadline=None)
@given(some.floats(-10, 10), some.floats(0.01, 36), some.integers(0, 30), some.integers(0, 30))
def test_moments_are_those_of_adaptive_quadrature(mean: float, variance: float, wrong: int, right: int) -> None:
    answers = wrong + right
    found = tilted(*(np.array([float(value)]) for value in (mean, variance, wrong, answers)))
    centre, around, theta, theta_variance = by_quadrature(mean, variance, wrong, answers)
    assert found.mean[0] == pytest.approx(centre, abs=0.02 * around**0.5)
    assert found.variance[0] == pytest.approx(around, rel=0.03)
    assert found.theta[0] == pytest.approx(theta, abs=0.01)
    assert found.theta_variance[0] ** 0.5 == pytest.approx(theta_variance**0.5, abs=0.015)


def test_no_answers_leave_the_normal() -> None:
    found = tilted(np.array([-2.0, 7.0]), np.array([0.5, 30.0]), np.zeros(2), np.zeros(2))
    assert found.mean == pytest.approx([-2, 7])
    assert found.variance == pytest.approx([0.5, 30])


@pytest.mark.parametrize("answers", [1.0, 100.0, 10_000.0])
def test_answers_that_are_all_alike_are_mirrored_and_finite(answers: float) -> None:
    means, variances = np.array([-9.0, 0.0, 9.0]), np.array([20.0, 4.0, 0.1])
    count = np.full(3, answers)
    failed = tilted(means, variances, count, count)
    passed = tilted(-means, variances, np.zeros(3), count)
    assert failed.mean == pytest.approx(-passed.mean)
    assert failed.theta == pytest.approx(1 - passed.theta)
    assert (failed.mean > means).all()
    assert ((failed.theta > 0) & (failed.theta <= 1) & (failed.theta_variance >= 0)).all()
    for place in range(3):
        assert failed.mean[place] == pytest.approx(
            by_quadrature(means[place], variances[place], int(answers), int(answers))[0], abs=0.1
        )
