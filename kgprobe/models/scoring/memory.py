"""What a model was asked before: strategies share distractors, rounds ask a fact again, answers are the same."""

from array import array
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.tokens import TokenizedPrompt

Floats = NDArray[np.float64]


class Memory:
    """The log-probabilities of the continuations that were scored last, some 200 bytes each."""

    def __init__(self, size: int) -> None:
        """Nothing is known yet.

        Args:
            size: how many are kept; of more, the oldest are forgotten.
        """
        self._size = size
        self._values: dict[bytes, float] = {}

    def recall(self, prompt: TokenizedPrompt) -> Floats:
        """What is known of each continuation of a prompt, NaN where nothing is; shape (continuations,)."""
        if not self._values:
            return np.full(len(prompt.tails), np.nan)
        return np.array([self._values.get(key, np.nan) for key in _keys(prompt)], dtype=np.float64)

    def keep(self, prompt: TokenizedPrompt, values: Floats) -> None:
        """Learn the log-probabilities of a prompt's continuations, shape (continuations,)."""
        if not self._size:
            return
        self._values.update(zip(_keys(prompt), values.tolist(), strict=True))
        excess = len(self._values) - self._size
        for key in list(islice(self._values, max(excess, 0))):
            del self._values[key]


def _keys(prompt: TokenizedPrompt) -> Iterator[bytes]:
    """A digest of each continuation with what stands before it, token by token."""
    before = {start: blake2b(array("q", [start, *prompt.context[:start]]), digest_size=16) for start in prompt.starts}
    for start, tail in zip(prompt.starts, prompt.tails, strict=True):
        key = before[start].copy()
        key.update(array("q", tail))
        yield key.digest()
