"""Cache of scored continuations: strategies share distractors, and rounds ask a fact again."""

from array import array
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice

import numpy as np

from kgprobe.models.scoring.contract import Floats
from kgprobe.models.scoring.tokens import TokenizedPrompt


class Memory:
    """The log-probabilities of the latest continuations, some 200 bytes each."""

    def __init__(self, size: int) -> None:
        """Start with an empty cache of at most this many continuations; the oldest are forgotten first."""
        self._size = size
        self._values: dict[bytes, float] = {}

    def recall(self, prompt: TokenizedPrompt) -> Floats:
        """Return the cached value of each continuation of a prompt, NaN if unknown; shape (continuations,)."""
        if not self._values:
            return np.full(len(prompt.tails), np.nan)
        return np.array([self._values.get(key, np.nan) for key in _keys(prompt)], dtype=np.float64)

    def keep(self, prompt: TokenizedPrompt, values: Floats) -> None:
        """Store the log-probabilities of a prompt's continuations, shape (continuations,)."""
        if not self._size:
            return
        self._values.update(zip(_keys(prompt), values.tolist(), strict=True))
        excess = len(self._values) - self._size
        for key in list(islice(self._values, max(excess, 0))):
            del self._values[key]


def _keys(prompt: TokenizedPrompt) -> Iterator[bytes]:
    """Yield a digest of each continuation with the tokens before it."""
    before = {start: blake2b(array("q", [start, *prompt.context[:start]]), digest_size=16) for start in prompt.starts}
    for start, tail in zip(prompt.starts, prompt.tails, strict=True):
        key = before[start].copy()
        key.update(array("q", tail))
        yield key.digest()
