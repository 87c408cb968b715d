"""Differences of paired shares: against their definitions, written naively, and by what they promise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from kgprobe.stats.paired_proportions import (
    CORRECTION,
    POWER,
    detectable_difference,
    detectable_loss,
    directional_levels,
    facts_needed,
    family_bounds,
    holm_levels,
    loss_bounds,
    loss_interval,
    mcnemar,
    power_of_kept,
    power_of_lost,
    power_of_mcnemar,
    score_statistic,
    signed_mean,
)


def naive_score(lost: int, gained: int, total: int, loss: float) -> float:
    """Tango's score, from the likelihood: the share of gained facts is the most likely one if this is the loss."""
    neither = total - lost - gained

    def unlikely(share: float) -> float:
        shares = (share + loss, share, 1 - 2 * share - loss)
        terms = zip((lost, gained, neither), shares, strict=True)
        return -sum(count * np.log(max(its, 1e-300)) for count, its in terms if count)

    low, high = max(0.0, -loss), (1 - loss) / 2
    grid = np.linspace(low, high, 400)
    best = int(np.argmin([unlikely(share) for share in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, 399)])
    share = optimize.minimize_scalar(unlikely, bounds=around, method="bounded", options={"xatol": 1e-12}).x
    return float((lost - gained - total * loss) / np.sqrt(total * (2 * share + loss - loss**2)))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int, int]:
    total = draw(st.integers(2, 400))
    lost = draw(st.integers(0, total))
    return lost, draw(st.integers(0, total - lost)), total


@given(pairs(), st.integers(-90, 90).map(lambda hundredths: hundredths / 100))
@settings(max_examples=60)
def test_score_is_that_of_the_most_likely_shares(pair: tuple[int, int, int], loss: float) -> None:
    lost, gained, total = pair
    ours = float(score_statistic(lost, gained, total, loss))
    assert ours == pytest.approx(naive_score(lost, gained, total, loss), abs=2e-3, rel=2e-3)


@given(pairs())
@settings(max_examples=30)
def test_interval_ends_where_the_naive_score_is_significant(pair: tuple[int, int, int]) -> None:
    quantile = stats.norm.ppf(0.975)
    low, high = map(float, loss_interval(*pair))
    assert -1 <= low <= (pair[0] - pair[1]) / pair[2] <= high <= 1
    for end, sign in ((low, 1), (high, -1)):
        if abs(end) < 0.99:
            assert naive_score(*pair, end) == pytest.approx(sign * quantile, abs=5e-3)
    # The other model's gain is this one's loss.
    mirrored = loss_interval(pair[1], pair[0], pair[2])
    assert (-float(mirrored[1]), -float(mirrored[0])) == pytest.approx((low, high), abs=1e-9)


@given(pairs(), st.floats(-0.9, 0.9))
def test_score_falls_along_the_loss_rises_with_lost_facts(pair: tuple[int, int, int], loss: float) -> None:
    lost, gained, total = pair
    for correction in (0.0, CORRECTION):
        along = score_statistic(lost, gained, total, np.linspace(-0.99, 0.99, 50), correction)
        assert (np.diff(along) <= 1e-9).all()
        both = np.arange(lost + gained + 1)
        rising = score_statistic(both, lost + gained - both, total, loss, correction)
        assert (np.diff(rising) >= -1e-9).all()


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(lost: int, gained: int) -> None:
    expected = stats.binomtest(lost, lost + gained, 0.5).pvalue if lost + gained else 1.0
    assert float(mcnemar(lost, gained)) == pytest.approx(expected)


def outcomes(total: int, loss: float, discordant: float) -> "list[tuple[int, int, float]]":
    """Return all numbers of lost and gained facts, and how probable each is."""
    shares = [(discordant + loss) / 2, (discordant - loss) / 2, 1 - discordant]
    both = [(lost, gained) for lost, gained in itertools.product(range(total + 1), repeat=2) if lost + gained <= total]
    chances = stats.multinomial.pmf([(*pair, total - sum(pair)) for pair in both], total, shares)
    return [(*pair, float(chance)) for pair, chance in zip(both, chances, strict=True)]


