"""Ids as numbers: found by hashes of 128 bits, in arrays that 100 million ids fit into.

Two ids out of 10⁹ share such a hash with a probability of 10⁻²¹.
"""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_BYTES = 16

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]


def hash_bytes(ids: Iterable[str]) -> bytes:
    """The hashes of ids, one behind the other."""
    return b"".join([blake2b(id_.encode(), digest_size=_BYTES).digest() for id_ in ids])


def hashes_of(content: bytes) -> Hashes:
    """The hashes that :func:`hash_bytes` gave, shape (ids, 2)."""
    return np.frombuffer(content, np.uint64).reshape(-1, 2)


def order_of(hashes: Hashes) -> Numbers:
    """What sorts hashes; equal ones stay in their order."""
    return np.lexsort((hashes[:, 1], hashes[:, 0])).astype(np.int64, copy=False)


class IdTable:
    """Ids and their numbers.

    Memory: 24 bytes an id, and as much again while it is made.
    """

    def __init__(self, hashes: Hashes, numbers: Numbers) -> None:
        """A table of distinct hashes, in any order."""
        order = order_of(hashes)
        self._first = hashes[order, 0]
        self._second = hashes[order, 1]
        self._numbers = numbers[order]

    def numbers_of(self, hashes: Hashes) -> Numbers:
        """The numbers of ids by their hashes; -1 where an id is not in the table. Cost: a binary search each."""
        found = np.full(len(hashes), -1, np.int64)
        if not len(self._first):
            return found
        positions = np.searchsorted(self._first, hashes[:, 0])
        open_ = np.arange(len(hashes))
        # Nearly always a single turn: there are more where two ids share the first half of their hashes.
        while len(open_):
            open_ = open_[positions[open_] < len(self._first)]
            open_ = open_[self._first[positions[open_]] == hashes[open_, 0]]
            right = self._second[positions[open_]] == hashes[open_, 1]
            found[open_[right]] = self._numbers[positions[open_[right]]]
            open_ = open_[~right]
            positions[open_] += 1
        return found

    def numbers_by_id(self, ids: Iterable[str]) -> dict[str, int]:
        """The numbers of ids; -1 for one that is not in the table."""
        distinct = list(dict.fromkeys(ids))
        return dict(zip(distinct, self.numbers_of(hashes_of(hash_bytes(distinct))).tolist(), strict=True))
