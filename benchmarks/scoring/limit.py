"""Arithmetic limit: the time of the necessary matrix products."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kgprobe.models.scoring.tokens import TokenizedPrompt


@dataclass(frozen=True, slots=True)
class Work:
    """Necessary work.

    Attributes:
        nodes: distinct token prefixes, counted by their last tokens.
        positions: nodes with a requested probability.
        attention: floating-point operations of all layers' attention, each node to itself and all before it.
    """

    nodes: int
    positions: int
    attention: float


def work_of(model: "PreTrainedModel", prompts: Sequence["TokenizedPrompt"]) -> Work:
    """Return the work of the tries of all prompts."""
    places: dict[tuple[int, int], int] = {}
    depths: list[int] = []
    requested: set[int] = set()

    def step(node: int, token: int, depth: int) -> int:
        place = places.setdefault((node, token), len(places))
        if place == len(depths):
            depths.append(depth)
        return place

    for prompt in prompts:
        context = [-1]
        for depth, token in enumerate(prompt.context):
            context.append(step(context[-1], token, depth))
        for start, tail in zip(prompt.starts, prompt.tails, strict=True):
            node = context[start]
            requested.add(node)
            for depth, token in enumerate(tail[:-1], start=start):
                node = step(node, token, depth)
                requested.add(node)
    config = model.config.get_text_config()
    width = config.num_attention_heads * getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    before = np.array(depths) + 1
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    near = np.minimum(before, config.sliding_window) if "sliding_attention" in kinds else before
    seen = sum(int((near if kind == "sliding_attention" else before).sum()) for kind in kinds)
    # A product with the keys and one with the values, each a multiplication and an addition.
    return Work(len(depths), len(requested), 4.0 * width * seen)


@dataclass(frozen=True, slots=True)
class Products:
    """Fastest times of the model's matrix products.

    Attributes:
        node: seconds per token for all linear layers but the vocabulary.
        position: seconds per token for the vocabulary.
        rate: floating-point operations per second over the linear layers.
    """

    node: float
    position: float
    rate: float

    def seconds(self, work: Work) -> float:
        """Return the arithmetic limit in seconds."""
        return work.nodes * self.node + work.positions * self.position + work.attention / self.rate


def time_products(model: "PreTrainedModel", repeats: int) -> Products:
    """Time the linear layers in order with their weights, and the vocabulary in pieces."""
    import torch
    from torch.nn.functional import linear

    device, dtype = model.device, model.dtype
    rows = 8192 if device.type == "cuda" else 1024
    layers = [module.weight for module in model.base_model.modules() if isinstance(module, torch.nn.Linear)]
    vocabulary = model.get_output_embeddings().weight  # type: ignore[no-untyped-call]
    inputs = {
        size: torch.randn(rows, size, device=device).to(dtype)
        for size in {weight.shape[1] for weight in [*layers, vocabulary]}
    }

    def fastest(weights: Sequence[torch.Tensor]) -> float:
        def once() -> float:
            clock = time.perf_counter()
            for weight in weights:
                linear(inputs[weight.shape[1]], weight)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            return time.perf_counter() - clock

        return min(once() for _ in range(repeats))

    with torch.inference_mode():
        node = fastest(layers) / rows
        share = min(len(vocabulary), 1 << 16)
        position = (
            min(fastest(vocabulary[:share].split(width)) for width in (1024, 4096, 16_384))
            / rows
            / share
            * len(vocabulary)
        )
    return Products(node, position, 2 * sum(layer.numel() for layer in layers) / node)
