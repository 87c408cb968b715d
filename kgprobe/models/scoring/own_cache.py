"""Token trees after a prefix in the model's own cache, for models whose cache is more than keys and values.

Hybrids have layers whose memory of earlier tokens is a state: of a recurrence, of a convolution. A state cannot leave
out a token again, so a row of tokens cannot contain a tree. But it can be copied: a prefix is computed once, and each
row continues a copy of its cache.

- ``steps``: a tree is computed in turns, each node once. In a turn, each row is one more node of a branch, or several
  where no row branches before; then the rows are copied to their followers.
- ``copies``: every branch is a row. For models whose code for a single token differs from that for several.

Shorter rows are padded at the end. This only changes the states of rows that nothing follows.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import DynamicCache

from kgprobe.models.scoring.body import body_of, cache_arguments, last_states, on_device
from kgprobe.models.scoring.delta_rule import SharedStates, has_rule
from kgprobe.models.scoring.trie import Forest, Integers, branch_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Minimum tokens in a row of ``copies``.
SHORTEST_COPY = 2
# From this many tokens on, code for several tokens is faster than one pass for each: it pads them to 64 or more.
_SEVERAL = 4
# Up to so many tokens after a prefix, the gated delta rule is faster without a copy of the prefix's state for each row.
_FEW = 32


@dataclass(frozen=True, slots=True)
class OwnPrefix:
    """A model's own cache of the tokens that all rows begin with: copied by every forward pass, changed by none.

    Attributes:
        cache: with a batch of one row.
        length: number of tokens; a cache without keys does not know it.
    """

    cache: DynamicCache
    length: int


def extend_own(model: "PreTrainedModel", prefix: OwnPrefix | None, tokens: Integers, at_once: int) -> OwnPrefix:
    """Return a longer prefix, see :func:`.forward.extend`."""
    cache = _start(model, prefix, 1)
    # In equal pieces: none has a single token, for which a model may have code of its own.
    for piece in np.array_split(tokens, -(-len(tokens) // at_once)):
        last_states(model, piece[None], cache)
    return OwnPrefix(cache, (0 if prefix is None else prefix.length) + len(tokens))


def own_prefix_of(model: "PreTrainedModel", embeddings: torch.Tensor) -> OwnPrefix:
    """Return a prefix of embeddings, shape (tokens, hidden size)."""
    cache = _start(model, None, 1)
    body_of(model)(inputs_embeds=embeddings[None], **cache_arguments(model, cache))
    return OwnPrefix(cache, len(embeddings))


@dataclass(frozen=True, slots=True)
class RowBytes:
    """Bytes of one row of a model's own cache: fixed ones of its states, and of each token's keys and values."""

    fixed: int
    each: int

    def of(self, length: int) -> int:
        """Return the bytes of a row of so many tokens."""
        return self.fixed + self.each * length


def measure_row(model: "PreTrainedModel") -> RowBytes:
    """Return the memory of a row, by the caches of two short texts."""
    shorter, longer = (
        bytes_of(extend_own(model, None, np.zeros(length, dtype=np.int64), length).cache) for length in (2, 4)
    )
    each = (longer - shorter) // 2
    return RowBytes(shorter - 2 * each, each)


def bytes_of(cache: DynamicCache) -> int:
    """Return the bytes of a cache's keys, values and states."""
    return sum(tensor.nbytes for layer in cache.layers for tensor in _tensors(layer))


def _tensors(layer: Any) -> Iterator[torch.Tensor]:
    for value in vars(layer).values():
        for tensor in value.values() if isinstance(value, dict) else [value]:
            if isinstance(tensor, torch.Tensor):
                yield tensor


def _start(
    model: "PreTrainedModel", prefix: OwnPrefix | None, rows: int, shared: SharedStates | None = None
) -> DynamicCache:
    """Return a cache for so many rows, each with a copy of the prefix, but for shared states."""
    if prefix is None:
        return DynamicCache(config=model.config)
    copied = copy(prefix.cache)
    copied.layers = [_copy_layer(layer) for layer in prefix.cache.layers]
    _follow(copied, torch.zeros(rows, dtype=torch.int64, device=model.device), shared)
    return copied


def _follow(cache: DynamicCache, rows: torch.Tensor, shared: SharedStates | None) -> None:
    """Continue copies of these rows of a cache; indices of shape (new rows,)."""
    if shared is not None:
        shared.follow(rows)
    layers: list[Any] = cache.layers
    for layer in layers:
        states = getattr(layer, "is_recurrent_states_initialized", None)
        if shared is None or states is None:
            layer.reorder_cache(rows)
            continue
        # The layer copies only states that it has.
        layer.is_recurrent_states_initialized = dict.fromkeys(states, False)
        layer.reorder_cache(rows)
        layer.is_recurrent_states_initialized = states


