"""Hidden states against those that transformers gives of one text at a time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.states.reader import StateReader
from tests.cases import rotate
from tests.models.exactness import assert_same_states, double_copy
from tests.models.tiny import ARCHITECTURES, byte_level, random_model

BEGINNING = "Is this true, false, or don't you know? "
TEXTS = [
    "Tokyo is the capital of Japan.",
    "Kyoto is the capital of Japan.",
    "Tokyo is the capital of France.",
    "Tokyo is the capital of Switzerland.",
    "Tokyo is the capital of Japan.",
    "Tokyo",
    "Łódź is a city in Poland, and it is not far away from the capital of the country.",
    "🙂",
    "",
]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level(bos=True)


@pytest.fixture(scope="module")
def tiny_models(tokenizer):
    return {name: random_model(name, len(tokenizer)) for name in ARCHITECTURES}


def naive_states(model, tokenizer, leading, text: str) -> np.ndarray:
    """Return all hidden states of a text's last token, by one plain forward pass, shape (layers + 1, hidden size)."""
    ids = [*leading, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    embeddings = []
    hook = model.get_input_embeddings().register_forward_hook(lambda _, __, states: embeddings.append(states))
    with torch.inference_mode():
        told = model.base_model(input_ids=torch.tensor([ids]), output_hidden_states=True, use_cache=False)
    hook.remove()
    layers = told.hidden_states
    if model.config.model_type == "mamba":
        # It tells what leaves each layer, and then the last one's again, behind the norm.
        layers = (embeddings[0], *layers[:-2], layers[-1])
    return torch.stack([states[0, -1] for states in layers]).double().numpy()


def plain_and_exact(model, *others) -> list[np.ndarray]:
    """Return the naive states of texts in float32, and of the same model in float64."""
    *before, texts = others
    double = double_copy(model)
    return [np.stack([naive_states(each, *before, text) for text in texts]) for each in (model, double)]


@contextmanager
def counting(module: torch.nn.Module) -> Iterator[Counter[str]]:
    """Provide how many tokens go through a module."""
    seen: Counter[str] = Counter()

    def count(_: object, __: object, output: torch.Tensor | tuple[torch.Tensor, ...]) -> None:
        states = output[0] if isinstance(output, tuple) else output
        seen.update(tokens=states.shape[0] * states.shape[1], passes=1)

    hook = module.register_forward_hook(count)
    try:
        yield seen
    finally:
        hook.remove()


@pytest.mark.parametrize(("name", "beginning"), rotate(ARCHITECTURES, [(BEGINNING,), ("",)]))
@pytest.mark.representatives(4)
def test_states_are_those_of_plain_forward_passes(name, beginning, tokenizer, tiny_models):
    model = tiny_models[name]
    scorer = Scorer(model, tokenizer, name=name)
    layers = range(model.config.num_hidden_layers + 1)
    states = StateReader(scorer, layers).read(TEXTS, beginning=beginning)
    assert states.values.dtype == np.float32
    assert not states.reasons
    plain, exact = plain_and_exact(model, tokenizer, scorer.leading, [beginning + text for text in TEXTS])
    assert states.values.shape == exact.shape
    assert_same_states(states.values, plain, exact)


@pytest.mark.parametrize(
    ("name", "chat"), rotate(["gpt2", "llama", "gemma3, narrow window", "bloom", "gpt_neox"], [(False,), (True,)])
)
def test_virtual_tokens_stand_in_front_as_embeddings_do(name, chat, tokenizer, tiny_models):
    model = tiny_models[name]
    scorer = Scorer(model, tokenizer, name=name)
    virtual = np.random.default_rng(3).normal(size=(11, model.config.hidden_size)).astype(np.float32)
    layers = range(model.config.num_hidden_layers + 1)
    texts = TEXTS[:-1]
    states = StateReader(scorer, layers).read([*texts, ""], virtual=virtual, chat=chat)
    assert list(states.reasons) == [len(texts)]

    def naive(net, text: str) -> np.ndarray:
        embed = net.get_input_embeddings()
        with torch.inference_mode():
            before, behind = (embed(torch.tensor(ids)) for ids in (scorer.leading, tokens_of(tokenizer, text)))
            rows = torch.cat([before, torch.from_numpy(virtual).to(before.dtype), behind])[None]
            told = net.base_model(inputs_embeds=rows, output_hidden_states=True, use_cache=False).hidden_states
        return torch.stack([layer[0, -1] for layer in told]).double().numpy()

    plain, exact = (np.stack([naive(net, text) for text in texts]) for net in (model, double_copy(model)))
    assert_same_states(states.values[:-1], plain, exact)


def test_states_without_kv_cache_refuse_virtual_tokens(tokenizer, tiny_models):
    reader = StateReader(Scorer(tiny_models["mamba"], tokenizer, name="mamba"), [1])
    with pytest.raises(KgprobeError, match="does not support virtual tokens"):
        reader.read(TEXTS, virtual=np.zeros((2, 32), dtype=np.float32))


def test_plain_forward_passes_are_a_method_too(tokenizer, tiny_models):
    model = tiny_models["llama"]
    quick, plain = (
        StateReader(Scorer(model, tokenizer, name="a", methods=(method,)), [0, 1]) for method in ("packed", "plain")
    )
    texts = [BEGINNING + text for text in TEXTS]
    naive, exact = (states[:, :2] for states in plain_and_exact(model, tokenizer, [0], texts))
    for reader in (quick, plain):
        assert_same_states(reader.read(TEXTS, beginning=BEGINNING).values, naive, exact)


def test_single_layer_equals_many_and_none_above_runs(tokenizer, tiny_models):
    model = tiny_models["gpt2"]
    scorer = Scorer(model, tokenizer, name="gpt2")
    count = model.config.num_hidden_layers
    everything = StateReader(scorer, range(count + 1)).read(TEXTS).values
    for layer in range(count):
        with counting(model.base_model.h[layer]) as above:
            (values,) = StateReader(scorer, [layer]).read(TEXTS).values.transpose(1, 0, 2)
        assert above["passes"] == 0
        np.testing.assert_array_equal(values, everything[:, layer])


def test_what_texts_begin_with_goes_through_the_model_once(tokenizer, tiny_models):
    model = tiny_models["qwen3"]
    scorer = Scorer(model, tokenizer, name="qwen3")
    reader = StateReader(scorer, [1])
    distinct = {ids[:n] for text in TEXTS for ids in [tokens_of(tokenizer, text)] for n in range(1, len(ids) + 1)}
    prefix = len(scorer.leading) + len(tokens_of(tokenizer, BEGINNING))
    with counting(model.base_model.layers[0]) as first:
        reader.read(TEXTS[:-1], beginning=BEGINNING)
    with counting(model.base_model.layers[0]) as second:
        reader.read(TEXTS[:-1], beginning=BEGINNING)
    # A last token of the beginning may be another one with a text behind it.
    assert prefix - 2 <= first["tokens"] - second["tokens"] <= prefix
    assert second["tokens"] <= len(distinct) + 2


def tokens_of(tokenizer, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_many_texts_in_small_batches(tokenizer, tiny_models, monkeypatch):
    monkeypatch.setattr("kgprobe.models.states.reader._TEXTS", 50)
    model = tiny_models["gemma3"]
    texts = [f"{city} number {number} is in {land}" for number in range(60) for city in "AB" for land in ("X", "Yes")]
    small = Scorer(model, tokenizer, name="small", batch_tokens=40)
    done = []
    states = StateReader(small, [2]).read(texts, beginning=BEGINNING, progress=done.append)
    assert sum(done) == len(texts)
    some = [BEGINNING + text for text in texts[::17]]
    plain, exact = (values[:, 2] for values in plain_and_exact(model, tokenizer, small.leading, some))
    assert_same_states(states.values[::17, 0], plain, exact)


def test_short_memory_makes_smaller_batches(tokenizer, tiny_models, monkeypatch):
    model = tiny_models["llama"]
    plain, exact = (values[:, 1:3] for values in plain_and_exact(model, tokenizer, [0], TEXTS))
    forward = model.base_model.layers[0].forward
    refused = []

    def short(states, *args, **kwargs):
        if states.shape[0] * states.shape[1] > 40:
            refused.append(states.shape)
            raise torch.OutOfMemoryError
        return forward(states, *args, **kwargs)

    scorer = Scorer(model, tokenizer, name="llama", batch_tokens=120)
    monkeypatch.setattr(model.base_model.layers[0], "forward", short)
    texts = [*TEXTS, *(f"{number} {TEXTS[0]}" for number in range(30))]
    found = StateReader(scorer, [1, 2]).read(texts).values
    assert refused
    assert_same_states(found[: len(TEXTS)], plain, exact)


def test_model_in_training_stays_in_training(tokenizer):
    model = random_model("gpt2", len(tokenizer), resid_pdrop=0.5).train()
    reader = StateReader(Scorer(model, tokenizer, name="gpt2"), [1])
    np.testing.assert_array_equal(reader.read(TEXTS).values, reader.read(TEXTS).values)
    assert model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_texts_that_cannot_be_taken_have_reasons(tokenizer, tiny_models):
    model = tiny_models["gpt2"]
    scorer = Scorer(model, tokenizer, name="gpt2", bos=False)
    long = "Japan " * (scorer.max_tokens or 0)
    states = StateReader(scorer, [1]).read(["Tokyo", "half a \ud800", "", long])
    assert sorted(states.reasons) == [1, 2, 3]
    assert "not valid Unicode" in states.reasons[1]
    assert "empty" in states.reasons[2]
    assert f"more than the {scorer.max_tokens}" in states.reasons[3]
    assert np.isnan(states.values[1:]).all()
    assert np.isfinite(states.values[0]).all()


@pytest.mark.parametrize("layers", [[], [-1], [99]])
def test_layers_that_there_are_not(layers, tokenizer, tiny_models):
    with pytest.raises(ArgumentError, match="expected numbers from 0 to"):
        StateReader(Scorer(tiny_models["gpt2"], tokenizer, name="gpt2"), layers)


def test_broken_weights_are_told(tokenizer):
    model = random_model("gpt2", len(tokenizer))
    reader = StateReader(Scorer(model, tokenizer, name="gpt2"), [1])
    with torch.no_grad():
        model.base_model.h[0].mlp.c_fc.weight[0, 0] = torch.nan
    with pytest.raises(KgprobeError, match="not numbers"):
        reader.read(TEXTS)
