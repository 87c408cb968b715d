"""Six methods to take token trees through a causal language model, from the fastest to the plainest.

- ``packed``: a forest is one sequence. A node attends to its own ancestors alone, by a four-dimensional mask, and its
  position is its depth. Forests of similar size form a batch, padded.
- ``branches``: every branch is a row. For models without external positions (ALiBi).
- ``steps``, ``copies``: with copies of the model's own cache, see :mod:`.own_cache`. For hybrids, whose cache is more
  than keys and values.
- ``rows``: like ``branches``, but without any prefix. For models that do not continue exactly from their cache.
- ``plain``: one branch at a time, and with the model's own logits: assumes nothing but causality.

The first four can start after a prefix that all trees share, whose cache is computed once. :mod:`.check` determines the
exact methods of a model, and :mod:`.plan` the batches.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import torch
from transformers import DynamicCache

from kgprobe.models.scoring.body import body_of, cache_arguments, last_states, on_device
from kgprobe.models.scoring.masks import Spans, empty_rows, hidden, walk
from kgprobe.models.scoring.own_cache import OwnPrefix, bytes_of, extend_own, own_prefix_of, run_copies, run_steps
from kgprobe.models.scoring.trie import Forest, Integers, Tree, branch_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ScoringMethod = Literal["packed", "branches", "steps", "copies", "rows", "plain"]
# The methods that start from copies of the model's own cache.
OWN_CACHE: tuple[ScoringMethod, ...] = ("steps", "copies")

# Maximum tokens of several trees in one row; a longer context is a prefix in any case.
LONGEST_ROW = 1024
# Every row holds another copy of a prefix's keys and values; this many of their places take about the memory of one
# computed token.
PLACES_A_TOKEN = 8
_KINDS = {"full_attention", "sliding_attention"}


class Prefix(DynamicCache):
    """Keys and values of the tokens that all rows begin with: read by every forward pass, changed by none.

    It keeps all positions, even in layers with a sliding window, where masks hide them. Its size is that of one row.
    """

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the prefix's keys and values with the given ones after them, for each row."""
        layer: Any = self.layers[layer_idx]
        rows = key_states.shape[0]
        keys = layer.keys.expand(rows, *layer.keys.shape[1:])
        values = layer.values.expand(rows, *layer.values.shape[1:])
        return torch.cat([keys, key_states], dim=-2), torch.cat([values, value_states], dim=-2)


