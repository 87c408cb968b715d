"""Classifiers against what they are made with."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kgprobe.judge import JudgeOptions
from kgprobe.judge.classifiers import KINDS, Network, fit_linear_probe, fit_network, fit_published_network


def blobs(answers: list[int], count: int = 240, size: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States around one point for each answer, on scales that differ between dimensions."""
    random = np.random.default_rng(seed)
    given = np.array(answers)[random.integers(0, len(answers), count)]
    points = 1.5 * random.normal(size=(3, size))
    states = (points[given] + random.normal(size=(count, size))) * 10.0 ** random.integers(-2, 3, size)
    return states.astype(np.float32), given


@pytest.mark.parametrize("answers", [[0, 1, 2], [0, 1], [1, 2], [0, 2]])
def test_linear_probe_is_scikit_learns(answers):
    states, given = blobs(answers)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000)).fit(states, given)
    ours = fit_linear_probe(states, given, strength=0.01).probabilities(states)
    np.testing.assert_allclose(ours[:, sorted(answers)], theirs.predict_proba(states), atol=1e-4)
    np.testing.assert_allclose(ours.sum(axis=1), 1)
    missing = sorted({0, 1, 2} - set(answers))
    assert (ours[:, missing] == 0).all()


def test_network_is_torchs():
    states, given = blobs([0, 1, 2])
    ours = fit_network(states, given, JudgeOptions(units=16, epochs=3), seed=3)
    net = torch.nn.Sequential(
        torch.nn.LayerNorm(12), torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3), torch.nn.Softmax(1)
    )
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), ours.tensors().values(), strict=True):
            parameter.copy_(torch.from_numpy(value))
        wanted = net(torch.from_numpy(states)).numpy()
    np.testing.assert_allclose(ours.probabilities(states), wanted, atol=1e-5)


def test_published_network_is_torchs() -> None:
    states, given = blobs([0, 1, 2])
    truths = np.arange(len(given)) % 3 > 0
    ours = fit_published_network(states, given, truths, JudgeOptions(epochs=3), seed=3)
    told = ours.probabilities(states, truths)
    dense, norm = torch.nn.Linear(12, 12), torch.nn.LayerNorm(12)
    with torch.no_grad():
        dense.load_state_dict(
            {"bias": torch.from_numpy(ours.dense_bias), "weight": torch.from_numpy(ours.dense_weight)}
        )
        norm.load_state_dict({"bias": torch.from_numpy(ours.norm_bias), "weight": torch.from_numpy(ours.norm_weight)})
        hidden = norm(torch.nn.functional.gelu(dense(torch.from_numpy(states)))).numpy()
    for place, is_true in enumerate(truths.tolist()):
        logits = hidden[place] @ ours.decoders[int(is_true)] + ours.decoder_bias
        right, wrong, unknown = torch.softmax(torch.from_numpy(logits), 0).tolist()
        wanted = [right, wrong, unknown] if is_true else [wrong, right, unknown]
        np.testing.assert_allclose(told[place], wanted, atol=1e-5)


def test_published_network_learns_correctness_by_truth() -> None:
    random = np.random.default_rng(0)
    states, truths = random.normal(size=(300, 6)).astype(np.float32), random.integers(0, 2, 300) == 0
    # Right about the facts of one half of the states, and about the negatives of the other half.
    right = (states[:, 0] > 0) == truths
    given = np.where(right == truths, 0, 1)
    ours = fit_published_network(
        states[:200], given[:200], truths[:200], JudgeOptions(epochs=40, learning_rate=3e-3), seed=0
    )
    told = ours.probabilities(states[200:], truths[200:])
    assert (told.argmax(axis=1) == given[200:]).mean() > 0.9
    assert (told[:, 2] == 0).all()
    with pytest.raises(ValueError, match="needs the truth"):
        ours.probabilities(states)


@pytest.mark.parametrize("answers", [[0, 1, 2], [0, 2]])
def test_both_learn_what_can_be_learned(answers):
    states, given = blobs(answers)
    others, theirs = states[200:], given[200:]
    for classifier in (
        fit_linear_probe(states[:200], given[:200], strength=0.1),
        fit_network(states[:200], given[:200], JudgeOptions(epochs=30, learning_rate=1e-3), seed=0),
    ):
        told = classifier.probabilities(others)
        assert (told.argmax(axis=1) == theirs).mean() > 0.85
        assert (told[:, sorted({0, 1, 2} - set(answers))] == 0).all()


def test_network_follows_its_seed_and_leaves_torchs_alone():
    states, given = blobs([0, 1])
    before = torch.get_rng_state()
    first, again, other = (fit_network(states, given, JudgeOptions(epochs=2), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(first.first_weight, again.first_weight)
    assert (first.first_weight != other.first_weight).any()


def test_what_a_classifier_consists_of_makes_it_again():
    states, given = blobs([0, 1, 2])
    for classifier in (
        fit_linear_probe(states, given, strength=1),
        fit_network(states, given, JudgeOptions(epochs=1), seed=0),
    ):
        again = KINDS[classifier.kind](**classifier.tensors())
        np.testing.assert_array_equal(again.probabilities(states), classifier.probabilities(states))
    assert isinstance(again, Network)
