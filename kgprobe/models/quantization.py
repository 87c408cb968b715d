"""Quantized weights: the libraries that compute them, and a description of what was loaded."""

import importlib.util
from typing import TYPE_CHECKING, Any

import torch

from kgprobe.base.errors import KgprobeError, how_to_install

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Modules that a method needs, and kgprobe's extra with them. transformers names those of other methods itself.
_LIBRARIES: dict[str, tuple[tuple[str, ...], str]] = {
    "awq": (("accelerate", "gptqmodel"), "gptq"),
    "bitsandbytes": (("accelerate", "bitsandbytes"), "bitsandbytes"),
    "compressed-tensors": (("compressed_tensors",), "compressed-tensors"),
    "fp8": (("accelerate",), "fp8"),
    "gguf": (("accelerate", "gguf"), "gguf"),
    "gptq": (("accelerate", "gptqmodel"), "gptq"),
    "torchao": (("torchao",), "torchao"),
}
_PLAIN = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def quantization_method(config: Any) -> str | None:
    """Return the method in a model's configuration, such as ``fp8``; None for plain weights.

    >>> quantization_method(transformers.LlamaConfig(quantization_config={"quant_method": "fp8"}))
    'fp8'
    """
    own = getattr(config, "quantization_config", None) or getattr(config, "compression_config", None)
    if own is None:
        return None
    method = own.get("quant_method") if isinstance(own, dict) else getattr(own, "quant_method", None)
    return str(getattr(method, "value", method) or "unknown")


def require_libraries(spec: str, method: str) -> None:
    """Raise a KgprobeError if a library of a method is not installed."""
    modules, extra = _LIBRARIES.get(method, ((), ""))
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise KgprobeError(
                f"{spec} has weights quantized by {method}, which need {module.replace('_', '-')}, which is not"
                f" installed: {how_to_install(extra)}."
            )


def is_dequantized(model: "PreTrainedModel") -> bool:
    """Return True if all weights of a model are plain floating-point numbers."""
    parameters_plain = all(type(parameter) is torch.nn.Parameter for parameter in model.parameters())
    tensors = (value for value in model.state_dict().values() if isinstance(value, torch.Tensor))
    return parameters_plain and all(tensor.dtype in _PLAIN for tensor in tensors)
