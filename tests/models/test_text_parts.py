"""Multimodal checkpoints, small and with random weights: text goes through them as through a language model."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForImageTextToText

from kgprobe.models.generating.generator import Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.spec import load_scorer
from kgprobe.models.states.reader import StateReader
from tests.models.exactness import assert_exact, reference_scores
from tests.models.tiny import LLAMA_LIKE, byte_level

ASKED = (["York is", "Tokyo is the capital"], [["New York", "a city"], ["of Japan"]])
VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": 28,
    "patch_size": 14,
}
# Of Qwen and GLM, whose vision parts have names of their own; and their positions in three parts.
VISUAL = {"depth": 1, "hidden_size": 16, "num_heads": 2, "out_hidden_size": 32, "intermediate_size": 16}
THREE_PARTS = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [1, 1, 2]}}
NARROW = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention", "full_attention"]}
GEMMA4 = {"global_head_dim": 8, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0, "pad_token_id": 0}

# Options of the text part, and of the vision part, by type; and where the vision part is.
MULTIMODAL = {
    "mistral3": ({"model_type": "mistral"}, VISION | {"model_type": "pixtral"}, "model.vision_tower"),
    "gemma3": (NARROW, VISION, "model.vision_tower"),
    "gemma4": (NARROW | GEMMA4, VISION, "model.vision_tower"),
    "qwen2_5_vl": (THREE_PARTS, VISUAL, "model.visual"),
    "qwen3_vl": (THREE_PARTS, VISUAL | {"deepstack_visual_indexes": [0]}, "model.visual"),
    "glm4v": (THREE_PARTS, VISUAL, "model.visual"),
    "llama4": (
        {"intermediate_size_mlp": 48, "num_local_experts": 2},
        VISION | {"vision_output_dim": 16, "projector_input_dim": 16, "projector_output_dim": 16},
        None,
    ),
}


def save_multimodal(kind, folder):
    """Save a model of that type with its tokenizer; return the model."""
    tokenizer = byte_level(bos=True)
    text, vision, _ = MULTIMODAL[kind]
    own = {"vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None, "head_dim": 8}
    config = AutoConfig.for_model(kind, text_config=LLAMA_LIKE | own | text, vision_config=vision)
    torch.manual_seed(7)
    model = AutoModelForImageTextToText.from_config(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


@pytest.mark.parametrize("kind", MULTIMODAL)
@pytest.mark.representatives(2)
def test_multimodal_text_part_scores_as_the_whole_model(kind, tmp_path):
    whole = save_multimodal(kind, tmp_path)
    scorer = load_scorer(f"hf:{tmp_path}", device="cpu")
    reference = getattr(whole, "language_model", whole) if kind == "llama4" else whole
    wanted = reference_scores(reference, scorer.tokenizer, [0], *ASKED)
    assert_exact([scored.values for scored in scorer.score(*ASKED)], wanted)

    dropped = MULTIMODAL[kind][2]
    assert sum(weight.numel() for weight in whole.parameters()) > scorer.model.num_parameters()
    if dropped is not None:
        assert dropped in scorer.describe()["dropped"]
        assert dropped in dict(scorer.explain())["text part"]
        assert scorer.choice.method == "packed"
    (answer,) = LocalGenerator(scorer).answer([Request("York is", 3)])
    assert answer.completion_tokens <= 3
    if kind != "llama4":
        states = StateReader(scorer, [1, 3]).read(["York is a city.", "Tokyo"]).values
        assert states.shape == (2, 2, 32)
        assert np.isfinite(states).all()
