"""Cache of prompt prefixes: keys and values of a shared prefix are kept from one call to the next.

For example, fifty examples precede every fact of a relation. Computed once, they cost little compared with the facts.

Cache of tree nodes: keys, values and last hidden states of computed nodes, for later nodes after them.

A node is identified by the tokens that lead to it. So a tree that has grown since the last turn computes its new nodes
alone, and prompts with a common prefix share its nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import torch
from transformers import DynamicCache

from kgprobe.models.scoring.forward import Earlier, Prefix, packed_states
from kgprobe.models.scoring.trie import Integers, TokenNodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel

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


# Place before a node without parent.
_ROOT = -1
# Initial capacity, in places.
_FIRST_ROOM = 1024


class KeptNodes:
    """Token nodes at numbered places, each after its parent."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self.clear()

    def clear(self) -> None:
        """Empty the cache."""
        # (a node's place, the next token) -> that token's place.
        self._followers: dict[tuple[int, int], int] = {}
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._states: torch.Tensor | None = None
        self._places = 0

    @property
    def places(self) -> int:
        """Number of places in use; more than nodes, if equal nodes came in one batch."""
        return self._places

    def bytes_of_one(self) -> int:
        """Return the bytes per node; 0 in an empty cache."""
        tensors = list(chain.from_iterable(self._layers.values()))
        tensors += [] if self._states is None else [self._states]
        return sum(tensor[0].numel() * tensor.element_size() for tensor in tensors)

    def find(self, tree: TokenNodes) -> Integers:
        """Return the place of each node of a tree, -1 if it is not kept; shape (nodes,)."""
        places: list[int] = []
        for parent, token in zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True):
            before = places[parent] if parent >= 0 else _ROOT
            # A node without kept parent is not kept.
            lost = parent >= 0 and before < 0
            places.append(-1 if lost else self._followers.get((before, token), -1))
        return np.array(places, dtype=np.int64)

    def states(self, places: Integers) -> torch.Tensor:
        """Return the last hidden states at these places, shape (places, hidden size)."""
        if self._states is None:
            raise LookupError("No node is kept.")
        return self._states[torch.from_numpy(places).to(self._states.device)]

    def keys_and_values(self, layer: int, before: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a layer's keys and values at these places, shape (rows, columns), at least one column.

        Both have the shape (rows, heads, columns, width).
        """
        rows, columns = before.shape
        keys, values = (
            kept.index_select(0, before.flatten()).view(rows, columns, *kept.shape[1:]).transpose(1, 2)
            for kept in self._layers[layer]
        )
        return keys, values

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store keys and values of a layer, each of shape (nodes, heads, width), for a later :meth:`add`."""
        kept_keys, kept_values = self._layers.get(layer, (None, None))
        self._layers[layer] = (self._append(kept_keys, keys), self._append(kept_values, values))

    def add(self, nodes: "Sequence[NewNodes]", states: torch.Tensor) -> list[Integers]:
        """Add nodes whose keys and values were written, in that order.

        Args:
            nodes: the new nodes of each tree; as many as were written.
            states: their last hidden states, shape (nodes, hidden size).

        Returns:
            for each tree the places of all of its nodes.
        """
        self._states = self._append(self._states, states)
        all_places = []
        for new in nodes:
            places = new.places.tolist()
            for node in new.fresh.tolist():
                parent = int(new.tree.parents[node])
                before = places[parent] if parent >= 0 else _ROOT
                places[node] = self._followers.setdefault((before, int(new.tree.tokens[node])), self._places)
                self._places += 1
            all_places.append(np.array(places, dtype=np.int64))
        return all_places

    def _append(self, kept: torch.Tensor | None, new: torch.Tensor) -> torch.Tensor:
        end = self._places + len(new)
        if kept is None or end > len(kept):
            room = max(_FIRST_ROOM, end, 2 * (0 if kept is None else len(kept)))
            larger = new.new_empty((room, *new.shape[1:]))
            if kept is not None:
                larger[: self._places] = kept[: self._places]
            kept = larger
        kept[self._places : end] = new
        return kept


@dataclass(frozen=True, slots=True)
class NewNodes:
    """A tree with nodes that are not kept yet.

    Attributes:
        places: place of each node, -1 if it is not kept.
    """

    tree: TokenNodes
    places: Integers

    @property
    def fresh(self) -> Integers:
        """TokenNodes that are not kept, increasing."""
        return np.flatnonzero(self.places < 0)

    @property
    def old(self) -> Integers:
        """TokenNodes that are kept, increasing."""
        return np.flatnonzero(self.places >= 0)


def size_of_row(row: "Sequence[NewNodes]") -> tuple[int, int]:
    """Return the number of new nodes of trees, and of kept ones."""
    return sum(len(new.fresh) for new in row), sum(len(new.old) for new in row)


class _KeptBefore(DynamicCache):
    """A cache that gives each row of a forward pass its kept nodes, and stores the new ones."""

    def __init__(self, kept: KeptNodes, before: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> None:
        """Read kept nodes at places ``before`` each row, shape (rows, columns); a mask hides padding.

        The new nodes are at these rows and columns of the pass, in their order; shape (nodes,).
        """
        super().__init__()
        self._kept = kept
        self._before = before
        self._fresh = (rows, columns)

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002
        """Return the number of columns before."""
        return int(self._before.shape[1])

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and values before each row, with its own ones after them."""
        joined = (key_states, value_states)
        if self._before.shape[1]:
            before = self._kept.keys_and_values(layer_idx, self._before)
            joined = (torch.cat([before[0], key_states], dim=2), torch.cat([before[1], value_states], dim=2))
        rows, columns = self._fresh
        self._kept.write(layer_idx, key_states[rows, :, columns], value_states[rows, :, columns])
        return joined


def take_in(model: "PreTrainedModel", kept: KeptNodes, rows: "Sequence[Sequence[NewNodes]]") -> list[Integers]:
    """Compute the new nodes of some trees the packed way, and keep them; return the places of each tree's nodes.

    Each row consists of one tree or several; all trees are different.
    """
    count = len(rows)
    queries, earlier = np.array([size_of_row(row) for row in rows]).max(axis=0).tolist()
    first = rows[0][0].tree
    tokens = np.full((count, queries), first.tokens[0])
    depths = np.full((count, queries), first.depths[0])
    before = np.zeros((count, earlier), dtype=np.int64)
    before_depths = np.zeros((count, earlier), dtype=np.int64)
    # Padding sees itself, because a softmax over nothing is not a number.
    visible = np.zeros((count, queries, queries), dtype=bool)
    visible[:, np.arange(queries), np.arange(queries)] = True
    visible_before = np.zeros((count, queries, earlier), dtype=bool)
    where = []
    for row, trees in enumerate(rows):
        query = past = 0
        for new in trees:
            fresh, old = new.fresh, new.old
            own, known = slice(query, query + len(fresh)), slice(past, past + len(old))
            sees = new.tree.visible()[fresh]
            tokens[row, own], depths[row, own] = new.tree.tokens[fresh], new.tree.depths[fresh]
            before[row, known], before_depths[row, known] = new.places[old], new.tree.depths[old]
            visible[row, own, own] = sees[:, fresh]
            visible_before[row, own, known] = sees[:, old]
            where.append(row * queries + np.arange(own.start, own.stop))
            query, past = own.stop, known.stop
    fresh_at = torch.from_numpy(np.concatenate(where)).to(model.device)
    cache = _KeptBefore(kept, torch.from_numpy(before).to(model.device), fresh_at // queries, fresh_at % queries)
    states = packed_states(model, tokens, depths, visible, cache, Earlier(before_depths, visible_before))
    return kept.add(list(chain.from_iterable(rows)), states.flatten(0, 1)[fresh_at])
