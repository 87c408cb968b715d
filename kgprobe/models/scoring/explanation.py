"""How a model is computed and why so, for people."""

from typing import TYPE_CHECKING

from kgprobe.models.scoring.batching import BatchLimits
from kgprobe.models.scoring.check import WAY_MEANINGS, WayChoice

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def explain_scoring(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    choice: WayChoice,
    limits: BatchLimits,
    leading: tuple[int, ...],
    max_tokens: int | None,
) -> list[tuple[str, str]]:
    """Return headings with explanations of how a model is computed.

    Args:
        choice: the chosen way, and the findings about the others.
        leading: the special tokens before every prompt.
        max_tokens: maximum tokens that the model accepts; None if unknown.
    """
    logits = "the model's own logits"
    if choice.projection is not None:
        cap = "" if choice.projection.soft_cap is None else f", soft cap {choice.projection.soft_cap:g}"
        vocabulary, hidden = choice.projection.weight.shape
        logits = (
            f"{vocabulary:,} tokens x {hidden:,} dimensions, scale {choice.projection.scale:g}{cap}; only for"
            f" requested tokens, {limits.logits:,} logits at once"
        )
    tokens = tokenizer.convert_ids_to_tokens(list(leading))
    return [
        ("model", f"{type(model).__name__}, {model.num_parameters():,} parameters"),
        ("way", f"{choice.way}: {WAY_MEANINGS[choice.way]}"),
        *((f"way: {way}", finding) for way, finding in choice.findings),
        ("vocabulary", logits),
        ("precision", f"{model.dtype} on {model.device}, log-softmax in float32".removeprefix("torch.")),
        ("tokens at once", f"{limits.tokens:,}" if choice.projection else "one continuation"),
        ("longest text", "unknown" if max_tokens is None else f"{max_tokens:,} tokens"),
        ("leading tokens", " ".join(tokens) or "none"),
    ]