@pytest.mark.parametrize(("loss", "discordant", "margin"), [(0.0, 0.1, 0.02), (0.05, 0.2, 0.05), (0.15, 0.2, 0.0)])
def test_powers_are_sums_over_all_outcomes(loss: float, discordant: float, margin: float) -> None:
    total = 60
    lost, gained, chance = map(np.array, zip(*outcomes(total, loss, discordant), strict=True))
    low, high = loss_bounds(lost, gained, total)
    assert power_of_lost(loss, discordant, total, margin) == pytest.approx(chance[low > margin].sum(), abs=1e-9)
    assert power_of_kept(loss, discordant, total, margin) == pytest.approx(chance[high <= margin].sum(), abs=1e-9)
    worse = (mcnemar(lost, gained) <= 0.05) & (lost > gained)
    assert power_of_mcnemar(loss, discordant, total) == pytest.approx(chance[worse].sum(), abs=1e-9)


def test_intervals_cover_what_they_say() -> None:
    for loss, discordant in ((0.0, 0.1), (0.05, 0.1), (0.02, 0.3), (-0.1, 0.2)):
        lost, gained, chance = map(np.array, zip(*outcomes(80, loss, discordant), strict=True))
        low, high = loss_interval(lost, gained, 80)
        covered = float(chance[(low <= loss) & (loss <= high)].sum())
        assert 0.935 < covered < 0.975, (loss, discordant, covered)


@pytest.mark.parametrize("margin", [0.0, 0.01, 0.02, 0.05])
def test_verdicts_are_false_in_at_most_a_twentieth_of_samples(margin: float) -> None:
    """Computed, at a loss that is just the margin; with half of the correction, some are above."""
    for total, discordant in itertools.product((100, 200, 400, 700, 3_000, 10_000), (0.01, 0.015, 0.03, 0.1, 0.3)):
        share = max(discordant, margin)
        assert power_of_lost(margin, share, total, margin) <= 0.05, (total, share)
        assert power_of_kept(margin, share, total, margin) <= 0.05, (total, share)


def test_ten_thousand_pairs_at_the_margin_raise_few_false_alarms() -> None:
    generator = np.random.default_rng(5)
    total = np.exp(generator.uniform(np.log(100), np.log(10_000), 10_000)).astype(np.int64)
    discordant = generator.uniform(0.01, 0.3, 10_000)
    margin = np.minimum(generator.choice([0.0, 0.01, 0.02, 0.05], 10_000), discordant)
    both = generator.binomial(total, discordant)
    lost = generator.binomial(both, (1 + margin / discordant) / 2)
    low, high = loss_bounds(lost, both - lost, total)
    assert (low > margin).mean() <= 0.05
    assert (high <= margin).mean() <= 0.05


@pytest.mark.parametrize(("total", "discordant"), [(100, 0.0), (100, 0.1), (1_000, 0.02), (10_000, 0.3)])
def test_what_is_detectable_is_detected(total: int, discordant: float) -> None:
    difference = detectable_difference(discordant, total)
    assert difference is not None
    assert (
        power_of_mcnemar(difference, discordant, total)
        >= POWER
        > power_of_mcnemar(0.98 * difference, discordant, total)
    )
    loss = detectable_loss(discordant, total, 0.02)
    assert loss is not None
    assert loss > 0.02
    assert power_of_lost(loss, discordant, total, 0.02) >= POWER
    # Drawn, and by the test itself.
    generator = np.random.default_rng(1)
    share = max(discordant, difference)
    lost, gained, _ = generator.multinomial(
        total, [(share + difference) / 2, (share - difference) / 2, 1 - share], size=10_000
    ).T
    assert (mcnemar(lost, gained) <= 0.05).mean() == pytest.approx(POWER, abs=0.02)


def test_too_few_facts_detect_nothing() -> None:
    assert detectable_difference(0.1, 5) is None
    assert detectable_difference(0.1, 1) is None


@pytest.mark.parametrize(("loss", "discordant", "margin"), [(0.0, 0.1, 0.02), (0.0, 0.0, 0.02), (0.04, 0.1, 0.02)])
def test_so_many_facts_do_and_fewer_do_not(loss: float, discordant: float, margin: float) -> None:
    total = facts_needed(loss, discordant, margin)
    assert total is not None
    power = power_of_kept if loss < margin else power_of_lost
    assert power(loss, discordant, total, margin) >= POWER > power(loss, discordant, int(0.9 * total), margin)


