"""Hidden states of a model's layers; the forward pass ends at the last requested one.

Layer 0 is the input of the first layer, the embeddings; layer l is the output of the l-th; the output of the last layer
is taken after the model's final norm. Numbers and values agree with `output_hidden_states` of `transformers` for most
models.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class _EnoughError(Exception):
    """Signal that the last requested layer has been read, to leave the model's code."""


def layer_count(model: "PreTrainedModel") -> int:
    """Return the number of a model's layers; hidden states are numbered from 0 to this."""
    return int(model.config.get_text_config().num_hidden_layers)


def state_size(model: "PreTrainedModel") -> int:
    """Return the size of a model's hidden states."""
    return int(model.config.get_text_config().hidden_size)


def find_layers(model: "PreTrainedModel") -> "Sequence[torch.nn.Module]":
    """Return the modules of a model's layers, in order; raise a KgprobeError unless it has exactly one such list."""
    count = layer_count(model)
    lists = [module for module in model.base_model.modules() if isinstance(module, torch.nn.ModuleList)]
    lists = [modules for modules in lists if len(modules) == count]
    if len(lists) != 1:
        raise KgprobeError(
            f"{type(model).__name__} has {len(lists)} lists of {count} modules; to read hidden states, it needs"
            " exactly one, the list of its layers."
        )
    return list(lists[0])


def states_at(
    model: "PreTrainedModel", layers: Sequence[int], places: torch.Tensor, run: Callable[[], torch.Tensor]
) -> torch.Tensor:
    """Return the hidden states of some layers, at some places of a forward pass.

    Args:
        model: a causal language model.
        layers: numbers in [0, layer count], ascending; the pass ends at the last of them.
        places: places in the flattened (rows × tokens), shape (places,), on the model's device.
        run: one pass through the model's layers; returns its last hidden states, shape (rows, tokens, size).

    Returns:
        fp32, on the model's device, shape (places, layers, size).
    """
    count, modules = layer_count(model), find_layers(model)
    read: dict[int, torch.Tensor] = {}

    def keep(layer: int, states: torch.Tensor) -> None:
        read[layer] = _rows(states, places)
        if layer == layers[-1]:
            raise _EnoughError

    def before(_: Any, positional: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        keep(0, positional[0] if positional else keywords["hidden_states"])

    def after(layer: int, _: Any, __: Any, output: Any) -> None:
        keep(layer, output[0] if isinstance(output, tuple) else output)

    handles = []
    for layer in layers:
        if layer == 0:
            handles.append(modules[0].register_forward_pre_hook(before, with_kwargs=True))
        elif layer < count:
            handles.append(modules[layer - 1].register_forward_hook(partial(after, layer)))
    try:
        read[count] = _rows(run(), places)
    except _EnoughError:
        pass
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack([read[layer] for layer in layers], dim=1)


def _rows(states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return states.flatten(0, 1)[places].float()