@contextmanager
def in_eval_mode(model: torch.nn.Module) -> Iterator[None]:
    """Switch a model to eval mode; at the end, restore the mode of every module."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        # Module.train would change all inner modules, too.
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


@dataclass(frozen=True, slots=True)
class Earlier:
    """Nodes before the rows, different for each row.

    Attributes:
        depths: their positions in running text, shape (rows, before).
        spans: their times in the walk through the row's trees, shape (rows, before); empty for padding.
    """

    depths: Integers
    spans: Spans


# A prefix in the form that a method needs.
AnyPrefix: TypeAlias = Prefix | OwnPrefix


def extend(
    model: "PreTrainedModel", method: ScoringMethod, prefix: AnyPrefix | None, tokens: Integers, at_once: int
) -> AnyPrefix:
    """Return a longer prefix.

    Args:
        method: the method that is to start from it; not ``rows`` or ``plain``.
        prefix: the prefix to extend, of the same method; not changed.
        tokens: the tokens after it, shape (tokens,).
    """
    if method in OWN_CACHE:
        return extend_own(model, None if prefix is None else _own(prefix), tokens, at_once)
    growing: Any = DynamicCache()
    kept: list[Any] = [] if prefix is None else list(keys_and_values(prefix).layers)
    for index, layer in enumerate(kept):
        growing.update(layer.keys, layer.values, index)
    for first in range(0, len(tokens), at_once):
        last_states(model, tokens[None, first : first + at_once], growing)
    return _as_prefix(growing)


def virtual_prefix(
    model: "PreTrainedModel", method: ScoringMethod, leading: Sequence[int], virtual: torch.Tensor
) -> AnyPrefix:
    """Return a prefix of tokens and virtual embeddings, shape (virtual tokens, hidden size); the body takes them."""
    embeddings = embedded(model, leading, virtual)
    if method in OWN_CACHE:
        return own_prefix_of(model, embeddings)
    growing: Any = DynamicCache()
    body_of(model)(inputs_embeds=embeddings[None], **cache_arguments(model, growing))
    return _as_prefix(growing)


def _own(prefix: AnyPrefix) -> OwnPrefix:
    if not isinstance(prefix, OwnPrefix):
        raise TypeError("The prefix is not of this method.")
    return prefix


def keys_and_values(prefix: AnyPrefix) -> Prefix:
    """Return a prefix of the methods ``packed`` and ``branches`` with its type; raise TypeError for others."""
    if not isinstance(prefix, Prefix):
        raise TypeError("The prefix is not of this method.")
    return prefix


def _as_prefix(cache: DynamicCache) -> Prefix:
    prefix = Prefix()
    prefix.layers = cache.layers
    return prefix


def embedded(model: "PreTrainedModel", leading: Sequence[int], virtual: torch.Tensor) -> torch.Tensor:
    """Return the embeddings of tokens, followed by virtual ones; shape (tokens + virtual tokens, hidden size)."""
    embedding: Any = model.get_input_embeddings()
    first = embedding(torch.tensor(leading, dtype=torch.int64, device=model.device))
    return torch.cat([first, virtual.to(first)]) if len(virtual) else first


def run_method(
    model: "PreTrainedModel", method: ScoringMethod, forests: Sequence[Forest], prefix: AnyPrefix | None
) -> tuple[torch.Tensor, Integers]:
    """Return the last hidden states of the forests' nodes.

    Args:
        method: any but ``plain``.
        forests: at least one, all after the prefix.
        prefix: of this method; None if there is none, and in the method ``rows``.

    Returns:
        states of shape (any, hidden size), and for each edge of the first forest, then the second, … the row with the
        state of its source, shape (edges,).
    """
    if method in OWN_CACHE:
        run = run_steps if method == "steps" else run_copies
        return run(model, forests, None if prefix is None else _own(prefix))
    own = None if prefix is None else keys_and_values(prefix)
    return packed_rows(forests).run(model, own) if method == "packed" else _run_branched(model, forests, own)


def plain_log_probabilities(model: "PreTrainedModel", tree: Tree) -> torch.Tensor:
    """Return the log-probabilities of a tree's edges by the model's own forward pass, one row at a time.

    Returns:
        fp32, shape (edges, 2), on the CPU: of an edge's token, and of the most probable one there.
    """
    result = torch.full((len(tree.sources), 2), torch.nan)
    for nodes in tree.branches():
        column = {node: place for place, node in enumerate(nodes)}
        edges = [edge for edge, node in enumerate(tree.sources.tolist()) if node in column]
        logits = model(input_ids=on_device(model, tree.tokens[nodes][None]), use_cache=False).logits[0]
        places = torch.tensor([column[int(tree.sources[edge])] for edge in edges], dtype=torch.int64)
        targets = torch.from_numpy(tree.targets[edges])
        log_probabilities = logits[places.to(logits.device)].float().log_softmax(-1).cpu()
        result[edges] = torch.stack(
            [log_probabilities[torch.arange(len(edges)), targets], log_probabilities.amax(1)], dim=1
        )
    return result


def padded_tokens(forest: Forest, method: ScoringMethod, before: int) -> tuple[int, int]:
    """Return the size of a forest in a batch: its rows at most, and its tokens per row or their equivalent.

    Args:
        method: not ``plain``.
        before: number of tokens of the prefix.
    """
    if method == "packed":
        return 1, len(forest.tokens) + before // PLACES_A_TOKEN
    if method == "steps":
        # The cache of a row is counted by its bytes.
        rows = len(forest.leaves())
        return rows, -(-len(forest.tokens) // rows)
    branches = forest.branches()
    return len(branches), max(map(len, branches)) + before // PLACES_A_TOKEN


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Forests as rows of one size, each forest a row; as of :func:`packed_states` and :func:`run_method`."""

    tokens: Integers
    depths: Integers
    spans: Spans
    sources: Integers

    def run(self, model: "PreTrainedModel", prefix: Prefix | None) -> tuple[torch.Tensor, Integers]:
        """Return the states of the rows after a prefix, and the sources, see :func:`run_method`."""
        states = packed_states(model, self.tokens, self.depths, self.spans, prefix)
        return states.flatten(0, 1), self.sources


