"""The learner's peers on worlds small enough to know what they should predict."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, special

from benchmarks.learner_peers import (
    PeerWorld,
    example_names,
    factor_world,
    made_up_world,
    measured_world,
    predictions,
    scores_of,
)
from benchmarks.peers import entity_network, factor_model, laplace, name_features
from benchmarks.replay.synthetic import Synthetic, synthetic
from kgprobe.running.replays import Reference, demo_answers


def test_entity_network_learns_what_names_and_neighbours_tell() -> None:
    # Entities named "known…" are known; each fact connects two of a kind.
    random = np.random.default_rng(0)
    names = name_features([f"{kind} {n}" for kind in ("known", "obscure") for n in range(50)])
    kinds = random.integers(2, size=400)
    subjects, objects = (50 * kinds + random.integers(50, size=400) for _ in range(2))
    right = random.random(400) < np.where(kinds == 0, 0.9, 0.2)
    predicted = entity_network(subjects, objects, names, np.arange(100), right[:100], 0)
    assert predicted[kinds == 0].mean() > 0.7
    assert predicted[kinds == 1].mean() < 0.4
    assert predicted.tolist() == entity_network(subjects, objects, names, np.arange(100), right[:100], 0).tolist()


def test_factor_model_follows_the_past_models_that_answer_alike() -> None:
    # Past models know the even facts or the odd ones; the new one knows the odd ones.
    random = np.random.default_rng(0)
    odd = np.arange(200) % 2 == 1
    past = np.array([random.random(200) < np.where(odd == (n % 2 == 1), 0.95, 0.05) for n in range(10)], np.float64)
    past[0, :20] = np.nan
    asked = np.arange(12)
    predicted = factor_model(past, asked, odd[asked], 0)
    assert predicted[odd].min() > 0.6
    assert predicted[~odd].max() < 0.4


def test_laplace_is_at_the_most_probable_coefficients() -> None:
    random = np.random.default_rng(0)
    columns, right = random.standard_normal((40, 3)), random.random(40) < 0.6
    mean, precision = np.array([0.5, 0.0, -0.5]), np.diag([1.0, 2.0, 3.0])
    found, covariance = laplace(columns, right, mean, precision)

    def loss(x: NDArray[np.float64]) -> float:
        eta = columns @ x
        return float(np.logaddexp(0, eta).sum() - right @ eta + 0.5 * (x - mean) @ precision @ (x - mean))

    best = optimize.minimize(loss, mean)
    assert found == pytest.approx(best.x, abs=1e-3)
    assert covariance == pytest.approx(best.hess_inv, abs=0.05)


def test_predictions_every_peer_sees_the_same_answers() -> None:
    reference = synthetic(Synthetic(300, spread=3.0, likeness=0.5), [0])
    names = name_features([str(n) for n in range(300)])
    world = made_up_world(reference, names, [0])
    asked = np.arange(60)
    predicted = dict(predictions(world, asked, 0))
    assert list(predicted) == [
        "mean",
        "learner",
        "learner, past models",
        "learner, factors of past models",
        "graph neural network",
        "factor model, past models",
    ]
    scores = {peer: scores_of(world, own, asked) for peer, own in predicted.items()}
    # Twenty past models tell more than sixty answers.
    for peer in ("learner, past models", "learner, factors of past models", "factor model, past models"):
        assert scores[peer].error < 0.6 * scores["mean"].error
        assert scores[peer].worth > 1.3
    assert scores["mean"].worth == 1.0


def test_scores_of_equal_their_definition() -> None:
    reference = Reference(np.zeros(4, np.int64), np.arange(1, 5), np.array([0.0, 1.0, 0.0, 1.0]))
    right = np.array([True, False, True, False])
    world = PeerWorld(reference, name_features("abcde"), right, np.zeros((2, 4)))
    scores = scores_of(world, np.array([0.5, 0.2, 0.8, 0.4]), np.array([0]))
    assert scores.error == pytest.approx((0.2**2 + 0.2**2 + 0.4**2) / 3)
    assert scores.log_loss == pytest.approx(-np.log([0.8, 0.8, 0.6]).mean())
    rho = np.corrcoef([0.2, 0.8, 0.4], [0, 1, 0])[0, 1]
    assert scores.worth == pytest.approx(1 / (1 - rho**2))


def test_factor_world_models_differ_in_kinds_of_facts() -> None:
    world = factor_world([0])
    assert world.past.shape == (20, len(world.right))
    correlations = np.asarray(np.corrcoef(world.past))
    assert correlations.min() < 0.1 < correlations[np.triu_indices(20, 1)].max()
    assert world.right.mean() == pytest.approx(special.expit(0.5), abs=0.15)


def test_measured_world_keeps_the_facts_that_all_answered(tmp_path: Path) -> None:
    facts = demo_answers()["fact"].tolist()
    for model, dropped in enumerate((0, 1, 2)):
        folder = tmp_path / str(model)
        folder.mkdir()
        rows = [{"fact": fact, "verdict": "right" if place % 2 else "wrong"} for place, fact in enumerate(facts[:9])]
        rows[dropped]["verdict"] = "unanswered"
        (folder / "outcomes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    world = measured_world([tmp_path / str(model) for model in range(3)])
    assert world.right.tolist() == [bool(place % 2) for place in range(3, 9)]
    assert world.past.shape == (2, 6)
    assert len(world.names) == len(example_names())
