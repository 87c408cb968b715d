"""Beginnings that a model will meet again: their keys and values are kept from one call to the next.

Fifty examples stand before every fact of a relation. Computed once, they cost nothing beside the facts.
"""

from collections.abc import Callable
from typing import Any

import psutil
import torch

from kgprobe.models.scoring.forward import Prefix
from kgprobe.models.scoring.trie import Integers

# Of the memory of the device; what was used longest ago makes room.
_SHARE = 1 / 8


class Prefixes:
    """The prefixes that were used last.

    Attributes:
        taken: the bytes of their keys and values.
    """

    def __init__(self, device: torch.device, most: int | None = None) -> None:
        """None yet.

        Args:
            most: bytes that they may take; None leaves it to the device.
        """
        self._most = share_of(device) if most is None else most
        self.taken = 0
        self._kept: dict[bytes, tuple[Prefix, int]] = {}

    def get(self, tokens: Integers, compute: Callable[[], Prefix]) -> Prefix:
        """The prefix of these tokens, computed if it is not there.

        Args:
            tokens: all of its token ids from the first on.
        """
        key = tokens.tobytes()
        found = self._kept.pop(key, None)
        if found is None:
            prefix = compute()
            found = (prefix, size_of(prefix))
            self.taken += found[1]
        self._kept[key] = found
        while self.taken > self._most:
            oldest = next(iter(self._kept))
            self.taken -= self._kept.pop(oldest)[1]
        return found[0]

    def forget(self) -> bool:
        """Forget all of them; whether there were any."""
        had = bool(self._kept)
        self._kept.clear()
        self.taken = 0
        return had


def size_of(prefix: Prefix) -> int:
    """How many bytes the keys and values of a prefix take."""
    layers: list[Any] = prefix.layers
    return sum(tensor.numel() * tensor.element_size() for layer in layers for tensor in (layer.keys, layer.values))


def share_of(device: torch.device) -> int:
    """How many bytes of a device's memory what is kept may take."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory * _SHARE)
    return int(psutil.virtual_memory().total * _SHARE)