def _copy_layer(layer: Any) -> Any:
    copied = copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            setattr(copied, name, dict(value))
    return copied


def run_copies(
    model: "PreTrainedModel", forests: Sequence[Forest], prefix: OwnPrefix | None
) -> tuple[torch.Tensor, Integers]:
    """Return the last hidden states of the forests' nodes, every branch in a row; see :func:`.forward.run_method`."""
    tokens, _, sources = branch_rows(forests, SHORTEST_COPY)
    cache = None if prefix is None else _start(model, prefix, len(tokens))
    return last_states(model, tokens, cache).flatten(0, 1), sources


def run_steps(
    model: "PreTrainedModel", forests: Sequence[Forest], prefix: OwnPrefix | None
) -> tuple[torch.Tensor, Integers]:
    """Return the last hidden states of the forests' nodes, each computed once; see :func:`.forward.run_method`.

    The states have the shape (nodes, hidden size), the nodes of the first forest, then those of the second, …
    """
    tokens = np.concatenate([forest.tokens for forest in forests])
    rows, followers, sources = _joined(forests)
    shared = _shared_states(model, forests, prefix)
    states: torch.Tensor | None = None
    cache = _start(model, prefix, len(rows), shared)
    while rows:
        chains = [_chain(followers, node) for node in rows]
        width = _width(followers, chains) if shared is None else 1
        own = [nodes[:width] for nodes in chains]
        block, places = _padded(own, tokens, width)
        with nullcontext() if shared is None else shared.used_by(model):
            computed = last_states(model, block, cache).flatten(0, 1)
        if states is None:
            states = computed.new_empty((len(tokens), computed.shape[-1]))
        states[on_device(model, np.concatenate(own))] = computed[on_device(model, places)]
        following = [followers[nodes[-1]] for nodes in own]
        before = np.repeat(np.arange(len(rows)), list(map(len, following)))
        rows = list(chain.from_iterable(following))
        if rows and not np.array_equal(before, np.arange(len(own))):
            _follow(cache, on_device(model, before), shared)
    if states is None:
        raise ValueError("The forests have no nodes.")
    return states, sources


def _padded(rows: Sequence[Sequence[int]], tokens: Integers, width: int) -> tuple[Integers, Integers]:
    """Return the tokens of rows of nodes, shape (rows, width), and the places of the nodes in the flat block."""
    block = np.full((len(rows), width), tokens[0])
    places = []
    for row, nodes in enumerate(rows):
        block[row, : len(nodes)] = tokens[nodes]
        places.append(row * width + np.arange(len(nodes)))
    return block, np.concatenate(places)


def _joined(forests: Sequence[Forest]) -> tuple[list[int], list[list[int]], Integers]:
    """Return the first nodes of forests, the followers of each node, and the sources of the edges.

    The nodes of the first forest come first, then those of the second, …
    """
    first: list[int] = []
    followers: list[list[int]] = []
    sources = []
    for forest in forests:
        offset = len(followers)
        followers += ([] for _ in forest.tokens)
        sources.append(forest.sources + offset)
        for node, parent in enumerate(forest.parents.tolist(), start=offset):
            (followers[offset + parent] if parent >= 0 else first).append(node)
    return first, followers, np.concatenate(sources)


def _shared_states(
    model: "PreTrainedModel", forests: Sequence[Forest], prefix: OwnPrefix | None
) -> SharedStates | None:
    """Return states that all rows share: for few tokens after a prefix, where the model's layers allow it."""
    if prefix is None or not has_rule(model):
        return None
    deepest = max(int(forest.depths.max()) for forest in forests)
    return SharedStates() if deepest < prefix.length + _FEW else None


def _chain(followers: Sequence[Sequence[int]], node: int) -> list[int]:
    """Return a node and those after it, up to the first with several followers or none."""
    nodes = [node]
    while len(followers[nodes[-1]]) == 1:
        nodes.append(followers[nodes[-1]][0])
    return nodes


def _width(followers: Sequence[Sequence[int]], chains: Sequence[Sequence[int]]) -> int:
    """Return how many tokens of each row are computed in a turn; rows that end earlier are padded."""
    branching = [len(nodes) for nodes in chains if followers[nodes[-1]]]
    width = min(branching) if branching else max(map(len, chains))
    return width if width >= _SEVERAL else 1
