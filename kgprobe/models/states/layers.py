"""The layers of a language model: read where it is wanted, and no further computed than that.

Layer 0 is what enters the first layer, the embeddings; layer l is what leaves the l-th; what leaves the last one is
taken behind the model's final norm. So they are numbered, and so are their values, as `output_hidden_states` of
`transformers` has them for most models.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class _EnoughError(Exception):
    """The last layer that is wanted has been read: not an error, a way out of the model's code."""


def layer_count(model: "PreTrainedModel") -> int:
    """How many layers a model has; hidden states are numbered from 0 to this."""
    return int(model.config.get_text_config().num_hidden_layers)


def state_size(model: "PreTrainedModel") -> int:
    """Return the size of a model's hidden states."""
    return int(model.config.get_text_config().hidden_size)


def find_layers(model: "PreTrainedModel") -> "Sequence[torch.nn.Module]":
    """The modules that a model's tokens go through, one after the other.

    Raises:
        KgprobeError: the model has no such list, or more than one.
    """
    count = layer_count(model)
    lists = [
        module
        for module in model.base_model.modules()
        if isinstance(module, torch.nn.ModuleList) and len(module) == count
    ]
    if len(lists) != 1:
        raise KgprobeError(
            f"{type(model).__name__} has {len(lists)} lists of {count} modules; its hidden states can be read where it"
            " has one, that of its layers."
        )
    return list(lists[0])


def states_at(
    model: "PreTrainedModel", layers: Sequence[int], wanted: torch.Tensor, run: Callable[[], torch.Tensor]
) -> torch.Tensor:
    """What a pass through the model leaves in some layers, at some places.

    Args:
        model: a causal language model.
        layers: numbers in [0, layer count], ascending; the pass ends at the last of them.
        wanted: places in the flattened (rows × tokens), shape (places,), on the model's device.
        run: the pass, through the model's layers once; gives its last hidden states, shape (rows, tokens, size).

    Returns:
        fp32, on the model's device, shape (places, layers, size).
    """
    count = layer_count(model)
    read: dict[int, torch.Tensor] = {}
    with _reading(find_layers(model), [layer for layer in layers if layer < count], layers[-1], wanted, read):
        try:
            last = run()
            read[count] = _rows(last, wanted)
        except _EnoughError:
            pass
    return torch.stack([read[layer] for layer in layers], dim=1)


@contextmanager
def _reading(
    modules: "Sequence[torch.nn.Module]", layers: Sequence[int], last: int, wanted: torch.Tensor, read: dict[int, Any]
) -> Iterator[None]:
    """While this lasts, layers below the top leave their states behind, and the last one wanted ends the pass."""

    def keep(layer: int, states: torch.Tensor) -> None:
        read[layer] = _rows(states, wanted)
        if layer == last:
            raise _EnoughError

    def before(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        keep(0, given[0] if given else named["hidden_states"])

    def after(layer: int) -> Callable[..., None]:
        return lambda _, __, output: keep(layer, output[0] if isinstance(output, tuple) else output)

    handles = [
        modules[0].register_forward_pre_hook(before, with_kwargs=True)
        if layer == 0
        else modules[layer - 1].register_forward_hook(after(layer))
        for layer in layers
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _rows(states: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return states.flatten(0, 1)[wanted].float()