@pytest.mark.parametrize("rows", [1, 2, 4, 10])
@pytest.mark.parametrize(("discordant", "margin"), [(0.1, 0.02), (0.3, 0.05), (0.6, 0.1), (0.05, 0.01), (0.02, 0.02)])
@pytest.mark.representatives(5)
def test_facts_needed_decide_all_rows_in_80_percent(rows: int, discordant: float, margin: float) -> None:
    total = facts_needed(0.0, discordant, margin, verdicts=rows)
    assert total is not None
    changed = np.random.default_rng(7).binomial(total, discordant, (4_000, rows))
    lost = np.random.default_rng(8).binomial(changed, 0.5)
    _, high = family_bounds(lost, changed - lost, total, rows)
    assert (high <= margin).all(axis=1).mean() == pytest.approx(POWER, abs=0.03)


def test_at_the_margin_no_number_of_facts_does() -> None:
    assert facts_needed(0.02, 0.1, 0.02) is None
    assert facts_needed(0.0, 0.1, 0.0) is None
    assert facts_needed(0.019999, 0.1, 0.02) is None


def naive_levels(p_values: list[float], level: float) -> list[float]:
    """Test the smallest p-value of those left, until one fails; the rest have the level at which it failed."""
    left = sorted(range(len(p_values)), key=lambda place: p_values[place])
    levels = [0.0] * len(p_values)
    while left:
        own = level / len(left)
        if p_values[left[0]] >= own:
            for place in left:
                levels[place] = own
            break
        levels[left.pop(0)] = own
    return levels


@given(st.lists(st.floats(0, 1) | st.floats(0, 0.06), max_size=7), st.sampled_from([0.05, 0.2]))
def test_holm_levels_equal_their_definition(p_values: list[float], level: float) -> None:
    assert holm_levels(np.array(p_values), level).tolist() == pytest.approx(naive_levels(p_values, level))


def test_holm_levels_of_repetitions_are_separate() -> None:
    p_values = np.array([[0.001, 0.03, 0.5], [0.04, 0.04, 0.04]])
    assert holm_levels(p_values, 0.05).tolist() == [holm_levels(row, 0.05).tolist() for row in p_values]


def test_directional_levels_err_in_5_percent_at_the_boundary() -> None:
    generator = np.random.default_rng(0)
    for count in (1, 2, 3, 6):
        # Uniform p-values of one verdict, which is false for all; that of the opposite verdict is 1 - p.
        false = generator.random((400_000, count))
        levels = directional_levels(np.minimum(false, 1 - false), 0.05)
        # Three standard errors.
        assert (false < levels).any(axis=1).mean() <= 0.05 + 0.00104, count


def test_signed_mean_of_ones_is_tangos_difference() -> None:
    values = np.array([1.0] * 7 + [-1.0] * 4 + [0.0] * 9)
    low, high = loss_interval(7, 4, 20)
    found = signed_mean(values)
    assert (found.value, found.low, found.high) == (pytest.approx(0.15), float(low), float(high))
    # Changes by two are twice as many of one half each.
    doubled = signed_mean(2 * values, 2.0)
    assert (doubled.low, doubled.high) == (2 * float(low), 2 * float(high))
    nothing = signed_mean(np.zeros(20), 2.0)
    assert nothing.high == pytest.approx(2 * signed_mean(np.zeros(20)).high)


@pytest.mark.representatives(6)
@pytest.mark.parametrize("facts", [8, 30, 120])
@pytest.mark.parametrize(
    "shares",
    [
        (0.0, 0.5, 0.0, 0.5, 0.0),
        (0.0, 0.1, 0.8, 0.1, 0.0),
        (0.0, 0.05, 0.35, 0.6, 0.0),
        (0.1, 0.1, 0.6, 0.1, 0.1),
        (0.02, 0.0, 0.9, 0.0, 0.08),
        (0.0, 0.3, 0.4, 0.2, 0.1),
    ],
)
def test_signed_mean_covers_the_truth(facts: int, shares: tuple[float, ...]) -> None:
    values, generator = np.arange(-2.0, 3.0), np.random.default_rng(facts)
    most = 2.0 if shares[0] else 1.0
    truth, covered = float(values @ np.array(shares)), 0
    for _ in range(150):
        found = signed_mean(generator.choice(values, size=facts, p=shares), most if not shares[4] else 2.0)
        covered += found.low <= truth <= found.high
    assert covered >= 0.88 * 150
