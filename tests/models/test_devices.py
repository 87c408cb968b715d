"""The whole path of a model on simulated GPUs: one, and two with the layers spread over both (tests/models/cards.py).

A tensor on the wrong device fails here, on a machine without a GPU.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.judge import JudgeOptions
from kgprobe.judge.prompt_encoder import learn_virtual_prompt, virtual_word_probabilities
from kgprobe.judge.prompts import StatePrompt
from kgprobe.models.devices import devices_of, find_device
from kgprobe.models.encoder import Encoder
from kgprobe.models.generating.decoding import beam_search
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring import batching
from kgprobe.models.scoring.check import METHODS
from kgprobe.models.scoring.forward import ScoringMethod
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Tree, build_tree
from kgprobe.models.spec import load_scorer
from kgprobe.models.states.reader import StateReader
from tests.models.cards import Card, move, simulated_cards
from tests.models.encoders import random_encoder
from tests.models.tiny import byte_level, random_model

pytestmark = pytest.mark.skipif(
    not hasattr(torch._C, "_ensureCUDADeviceGuardSet") or find_spec("accelerate") is None,
    reason="simulated GPUs need a newer torch, and accelerate",
)

GIB = 1 << 30
# As large as a vocabulary has to be for bounds by a part of it.
VOCABULARY = 1 << 13
EXAMPLES = "Tokyo is the capital of Japan, and Paris of France. " * 3
PROMPTS = [f"{EXAMPLES}The capital of Japan is", "The capital of France is", "York"]
NAMES = [["Tokyo", "Kyoto", "New York", "Tokyo"], ["Paris", "São Paulo"], ["City", "is a city", "🙂"]]
TEXTS = ["Rome is the capital of Peru.", "Oslo is the capital of Norway.", "Łódź is a city.", "Łódź is a city in Peru."]
PROMPT = StatePrompt("Is this true, false, or unknown?\n", "\nAnswer:")


@dataclass
class Machine:
    """A model on the CPU and on simulated GPUs."""

    cpu: Scorer
    gpu: Scorer
    cards: list[Card]

    def both(self, compute: Callable[[Scorer], np.ndarray]) -> None:
        """Assert that both give the same numbers."""
        expected = compute(self.cpu)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(compute(self.gpu), expected, rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a model with a vocabulary large enough for bounds."""
    folder = tmp_path_factory.mktemp("model")
    model = random_model("llama", VOCABULARY, num_hidden_layers=2)
    model.save_pretrained(folder)
    byte_level(bos=True).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=[pytest.param("cuda", marks=pytest.mark.slow), "auto"])
def machine(request: pytest.FixtureRequest, folder: Path) -> Iterator[Machine]:
    """The model on one GPU, or spread over two."""
    spec = f"hf:{folder}"
    cpu = load_scorer(spec, device="cpu")
    with pytest.MonkeyPatch.context() as patch, simulated_cards(4 * GIB, 4 * GIB) as cards:
        # Simulation ends at the boundary of a thread.
        patch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
        yield Machine(cpu, load_scorer(spec, device=request.param, dtype="float32"), cards)


def test_tensors_of_different_devices_are_refused() -> None:
    with simulated_cards(GIB, GIB):
        first, second = torch.ones(2, device="cuda"), torch.ones(2, device="cuda:1")
        for other in (second, torch.ones(2)):
            with pytest.raises(RuntimeError, match="same device"):
                first + other
        with pytest.raises(TypeError, match="numpy"):
            first.numpy()
        assert (first + second.to("cuda:0") * torch.tensor(2.0)).tolist() == [3.0, 3.0]
        first[torch.tensor([0])] = 5
        assert first.cpu().numpy().tolist() == [5.0, 1.0]
    with pytest.raises((RuntimeError, AssertionError)):
        torch.ones(2, device="cuda")


def test_device_auto_spreads_layers_and_output(machine: Machine) -> None:
    assert (machine.cpu.describe()["device"], machine.gpu.choice.method) == ("cpu", "packed")
    assert machine.gpu.weights == machine.cpu.weights
    if "," not in machine.gpu.describe()["device"]:
        assert {card.allocated > 0 for card in machine.cards[1:]} == {False}
        return
    assert machine.gpu.describe()["device"] == "cuda:0, cuda:1"
    assert machine.gpu.model.get_output_embeddings().weight.device == torch.device("cuda:1")
    assert machine.gpu.model.device == torch.device("cuda:0")
    assert dict(machine.gpu.explain())["precision"].startswith("float32 on cuda:0, cuda:1")


