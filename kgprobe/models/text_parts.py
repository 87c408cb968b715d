"""Text parts of multimodal models: the part that reads pictures or sound is dropped after loading.

transformers has a text-only class for some of these models (Llama 4, Qwen 3.5). Others have only a class for text and
pictures (Mistral 3, Qwen-VL, GLM-4V), which computes plain text like a causal language model.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_OLD_MASK = ".masked_bias"


def class_for_text(config: Any) -> str:
    """Return the name of the class of transformers that loads a model as a language model.

    >>> class_for_text(transformers.LlamaConfig()), class_for_text(transformers.Mistral3Config())
    ('AutoModelForCausalLM', 'AutoModelForImageTextToText')
    """
    from transformers.models.auto import modeling_auto

    if type(config) in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING:
        return "AutoModelForCausalLM"
    if type(config) in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return "AutoModelForImageTextToText"
    # Its error lists the known types.
    return "AutoModelForCausalLM"


def keep_text_part(model: "PreTrainedModel") -> tuple[str, ...]:
    """Drop the modules of a multimodal model that text does not pass, in place; return their names."""
    if model.config.get_text_config() is model.config:
        return ()
    parts = [model.get_decoder(), model.get_output_embeddings()]  # type: ignore[no-untyped-call]
    kept = {name for name, module in model.named_modules() if any(module is part for part in parts)}
    containers = {name.rsplit(".", depth)[0] for name in kept for depth in range(1, name.count(".") + 1)} | {""}
    dropped = []
    for container in sorted(containers - kept):
        parent = model.get_submodule(container)
        for child, _ in list(parent.named_children()):
            name = f"{container}.{child}".removeprefix(".")
            if name not in kept and name not in containers:
                delattr(parent, child)
                dropped.append(name)
    return tuple(dropped)


def unused_weights(model: "PreTrainedModel", config: Any, names: Iterable[str]) -> list[str]:
    """Return the weights that a model of text should have a place for, sorted.

    The others are masks, which old files store and the model computes itself, and the parts for pictures or sound.

    Args:
        config: the configuration of the model's files; None for a GGUF file, which has text alone.
    """
    buffers = {name for name, _ in model.named_buffers()}
    unused = sorted(name for name in names if name not in buffers and not name.endswith(_OLD_MASK))
    if config is None or config.get_text_config() is config:
        return unused
    parts = {_part(name) for name in model.state_dict()}
    return [name for name in unused if _part(name) in parts]


def _part(name: str) -> tuple[str, ...]:
    return tuple(name.split(".")[:2])
