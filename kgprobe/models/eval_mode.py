"""A model that is being trained can be asked in between: without dropout, and as it was before when that is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@contextmanager
def in_eval_mode(model: "torch.nn.Module") -> Iterator[None]:
    """The model in eval mode; then every module is in the mode again that it was in, each by itself."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        # Module.train would change all modules within it, too.
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
