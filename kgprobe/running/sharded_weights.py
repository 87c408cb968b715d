"""The whole weights of a model that is sharded over processes (FSDP, ``fully_shard``), in a plain copy of it.

The gathering is collective: all processes call it, and the first gets the weights.
"""

from typing import Any

import torch
from torch import distributed, nn

from kgprobe.base.errors import KgprobeError

# What to do if a model cannot be probed while it is trained.
ALTERNATIVE = "Save checkpoints, and measure each: kgprobe probe distractors --model hf:./CHECKPOINT."


def is_sharded(model: nn.Module) -> bool:
    """Return True if no process has the whole model: FSDP, or parameters that are distributed tensors."""
    if not distributed.is_available() or not distributed.is_initialized():
        return False
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.tensor import DTensor

    is_wrapped = any(isinstance(module, FullyShardedDataParallel) for module in model.modules())
    return is_wrapped or any(isinstance(parameter, DTensor) for parameter in model.parameters())


def gather_weights(model: nn.Module) -> dict[str, Any]:
    """Return the whole weights in the first process, on the CPU, and nothing in the others; all processes call it.

    Cost: the whole weights in the memory of the first process.
    """
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return dict(get_model_state_dict(model, options=options))


def plain_copy(net: Any, device: torch.device) -> Any:
    """Return a model of transformers with the same configuration, on one device and with random weights.

    The copy is on a GPU if twice its size fits into the GPU's free memory, else on the CPU.

    Raises:
        KgprobeError: not a model of transformers, such as one with an adapter.
    """
    from transformers import AutoModelForCausalLM, PreTrainedModel

    if not isinstance(net, PreTrainedModel):
        raise KgprobeError(
            f"The model is sharded, and a {type(net).__name__} cannot be copied into one process. {ALTERNATIVE}"
        )
    make: Any = AutoModelForCausalLM.from_config
    copy = make(net.config, dtype=net.dtype).eval()
    size = sum(parameter.numel() * parameter.element_size() for parameter in copy.parameters())
    fits = device.type == "cuda" and torch.cuda.mem_get_info(device)[0] > 2 * size
    return copy.to(device if fits else "cpu")


def share_numbers(numbers: list[int]) -> list[int]:
    """Return the numbers of the first process in all processes; all call it, and wait for the first."""
    shared: list[Any] = [numbers]
    distributed.broadcast_object_list(shared, src=0)
    received: list[int] = shared[0]
    return received