def test_scores_equal_those_of_the_cpu(machine: Machine) -> None:
    def score(scorer: Scorer) -> np.ndarray:
        scored = scorer.score(PROMPTS, NAMES, eos=True, beginnings=[EXAMPLES, "", ""])
        assert scorer.prefixes.taken > 0
        return np.concatenate([prompt.values for prompt in scored])

    machine.both(score)
    # Again, now with the kept prefix.
    machine.both(score)


def turns(seed: int) -> list[list[Tree]]:
    """Two turns of a search: trees with enough positions to learn the likely part, then deeper ones."""
    random = np.random.default_rng(seed)
    context = tuple(random.integers(0, VOCABULARY, 9).tolist())
    tails = random.integers(0, VOCABULARY, (200, 3))
    tails[:, 0] %= 3
    return [
        [
            build_tree(
                0,
                TokenizedPrompt(context, (len(context),) * 200, tuple(map(tuple, tails[:, :size].tolist()))),
                range(200),
            )
        ]
        for size in (2, 3)
    ]


def test_growing_search_equals_that_of_the_cpu(machine: Machine) -> None:
    exact = []

    def search(scorer: Scorer) -> np.ndarray:
        growing, values = scorer.growing(), []
        for trees in turns(0):
            values += [own for _, own in growing.edge_log_probabilities(trees)]
        for trees in turns(1):
            for _, own, is_exact in growing.edge_bounds(trees):
                values.append(own)
                exact.append(is_exact)
        return np.concatenate(values)

    machine.both(search)
    # At least one was bounded by a part of the vocabulary.
    assert False in exact
    machine.both(lambda scorer: np.concatenate([own for _, own in scorer.edges_and_best(turns(2)[1])]))


def test_states_equal_those_of_the_cpu(machine: Machine) -> None:
    virtual = np.random.default_rng(0).normal(size=(3, 32)).astype(np.float32)
    machine.both(lambda scorer: StateReader(scorer, [0, 1, 2]).read(TEXTS, beginning=PROMPT.before).values)
    machine.both(lambda scorer: StateReader(scorer, [1]).read(TEXTS, virtual=virtual).values)


def test_answers_equal_those_of_the_cpu(machine: Machine) -> None:
    requests = [
        Request(prompt, 5, temperature, seed=1, continuation=True) for prompt in PROMPTS for temperature in (0.0, 1.0)
    ]
    cpu, gpu = (LocalGenerator(scorer).answer(requests) for scorer in (machine.cpu, machine.gpu))
    assert gpu == cpu
    assert all(isinstance(answer, Answer) for answer in gpu)
    searched = [
        [[beam.text for beam in beams] for beams in beam_search(scorer, PROMPTS[1:], 2, new_tokens=3)]
        for scorer in (machine.cpu, machine.gpu)
    ]
    assert searched[0] == searched[1]


def test_virtual_tokens_equal_those_of_the_cpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("peft")
    # PyTorch's engine of gradients asks the driver. So the tokens stay as they were initialized.
    monkeypatch.setattr(torch.Tensor, "backward", lambda _: None)
    options = JudgeOptions(virtual_tokens=3, encoder_units=8, encoder_epochs=1, encoder_batch_size=2)
    words, answers = ("True", "False", "Unknown"), np.array([1, 0, 2, 1])

    def learn(scorer: Scorer) -> np.ndarray:
        virtual = learn_virtual_prompt(scorer, PROMPT, TEXTS, answers, words, options, seed=0).virtual
        judged = virtual_word_probabilities(scorer, PROMPT, virtual, TEXTS, words, 2)
        return np.concatenate([virtual.ravel(), judged.ravel()])

    machine.both(learn)


def test_refresh_notices_weights_of_any_device(machine: Machine) -> None:
    weight = machine.gpu.model.get_output_embeddings().weight
    before = machine.gpu.weights
    assert not machine.gpu.refresh()
    with torch.no_grad():
        value = weight[5, 5].clone()
        weight[5, 5] += 1
    assert machine.gpu.refresh()
    with torch.no_grad():
        weight[5, 5] = value
    assert machine.gpu.refresh()
    assert machine.gpu.weights == before


