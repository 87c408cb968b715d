"""Token trees of all prompts of a call at once, with array operations.

The trees equal those of :func:`.trie.build_trees`, which builds them one by one. A prompt's continuations are sorted by
their tokens. Then a continuation shares its longest known beginning with the one before it, and everything follows from
the lengths of these beginnings: which tokens are new nodes, which predictions are new edges, and where a tree is full.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Integers, Tree, build_trees

Bools = NDArray[np.bool_]


def build_all_trees(prompts: Sequence[TokenizedPrompt], max_branch_nodes: int) -> list[Tree]:
    """Return the trees of all prompts, numbered by position, see :func:`.trie.build_trees`."""
    # Where a token crosses the end of the prompt, continuations begin at different places.
    alike = [number for number, prompt in enumerate(prompts) if len(set(prompt.starts)) == 1 and all(prompt.tails)]
    at_once = _trees_at_once(alike, [prompts[number] for number in alike], max_branch_nodes)
    following = next(at_once, None)
    trees: list[Tree] = []
    for number, prompt in enumerate(prompts):
        if following is None or following.prompt != number:
            trees += build_trees(number, prompt, max_branch_nodes)
        while following is not None and following.prompt == number:
            trees.append(following)
            following = next(at_once, None)
    return trees


@dataclass(frozen=True, slots=True)
class _Tails:
    """The tails of all prompts, sorted within each prompt, as one array of tokens.

    Attributes:
        members: each tail's position among its prompt's continuations, shape (tails,).
        owners: place of each tail's prompt, increasing, shape (tails,).
        tokens: the tokens of the first tail, then those of the second, …; shape (tokens,).
        lengths: number of tokens of each tail, shape (tails,).
        begins: place of each tail's first token, shape (tails,).
        tail: tail of each token, shape (tokens,).
        depth: number of tokens before each token in its tail, shape (tokens,).
    """

    members: Integers
    owners: Integers
    tokens: Integers
    lengths: Integers
    begins: Integers
    tail: Integers
    depth: Integers


def _sort(prompts: Sequence[TokenizedPrompt]) -> _Tails:
    tails = list(chain.from_iterable(prompt.tails for prompt in prompts))
    counts = np.array([len(prompt.tails) for prompt in prompts])
    owners = np.repeat(np.arange(len(prompts)), counts)
    # Prompts share most of their continuations, so each distinct one is compared and converted once.
    ranks = {tail: rank for rank, tail in enumerate(sorted(set(tails)))}
    rank = np.fromiter(map(ranks.__getitem__, tails), np.int64, len(tails))
    order = np.argsort(owners * len(ranks) + rank, kind="stable")
    rank = rank[order]
    lengths_of = np.fromiter(map(len, ranks), np.int64, len(ranks))
    tokens_of = np.fromiter(chain.from_iterable(ranks), np.int64, int(lengths_of.sum()))
    lengths = lengths_of[rank]
    begins = np.cumsum(lengths) - lengths
    tail = np.repeat(np.arange(len(tails)), lengths)
    depth = np.arange(len(tail)) - begins[tail]
    return _Tails(
        members=order - np.repeat(np.cumsum(counts) - counts, counts),
        owners=owners,
        tokens=tokens_of[(np.cumsum(lengths_of) - lengths_of)[rank][tail] + depth],
        lengths=lengths,
        begins=begins,
        tail=tail,
        depth=depth,
    )


def _shared_with_previous(tails: _Tails) -> Integers:
    """Return the number of leading tokens that each tail shares with the one before it, 0 for a prompt's first."""
    before = np.maximum(tails.tail - 1, 0)
    comparable = (tails.depth < tails.lengths[before]) & (tails.owners[tails.tail] == tails.owners[before])
    comparable &= tails.tail > 0
    same = comparable.copy()
    places = np.flatnonzero(comparable)
    same[places] = tails.tokens[places] == tails.tokens[tails.begins[before[places]] + tails.depth[places]]
    different = np.where(same, len(tails.tokens), tails.depth)
    return np.minimum(np.minimum.reduceat(different, tails.begins), tails.lengths)


