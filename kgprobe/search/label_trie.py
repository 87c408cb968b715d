"""Label trie: the names of many entities as token sequences, in a memory-mapped file.

The sequences (labels) are stored sorted, each with the number of tokens shared with the previous one. So a prefix is a
range of labels, and its continuations begin where the shared length equals that of the prefix. No nodes are stored, and
a label takes about 40 bytes. Labels and entities are linked in both directions, because plausibility is a sum over an
entity's names.

:mod:`kgprobe.search.label_trie_building` builds tries; :mod:`.name_tokens` defines the tokens of a label.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.files import replacing

Integers = NDArray[np.int64]

FORMAT = 1
_MAGIC = b"kgprobe trie\n\0\0\0"
# Continuations of prefixes with at least so many labels are cached, because all facts of a type share them.
_LARGE = 4096
_CACHED = 4096


class Continuations(NamedTuple):
    """Continuations of prefixes in one trie.

    Attributes:
        source: index of the prefix, from 0, shape (children,), non-decreasing.
        token: next token, shape (children,).
        low, high: range of the labels that continue with it, shape (children,).
        ended: for each label that ends, the index of the prefix that it equals, shape (ended,).
        label: that label, shape (ended,).
    """

    source: Integers
    token: Integers
    low: Integers
    high: Integers
    ended: Integers
    label: Integers


class _Header(msgspec.Struct):
    """Header before the arrays; ``places`` contains dtype, length and offset of each."""

    key: str
    size: int
    places: dict[str, tuple[str, int, int]]
    samples: list[str]
    left_out: list[tuple[int, str]]
    crossing: int


class LabelTrie:
    """A trie in a file. Labels and entities have places, 0 to N - 1; entities also have the numbers of the graph.

    Attributes:
        key: identification given to :func:`write_label_trie`.
        entities: numbers of the entities in the graph, increasing, shape (entities,).
        owners: place of each label's entity, shape (labels,).
        longest: number of tokens of the longest label; 0 without labels.
        most_names: largest number of labels of an entity; 0 without labels.
        left_out: numbers of excluded entities, each with a name that tokenizes to nothing.
        samples: names to check a prompt, each with a different first character.
        crossing: number of labels whose first token reaches into the anchor prompt; if positive, tokens depend on the
            prompt.
    """

    def __init__(self, path: Path) -> None:
        """Map a file into memory.

        Raises:
            OSError, ValueError: The file is missing, damaged or of another version.
        """
        try:
            header = _read_header(path)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path} is a damaged trie: {error}.") from error
        raw = np.memmap(path, dtype=np.uint8, mode="r")
        if len(raw) != header.size:
            raise ValueError(f"{path} is a damaged trie: it has {len(raw)} bytes where {header.size} are expected.")
        arrays: dict[str, Any] = {}
        for name, (kind, count, offset) in header.places.items():
            arrays[name] = raw[offset : offset + count * np.dtype(kind).itemsize].view(kind)
        self.key = header.key
        self.left_out = header.left_out
        self.crossing = header.crossing
        self.samples = header.samples
        self.entities: NDArray[np.uint32] = arrays["entities"]
        self.owners: NDArray[np.uint32] = arrays["owners"]
        self._tokens: NDArray[np.int32] = arrays["tokens"]
        self._starts: NDArray[np.uint32] = arrays["starts"]
        self._common: NDArray[np.uint16] = arrays["common"]
        self._firsts: NDArray[np.uint32] = arrays["firsts"]
        self._labels: NDArray[np.uint32] = arrays["labels"]
        self._repeaters: NDArray[np.uint32] = arrays["repeaters"]
        self._repeats: NDArray[np.uint32] = arrays["repeats"]
        self.longest = int(np.diff(self._starts).max(initial=0))
        self.most_names = int(np.diff(self._firsts).max(initial=0))
        self._cache: dict[tuple[int, int, int], Continuations] = {}

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def lengths(self) -> Integers:
        """Number of tokens of each label, shape (labels,)."""
        return np.diff(self._starts).astype(np.int64)

    def sequence(self, label: int) -> tuple[int, ...]:
        """Return the tokens of a label."""
        return tuple(self._tokens[self._starts[label] : self._starts[label + 1]].tolist())

    def labels_of(self, places: Integers) -> tuple[Integers, Integers]:
        """Return the labels of the entities at these places: indices into ``places``, non-decreasing, and labels."""
        begins = self._firsts[places].astype(np.int64)
        counts = self._firsts[places + 1].astype(np.int64) - begins
        owner, within = ranges(begins, counts)
        return owner, self._labels[within].astype(np.int64)

    def owner_numbers(self, labels: Integers) -> Integers:
        """Return the number of each label's entity, shape (labels,)."""
        return self.entities[self.owners[labels]].astype(np.int64)

    def names(self, places: Integers) -> Integers:
        """Return the number of labels of each of these entities, shape (entities,)."""
        return self._firsts[places + 1].astype(np.int64) - self._firsts[places].astype(np.int64)

    def repeats(self, places: Integers) -> Integers:
        """Return the largest number of names of the same tokens of each entity, nearly always 1; shape (entities,)."""
        result = np.ones(len(places), dtype=np.int64)
        if len(self._repeaters):
            nearest = np.minimum(np.searchsorted(self._repeaters, places), len(self._repeaters) - 1)
            same = self._repeaters[nearest] == places
            result[same] = self._repeats[nearest[same]]
        return result

    def find(self, numbers: Integers) -> Integers:
        """Return the places of the entities with these numbers, -1 if not in the trie; shape (numbers,)."""
        if not len(self.entities):
            return np.full(len(numbers), -1, dtype=np.int64)
        nearest = np.minimum(np.searchsorted(self.entities, numbers), len(self.entities) - 1)
        return np.where(self.entities[nearest] == numbers, nearest, -1)

    def follow(self, low: Integers, high: Integers, depth: Integers) -> Continuations:
        """Return the continuations of prefixes.

        Args:
            low, high: ranges of labels, possibly empty, shape (prefixes,).
            depth: numbers of tokens, shape (prefixes,).

        Cost: one look-up per label of the ranges; large ranges are cached.
        """
        large = high - low >= _LARGE
        if not large.any():
            return self._follow(low, high, depth)
        parts = []
        small = np.flatnonzero(~large)
        if len(small):
            parts.append((small, self._follow(low[small], high[small], depth[small])))
        for place in np.flatnonzero(large):
            key = (int(low[place]), int(high[place]), int(depth[place]))
            cached = self._cache.get(key)
            if cached is None:
                if len(self._cache) >= _CACHED:
                    self._cache.clear()
                cached = self._cache[key] = self._follow(low[[place]], high[[place]], depth[[place]])
            parts.append((np.array([place]), cached))
        source = np.concatenate([places[part.source] for places, part in parts])
        ended = np.concatenate([places[part.ended] for places, part in parts])
        by_source, by_ended = np.argsort(source, kind="stable"), np.argsort(ended, kind="stable")
        return Continuations(
            source[by_source],
            np.concatenate([part.token for _, part in parts])[by_source],
            np.concatenate([part.low for _, part in parts])[by_source],
            np.concatenate([part.high for _, part in parts])[by_source],
            ended[by_ended],
            np.concatenate([part.label for _, part in parts])[by_ended],
        )

    def _follow(self, low: Integers, high: Integers, depth: Integers) -> Continuations:
        owner, labels = ranges(low, high - low)
        # All labels of a prefix share its tokens; a label that shares no more with the previous one begins a child.
        fresh = self._common[labels] == depth[owner]
        if len(labels):
            fresh |= np.diff(owner, prepend=-1) > 0
        source, labels = owner[fresh], labels[fresh]
        starts = self._starts[labels].astype(np.int64)
        ends = starts + depth[source] == self._starts[labels + 1]
        after = high[source]
        if len(labels):
            inner = np.flatnonzero(source[:-1] == source[1:])
            after[inner] = labels[inner + 1]
        on = ~ends
        tokens = self._tokens[starts[on] + depth[source[on]]].astype(np.int64)
        return Continuations(source[on], tokens, labels[on], after[on], source[ends], labels[ends])


