"""The body of a causal language model: all of it but the vocabulary projection."""

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

if TYPE_CHECKING:
    from kgprobe.models.scoring.trie import Integers


def body_of(model: PreTrainedModel) -> torch.nn.Module:
    """Return the module that computes a model's last hidden states from tokens.

    Some models, such as Llama 4, name it otherwise than `base_model` expects, which then is the model itself.
    """
    body = model.base_model
    if body is model:
        decoder: Any = model
        body = decoder.get_decoder()
    if body is model:
        inner = [child for child in model.children() if isinstance(child, PreTrainedModel)]
        body = inner[0] if len(inner) == 1 else model
    return body


def last_states(model: PreTrainedModel, tokens: "Integers", cache: Any, **arguments: Any) -> torch.Tensor:
    """Return the last hidden states of rows of tokens, shape (rows, tokens, hidden size).

    Args:
        tokens: ids, shape (rows, tokens).
        cache: what precedes the tokens; the model adds them to it. None for nothing.
    """
    states: torch.Tensor = body_of(model)(
        input_ids=on_device(model, tokens), **cache_arguments(model, cache), **arguments
    ).last_hidden_state
    return states


def cache_arguments(model: PreTrainedModel, cache: Any) -> dict[str, Any]:
    """Return the arguments that pass a cache, or none, to the model's body.

    Bodies call it ``cache`` since transformers 5.24, and ``past_key_values`` or ``cache_params`` earlier and in models
    that ship with their own code.
    """
    parameters = inspect.signature(type(body_of(model)).forward).parameters
    older = [name for name in ("past_key_values", "cache_params") if name in parameters]
    return {older[0] if older else "cache": cache, "use_cache": cache is not None}


def on_device(model: PreTrainedModel, values: NDArray[Any]) -> torch.Tensor:
    """Return an array as a tensor on the model's device."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(model.device)