def _first_of_trees(tails: _Tails, fresh: Integers, max_branch_nodes: int) -> Bools:
    """Return True for each tail that begins a tree, by the number of nodes that each adds after the one before it."""
    first = np.diff(tails.owners, prepend=-1) > 0
    sums = np.cumsum(fresh)
    begins = np.flatnonzero(first)
    before = (sums - fresh)[begins]
    totals = np.diff(np.append(before, sums[-1]))
    sizes = np.diff(np.append(begins, len(sums)))
    until, total = sums - np.repeat(before, sizes), np.repeat(totals, sizes)
    parts = np.maximum(1, -(-total // max_branch_nodes))
    part = np.maximum(until - 1, 0) * parts // np.maximum(total, 1)
    first[np.diff(part, prepend=-1) != 0] = True
    return first


def _numbered(new: Bools, depth: Integers, within: Bools) -> Integers:
    """Return for each token the number of the last new one at its depth, counted from 0 over all new ones.

    Args:
        new: True where a token is new; shape (tokens,).
        depth: number of tokens before it in its tail, shape (tokens,).
        within: True for tokens that count; all others have any number.
    """
    numbers = np.cumsum(new) - 1
    places = np.flatnonzero(within)
    # By depth, and by tail at the same depth.
    places = places[np.argsort(depth[places].astype(np.min_scalar_type(depth.max(initial=0))), kind="stable")]
    latest = np.maximum.accumulate(np.where(new[places], np.arange(len(places)), 0))
    result = np.zeros(len(new), dtype=np.int64)
    result[places] = numbers[places[latest]]
    return result


def _trees_at_once(numbers: Sequence[int], prompts: Sequence[TokenizedPrompt], max_branch_nodes: int) -> Iterator[Tree]:
    """Yield the trees of prompts with these numbers whose continuations begin at one place each."""
    if not prompts:
        return
    tails = _sort(prompts)
    shared = _shared_with_previous(tails)
    # The last token of a tail is no node.
    inner = np.minimum(shared, np.minimum(tails.lengths, np.append(0, tails.lengths[:-1])) - 1)
    inner = np.maximum(inner, 0)
    first = _first_of_trees(tails, tails.lengths - 1 - inner, max_branch_nodes)
    shared[first] = inner[first] = 0
    within = tails.depth < tails.lengths[tails.tail] - 1
    new_nodes = within & (tails.depth >= inner[tails.tail])
    new_edges = tails.depth >= shared[tails.tail]
    nodes = _numbered(new_nodes, tails.depth, within)
    edges = _numbered(new_edges, tails.depth, np.ones(len(within), dtype=bool))
    # The node before each token; -1 for the last of the context, before the first token.
    before = np.where(tails.depth > 0, np.append(-1, nodes[:-1]), -1)
    yield from _cut(numbers, prompts, tails, first, (new_nodes, new_edges), before, edges)


def _cut(
    numbers: Sequence[int],
    prompts: Sequence[TokenizedPrompt],
    tails: _Tails,
    first: Bools,
    new: tuple[Bools, Bools],
    before: Integers,
    edges: Integers,
) -> Iterator[Tree]:
    """Yield the trees, each with its own numbers of nodes and edges.

    Args:
        first: True for each tail that begins a tree.
        new: True for each token that is a new node, and that is a new edge.
        before: number of the node before each token, -1 for the context.
        edges: number of each token's edge.
    """
    begins = np.flatnonzero(first)
    owners = tails.owners[begins]
    new_nodes, new_edges = np.flatnonzero(new[0]), np.flatnonzero(new[1])
    # Bounds of each tree among the tails, their tokens, the new nodes and the new edges.
    tail_bounds = np.append(begins, len(first))
    token_bounds = np.append(tails.begins, len(tails.tokens))[tail_bounds]
    node_bounds = np.searchsorted(new_nodes, token_bounds)
    edge_bounds = np.searchsorted(new_edges, token_bounds)
    contexts = [np.array(prompt.context[: prompt.starts[0]], dtype=np.int64) for prompt in prompts]
    counts = np.array(list(map(len, contexts)))[owners]
    # The nodes of a tree are its context, then the new ones; the node before the first new one is the context's last.
    sizes = counts + np.diff(node_bounds)
    bounds = np.append(0, np.cumsum(sizes))
    numbers_in_tree = np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)
    is_new = numbers_in_tree >= np.repeat(counts, sizes)
    tokens, parents, depths = np.empty(bounds[-1], dtype=np.int64), numbers_in_tree - 1, numbers_in_tree
    tokens[~is_new] = np.concatenate([contexts[owner] for owner in owners.tolist()])
    tokens[is_new] = tails.tokens[new_nodes]

    def in_tree(nodes: Integers, of_each: Integers) -> Integers:
        after = np.repeat(counts, of_each)
        numbered: Integers = np.maximum(nodes + after - np.repeat(node_bounds[:-1], of_each), after - 1)
        return numbered

    parents[is_new] = in_tree(before[new_nodes], np.diff(node_bounds))
    depths[is_new] = tails.depth[new_nodes] + np.repeat(counts, np.diff(node_bounds))
    sources = in_tree(before[new_edges], np.diff(edge_bounds))
    targets = tails.tokens[new_edges]
    steps = edges - np.repeat(edge_bounds[:-1], np.diff(token_bounds))
    offsets = tails.begins - np.repeat(token_bounds[:-1], np.diff(tail_bounds))
    of_tails, of_tokens, of_nodes, of_edges = map(_slices, (tail_bounds, token_bounds, bounds, edge_bounds))
    for tree, owner in enumerate(owners.tolist()):
        yield Tree(
            prompt=numbers[owner],
            members=tails.members[of_tails[tree]],
            tokens=tokens[of_nodes[tree]],
            parents=parents[of_nodes[tree]],
            depths=depths[of_nodes[tree]],
            chain=len(contexts[owner]),
            sources=sources[of_edges[tree]],
            targets=targets[of_edges[tree]],
            steps=steps[of_tokens[tree]],
            offsets=offsets[of_tails[tree]],
        )


def _slices(bounds: Integers) -> list[slice]:
    return list(map(slice, bounds[:-1].tolist(), bounds[1:].tolist()))
