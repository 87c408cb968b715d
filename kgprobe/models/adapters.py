"""Adapters of peft: applied to their base, and merged into its weights where this is exact.

A merged LoRA adapter costs nothing in a forward pass. Merging rounds to the precision of the weights, which can lose a
small change. So a short text goes through the model with the adapter as it is and merged, and without it. The merged
model is used if log-probabilities agree as closely as the check of :mod:`kgprobe.models.scoring.check` demands, and
their mean difference is a small part of the adapter's own effect. Otherwise the adapter stays next to the weights.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kgprobe.base.errors import KgprobeError, first_line, how_to_install
from kgprobe.models.model_files import ADAPTER_WEIGHTS, AdapterFiles
from kgprobe.models.scoring.check import allowed_errors
from kgprobe.models.scoring.forward import in_eval_mode

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Tokens of the text that is compared, and the largest share of the adapter's effect that merging may change.
_TEXT = 24
_SHARE = 0.1
# Parts of the names of weights.
_PREFIX, _WHOLE_MODULE = "base_model.model.", ".modules_to_save"
_SAVE_AGAIN = "Save it again with peft's save_pretrained(…, save_embedding_layers=True)."


@dataclass(frozen=True, slots=True)
class AppliedAdapter:
    """A model with its adapter, of a kind such as LORA, and the result of merging, or the reason against it."""

    model: "PreTrainedModel"
    kind: str
    merged: bool
    finding: str


def apply_adapter(
    load_base: "Callable[[], PreTrainedModel]", adapter: AdapterFiles, *, tokens: int | None, quantized: bool
) -> AppliedAdapter:
    """Load a base and apply an adapter to it; merge it where exact.

    Cost: loading the base; a second time if merging turns out inexact. Three passes of a short text.

    Args:
        tokens: size of the adapter's own tokenizer; None if it uses the base's.
        quantized: True if the base's weights are quantized; they stay unmerged.
    """
    net, kind = _attach(load_base(), adapter, tokens)
    model = net.get_base_model()
    if kind != "LORA":
        return AppliedAdapter(model.eval(), kind, False, "only LoRA is merged")
    if quantized:
        return AppliedAdapter(model.eval(), kind, False, "the base is quantized")
    text = _text(model)
    effect = _log_probabilities(model, text)
    with net.disable_adapter():
        change = (effect - _log_probabilities(model, text)).abs().mean().item()
    merged = net.merge_and_unload()
    errors = (_log_probabilities(merged, text) - effect).abs()
    error, allowed = errors.max().item(), allowed_errors(merged.dtype)[0]
    finding = f"log-probabilities change by up to {error:.1e} ({allowed:.0e} allowed)"
    if error <= allowed and errors.mean().item() <= _SHARE * change:
        return AppliedAdapter(merged.eval(), kind, True, finding)
    if error <= allowed:
        finding = f"this would change the adapter's effect by more than {_SHARE:.0%}"
    # Subtracting the adapter again would not restore the rounded weights.
    del net, model, merged
    net, kind = _attach(load_base(), adapter, tokens)
    return AppliedAdapter(net.get_base_model().eval(), kind, False, finding)


def _attach(base: "PreTrainedModel", adapter: AdapterFiles, tokens: int | None) -> tuple[Any, str]:
    """Return peft's model around a base, and the adapter's type."""
    try:
        from peft import PeftConfig, PeftModel
    except ImportError as error:
        raise KgprobeError(f"An adapter needs peft, which is not installed: {how_to_install('peft')}.") from error
    from safetensors.torch import load_file

    weights = load_file(adapter.folder / ADAPTER_WEIGHTS)
    known = _resize_vocabulary(base, adapter, weights, tokens)
    config = PeftConfig.from_pretrained(str(adapter.folder))
    if config.is_prompt_learning or getattr(config, "alora_invocation_tokens", None):
        raise KgprobeError(
            f"{adapter.name} is an adapter of the type {adapter.config.get('peft_type')} that depends on the prompt, so"
            " it cannot be scored; adapters of layers can, such as LoRA."
        )
    config.inference_mode = True
    try:
        net: Any = PeftModel(base, config)
        report = net.load_adapter(str(adapter.folder), "default", torch_device="cpu")
    except torch.OutOfMemoryError:
        raise
    except (ValueError, RuntimeError, KeyError) as error:
        lines = [line.strip() for line in str(error).splitlines()]
        raise _unfitting(adapter, next((line for line in lines if "mismatch" in line), first_line(error))) from error
    wrong = sorted((*report.missing_keys, *_without_place(report.unexpected_keys, weights)))
    if wrong:
        raise _unfitting(adapter, f"{len(wrong)} of its weights have no place in the base, or are missing: {wrong[0]}")
    # New tokens of the adapter need rows of their own in each layer of the vocabulary.
    for layer, weight in _vocabulary_weights(net.get_base_model()).items():
        if len(weight) > known and not weight[known:].any():
            raise KgprobeError(
                f"The adapter {adapter.name} has {len(weight):,} tokens, more than the {known:,} of its base, and no"
                f" weights of the {layer} for the new ones. {_SAVE_AGAIN}"
            )
    net.eval()
    text = _text(base)
    if not torch.equal(_log_probabilities(net, text), _log_probabilities(net.get_base_model(), text)):
        raise KgprobeError(
            f"{adapter.name} is an adapter of the type {config.peft_type.value}, which needs more than the layers of"
            " its base, so it cannot be scored; adapters of layers can, such as LoRA."
        )
    return net, str(config.peft_type.value)


def _without_place(keys: Iterable[str], weights: Collection[str]) -> list[str]:
    """Return the unexpected weights, except resized embeddings, which peft saves under two names."""
    return [key for key in keys if _WHOLE_MODULE not in key or key.replace(_WHOLE_MODULE, "") not in weights]


def _unfitting(adapter: AdapterFiles, problem: str) -> KgprobeError:
    trained_on = f"it was trained on {adapter.trained_on}" if adapter.trained_on else "its base is not recorded"
    return KgprobeError(
        f"The adapter {adapter.name} does not fit the base ({trained_on}): {problem}. Name the base that it was trained"
        " on: hf:BASE+ADAPTER."
    )


def _resize_vocabulary(
    base: "PreTrainedModel", adapter: AdapterFiles, weights: Mapping[str, torch.Tensor], tokens: int | None
) -> int:
    """Give the base as many rows of embeddings as the adapter has; raise if the tokenizer has more tokens.

    Returns:
        Number of rows before; new rows are zero until the adapter is loaded.
    """
    embeddings: Any = base.get_input_embeddings()
    output = base.get_output_embeddings()  # type: ignore[no-untyped-call]
    known = rows = int(embeddings.weight.shape[0])
    names = {name for name, module in base.named_modules() if module is embeddings or module is output}
    for key, weight in weights.items():
        # Weights of whole modules have the module's name.
        module = key.removeprefix(_PREFIX).removesuffix(".weight").removesuffix(_WHOLE_MODULE)
        if module in names:
            rows = int(weight.shape[0])
    if rows != known:
        base.resize_token_embeddings(rows, mean_resizing=False)
        with torch.no_grad():
            for weight in _vocabulary_weights(base).values():
                weight[known:] = 0
    if tokens is not None and tokens > rows:
        raise KgprobeError(
            f"The tokenizer of the adapter {adapter.name} has {tokens:,} tokens, more than the {rows:,} of the model,"
            f" and the adapter has no embeddings of its own. {_SAVE_AGAIN}"
        )
    return known


def _vocabulary_weights(model: "PreTrainedModel") -> dict[str, torch.Tensor]:
    """Return the weights with a row for each token, by the name of their layer; tied ones are one tensor."""
    layers: dict[str, Any] = {
        "input embeddings": model.get_input_embeddings(),
        "output layer": model.get_output_embeddings(),  # type: ignore[no-untyped-call]
    }
    return {name: layer.weight for name, layer in layers.items() if layer is not None}


def _text(model: "PreTrainedModel") -> torch.Tensor:
    """Return the token ids of a random text, shape (1, tokens)."""
    embeddings: Any = model.get_input_embeddings()
    generator = torch.Generator().manual_seed(0)
    return torch.randint(int(embeddings.weight.shape[0]), (1, _TEXT), generator=generator).to(model.device)


@torch.inference_mode()
def _log_probabilities(model: Any, text: torch.Tensor) -> torch.Tensor:
    """Return the log-probabilities of all tokens after each token, on the CPU, shape (1, tokens, vocabulary)."""
    with in_eval_mode(model):
        logits: torch.Tensor = model(input_ids=text, use_cache=False).logits
    return logits.float().log_softmax(-1).cpu()
