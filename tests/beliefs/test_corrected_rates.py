"""Rates of a whole graph from rounds: against their definition, written naively, and by what they promise."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError
from kgprobe.beliefs.choosing import chances_of, draw_by
from kgprobe.beliefs.corrected_rates import CorrectedRates, RoundDraws
from kgprobe.stats.prediction_powered import EstimatorOptions, LabelledFacts, estimate_mean, sum_predictions
from kgprobe.stats.proportions import exact_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ACTIVE = EstimatorOptions(weight=1.0, centred=False, cross_fitted=False, lowest=-9, highest=9)


def drawn(
    positions: Sequence[int] | NDArray[np.int64], chances: Floats, right: Bools, unasked: Bools | None = None
) -> RoundDraws:
    """Return a round of which every answer came; of ``unasked`` facts it turned out that they cannot be."""
    places = np.asarray(positions, np.int64)
    askable = np.ones(len(places), np.bool_) if unasked is None else ~unasked[places]
    smallest = float(chances[chances > 0].min())
    return RoundDraws(places, chances[places], smallest, right[places] & askable, askable, askable)


def rounds_of(seed: int, facts: int, count: int, unaskable: float, silent: float) -> list[tuple[Floats, RoundDraws]]:
    """Predictions and draws of rounds; a fact that is not askable is not drawn again, and some answers do not come."""
    random = np.random.default_rng(seed)
    truth, lost, gone = random.random(facts) < 0.6, random.random(facts) < unaskable, np.zeros(facts, np.bool_)
    made = []
    for _ in range(count):
        chances = random.uniform(0.05, 0.5, facts)
        places = np.flatnonzero((random.random(facts) < chances) & ~gone)
        came = random.random(len(places)) >= silent
        askable = ~lost[places]
        made.append(
            (
                random.random(facts),
                RoundDraws(
                    places, chances[places], float(chances.min()), truth[places] & askable, came & askable, askable
                ),
            )
        )
        gone[places[lost[places]]] = True
    return made


def naive(
    made: Sequence[tuple[Floats, RoundDraws]], facts: int, members: Bools
) -> tuple[float, list[float], float] | None:
    """Value, terms and the mean prediction, fact by fact."""
    predicted = population = 0.0
    errors: list[tuple[float, float, float]] = []
    gone: set[int] = set()
    for predictions, draws in made:
        n, known = len(draws.positions), int((~draws.askable | draws.answered).sum())
        if known == 0:
            gone |= set(draws.positions[~draws.askable].tolist())
            continue
        left = [fact for fact in range(facts) if fact not in gone and members[fact]]
        predicted += n * sum(predictions[fact] for fact in left)
        population += n * len(left)
        for place, chance, yes, came, askable in zip(
            draws.positions, draws.chances, draws.right, draws.answered, draws.askable, strict=True
        ):
            if members[place] and (came or not askable):
                weight = n * n / known / chance
                errors.append((weight, float(yes) - predictions[place], -float(not askable)))
        gone |= set(draws.positions[~draws.askable].tolist())
    right = predicted + sum(weight * error for weight, error, _ in errors)
    there = population + sum(weight * lost for weight, _, lost in errors)
    if len(errors) < 3 or there <= 0:
        return None
    value = right / there
    return value, [weight * (error - value * lost) / there for weight, error, lost in errors], predicted / population


@given(
    st.integers(0, 10**6),
    st.integers(2, 40),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 0.4]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_it_is_the_corrected_sum_of_all_rounds(
    seed: int, facts: int, count: int, unaskable: float, silent: float, some: bool
) -> None:
    made = rounds_of(seed, facts, count, unaskable, silent)
    members = np.random.default_rng(seed).random(facts) < (0.5 if some else 1)
    rates = CorrectedRates(facts)
    for predictions, draws in made:
        rates.predict(predictions)
        rates.add(draws)
    found, expected = rates.rate(members if some else None), naive(made, facts, members)
    if expected is None:
        assert found is None
        return
    assert found is not None
    value, terms, raw = expected
    assert found.value == pytest.approx(min(1.0, max(0.0, value)))
    assert found.raw == pytest.approx(raw)
    assert found.standard_error == pytest.approx(math.hypot(*terms))
    assert found.labelled == len(terms)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_predictions_hold_until_the_next_ones() -> None:
    made = rounds_of(3, 30, 4, 0.2, 0.2)
    predictions = made[0][0]
    once, anew = CorrectedRates(30), CorrectedRates(30)
    once.predict(predictions)
    for _, draws in made:
        once.add(draws)
        anew.predict(predictions)
        anew.add(draws)
    found = once.rate()
    assert found is not None
    assert str(found) == str(anew.rate())
    # Looking does not change what is seen.
    assert once.rate() == found


def test_estimate_over_dependent_rounds_is_unbiased() -> None:
    truth = np.array([True, True, True, True, False, False, False, False])
    mean, total = 0.0, 0.0

    def look(done: list[tuple[Floats, Floats, int]], probability: float) -> None:
        nonlocal mean, total
        if len(done) == 3:
            rates = CorrectedRates(8)
            for predictions, chances, place in done:
                rates.predict(predictions)
                rates.add(drawn([place], chances, truth))
            found = rates.rate()
            assert found is not None
            mean += probability * found.value
            total += probability
            return
        # Facts like the last one are asked more often, or less, by its answer, and expected to be as it was.
        chances, predictions = np.full(8, 0.125), np.where(truth, 0.6, 0.4)
        for _, _, place in done:
            near = np.arange(8) // 2 == place // 2
            chances = np.where(near, 1.1, 1.0) * chances if truth[place] else np.where(near, 0.9, 1.0) * chances
            predictions = np.where(near, 0.5, predictions)
        chances /= chances.sum()
        for place in range(8):
            look([*done, (predictions, chances, place)], probability * chances[place])

    look([], 1.0)
    assert total == pytest.approx(1)
    assert mean == pytest.approx(truth.mean(), abs=1e-12)


def test_one_round_is_active_inference() -> None:
    random = np.random.default_rng(1)
    truth, predictions = random.random(2000) < 0.3, random.random(2000)
    chances = 0.02 + 0.3 * predictions * (1 - predictions)
    places = np.flatnonzero(random.random(2000) < chances)
    rates = CorrectedRates(2000)
    rates.predict(predictions)
    rates.add(drawn(places, chances, truth))
    found = rates.rate()
    facts = LabelledFacts(truth[places].astype(float), predictions[places], chances[places])
    expected = estimate_mean(facts, sum_predictions(predictions), ACTIVE)
    assert found is not None
    assert found.value == pytest.approx(expected.value)
    assert found.raw == pytest.approx(expected.raw)
    # What is drawn twice in two rounds is not known twice: nothing is taken off for how much of the graph was drawn.
    assert expected.standard_error < found.standard_error < 1.1 * expected.standard_error


def test_without_predictions_uniform_draws_are_worth_themselves() -> None:
    random = np.random.default_rng(2)
    truth = random.random(50_000) < 0.5
    rates = CorrectedRates(50_000)
    rates.predict(np.full(50_000, 0.5))
    for _ in range(20):
        rates.add(drawn(random.choice(50_000, 64, replace=False), np.full(50_000, 64 / 50_000), truth))
    found = rates.rate()
    assert found is not None
    assert found.labelled == 20 * 64
    assert found.labels_worth == pytest.approx(20 * 64, rel=0.01)


def test_few_uniform_draws_have_the_exact_interval() -> None:
    random = np.random.default_rng(3)
    truth = random.random(2_000) < 0.7
    members = np.arange(2_000) < 500
    rates, right, asked = CorrectedRates(2_000, corrected_from=512), np.zeros(2, int), np.zeros(2, int)
    for number in range(9):
        rates.predict(random.random(2_000))
        places = random.choice(2_000, 60, replace=False)
        rates.add(drawn(places, np.full(2_000, 60 / 2_000), truth))
        for kind, chosen in enumerate((places, places[members[places]])):
            right[kind] += truth[chosen].sum()
            asked[kind] += len(chosen)
        for kind, found in enumerate((rates.rate(), rates.rate(members))):
            assert found is not None
            if asked[kind] < 512:
                assert (found.low, found.high) == exact_interval(int(right[kind]), int(asked[kind]))
                assert found.value == right[kind] / asked[kind]
            else:
                assert (kind, number) == (0, 8)
                assert found.value != pytest.approx(right[kind] / asked[kind], abs=1e-6)


@pytest.mark.parametrize("predicted", ["good", "none", "wrong"])
@pytest.mark.parametrize("rate", [0.03, 0.5])
@pytest.mark.representatives(2)
def test_estimate_interval_covers_for_any_predictions(predicted: str, rate: float) -> None:
    random = np.random.default_rng(0)
    truth = random.random(1000) < rate
    noisy = np.where(random.random(1000) < 0.1, ~truth, truth).astype(float)
    predictions = {"good": noisy, "none": np.full(1000, 0.5), "wrong": 1 - noisy}[predicted]
    members = random.random(1000) < 0.3
    held, held_of_some, repetitions = 0, 0, 300
    for _ in range(repetitions):
        rates, believed = CorrectedRates(1000), predictions.copy()
        for _ in range(5):
            rates.predict(believed)
            # Facts that are believed to be unknown are asked most, and any at times.
            chances = 20 * (0.75 * (1.02 - believed) / (1.02 - believed).sum() + 0.25 / 1000)
            places = np.flatnonzero(random.random(1000) < chances)
            rates.add(drawn(places, chances, truth))
            believed[places] = truth[places]
        found, of_some = rates.rate(confidence=0.9), rates.rate(members, confidence=0.9)
        assert found is not None
        held += found.low <= truth.mean() <= found.high
        held_of_some += of_some is None or of_some.low <= truth[members].mean() <= of_some.high
    # 0.9, less three standard errors of 300 repetitions.
    assert held / repetitions >= 0.85
    assert held_of_some / repetitions >= 0.85


def test_rate_seldom_drawn_errors_covers() -> None:
    # 5% of the facts are predicted right, always wrong, and drawn by the uniform share of 1/16 alone.
    random = np.random.default_rng(0)
    hidden = np.arange(2500) < 125
    predictions = np.where(hidden, 0.98, 0.5)
    chances = chances_of(15 / 16 * ~hidden / (~hidden).sum() + 1 / 16 / 2500, 32)
    covered, repetitions = 0, 150
    for _ in range(repetitions):
        truth = (random.random(2500) < 0.5) & ~hidden
        rates = CorrectedRates(2500)
        rates.predict(predictions)
        for _ in range(8):
            rates.add(drawn(draw_by(chances, random), chances, truth))
        estimate = rates.rate(confidence=0.95)
        assert estimate is not None
        covered += estimate.low <= truth.mean() <= estimate.high
    assert covered / repetitions >= 0.94


def test_rate_facts_drawn_in_other_rounds_keep_allowance() -> None:
    # A first round asks every fact. Ten later ones predict four wrong facts as right, and draw none of them by chances
    # of 1/40: a third of such runs do.
    wrong = np.arange(40) < 4
    rates = CorrectedRates(40)
    rates.predict(np.full(40, 0.5))
    rates.add(drawn(np.arange(40), np.ones(40), ~wrong))
    for number in range(10):
        rates.predict(np.ones(40))
        rates.add(drawn(4 + (np.arange(16) + 16 * number) % 36, np.where(wrong, 0.025, 15.9 / 36), ~wrong))
    for members in (np.ones(40, np.bool_), np.arange(40) < 20):
        found = rates.rate(members)
        assert found is not None
        assert found.low < (~wrong)[members].mean() < found.value


def test_facts_that_cannot_be_asked_are_no_part_of_it() -> None:
    random = np.random.default_rng(7)
    lost = np.arange(20_000) % 4 == 0
    truth = np.arange(20_000) % 4 == 1
    rates, left = CorrectedRates(20_000), np.ones(20_000, np.bool_)
    for _ in range(10):
        rates.predict(np.full(20_000, 0.5))
        chances = np.where(left, 200 / left.sum(), 0)
        places = random.choice(np.flatnonzero(left), 200, replace=False)
        rates.add(drawn(places, chances, truth, lost))
        left[places[lost[places]]] = False
    found = rates.rate()
    assert found is not None
    assert found.low < 1 / 3 < found.high
    assert found.high - found.low < 0.06
    known = rates.rate(truth)
    assert known is not None
    assert known.value == pytest.approx(1, abs=0.1)


def test_answers_that_do_not_come_are_missing_at_random() -> None:
    random = np.random.default_rng(6)
    truth = np.arange(20_000) % 2 == 0
    rates = CorrectedRates(20_000)
    rates.predict(np.full(20_000, 0.1))
    for _ in range(10):
        places = random.choice(20_000, 200, replace=False)
        came, askable = random.random(200) < 0.3, np.ones(200, np.bool_)
        rates.add(RoundDraws(places, np.full(200, 0.01), 0.01, truth[places] & came, came, askable))
    found = rates.rate()
    assert found is not None
    assert 500 < found.labelled < 700
    assert found.low < 0.5 < found.high


def test_too_few_draws_tell_nothing() -> None:
    rates = CorrectedRates(10)
    assert rates.rate() is None
    rates.predict(np.full(10, 0.5))
    yes = np.ones(10, np.bool_)
    rates.add(drawn([], np.full(10, 0.2), yes))
    rates.add(drawn([1, 2], np.full(10, 0.2), yes))
    assert rates.rate() is None
    rates.add(drawn([1], np.full(10, 0.1), yes))
    assert rates.rate() is not None
    assert rates.rate(np.arange(10) == 2) is None
    with pytest.raises(ArgumentError, match="are 3; 10 are expected"):
        rates.rate(np.ones(3, np.bool_))
