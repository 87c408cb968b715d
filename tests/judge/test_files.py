"""A judge that is read back is the judge that was written, and is refused for another model's states."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from kgprobe.errors import KgprobeError
from kgprobe.judge import NetworkOptions
from kgprobe.judge.classifiers import KINDS, fit_linear_probe, fit_network
from kgprobe.judge.files import FILE, Judge, load_judge, save_judge
from kgprobe.judge.prompts import StatePrompt

READER = {"name": "hf:tiny", "weights": "abc", "dtype": "float32"}


def judge(kind: str = "linear") -> Judge:
    random = np.random.default_rng(0)
    states, answers = random.normal(size=(40, 6)).astype(np.float32), random.integers(0, 2, 40)
    classifier = (
        fit_linear_probe(states, answers, strength=0.1)
        if kind == "linear"
        else fit_network(states, answers, NetworkOptions(units=4, epochs=1), seed=0)
    )
    labels = {"described": {"model": "hf:large"}, "seed": 3}
    return Judge(classifier, 7, StatePrompt("Is it? ", "\nAnswer:", chat=True), READER, labels, {"accuracy": 0.5})


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(kind, tmp_path):
    before = judge(kind)
    path = save_judge(before, tmp_path)
    for place in (path, tmp_path):
        after = load_judge(place)
        assert (after.layer, after.prompt, after.reader) == (7, before.prompt, READER)
        assert (after.labels, after.training, after.answers_of) == (before.labels, before.training, "hf:large")
        assert after.digest() == before.digest()
        states = np.random.default_rng(1).normal(size=(9, 6)).astype(np.float32)
        np.testing.assert_array_equal(after.classifier.probabilities(states), before.classifier.probabilities(states))


def test_virtual_tokens_are_kept(tmp_path):
    virtual = np.random.default_rng(2).normal(size=(4, 6)).astype(np.float32)
    before = replace(judge(), virtual=virtual)
    after = load_judge(save_judge(before, tmp_path))
    np.testing.assert_array_equal(after.virtual, virtual)
    assert after.digest() == before.digest() != judge().digest()


@pytest.mark.parametrize("other", [{"weights": "other"}, {"dtype": "bfloat16"}])
def test_another_models_states_are_refused(other):
    judge().check(READER)
    with pytest.raises(KgprobeError, match="train one for this model"):
        judge().check(READER | other)


def test_another_judge_has_another_digest():
    assert judge("linear").digest() != judge("network").digest()
    assert judge().digest() == judge().digest()


def test_what_is_no_judge(tmp_path):
    with pytest.raises(KgprobeError, match="judge train"):
        load_judge(tmp_path)
    (tmp_path / FILE).write_bytes(b"not tensors")
    with pytest.raises(KgprobeError, match="holds no judge"):
        load_judge(tmp_path)
    save_file({"weights": np.zeros(3)}, tmp_path / FILE)
    with pytest.raises(KgprobeError, match="holds no judge"):
        load_judge(tmp_path)
