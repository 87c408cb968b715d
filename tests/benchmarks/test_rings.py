"""The benchmark of verdicts on rings, small: families err rarely, and uncorrected verdicts too often."""

import numpy as np

from benchmarks.rings import ABOVE, KEPT, LOST, RINGS, families, measure, simulate

# Standard errors of a simulated 5% of 4,000 families, times 3.
SLACK = 0.0103


def test_family_errs_in_at_most_5_percent() -> None:
    generator = np.random.default_rng(0)
    worst_uncorrected = 0.0
    for rings in RINGS:
        for name, family in families(rings):
            rates = simulate(generator, family, 1_000, 0.1, 4_000)
            assert rates.false <= 0.05 + SLACK, (rings, name)
            worst_uncorrected = max(worst_uncorrected, rates.false_uncorrected)
    assert worst_uncorrected > 0.15


def test_clear_rings_leave_the_last_its_full_level() -> None:
    generator = np.random.default_rng(0)
    rates = simulate(generator, [ABOVE, *[LOST] * 3, KEPT], 3_000, 0.1, 4_000)
    # Bonferroni's correction alone would allow 1%.
    assert 0.03 < rates.false <= 0.05 + SLACK


def test_rows_have_errors_and_power_of_each_case() -> None:
    rows = measure([100], 200, seed=0)
    assert {row.measure for row in rows} == {"any false verdict", "right verdicts"}
    assert len(rows) == 2 + 3 * 5 + len(RINGS) * 2
