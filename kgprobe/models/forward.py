"""Four ways to take trees of tokens through a causal language model, from the fastest to the plainest.

- ``packed``: a tree is one sequence. A node attends to its own ancestors alone, by a four-dimensional mask, and its
  position is its depth. Trees of similar size go together, padded.
- ``branches``: the keys and values of the chain once; every branch is a row behind them. For models whose positions
  cannot be given from outside (ALiBi).
- ``rows``: every branch is a row from its first token on, padded on the right.
- ``plain``: like ``rows``, one row at a time, and with the model's own logits: nothing is assumed but causality.

The first two can start behind tokens that all trees share, whose keys and values are computed once. Which way is
exact for a model is found out by :mod:`kgprobe.models.check`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from kgprobe.models.trie import Integers, Tree

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Way = Literal["packed", "branches", "rows", "plain"]


def shared_tokens(trees: Sequence[Tree]) -> int:
    """How many leading tokens all these trees have in common, before the first node that predicts anything."""
    shared = min(tree.chain for tree in trees) - 1
    first = trees[0].tokens[:shared]
    for tree in trees[1:]:
        different = np.flatnonzero(tree.tokens[: len(first)] != first)
        if len(different):
            first = first[: different[0]]
    return len(first)


def packed_states(model: "PreTrainedModel", trees: Sequence[Tree], shared: int) -> torch.Tensor:
    """The last hidden states of the trees' nodes, each tree in one sequence.

    Args:
        model: a causal language model.
        trees: at least one.
        shared: how many leading tokens they have in common that are to be computed once; 0 for none.

    Returns:
        the nodes from the ``shared``-th on, tree after tree, shape (nodes, hidden size).
    """
    sizes = [len(tree.tokens) - shared for tree in trees]
    count, longest = len(trees), max(sizes)
    tokens = np.full((count, longest), trees[0].tokens[0])
    depths = np.zeros((count, shared + longest), dtype=np.int64)
    # Padding attends to itself, because a softmax over nothing is not a number; nothing attends to padding.
    visible = np.zeros((count, longest, shared + longest), dtype=bool)
    visible[:, np.arange(longest), shared + np.arange(longest)] = True
    for row, (tree, size) in enumerate(zip(trees, sizes, strict=True)):
        tokens[row, :size] = tree.tokens[shared:]
        depths[row, : shared + size] = tree.depths
        visible[row, :size, : shared + size] = tree.visible()[shared:]
    cache = _shared_cache(model, trees[0].tokens[:shared], count) if shared else None
    states = _body(
        model,
        tokens,
        attention_mask=_masks(model, visible, depths, shared),
        position_ids=_tensor(model, depths[:, shared:]),
        past_key_values=cache,
        use_cache=cache is not None,
    )
    return torch.cat([states[row, :size] for row, size in enumerate(sizes)])


def branch_states(model: "PreTrainedModel", trees: Sequence[Tree], shared: int) -> torch.Tensor:
    """The last hidden states of the trees' nodes, each branch in a row behind the shared tokens' keys and values.

    Args and result as in :func:`packed_states`.
    """
    branches = [
        (tree, [node for node in tree.path(leaf) if node >= shared]) for tree in trees for leaf in tree.leaves()
    ]
    longest = max(len(nodes) for _, nodes in branches)
    tokens = np.full((len(branches), longest), trees[0].tokens[0])
    present = np.zeros((len(branches), shared + longest), dtype=np.int64)
    for row, (tree, nodes) in enumerate(branches):
        tokens[row, : len(nodes)] = tree.tokens[nodes]
        present[row, : shared + len(nodes)] = 1
    cache = _shared_cache(model, trees[0].tokens[:shared], len(branches)) if shared else None
    states = _body(
        model,
        tokens,
        attention_mask=_tensor(model, present),
        past_key_values=cache,
        use_cache=cache is not None,
    )
    # A node lies on several rows; any of them holds its state.
    places: dict[tuple[int, int], tuple[int, int]] = {}
    for row, (tree, nodes) in enumerate(branches):
        for column, node in enumerate(nodes):
            places.setdefault((id(tree), node), (row, column))
    wanted = [places[id(tree), node] for tree in trees for node in range(shared, len(tree.tokens))]
    rows, columns = zip(*wanted, strict=True)
    return states[list(rows), list(columns)]


def plain_log_probabilities(model: "PreTrainedModel", tree: Tree) -> torch.Tensor:
    """The log-probabilities of a tree's edges by the model's own forward pass, one row at a time.

    Returns:
        fp32, shape (edges,), on the CPU.
    """
    result = torch.full((len(tree.sources),), torch.nan)
    for leaf in tree.leaves():
        nodes = tree.path(leaf)
        column = {node: place for place, node in enumerate(nodes)}
        edges = [edge for edge, node in enumerate(tree.sources.tolist()) if node in column]
        logits = model(input_ids=_tensor(model, tree.tokens[nodes][None]), use_cache=False).logits[0]
        places = torch.tensor([column[int(tree.sources[edge])] for edge in edges], dtype=torch.int64)
        targets = torch.from_numpy(tree.targets[edges])
        wanted = logits[places.to(logits.device)].float().log_softmax(-1).cpu()
        result[edges] = wanted[torch.arange(len(edges)), targets]
    return result


def padded_tokens(tree: Tree, way: Way, shared: int) -> tuple[int, int]:
    """What a tree takes up in a batch: how many rows, and how many tokens each."""
    if way == "packed":
        return 1, len(tree.tokens) - shared
    leaves = tree.leaves()
    return len(leaves), int(tree.depths[leaves].max()) + 1 - shared


def _shared_cache(model: "PreTrainedModel", tokens: Integers, rows: int) -> Any:
    """The keys and values of tokens that all rows begin with, computed once and repeated."""
    from transformers import DynamicCache

    # Made without a configuration, a cache keeps all positions also in layers with a sliding window; masks see to it.
    once: Any = DynamicCache()
    _body(model, tokens[None], past_key_values=once, use_cache=True)
    repeated = DynamicCache()
    for index, layer in enumerate(once.layers):
        repeated.update(
            layer.keys.expand(rows, *layer.keys.shape[1:]), layer.values.expand(rows, *layer.values.shape[1:]), index
        )
    return repeated


def _masks(model: "PreTrainedModel", visible: NDArray[np.bool_], depths: Integers, shared: int) -> Any:
    """Additive masks from who sees whom, one per kind of layer where the model has several.

    Args:
        model: a causal language model.
        visible: shape (trees, queries, keys).
        depths: of the keys, of which the last ones are the queries; shape (trees, keys).
        shared: keys before the first query.
    """
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ())
    full = _additive(model, visible)
    if window is None or (kinds and "sliding_attention" not in kinds):
        return full
    distance = depths[:, shared:, None] - depths[:, None, :]
    near = full if distance.max() < window else _additive(model, visible & (distance < window))
    return {"full_attention": full, "sliding_attention": near} if kinds else near


def _additive(model: "PreTrainedModel", visible: NDArray[np.bool_]) -> torch.Tensor:
    lowest = torch.finfo(model.dtype).min
    mask = torch.from_numpy(visible).to(model.device)[:, None]
    return torch.zeros(mask.shape, dtype=model.dtype, device=model.device).masked_fill_(~mask, lowest)


def _body(model: "PreTrainedModel", tokens: Integers, **arguments: Any) -> torch.Tensor:
    states: torch.Tensor = model.base_model(input_ids=_tensor(model, tokens), **arguments).last_hidden_state
    return states


def _tensor(model: "PreTrainedModel", values: Integers) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(model.device)
