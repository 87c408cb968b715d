"""All names of many entities, as the token sequences that a model may say, in a file mapped into memory.

The sequences stand sorted, one after the other; beside each stands how many tokens it has in common with the one
before it. So a prefix is a range of labels, and its continuations are the places in that range where something new
begins: there are no nodes to be stored, and a label takes about 40 bytes. Each label knows its entity and each entity
its labels, because plausibility is summed over an entity's names.

A trie is made by :mod:`kgprobe.search.label_trie_building`; a label's tokens are what :mod:`.name_tokens` says.
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
# From this many labels on, what follows a prefix is remembered: every fact of a type begins with the same ones.
_LARGE = 4096
_REMEMBERED = 4096


class Continuations(NamedTuple):
    """What follows some prefixes, in one trie.

    Attributes:
        source: which prefix, counted from 0, shape (children,), non-decreasing.
        token: the token that follows, shape (children,).
        low, high: the range of labels that go on with it, shape (children,).
        ended: for each label that ends there, which prefix it is, shape (ended,).
        label: that label, shape (ended,).
    """

    source: Integers
    token: Integers
    low: Integers
    high: Integers
    ended: Integers
    label: Integers


class _Header(msgspec.Struct):
    """What stands in front of the arrays; ``places`` has dtype, length and offset of each."""

    key: str
    size: int
    places: dict[str, tuple[str, int, int]]
    samples: list[str]
    left_out: list[tuple[int, str]]
    crossing: int


class LabelTrie:
    """A trie in a file. Labels and entities go by their places, 0 to N - 1; an entity also by its number.

    Attributes:
        key: what the trie was made from, as given to :func:`write_label_trie`.
        entities: the numbers of the entities in the graph, increasing, shape (entities,).
        owners: for each label the place of its entity, shape (labels,).
        lengths: for each label its tokens, shape (labels,).
        longest: the tokens of the longest label; 0 without labels.
        most_names: the labels of the entity with most of them; 0 without labels.
        left_out: numbers of entities that are not in the trie since a name of theirs tokenizes to nothing, each with
            that name.
        samples: some names, each with another first character, by which a prompt can be checked.
        crossing: how many labels have a first token that reaches into the anchor prompt; where there are any, a
            label's tokens depend on the prompt.
    """

    def __init__(self, path: Path) -> None:
        """Map a file into memory.

        Raises:
            OSError, ValueError: there is none, or it is not a whole trie of this version.
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
        self._known: dict[tuple[int, int, int], Continuations] = {}

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def lengths(self) -> Integers:
        """For each label the number of its tokens, shape (labels,)."""
        return np.diff(self._starts).astype(np.int64)

    def sequence(self, label: int) -> tuple[int, ...]:
        """The tokens of a label."""
        return tuple(self._tokens[self._starts[label] : self._starts[label + 1]].tolist())

    def labels_of(self, places: Integers) -> tuple[Integers, Integers]:
        """The labels of entities.

        Args:
            places: of the entities, shape (entities,).

        Returns:
            which of these entities, non-decreasing, and the label; both of shape (labels,).
        """
        begins = self._firsts[places].astype(np.int64)
        counts = self._firsts[places + 1].astype(np.int64) - begins
        owner, within = ranges(begins, counts)
        return owner, self._labels[within].astype(np.int64)

    def owner_numbers(self, labels: Integers) -> Integers:
        """The numbers of the entities that labels belong to, shape (labels,)."""
        return self.entities[self.owners[labels]].astype(np.int64)

    def names(self, places: Integers) -> Integers:
        """How many labels these entities have, shape (entities,)."""
        return self._firsts[places + 1].astype(np.int64) - self._firsts[places].astype(np.int64)

    def repeats(self, places: Integers) -> Integers:
        """How many names of an entity have the same tokens, at most; 1 nearly always. Shape (entities,)."""
        result = np.ones(len(places), dtype=np.int64)
        if len(self._repeaters):
            found = np.minimum(np.searchsorted(self._repeaters, places), len(self._repeaters) - 1)
            same = self._repeaters[found] == places
            result[same] = self._repeats[found[same]]
        return result

    def find(self, numbers: Integers) -> Integers:
        """The places of the entities with these numbers, -1 for one that is not in the trie; shape (numbers,)."""
        if not len(self.entities):
            return np.full(len(numbers), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.entities, numbers), len(self.entities) - 1)
        return np.where(self.entities[found] == numbers, found, -1)

    def follow(self, low: Integers, high: Integers, depth: Integers) -> Continuations:
        """What follows prefixes.

        Args:
            low, high: their ranges of labels; empty ones are allowed, and followed by nothing. Shape (prefixes,).
            depth: how many tokens they have, shape (prefixes,).

        Cost: one look at each label of the ranges; large ranges are remembered.
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
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                known = self._known[key] = self._follow(low[[place]], high[[place]], depth[[place]])
            parts.append((np.array([place]), known))
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
        # Within a prefix's range all labels have its tokens in common; where two have no more, something else begins.
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
            raise ValueError(f"{path} is no trie of version {FORMAT}.")
        return msgspec.json.decode(file.read(int(numbers[1])), type=_Header)


def ranges(begins: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Several ranges of integers, one after the other: which range, and the integer; both of shape (sum of counts,)."""
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
    """Write a trie to a file, which is there as a whole or not at all.

    Args:
        path: in a folder that is there.
        key, samples, left_out, crossing: see :class:`LabelTrie`.
        arrays: see :mod:`kgprobe.search.label_trie_building`.
    """
    # The header's own length shifts the arrays, and their offsets stand in it: room for it is set aside.
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
