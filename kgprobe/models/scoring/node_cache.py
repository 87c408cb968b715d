"""Nodes of trees that went through a model: their keys, values and last hidden states stay for what follows them.

A node is known by the tokens that lead to it. So a tree that has grown since the last turn takes in what is new alone,
and prompts that begin alike share what they have in common.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import DynamicCache

from kgprobe.models.scoring.forward import Earlier, packed_states
from kgprobe.models.scoring.trie import Integers, Nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel

# What has no parent follows this place.
_NOTHING = -1
# Places that there is room for at first.
_FIRST_ROOM = 1024


class KeptNodes:
    """Nodes at places, numbered as they come, each behind its parent."""

    def __init__(self) -> None:
        """None yet."""
        self.clear()

    def clear(self) -> None:
        """Forget all of them."""
        # (a node's place, the token that follows) -> the place of that.
        self._followers: dict[tuple[int, int], int] = {}
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._states: torch.Tensor | None = None
        self._places = 0

    @property
    def places(self) -> int:
        """How many places are taken; more than nodes, where two came at once that are the same."""
        return self._places

    def bytes_of_one(self) -> int:
        """How many bytes a node takes; 0 where there is none yet."""
        tensors = [tensor for layer in self._layers.values() for tensor in layer]
        tensors += [] if self._states is None else [self._states]
        return sum(tensor[0].numel() * tensor.element_size() for tensor in tensors)

    def find(self, tree: Nodes) -> Integers:
        """The place of each node of a tree, -1 for those that are not kept; shape (nodes,)."""
        found: list[int] = []
        for parent, token in zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True):
            before = found[parent] if parent >= 0 else _NOTHING
            # Behind what is not kept nothing is.
            lost = parent >= 0 and before < 0
            found.append(-1 if lost else self._followers.get((before, token), -1))
        return np.array(found, dtype=np.int64)

    def states(self, places: Integers) -> torch.Tensor:
        """The last hidden states at these places, shape (places, hidden size)."""
        if self._states is None:
            raise LookupError("No node is kept.")
        return self._states[torch.from_numpy(places).to(self._states.device)]

    def behind(self, layer: int, before: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A layer's keys and values at these places.

        Args:
            before: places, shape (rows, columns), at least one column.

        Returns:
            keys and values, each of shape (rows, heads, columns, width).
        """
        rows, columns = before.shape
        keys, values = (
            kept.index_select(0, before.flatten()).view(rows, columns, *kept.shape[1:]).transpose(1, 2)
            for kept in self._layers[layer]
        )
        return keys, values

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Keep keys and values of a layer, each of shape (nodes, heads, width); :meth:`add` makes them known."""
        self._layers[layer] = (
            self._written(self._layers[layer][0] if layer in self._layers else None, keys),
            self._written(self._layers[layer][1] if layer in self._layers else None, values),
        )

    def add(self, nodes: "Sequence[NewNodes]", states: torch.Tensor) -> list[Integers]:
        """Make nodes known whose keys and values were written, in that order.

        Args:
            nodes: of each tree; as many as were written all in all.
            states: their last hidden states, shape (nodes, hidden size).

        Returns:
            for each tree the places of all of its nodes.
        """
        self._states = self._written(self._states, states)
        found = []
        for new in nodes:
            places = new.places.tolist()
            for node in new.fresh.tolist():
                parent = int(new.tree.parents[node])
                before = places[parent] if parent >= 0 else _NOTHING
                places[node] = self._followers.setdefault((before, int(new.tree.tokens[node])), self._places)
                self._places += 1
            found.append(np.array(places, dtype=np.int64))
        return found

    def _written(self, kept: torch.Tensor | None, new: torch.Tensor) -> torch.Tensor:
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
    """A tree of which some nodes are not kept yet.

    Attributes:
        places: of each node, -1 for those that are not kept.
    """

    tree: Nodes
    places: Integers

    @property
    def fresh(self) -> Integers:
        """The nodes that are not kept, increasing."""
        return np.flatnonzero(self.places < 0)

    @property
    def old(self) -> Integers:
        """The nodes that are, increasing."""
        return np.flatnonzero(self.places >= 0)


class _KeptBefore(DynamicCache):
    """Gives each row of a forward pass the kept nodes before it, and keeps what is new."""

    def __init__(self, kept: KeptNodes, before: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> None:
        """Read places of kept nodes.

        Args:
            kept: where they are.
            before: of each row, shape (rows, columns); any place stands for none, a mask hides it.
            rows, columns: where the new nodes stand in the pass, in their order; shape (nodes,).
        """
        super().__init__()
        self._kept = kept
        self._before = before
        self._fresh = (rows, columns)

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002
        """How many columns stand before."""
        return int(self._before.shape[1])

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What stands before each row, and its own keys and values behind it."""
        joined = (key_states, value_states)
        if self._before.shape[1]:
            before = self._kept.behind(layer_idx, self._before)
            joined = (torch.cat([before[0], key_states], dim=2), torch.cat([before[1], value_states], dim=2))
        rows, columns = self._fresh
        self._kept.write(layer_idx, key_states[rows, :, columns], value_states[rows, :, columns])
        return joined


def take_in(model: "PreTrainedModel", kept: KeptNodes, rows: "Sequence[Sequence[NewNodes]]") -> list[Integers]:
    """Take the new nodes of some trees through a model the packed way, and keep them.

    Args:
        model: a causal language model.
        kept: what it was asked before.
        rows: each of one tree or several; none of which are the same.

    Returns:
        for each tree the places of all of its nodes.
    """
    count = len(rows)
    queries = max(sum(len(new.fresh) for new in row) for row in rows)
    earlier = max(sum(len(new.old) for new in row) for row in rows)
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
    for row, its in enumerate(rows):
        query = behind = 0
        for new in its:
            fresh, old = new.fresh, new.old
            own, known = slice(query, query + len(fresh)), slice(behind, behind + len(old))
            sees = new.tree.visible()[fresh]
            tokens[row, own], depths[row, own] = new.tree.tokens[fresh], new.tree.depths[fresh]
            before[row, known], before_depths[row, known] = new.places[old], new.tree.depths[old]
            visible[row, own, own] = sees[:, fresh]
            visible_before[row, own, known] = sees[:, old]
            where.append(row * queries + np.arange(own.start, own.stop))
            query, behind = own.stop, known.stop
    fresh_at = torch.from_numpy(np.concatenate(where)).to(model.device)
    cache = _KeptBefore(
        kept,
        torch.from_numpy(before).to(model.device),
        fresh_at // queries,
        fresh_at % queries,
    )
    states = packed_states(model, tokens, depths, visible, cache, Earlier(before_depths, visible_before))
    return kept.add([new for row in rows for new in row], states.flatten(0, 1)[fresh_at])