def packed_rows(forests: Sequence[Forest]) -> PackedRows:
    """Return forests, at least one, as rows for the method ``packed``; no model is needed yet."""
    sizes = np.array([len(forest.tokens) for forest in forests])
    count, longest = len(forests), int(sizes.max())
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Places in the flattened rows.
    places = np.arange(len(begins)) - begins + np.repeat(np.arange(count) * longest, sizes)
    tokens = np.full((count, longest), forests[0].tokens[0])
    depths = np.full((count, longest), forests[0].depths[0])
    tokens.flat[places] = np.concatenate([forest.tokens for forest in forests])
    depths.flat[places] = np.concatenate([forest.depths for forest in forests])
    parents = np.concatenate([forest.parents for forest in forests])
    times = walk(np.where(parents < 0, -1, parents + begins))
    spans = empty_rows(count, longest)
    spans.entries.flat[places], spans.exits.flat[places] = times.entries - begins, times.exits - begins
    sources = [row * longest + forest.sources for row, forest in enumerate(forests)]
    return PackedRows(tokens, depths, spans, np.concatenate(sources))


def packed_states(
    model: "PreTrainedModel",
    tokens: Integers,
    depths: Integers,
    spans: Spans,
    cache: DynamicCache | None,
    earlier: Earlier | None = None,
) -> torch.Tensor:
    """Return the last hidden states of rows of tokens under explicit masks.

    Args:
        tokens, depths: ids, and positions in running text; shape (rows, queries).
        spans: times of a walk through the row's trees: a token sees its ancestors and itself; shape (rows, queries).
        cache: keys and values of earlier tokens; None for none.
        earlier: the earlier tokens of each row; None if all rows see all of them, from the first position on.

    Returns:
        shape (rows, queries, hidden size).
    """
    return last_states(
        model,
        tokens,
        cache,
        attention_mask=_masks(model, spans, depths, length_of(cache), earlier),
        position_ids=on_device(model, depths),
    )


def _run_branched(
    model: "PreTrainedModel", forests: Sequence[Forest], prefix: Prefix | None
) -> tuple[torch.Tensor, Integers]:
    tokens, lengths, sources = branch_rows(forests)
    before = length_of(prefix)
    present = (np.arange(before + tokens.shape[1]) < before + lengths[:, None]).astype(np.int64)
    states = last_states(model, tokens, prefix, attention_mask=on_device(model, present))
    return states.flatten(0, 1), sources


def length_of(cache: DynamicCache | OwnPrefix | None) -> int:
    """Return the number of tokens in a cache."""
    if isinstance(cache, OwnPrefix):
        return cache.length
    return 0 if cache is None else int(cache.get_seq_length())


def size_of(prefix: AnyPrefix) -> int:
    """Return the bytes of a prefix."""
    return bytes_of(prefix.cache if isinstance(prefix, OwnPrefix) else prefix)


def _masks(model: "PreTrainedModel", spans: Spans, depths: Integers, before: int, earlier: Earlier | None) -> Any:
    """Return additive masks from the times of a walk, one per kind of layer if the model has several.

    Arguments as of :func:`packed_states`; ``before`` is the number of earlier tokens. Raises ValueError for layers of
    another kind, whose masks are unknown.
    """
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ())
    if not kinds <= _KINDS:
        raise ValueError(f"no masks are known for layers of the kind {', '.join(sorted(kinds - _KINDS))}")
    rows, queries = depths.shape
    lowest = torch.finfo(model.dtype).min
    full = torch.zeros((rows, 1, queries, before + queries), dtype=model.dtype, device=model.device)
    full[:, 0, :, before:].masked_fill_(hidden(spans, spans, model.device), lowest)
    if earlier is not None:
        full[:, 0, :, :before].masked_fill_(hidden(spans, earlier.spans, model.device), lowest)
    if window is None or (kinds and "sliding_attention" not in kinds):
        return full
    near = full
    if depths.max() >= window:
        positions = on_device(model, depths)
        known = np.arange(before)[None].repeat(rows, axis=0) if earlier is None else earlier.depths
        distance = positions[:, :, None] - torch.cat([on_device(model, known), positions], dim=1)[:, None, :]
        near = full.masked_fill((distance >= window)[:, None], lowest)
    return {"full_attention": full, "sliding_attention": near} if kinds else near
