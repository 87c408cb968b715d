"""How facts are named: by their subject's id, from which one walks, and their own."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

# Keys that are Python objects at a time, while the others are arrays.
_BLOCK = 100_000


class FactKey(NamedTuple):
    """How a fact is found: its subject's id, from which one walks, and its own."""

    subject: str
    fact: str


class Keys(Protocol):
    """Facts in an order that stays the same: a list of keys, or arrays of them."""

    def __len__(self) -> int: ...
    def __getitem__(self, position: int, /) -> FactKey: ...


class FactKeys:
    """The keys of many facts, sorted by fact, as arrays of UTF-8 bytes, each as wide as its longest id.

    A fact's position in this order names it during a run. Memory: the ids, once; nothing a key beside them.
    """

    def __init__(self, keys: Iterable[tuple[bytes, bytes]]) -> None:
        """Sort the keys, pairs of subject and fact, encoded as UTF-8; they may be streamed."""
        blocks = list(_blocks(keys))
        subjects = np.concatenate([block[0] for block in blocks]) if blocks else np.empty(0, "S1")
        facts = np.concatenate([block[1] for block in blocks]) if blocks else np.empty(0, "S1")
        order = np.argsort(facts, kind="stable")
        self._subjects: NDArray[np.bytes_] = subjects[order]
        self._facts: NDArray[np.bytes_] = facts[order]

    def __len__(self) -> int:
        return len(self._facts)

    def __getitem__(self, position: int) -> FactKey:
        return FactKey(self._subjects[position].decode(), self._facts[position].decode())

    def positions(self, facts: Sequence[str]) -> NDArray[np.int64]:
        """The positions of facts by their ids, shape (facts,); -1 for one that is not among them."""
        wanted = np.array([fact.encode() for fact in facts], dtype=np.bytes_)
        if not len(self) or not len(wanted):
            return np.full(len(wanted), -1, dtype=np.int64)
        found = np.searchsorted(self._facts, wanted)
        found = np.minimum(found, len(self) - 1)
        return np.where(self._facts[found] == wanted, found, -1)


class KeysInOrder:
    """Some of other keys, in an order of their own. Memory: 8 bytes a key beside the others."""

    def __init__(self, keys: Keys, places: NDArray[np.int64]) -> None:
        """Take the keys at these places, in the order of the places."""
        self._keys, self._places = keys, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, position: int) -> FactKey:
        return self._keys[int(self._places[position])]


def _blocks(keys: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[NDArray[np.bytes_], NDArray[np.bytes_]]]:
    rest = iter(keys)
    while block := list(islice(rest, _BLOCK)):
        yield (
            np.array([subject for subject, _ in block], dtype=np.bytes_),
            np.array([fact for _, fact in block], dtype=np.bytes_),
        )
