"""Texts packed in rows that store the common prefixes of neighbours once.

Sorted by their tokens, texts are the leaves of a trie in the order of a walk through it. So a node's descendants
directly follow it, and their end defines the attention mask. All steps are vectorized over texts, except filling rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Rows of nodes after a prefix that all texts begin with.

    Attributes:
        tokens: ids of all rows' nodes, row by row, shape (nodes,).
        depths: number of tokens before a node in its text, prefix included, shape (nodes,).
        ends: the place in its row after the last node that sees a node, shape (nodes,).
        offsets: beginning of each row, and the end of the last, shape (rows + 1,).
        rows, columns: place of each text's last token, in the order given, shape (texts,).
    """

    tokens: Integers
    depths: Integers
    ends: Integers
    offsets: Integers
    rows: Integers
    columns: Integers


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows, padded to the longest.

    Attributes:
        tokens, depths: shape (rows, longest).
        visible: True where a token sees another, shape (rows, longest, longest).
    """

    tokens: Integers
    depths: Integers
    visible: NDArray[np.bool_]


def pack(ids: Integers, offsets: Integers, prefix: int, most: int) -> PackedTexts:
    """Pack texts in rows of at most so many nodes, or of one text.

    >>> packed = pack(np.array([7, 1, 2, 7, 1, 3, 7, 1]), np.array([0, 3, 6, 8]), prefix=1, most=8)
    >>> packed.tokens.tolist(), packed.depths.tolist(), packed.ends.tolist(), packed.columns.tolist()
    ([1, 2, 3], [1, 2, 2], [3, 2, 3], [1, 2, 0])

    Cost: sorting; temporary memory of texts × the longest text.

    Args:
        ids: the tokens of all texts, one after the other, each not negative.
        offsets: beginning of each text in them, and the end of the last, shape (texts + 1,).
        prefix: number of common leading tokens to leave out; each text has more.
        most: maximum nodes in a row.
    """
    count = len(offsets) - 1
    lengths = np.diff(offsets) - prefix
    longest = int(lengths.max())
    # Tokens are shifted by 1, so that padding sorts before every token.
    padded = np.zeros((count, longest), dtype=">u4")
    inside = np.arange(longest) < lengths[:, None]
    kept = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets)) >= prefix
    padded[inside] = ids[kept] + 1
    # Rows compare fastest as bytes.
    order = np.argsort(padded.view(f"S{4 * longest}").ravel(), kind="stable")
    padded, lengths, inside = padded[order], lengths[order], inside[order]

    shared = np.zeros(count, dtype=np.int64)
    alike = (padded[1:] == padded[:-1]) & inside[1:]
    shared[1:] = np.logical_and.accumulate(alike, axis=1).sum(axis=1)
    row_of, starts, sizes = _fill(lengths.tolist(), shared.tolist(), most)
    first = np.flatnonzero(np.diff(row_of, prepend=-1))
    shared[first] = 0
    fresh = lengths - shared

    text = np.repeat(np.arange(count), fresh)
    within = np.arange(len(text)) - np.repeat(np.cumsum(fresh) - fresh, fresh) + shared[text]
    # A node is visible until the next text whose shared length is at most this node's depth.
    parting = np.where(shared[:, None] <= np.arange(longest), np.arange(count)[:, None], count)
    following = np.full((count, longest), count)
    following[:-1] = np.minimum.accumulate(parting[::-1], axis=0)[::-1][1:]
    ending = following[text, within]
    beyond = (ending == count) | (np.append(row_of, -1)[ending] != row_of[text])
    ends = np.where(beyond, sizes[row_of[text]], np.append(starts, 0)[ending])

    # A repeated text has no node of its own.
    last = np.maximum.accumulate(np.where(fresh > 0, np.arange(count), 0))
    columns = np.empty(count, dtype=np.int64)
    rows = np.empty(count, dtype=np.int64)
    columns[order] = starts[last] + fresh[last] - 1
    rows[order] = row_of
    tokens = padded[text, within].astype(np.int64) - 1
    return PackedTexts(tokens, within + prefix, ends, np.append(0, np.cumsum(sizes)), rows, columns)


def block_of(packed: PackedTexts, rows: Integers) -> Block:
    """Return these rows, padded; padding sees itself alone, because a softmax over nothing is NaN."""
    sizes = packed.offsets[rows + 1] - packed.offsets[rows]
    longest = int(sizes.max())
    places = np.arange(longest)
    inside = places < sizes[:, None]
    nodes = np.where(inside, packed.offsets[rows][:, None] + places, packed.offsets[rows][:, None])
    ends = np.where(inside, packed.ends[nodes], places + 1)
    # Padding repeats a node of the row.
    visible = (places[None, None] <= places[None, :, None]) & (places[None, :, None] < ends[:, None])
    return Block(packed.tokens[nodes], packed.depths[nodes], visible)


def _fill(lengths: list[int], shared: list[int], most: int) -> tuple[Integers, Integers, Integers]:
    """Return each text's row, the beginning of its own nodes there, and the number of nodes of each row."""
    row, size = -1, most
    rows, starts, sizes = [], [], []
    for length, common in zip(lengths, shared, strict=True):
        fresh = length - common
        if row < 0 or size + fresh > most:
            if row >= 0:
                sizes.append(size)
            row, size, fresh = row + 1, 0, length
        rows.append(row)
        starts.append(size)
        size += fresh
    sizes.append(size)
    return np.array(rows), np.array(starts), np.array(sizes)
