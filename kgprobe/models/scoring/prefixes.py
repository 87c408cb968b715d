"""Cache of prompt prefixes: keys and values of a shared prefix are kept from one call to the next.

For example, fifty examples precede every fact of a relation. Computed once, they cost little compared with the facts.
"""

from collections.abc import Callable
from typing import Any

import psutil
import torch

from kgprobe.models.scoring.forward import Prefix
from kgprobe.models.scoring.trie import Integers

# Share of the device's memory; the least recently used prefix makes room.
_SHARE = 1 / 8


class Prefixes:
    """The most recently used prefixes.

    Attributes:
        taken: bytes of their keys and values.
    """

    def __init__(self, device: torch.device, most: int | None = None) -> None:
        """Start with an empty cache of at most this many bytes; None for a share of the device's memory."""
        self._most = share_of(device) if most is None else most
        self.taken = 0
        self._kept: dict[bytes, tuple[Prefix, int]] = {}

    def get(self, tokens: Integers, compute: Callable[[], Prefix]) -> Prefix:
        """Return the prefix of these token ids, computed if it is not cached."""
        key = tokens.tobytes()
        entry = self._kept.pop(key, None)
        if entry is None:
            prefix = compute()
            entry = (prefix, size_of(prefix))
            self.taken += entry[1]
        self._kept[key] = entry
        while self.taken > self._most:
            oldest = next(iter(self._kept))
            self.taken -= self._kept.pop(oldest)[1]
        return entry[0]

    def forget(self) -> bool:
        """Empty the cache; return True if it contained anything."""
        had = bool(self._kept)
        self._kept.clear()
        self.taken = 0
        return had


def size_of(prefix: Prefix) -> int:
    """Return the bytes of a prefix's keys and values."""
    layers: list[Any] = prefix.layers
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)


def share_of(device: torch.device) -> int:
    """Return the bytes of a device's memory that a cache may take."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory * _SHARE)
    return int(psutil.virtual_memory().total * _SHARE)
