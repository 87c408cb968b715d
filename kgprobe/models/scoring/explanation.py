"""How a model is computed and why so, as it is told to a person."""

from typing import TYPE_CHECKING

from kgprobe.models.scoring.batching import BatchLimits
from kgprobe.models.scoring.check import WAY_MEANINGS, Choice

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def explain_scoring(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    choice: Choice,
    limits: BatchLimits,
    leading: tuple[int, ...],
    max_tokens: int | None,
) -> list[tuple[str, str]]:
    """What something is called, and what is to be said about it.

    Args:
        choice: the way that was taken, and why others were not.
        leading: the special tokens in front of every prompt.
        max_tokens: the longest text that the model takes in; None if no limit is known.
    """
    logits = "the model's own logits"
    if choice.projection is not None:
        cap = "" if choice.projection.soft_cap is None else f", soft cap {choice.projection.soft_cap:g}"
        vocabulary, hidden = choice.projection.weight.shape
        logits = (
            f"{vocabulary:,} tokens x {hidden:,} dimensions, scale {choice.projection.scale:g}{cap}; only where a"
            f" token is asked for, {limits.logits:,} logits at once"
        )
    tokens = tokenizer.convert_ids_to_tokens(list(leading))
    return [
        ("model", f"{type(model).__name__}, {model.num_parameters():,} parameters"),
        ("way", f"{choice.way}: {WAY_MEANINGS[choice.way]}"),
        *((f"way: {way}", finding) for way, finding in choice.findings),
        ("vocabulary", logits),
        (
            "precision",
            f"{model.dtype} on {model.device}, log-softmax in torch.float32".replace("torch.", ""),
        ),
        ("tokens at once", f"{limits.tokens:,}" if choice.projection else "those of one continuation"),
        ("longest text", "no limit is known" if max_tokens is None else f"{max_tokens:,} tokens"),
        ("leading tokens", " ".join(tokens) or "none"),
    ]
