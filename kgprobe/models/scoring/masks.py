"""Masks of token trees, from two numbers for each node: made on the device, instead of copied to it.

A walk through a tree, depth first, enters a node, then all nodes below it, and leaves it. A node's ancestors, and the
node itself, are those that were entered before it or with it, and were not left yet. So a row of n nodes needs 2n
numbers on the host, not n² bits.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

Times = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Spans:
    """Times at which a walk enters and leaves nodes.

    Attributes:
        entries: any shape, at least 0; different for the nodes of a row.
        exits: the entry of the first node after all those below a node, in the shape of ``entries``.
    """

    entries: Times
    exits: Times


def walk(parents: NDArray[np.int64]) -> Spans:
    """Return the times of a walk through trees, from 0 to the number of nodes; shape (nodes,).

    >>> spans = walk(np.array([-1, 0, 1, 0]))
    >>> spans.entries.tolist(), spans.exits.tolist()
    ([0, 1, 2, 3], [4, 3, 3, 4])

    Args:
        parents: for each node the index of its parent, which is smaller; -1 for none. Shape (nodes,).
    """
    count = len(parents)
    order = np.argsort(parents, kind="stable")
    siblings = parents[order[1:]] == parents[order[:-1]]
    # The last place, -1, is after all nodes.
    next_sibling = np.full(count + 1, -1)
    next_sibling[order[:-1][siblings]] = order[1:][siblings]
    # The walk leaves a node for the next sibling of the node itself, or of its nearest ancestor that has one.
    leaving = np.where(next_sibling < 0, np.append(parents, -1), np.arange(count + 1))
    while (leaving != (further := leaving[leaving])).any():
        leaving = further
    after = next_sibling[leaving]
    entries = _entries(parents, order[np.append(True, ~siblings)], after)
    return Spans(entries[:-1], entries[after[:-1]])


def _entries(parents: NDArray[np.int64], first_children: NDArray[np.int64], after: NDArray[np.int64]) -> Times:
    """Return the entry of each node, and the time after all, by the node that is entered after each subtree."""
    count = len(parents)
    following = after.copy()
    inner = first_children[parents[first_children] >= 0]
    following[parents[inner]] = inner
    following[-1] = -1
    # Trees are usually numbered in the order of a walk.
    if np.array_equal(following[:-1], np.append(np.arange(1, count), -1)):
        return np.arange(count + 1, dtype=np.int32)
    left = np.append(np.ones(count, dtype=np.int32), np.int32(0))
    for _ in range(count.bit_length()):
        left += left[following]
        following = following[following]
    return count - left


def empty_rows(rows: int, nodes: int, first: int = 0) -> Spans:
    """Return rows of padding, each of which sees itself alone: a softmax over nothing is not a number.

    Args:
        first: entry of the first node; no less than all exits of the real nodes of a row, unless the padding at a
            node's place is never seen.
    """
    entries = np.broadcast_to(np.arange(first, first + nodes, dtype=np.int32), (rows, nodes)).copy()
    return Spans(entries, entries + 1)


def hidden(queries: Spans, keys: Spans, device: torch.device) -> torch.Tensor:
    """Return True where a query does not see a key, because the key is no ancestor; shape (rows, queries, keys)."""
    times = _on(queries.entries, device)[:, :, None]
    entries, exits = times, _on(queries.exits, device)
    if keys is not queries:
        entries, exits = _on(keys.entries, device)[:, :, None], _on(keys.exits, device)
    result = entries.transpose(1, 2) > times
    return result.logical_or_(exits[:, None, :] <= times)


def _on(times: Times, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(times)).to(device)
