"""A judge that is read back is the judge that was written, and is refused for another model's states."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from kgprobe.base.errors import KgprobeError
from kgprobe.judge import JudgeOptions
from kgprobe.judge.classifiers import KINDS, fit_linear_probe, fit_network, fit_published_network
from kgprobe.judge.files import FILE, Judge, check_judge, load_judge, save_judge
from kgprobe.judge.prompts import StatePrompt
from tests.models.tiny import tiny_scorer

READER = {"name": "hf:tiny", "weights": "abc", "dtype": "float32"}


def judge(kind: str = "linear", size: int = 6) -> Judge:
    random = np.random.default_rng(0)
    states, answers = random.normal(size=(40, size)).astype(np.float32), random.integers(0, 2, 40)
    few_steps = JudgeOptions(units=4, epochs=1)
    classifier = {
        "linear": lambda: fit_linear_probe(states, answers, strength=0.1),
        "network": lambda: fit_network(states, answers, few_steps, seed=0),
        "published": lambda: fit_published_network(states, answers, answers == 0, few_steps, seed=0),
    }[kind]()
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
        truths = np.arange(9) % 2 == 0
        told = after.classifier.probabilities(states, truths)
        np.testing.assert_array_equal(told, before.classifier.probabilities(states, truths))


def test_virtual_tokens_are_kept(tmp_path):
    virtual = np.random.default_rng(2).normal(size=(4, 6)).astype(np.float32)
    before = replace(judge(), virtual=virtual)
    after = load_judge(save_judge(before, tmp_path))
    np.testing.assert_array_equal(after.virtual, virtual)
    assert after.digest() == before.digest() != judge().digest()


@pytest.mark.parametrize("other", [{"weights": "other"}, {"dtype": "bfloat16"}])
def test_another_models_states_are_refused(other):
    judge().check(READER)
    with pytest.raises(KgprobeError, match="train a judge for this model"):
        judge().check(READER | other)


def test_another_judge_has_another_digest():
    assert judge("linear").digest() != judge("network").digest()
    assert judge().digest() == judge().digest()


@pytest.mark.parametrize("kind", KINDS)
def test_load_judge_damaged_weights_are_refused(kind, tmp_path):
    made = judge(kind)
    for name, tensor in made.classifier.tensors().items():
        broken = tensor.copy()
        broken[..., 0] = np.nan
        for damaged in (broken, tensor[..., :-1], tensor[None], tensor.astype(np.float64)):
            save_judge(replace(made, classifier=replace(made.classifier, **{name: damaged})), tmp_path)
            with pytest.raises(KgprobeError, match="is not a judge: "):
                load_judge(tmp_path)
    save_judge(replace(made, virtual=np.full((2, 6), np.inf, np.float32)), tmp_path)
    with pytest.raises(KgprobeError, match="virtual_tokens"):
        load_judge(tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"layer": "7"}, {"layer": -1}, {"prompt": {}}, {"prompt": None}, {"reader": {}}, {"labels": {"a": 1}}]
)
def test_load_judge_damaged_header_is_refused(wrong, tmp_path):
    with safe_open(save_judge(judge(), tmp_path), framework="numpy") as file:
        about = json.loads(file.metadata()["kgprobe"]) | wrong
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, tmp_path / FILE, metadata={"kgprobe": json.dumps(about)})
    with pytest.raises(KgprobeError, match="is not a judge: "):
        load_judge(tmp_path)


@pytest.mark.parametrize(("size", "layer"), [(6, 1), (32, 9)])
def test_check_judge_wrong_width_or_layer_is_refused(size, layer):
    scorer = tiny_scorer(bos=False)
    width = scorer.model.config.hidden_size
    made = judge(size=width if size == 32 else size)
    with pytest.raises(KgprobeError, match="The judge is damaged"):
        check_judge(replace(made, layer=layer, reader=scorer.describe()), scorer)
    check_judge(replace(judge(size=width), layer=1, reader=scorer.describe()), scorer)


def test_what_is_no_judge(tmp_path):
    with pytest.raises(KgprobeError, match="judge train"):
        load_judge(tmp_path)
    (tmp_path / FILE).write_bytes(b"not tensors")
    with pytest.raises(KgprobeError, match="is not a judge"):
        load_judge(tmp_path)
    save_file({"weights": np.zeros(3)}, tmp_path / FILE)
    with pytest.raises(KgprobeError, match="is not a judge"):
        load_judge(tmp_path)
