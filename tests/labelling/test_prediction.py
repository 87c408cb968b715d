"""Probabilities of unasked facts: calibrated on a demo model's recorded answers, and on answers that the test draws."""

import numpy as np
import pandas as pd
import pytest

from kgprobe.beliefs.effects import Effects, effects_of
from kgprobe.beliefs.hierarchical_model import beta_parameters
from kgprobe.labelling.prediction import AnsweredRounds, Bools, Positions, cross_validate, fitted
from kgprobe.running import replays
from kgprobe.stats.proportions import at_least

CHANCE = 1 / 11


def answered(rounds: list[tuple[Positions, Bools]]) -> AnsweredRounds:
    positions = np.unique(np.concatenate([places for places, _ in rounds]))
    wrong = sum(np.bincount(places, wrong, int(positions[-1]) + 1) for places, wrong in rounds)[positions].astype(int)
    count = sum(np.bincount(places, minlength=int(positions[-1]) + 1) for places, _ in rounds)[positions]
    luck = [at_least(right, [CHANCE] * 3) for right in (count - wrong).tolist()]
    return AnsweredRounds(rounds, positions, count - wrong, wrong, np.array(luck))


def recorded() -> tuple[Effects, np.ndarray]:
    """Return the example graph's facts, with the share of right answers of the demo model over nine questions each."""
    facts = pd.read_parquet(replays.__file__.replace("replays.py", "demo_reference.parquet"))
    entities = pd.factorize(pd.concat([facts["subject"], facts["object"]]))[0]
    subjects, objects = np.split(entities, 2)
    relations = pd.factorize(facts["relation"])[0]
    return effects_of(subjects, objects, relations=relations), (
        facts["right"] / (facts["right"] + facts["wrong"])
    ).to_numpy()


def drawn_rounds(known: np.ndarray, asked: int, seed: int) -> list[tuple[Positions, Bools]]:
    generator = np.random.default_rng(seed)
    positions = np.sort(generator.choice(len(known), asked, replace=False))
    return [(positions, generator.random(asked) > known[positions]) for _ in range(3)]


@pytest.mark.slow
def test_held_out_error_of_recorded_answers_is_small() -> None:
    effects, known = recorded()
    rounds = drawn_rounds(known, 600, seed=1)
    calibration = cross_validate(effects, answered(rounds), seed=0)
    assert calibration is not None
    assert (calibration.facts, sum(group.facts for group in calibration.groups)) == (600, 600)
    assert calibration.error <= calibration.error_by_luck
    assert calibration.error < 0.06
    assert calibration.brier < calibration.brier_of_mean
    # All other facts, against all of their recorded answers.
    model = fitted(effects, rounds)
    rest = np.setdiff1d(np.arange(len(known)), rounds[0][0])
    alpha, beta = beta_parameters(model.posterior(rest))
    predicted = beta / (alpha + beta)
    groups = np.array_split(np.argsort(predicted), 10)
    assert sum(abs((predicted - known[rest])[group].sum()) for group in groups) / len(rest) < 0.06
    assert ((predicted - known[rest]) ** 2).mean() < 0.75 * known[rest].var()


def test_held_out_predictions_equal_a_fit_without_these_facts() -> None:
    effects, known = recorded()
    rounds = drawn_rounds(known, 60, seed=2)
    calibration = cross_validate(effects, answered(rounds), seed=3)
    fold_of = np.random.default_rng([3, 60]).permutation(60) % 5
    predicted = np.empty(60)
    for fold in range(5):
        held_out = fold_of == fold
        model = fitted(effects, [(places[~held_out], wrong[~held_out]) for places, wrong in rounds])
        predicted[held_out] = 1 - model.posterior(rounds[0][0][held_out]).theta
    observed = 1 - np.mean([wrong for _, wrong in rounds], axis=0)
    assert calibration is not None
    assert calibration.predicted == pytest.approx(predicted.mean())
    assert calibration.brier == pytest.approx(((predicted - observed) ** 2).mean())
    order = np.argsort(predicted, kind="stable")
    naive = sum(abs(predicted[group].sum() - observed[group].sum()) for group in np.array_split(order, 10)) / 60
    assert calibration.error == pytest.approx(naive)


def test_too_few_facts_have_no_calibration() -> None:
    effects, known = recorded()
    assert cross_validate(effects, answered(drawn_rounds(known, 49, seed=0)), seed=0) is None


def test_predictor_without_shared_parts_decides_predictions() -> None:
    # Facts without common entities: only the predictor informs about unasked ones.
    generator = np.random.default_rng(0)
    signal = generator.standard_normal(800)
    places = np.arange(800)
    wrong = generator.random(800) < 1 / (1 + np.exp(-2 * signal))
    effects = effects_of(places, places + 800, predictors=[signal])
    model = fitted(effects, [(places[:300], wrong[:300])])
    theta = model.posterior(places[300:]).theta
    assert np.corrcoef(theta, 1 / (1 + np.exp(-2 * signal[300:])))[0, 1] > 0.98
    calibration = cross_validate(effects, answered([(places[:300], wrong[:300])]), seed=0)
    assert calibration is not None
    assert calibration.error <= calibration.error_by_luck
    assert calibration.brier < 0.8 * calibration.brier_of_mean
