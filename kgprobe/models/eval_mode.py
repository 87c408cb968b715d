"""Temporary eval mode, for models in training."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@contextmanager
def in_eval_mode(model: "torch.nn.Module") -> Iterator[None]:
    """Switch a model to eval mode; at the end, restore the mode of every module."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        # Module.train would change all inner modules, too.
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
