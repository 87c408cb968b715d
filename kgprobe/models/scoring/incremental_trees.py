"""Trees that grow turn by turn as a search proceeds: every node goes through the model once.

Unpromising tokens are bounded instead of computed. A token's probability is the exponential of its logit over the sum
of all exponentials. The sum over the likely part of the vocabulary is nearly as large, and costs a fraction. So a
search first gets an upper bound of a log-probability, and the log-probability itself only where the bound does not
decide.

A node is identified by the tokens that lead to it, and its keys, values and last hidden states are kept for later nodes
after it. So a tree that has grown since the last turn computes its new nodes alone, and prompts with a common prefix
share its nodes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import DynamicCache

from kgprobe.models.computing import in_turn
from kgprobe.models.devices import devices_of
from kgprobe.models.scoring.batching import BatchLimits, compute_if_it_fits, share_of
from kgprobe.models.scoring.contract import Floats
from kgprobe.models.scoring.forward import LONGEST_ROW, PLACES_A_TOKEN, Earlier, in_eval_mode, packed_states
from kgprobe.models.scoring.masks import Spans, empty_rows, walk
from kgprobe.models.scoring.plan import batches, fill_rows
from kgprobe.models.scoring.projection import LikelyPart, VocabularyProjection
from kgprobe.models.scoring.trie import Integers, TokenNodes, Tree

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# About this many new tokens per row, where trees are small.
_ROW = 96

Recompute = Callable[[Sequence[Tree]], Iterable[tuple[Tree, Floats]]]


# Place before a node without parent.
_ROOT = -1
# Initial capacity, in places.
_FIRST_ROOM = 1024


class KeptNodes:
    """Token nodes at numbered places, each after its parent; more places than nodes if equal ones came in one batch."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Empty the cache."""
        # (a node's place, the next token) -> that token's place.
        self._followers: dict[tuple[int, int], int] = {}
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._states: torch.Tensor | None = None
        self.places = 0

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
            kept.index_select(0, before.flatten().to(kept.device)).view(rows, columns, *kept.shape[1:]).transpose(1, 2)
            for kept in self._layers[layer]
        )
        return keys, values

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store keys and values of a layer, each of shape (nodes, heads, width), for a later :meth:`add`."""
        kept_keys, kept_values = self._layers.get(layer, (None, None))
        self._layers[layer] = (self._append(kept_keys, keys), self._append(kept_values, values))

    def add(self, nodes: Sequence["NewNodes"], states: torch.Tensor) -> list[Integers]:
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
                places[node] = self._followers.setdefault((before, int(new.tree.tokens[node])), self.places)
                self.places += 1
            all_places.append(np.array(places, dtype=np.int64))
        return all_places

    def _append(self, kept: torch.Tensor | None, new: torch.Tensor) -> torch.Tensor:
        end = self.places + len(new)
        if kept is None or end > len(kept):
            room = max(_FIRST_ROOM, end, 2 * (0 if kept is None else len(kept)))
            larger = new.new_empty((room, *new.shape[1:]))
            if kept is not None:
                larger[: self.places] = kept[: self.places]
            kept = larger
        kept[self.places : end] = new
        return kept


@dataclass(frozen=True, slots=True)
class NewNodes:
    """A tree with nodes that are not kept yet, and the place of each node, -1 if it is not kept."""

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


def size_of_row(row: Sequence["NewNodes"]) -> tuple[int, int]:
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
        # Each layer of a spread model is on its own device.
        rows, columns = (places.to(key_states.device) for places in self._fresh)
        self._kept.write(layer_idx, key_states[rows, :, columns], value_states[rows, :, columns])
        return joined


def take_in(model: "PreTrainedModel", kept: KeptNodes, rows: Sequence[Sequence["NewNodes"]]) -> list[Integers]:
    """Compute the new nodes of some trees the packed method, and keep them; return the places of each tree's nodes.

    Each row consists of one tree or several; all trees are different.
    """
    count = len(rows)
    queries, earlier = np.array(list(map(size_of_row, rows))).max(axis=0).tolist()
    first = rows[0][0].tree
    tokens = np.full((count, queries), first.tokens[0])
    depths = np.full((count, queries), first.depths[0])
    before = np.zeros((count, earlier), dtype=np.int64)
    before_depths = np.zeros((count, earlier), dtype=np.int64)
    spans = empty_rows(count, queries, queries + earlier)
    spans_before = Spans(np.zeros((count, earlier), dtype=np.int32), np.zeros((count, earlier), dtype=np.int32))
    where = []
    for row, trees in enumerate(rows):
        query = past = 0
        for new in trees:
            fresh, old = new.fresh, new.old
            own, known = slice(query, query + len(fresh)), slice(past, past + len(old))
            # Each tree of a row has times of its own.
            times = walk(new.tree.parents)
            entries, exits = times.entries + (query + past), times.exits + (query + past)
            tokens[row, own], depths[row, own] = new.tree.tokens[fresh], new.tree.depths[fresh]
            before[row, known], before_depths[row, known] = new.places[old], new.tree.depths[old]
            spans.entries[row, own], spans.exits[row, own] = entries[fresh], exits[fresh]
            spans_before.entries[row, known], spans_before.exits[row, known] = entries[old], exits[old]
            where.append(row * queries + np.arange(own.start, own.stop))
            query, past = own.stop, known.stop
    fresh_at = torch.from_numpy(np.concatenate(where)).to(model.device)
    cache = _KeptBefore(kept, torch.from_numpy(before).to(model.device), fresh_at // queries, fresh_at % queries)
    states = packed_states(model, tokens, depths, spans, cache, Earlier(before_depths, spans_before))
    return kept.add(list(chain.from_iterable(rows)), states.flatten(0, 1)[fresh_at.to(states.device)])


class GrowingTrees:
    """The trees of one search through a model that is computed the packed method."""

    def __init__(
        self,
        model: "PreTrainedModel",
        projection: VocabularyProjection,
        likely: LikelyPart | None,
        limits: BatchLimits,
        recompute: Recompute,
        most: int | None = None,
    ) -> None:
        """Start with an empty cache.

        Args:
            likely: the likely part of the vocabulary, for bounds; learned here if not learned yet. None for no bounds.
            recompute: computes log-probabilities where memory is too short to keep nodes.
            most: maximum number of bytes to keep; None for a share of the device's memory.
        """
        self._model = model
        self._projection = projection
        self._likely = likely
        self._limits = limits
        self._recompute = recompute
        self._most = sum(map(share_of, devices_of(model))) if most is None else most
        self._kept = KeptNodes()

    @in_turn
    def edge_log_probabilities(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats]]:
        """Return the log-probability of every edge, as :meth:`.Scorer.edge_log_probabilities`."""
        return [(tree, values) for tree, values, _ in self._edges(trees, bounds=False)]

    @in_turn
    def edge_bounds(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats, bool]]:
        """Return upper bounds of the log-probability of every edge.

        Returns:
            each tree once, with one value per edge in (-inf, 0], and True if these are the exact log-probabilities.
        """
        return list(self._edges(trees, bounds=True))

    def _edges(self, trees: Sequence[Tree], bounds: bool) -> Iterator[tuple[Tree, Floats, bool]]:
        with torch.inference_mode(), in_eval_mode(self._model):
            places = self._take_in(trees)
            computed = None
            if places is not None:
                computed = compute_if_it_fits(partial(self._values, trees, places, bounds), self._model.device)
        if computed is None:
            # The kept nodes take the memory that the batches need.
            self._kept.clear()
            self._most = 0
            yield from ((tree, values, True) for tree, values in self._recompute(trees))
            return
        values, exact = computed
        ends = np.cumsum([len(tree.sources) for tree in trees])
        for tree, own in zip(trees, np.split(values, ends[:-1]), strict=True):
            yield tree, own, exact

    def _values(self, trees: Sequence[Tree], places: Sequence[Integers], bounds: bool) -> tuple[Floats, bool]:
        """Return log-probabilities or bounds of all edges of all trees, and whether they are exact."""
        sources = np.concatenate([own[tree.sources] for tree, own in zip(trees, places, strict=True)])
        targets = np.concatenate([tree.targets for tree in trees])
        positions, rows = np.unique(sources, return_inverse=True)
        part = self._likely.part if bounds and self._likely is not None else None
        values = np.empty(len(targets))
        # In pieces, each with all edges of its positions.
        order = np.argsort(rows, kind="stable")
        bound_at = range(0, len(positions), self._limits.tokens)
        cuts = np.searchsorted(rows[order], [*bound_at, len(positions)])
        for first, begin, end in zip(bound_at, cuts, cuts[1:], strict=False):
            hidden = self._kept.states(positions[first : first + self._limits.tokens])
            edges = order[begin:end]
            own = (rows[edges] - first, targets[edges], self._limits.logits)
            if part is not None:
                values[edges] = self._projection.bounds(hidden, part, *own).double().numpy()
                continue
            values[edges] = self._projection.log_probabilities(hidden, *own)[:, 0].double().numpy()
            if self._likely is not None:
                self._likely.learn(hidden, self._limits.logits)
        return values, part is None

    def _take_in(self, trees: Sequence[Tree]) -> list[Integers] | None:
        """Take the new nodes of all trees through the model and return the places of all nodes; None if too many."""
        additions = self._find_new_nodes(trees)
        more = sum(len(new.fresh) for new in additions)
        if (self._kept.places + more) * self._kept.bytes_of_one() > self._most:
            self._kept.clear()
            additions = self._find_new_nodes(trees)
        if max((len(new.fresh) for new in additions), default=0) > LONGEST_ROW:
            return None
        places = [new.places for new in additions]
        for batch in self._batches(additions):
            rows = [_pick(additions, row) for row in batch]
            computed = compute_if_it_fits(partial(take_in, self._model, self._kept, rows), self._model.device)
            if computed is None:
                return None
            for number, own in zip(chain.from_iterable(batch), computed, strict=True):
                places[number] = own
        return places

    def _find_new_nodes(self, trees: Sequence[Tree]) -> list[NewNodes]:
        return [NewNodes(tree, self._kept.find(tree)) for tree in trees]

    def _batches(self, additions: Sequence[NewNodes]) -> Iterator[list[list[int]]]:
        """Yield batches of rows of trees with new nodes, by their numbers, the largest first."""
        numbers = [number for number, new in enumerate(additions) if len(new.fresh)]
        numbers.sort(key=lambda number: size_of_row([additions[number]]), reverse=True)
        lengths = [len(additions[number].fresh) for number in numbers]
        rows = fill_rows([[number] for number in numbers], lengths, min(_ROW, self._limits.tokens))

        def size(row: list[int]) -> tuple[int, int]:
            fresh, old = size_of_row(_pick(additions, row))
            return 1, fresh + old // PLACES_A_TOKEN

        rows.sort(key=size, reverse=True)
        return batches(rows, list(map(size, rows)), lambda: self._limits.tokens)


def _pick(additions: Sequence[NewNodes], numbers: Sequence[int]) -> list[NewNodes]:
    return [additions[number] for number in numbers]