def _read_header(path: Path) -> _Header:
    with open(path, "rb") as file:
        start = file.read(len(_MAGIC) + 8)
        numbers = np.frombuffer(start[len(_MAGIC) :], dtype=np.uint32)
        if not start.startswith(_MAGIC) or len(numbers) != 2 or numbers[0] != FORMAT:
            raise ValueError(f"{path} is not a trie of version {FORMAT}.")
        return msgspec.json.decode(file.read(int(numbers[1])), type=_Header)


def ranges(begins: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Concatenate ranges of integers: return the index of the range and the integer, both of shape (sum of counts,)."""
    owner = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) + (begins - before)[owner]


def write_label_trie(
    path: Path,
    key: str,
    arrays: dict[str, NDArray[Any]],
    samples: list[str],
    left_out: list[tuple[int, str]],
    crossing: int,
) -> None:
    """Write a trie to a file atomically.

    Args:
        path: file in an existing folder.
        key, samples, left_out, crossing: see :class:`LabelTrie`.
        arrays: see :mod:`kgprobe.search.label_trie_building`.
    """
    # The header contains the offsets of the arrays, which depend on its length: reserve space for it.
    sized = {name: (array.dtype.str, len(array), 0) for name, array in arrays.items()}
    room = 4096 + len(msgspec.json.encode(_Header(key, 0, sized, samples, left_out, crossing)))
    offset = len(_MAGIC) + 8 + room
    places = {}
    for name, array in arrays.items():
        offset += -offset % 64
        places[name] = (array.dtype.str, len(array), offset)
        offset += array.nbytes
    header = msgspec.json.encode(_Header(key, offset, places, samples, left_out, crossing))
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        file.write(_MAGIC + np.array([FORMAT, len(header)], dtype=np.uint32).tobytes() + header)
        for name, array in arrays.items():
            file.seek(places[name][2])
            file.write(array.tobytes())
        file.truncate(offset)
