"""What the benchmark of the learner says an answer is worth, on few of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from benchmarks.learner import endings, expected_by, worths
from benchmarks.replay.synthetic import Synthetic, synthetic
from kgprobe.running.replays import Reference, demo_answers, demo_reference


@pytest.fixture(scope="module")
def reference() -> Reference:
    return synthetic(Synthetic(500, spread=6.0, likeness=0.0), [0])


@pytest.mark.parametrize("sampling", ["uniform", pytest.param("information", marks=pytest.mark.slow)])
def test_predictor_that_knows_makes_answers_worth_more(reference: Reference, sampling: str) -> None:
    known = special.logit(np.clip(reference.theta, 1e-6, 1 - 1e-6))
    expected = (known - known.mean()) / known.std()
    alone, helped = (worths(reference, sampling, predictors, [1]) for predictors in ([], [expected]))
    assert len(alone) == len(helped) == 4
    assert alone[-1] == pytest.approx(1.0, abs=0.5)
    assert helped[-1] > 1.8 * alone[-1]


def test_what_a_run_makes_one_expect_follows_its_answers(tmp_path: Path) -> None:
    reference, facts = demo_reference([0]), demo_answers()["fact"].tolist()
    assert len(facts) == len(reference.theta)
    places = {fact: place for place, fact in enumerate(facts)}
    lines = [
        {"place": place, "round": 1, "subject": "s", "fact": fact, "relation": "r"}
        | {"verdict": "wrong" if reference.theta[place] > 0.5 else "right", "reason": None, "prompt": ""}
        for place, fact in enumerate([*facts[:600], "another fact"])
        if fact in places
    ]
    file = tmp_path / "outcomes.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    expected = expected_by(reference, places, file)
    assert (expected.mean(), expected.std()) == pytest.approx((0, 1), abs=1e-9)
    assert np.corrcoef(expected[:600], reference.theta[:600])[0, 1] > 0.6
    assert np.corrcoef(expected[600:], reference.theta[600:])[0, 1] > 0.15


@pytest.mark.slow
def test_endings_kept_learning_equals_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    # Raises an error if they differ.
    assert [row.measure for row in endings(3_000, 12, seed=1)][-2:] == ["end, kept", "end, replayed"]
