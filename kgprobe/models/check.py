"""Which way through a model is exact, found out on the model itself.

A wrong probability is worse than a crash, and names of architectures are no proof: whether a model respects masks and
positions from outside depends on its code and its configuration. So a few small trees go through each way, the
fastest first, and through plain forward passes, and the first way that agrees is taken. Hidden states are compared
too, since a model that is sure of nothing gives nearly the same probabilities whatever it attends to.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from kgprobe.errors import KgprobeError
from kgprobe.models.forward import Way, branch_states, packed_states, plain_log_probabilities
from kgprobe.models.head import Head, find_head
from kgprobe.models.tokens import TokenizedPrompt
from kgprobe.models.trie import Tree, build_tree

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WAYS: tuple[Way, ...] = ("packed", "branches", "rows", "plain")
# Greatest error of a log-probability, and of a hidden state relative to its length. What half precision loses by
# rounding alone stays below this, also for the improbable tokens that are checked; wrong positions cost Gemma 3 in
# bfloat16 ten times as much.
_TOLERANCE = {torch.float32: (1e-4, 1e-3), torch.bfloat16: (1.0, 0.1), torch.float16: (0.2, 0.03)}
_CHECKED_WINDOW = 3


def choose_way(model: "PreTrainedModel", ways: tuple[Way, ...] = WAYS) -> tuple[Way, Head | None]:
    """The first of these ways that gives the same numbers as plain forward passes.

    Args:
        model: a causal language model.
        ways: the candidates, fastest first.

    Returns:
        the way, and the head to go with it; None for ``plain``, which needs none.

    Raises:
        KgprobeError: not even ``plain`` is among the ways and none of the others agrees.
    """
    head = find_head(model)
    for way in ways:
        if way == "plain":
            return way, None
        if head is not None and _agrees(model, head, way):
            return way, head
    raise KgprobeError(f"None of the ways {', '.join(ways)} agrees with this model's plain forward passes.")


def _agrees(model: "PreTrainedModel", head: Head, way: Way) -> bool:
    trees = _trees(model)
    try:
        with _narrow_window(model) as narrowed:
            right = _matches(model, head, way, trees)
        return right and (not narrowed or _matches(model, head, way, trees))
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError):
        # Whatever a model's code does with arguments it was not made for: this is not a way to go.
        return False


def _matches(model: "PreTrainedModel", head: Head, way: Way, trees: list[Tree]) -> bool:
    tolerance, state_tolerance = _TOLERANCE[model.dtype]
    expected_states = [_plain_states(model, tree) for tree in trees]
    expected = torch.cat([plain_log_probabilities(model, tree) for tree in trees])
    shared = [0] if way == "rows" else [0, trees[0].chain - 1]
    for count in shared:
        states = run_way(model, way, trees, count)
        own = torch.cat([state[count:] for state in expected_states])
        error = ((states - own).float().norm(dim=1) / own.float().norm(dim=1)).max()
        sources, targets = edges_of(trees, count)
        found = head.log_probabilities(states, sources, targets)
        # A comparison with "not a number" is false, as it should be here.
        if not (error <= state_tolerance and (found - expected).abs().max() <= tolerance):
            return False
    return True


def run_way(model: "PreTrainedModel", way: Way, trees: list[Tree], shared: int) -> torch.Tensor:
    """The last hidden states of the nodes from the ``shared``-th on; of shape (nodes, hidden size), tree after tree."""
    return packed_states(model, trees, shared) if way == "packed" else branch_states(model, trees, shared)


def edges_of(trees: list[Tree], shared: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges of all these trees, their sources as rows of :func:`run_way`'s result."""
    before = np.cumsum([0, *(len(tree.tokens) - shared for tree in trees)])
    sources = [tree.sources - shared + first for tree, first in zip(trees, before, strict=False)]
    return np.concatenate(sources), np.concatenate([tree.targets for tree in trees])


def _plain_states(model: "PreTrainedModel", tree: Tree) -> torch.Tensor:
    """The last hidden states of a tree's nodes by plain forward passes, shape (nodes, hidden size)."""
    found: dict[int, torch.Tensor] = {}
    for leaf in tree.leaves():
        nodes = tree.path(leaf)
        tokens = torch.from_numpy(tree.tokens[nodes][None]).to(model.device)
        found.update(zip(nodes, model.base_model(input_ids=tokens, use_cache=False).last_hidden_state[0], strict=True))
    return torch.stack([found[node] for node in range(len(tree.tokens))])


def _trees(model: "PreTrainedModel") -> list[Tree]:
    """Two trees of different sizes that share their first tokens, with branches at several depths."""
    random = np.random.default_rng(0)
    embeddings: Any = model.get_input_embeddings()
    vocabulary = embeddings.weight.shape[0]
    tokens = [int(token) for token in random.integers(0, vocabulary, 24)]
    context = tuple(tokens[:6])
    first = tuple(tuple(tokens[index] for index in tail) for tail in ((6, 7, 8, 9), (6, 7, 10), (11, 12, 13, 14, 15)))
    second = tuple(tuple(tokens[index] for index in tail) for tail in ((16, 17), (18, 19, 20)))
    prompts = (
        TokenizedPrompt(context, (6,) * len(first), first),
        TokenizedPrompt((*context, tokens[21], tokens[22]), (8,) * len(second), second),
    )
    return [build_tree(number, prompt, range(len(prompt.tails))) for number, prompt in enumerate(prompts)]


@contextmanager
def _narrow_window(model: "PreTrainedModel") -> Iterator[bool]:
    """Gives a model with a sliding window one that small trees reach beyond; yields whether it has any."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    if window is None:
        yield False
        return
    config.sliding_window = _CHECKED_WINDOW
    try:
        yield True
    finally:
        config.sliding_window = window
