"""An encoder's vectors against one forward pass a text."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from kgprobe.base.errors import KgprobeError
from kgprobe.models import encoder as module
from kgprobe.models.encoder import Encoder, load_encoder
from tests.models.encoders import random_encoder

TEXTS = ["Tokyo", "the capital of Japan", "", "東京", "New York City, New York", " Tokyo\n", "x" * 300, "a</s>b"]


def naive_vectors(model, tokenizer, text: str, layer: int) -> np.ndarray:
    if not text.strip():
        return np.empty((0, 16))
    ids = tokenizer(" " + text.strip(), add_special_tokens=False, split_special_tokens=True).input_ids[:60]
    with torch.no_grad():
        states = model(torch.tensor([[0, *ids, 1]]), output_hidden_states=True).hidden_states[layer][0, 1:-1]
    return (states / states.norm(dim=1, keepdim=True)).numpy()


@pytest.mark.parametrize("layer", [None, 0, 6])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_vectors_are_those_of_plain_forward_passes(
    kind: str, layer: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = random_encoder(kind)
    encoder = Encoder(model, tokenizer, name=kind, layer=layer)
    assert encoder.layer == (4 if layer is None else layer)
    found = encoder.vectors(TEXTS)
    for text, vectors in zip(TEXTS, found, strict=True):
        wanted = naive_vectors(model, tokenizer, text, encoder.layer)
        assert vectors.shape == wanted.shape
        np.testing.assert_allclose(vectors, wanted, atol=1e-4)
    assert len(found[2]) == 0
    assert len(found[6]) == 60
    np.testing.assert_array_equal(found[0], found[5])
    monkeypatch.setattr(module, "_TOKENS_AT_ONCE", {"cpu": 1})
    for one, other in zip(encoder.vectors(TEXTS), found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert encoder.vectors([]) == []


def test_encoder_is_loaded_by_name_without_its_pooler(tmp_path: Path) -> None:
    model, tokenizer = random_encoder("roberta")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {key: value for key, value in weights.items() if not key.startswith("pooler.")}
    assert len(kept) < len(weights)
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    encoder = load_encoder(f"hf:{tmp_path}", layer=5, device="cpu")
    np.testing.assert_allclose(
        encoder.vectors(["New York"])[0], naive_vectors(model, tokenizer, "New York", 5), atol=1e-4
    )
    described = encoder.describe()
    assert described["layer"] == 5
    assert str(described["revision"]).startswith("sha256:")

    del kept["encoder.layer.3.output.dense.weight"]
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(KgprobeError, match=r"1 of its weights are missing.*encoder\.layer\.3"):
        load_encoder(f"hf:{tmp_path}", device="cpu")


def test_layer_that_is_not_there_is_refused() -> None:
    with pytest.raises(KgprobeError, match="has 6 layers"):
        Encoder(*random_encoder("bert"), name="bert", layer=7)