@pytest.mark.parametrize(
    ("name", "method"), [("gemma3, narrow window", "packed"), *(("llama", method) for method in METHODS)]
)
@pytest.mark.representatives(2)
def test_methods_on_a_gpu_equal_those_of_the_cpu(name: str, method: ScoringMethod) -> None:
    layers = {"layer_types": ["sliding_attention", "full_attention"]} if name.startswith("gemma3") else {}
    tokenizer = byte_level(bos=True)
    model = random_model(name, len(tokenizer), num_hidden_layers=2, **layers)
    prompts, names = PROMPTS[1:], NAMES[1:]
    expected = Scorer(model, tokenizer, name=name, methods=(method,)).score(prompts, names)
    with simulated_cards(GIB):
        # A tensor on the wrong device fails in the check; a slower method must not hide it.
        scorer = Scorer(move(model, "cuda"), tokenizer, name=name, methods=(method,))
        for scored, own in zip(scorer.score(prompts, names), expected, strict=True):
            np.testing.assert_allclose(scored.values, own.values, rtol=0, atol=1e-4)


def test_encoder_on_a_gpu_equals_that_of_the_cpu() -> None:
    model, tokenizer = random_encoder("roberta")
    expected = Encoder(model, tokenizer, name="encoder").vectors(TEXTS)
    with simulated_cards(GIB):
        vectors = Encoder(move(model, "cuda"), tokenizer, name="encoder").vectors(TEXTS)
    for own, theirs in zip(vectors, expected, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=0, atol=1e-4)


def test_batches_grow_and_shrink_with_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_level(bos=True)
    model = random_model("llama", len(tokenizer))
    prompts = [f"The capital of {name}{number} is" for number in range(20) for name in ("Japan", "France")]
    names = [["Tokyo", "Kyoto", "New York"]] * len(prompts)
    monkeypatch.setitem(batching._TOKENS, "cuda", 128)
    expected = Scorer(model, tokenizer, name="cpu").score(prompts, names)
    with simulated_cards(GIB) as (card,):
        scorer = Scorer(move(model, "cuda"), tokenizer, name="gpu")
        scores = scorer.score(prompts, names)
        grown = scorer.limits.tokens
        assert grown > 128
        assert card.refused == 0
        # Room for some of the tokens, but not for all.
        card.others = card.total - card.allocated - (300 << 10)
        scores += scorer.score(prompts, names)
        assert card.refused > 0
        assert 1 < scorer.limits.tokens < grown
    for scored, own in zip(scores, expected * 2, strict=True):
        np.testing.assert_allclose(scored.values, own.values, rtol=0, atol=1e-4)


def test_check_in_full_memory_fails() -> None:
    tokenizer = byte_level(bos=True)
    model = random_model("llama", len(tokenizer))
    with simulated_cards(GIB) as (card,):
        move(model, "cuda")
        card.others = card.total - card.allocated - (1 << 20)
        with pytest.raises(KgprobeError, match="memory of cuda:0 is too full"):
            Scorer(model, tokenizer, name="gpu")


def test_default_device_of_one_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
    with simulated_cards(4 * GIB) as (card,):
        scorer = load_scorer(f"hf:{folder}", device="auto")
        assert devices_of(scorer.model) == [torch.device("cuda:0")]
        assert scorer.describe()["dtype"] == "bfloat16"
        assert find_device("auto") == find_device(None) == torch.device("cuda")
        assert scorer.prefixes._most == card.total // 8
        with pytest.raises(ArgumentError, match="'cuda:9' cannot be used: this machine has cuda:0 only"):
            load_scorer(f"hf:{folder}", device="cuda:9")


def test_model_too_large_for_all_gpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
    with simulated_cards(4 * GIB, 4 * GIB) as cards:
        for card in cards:
            card.others = card.total - (1 << 20)
        with pytest.raises(KgprobeError, match="does not fit into 2 GPUs"):
            load_scorer(f"hf:{folder}", device="auto", dtype="float32")
        with pytest.raises(KgprobeError, match="does not fit into the memory of cuda; spread it over several GPUs"):
            load_scorer(f"hf:{folder}", device="cuda", dtype="float32")
        monkeypatch.setattr("kgprobe.models.devices.find_spec", lambda _: None)
        with pytest.raises(ArgumentError, match=r"needs accelerate .*\[gpus\]"):
            load_scorer(f"hf:{folder}", device="auto")
