"""Devices of a model: one by name, or all GPUs of this machine, with the layers spread over them.

A spread model computes layer after layer, so one GPU works at a time: ``auto`` is for models that do not fit into the
memory of one. It takes inputs on the device of its embeddings; states come from the device of the layer that computed
them, and log-probabilities are computed on that of the output layer.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import ArgumentError, KgprobeError, first_line, how_to_install

if TYPE_CHECKING:
    import torch
    from torch import nn

AUTO = "auto"
# Part of each GPU's free memory for weights; batches, prefixes and logits need the rest.
_FOR_WEIGHTS = 0.8


def find_device(name: str | None) -> "torch.device":
    """Return the device of that name.

    >>> find_device("cpu")
    device(type='cpu')

    Args:
        name: of torch, such as ``cuda:1``; None or ``auto`` for the default: the first GPU, if any, else the CPU.
    """
    import torch

    default = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(default if name is None or name == AUTO else name)
        _check_number(device)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ArgumentError("device", f"{name!r} cannot be used: {first_line(error)}. cpu always works.") from error
    return device


def _check_number(device: "torch.device") -> None:
    import torch

    count = torch.cuda.device_count() if device.type == "cuda" else 0
    if count and (device.index or 0) >= count:
        others = "cuda:0 only" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise RuntimeError(f"this machine has {others}")


def spread_arguments(device: str | None) -> dict[str, Any]:
    """Return the arguments of ``from_pretrained`` that spread a model over all GPUs; none if it goes to one device.

    >>> spread_arguments("cuda:0")
    {}

    Args:
        device: as given by the user; ``auto`` spreads where there are at least two GPUs.
    """
    import torch

    if device != AUTO or not torch.cuda.is_available() or torch.cuda.device_count() < 2:
        return {}
    if find_spec("accelerate") is None:
        raise ArgumentError("device", f"'auto' needs accelerate to spread a model: {how_to_install('gpus')}.")
    free = {index: torch.cuda.mem_get_info(index)[0] for index in range(torch.cuda.device_count())}
    # Without this entry, weights that do not fit would go to the processor's memory.
    memory: dict[int | str, int] = {"cpu": 0}
    memory.update({index: int(_FOR_WEIGHTS * own) for index, own in free.items()})
    return {"device_map": AUTO, "max_memory": memory}


def too_large(spec: str, dtype: str, device: "torch.device", arguments: dict[str, Any]) -> KgprobeError:
    """Return the error for a model that does not fit into memory, with arguments of :func:`spread_arguments`."""
    if not arguments:
        remedy = "spread it over several GPUs (`device` auto), or use another `device`, for example cpu."
        return KgprobeError(f"{spec} in {dtype} does not fit into the memory of {device}; {remedy}")
    gpus = [size for key, size in arguments["max_memory"].items() if key != "cpu"]
    return KgprobeError(
        f"{spec} in {dtype} does not fit into {len(gpus)} GPUs with {sum(gpus) / 2**30:.1f} GiB for weights"
        f" ({_FOR_WEIGHTS:.0%} of the free memory); use a smaller `dtype`, `device` cpu, or serve the model and ask it"
        " as openai:NAME@URL."
    )


def devices_of(model: "nn.Module") -> "list[torch.device]":
    """Return the devices of a model's weights, each once, in the order of its layers.

    >>> devices_of(model)
    [device(type='cpu')]
    """
    return list(dict.fromkeys(parameter.device for parameter in model.parameters()))


def device_names(model: "nn.Module") -> str:
    """Return the names of a model's devices, for a description: ``cuda:0``, or ``cuda:0, cuda:1``."""
    return ", ".join(map(str, devices_of(model)))
