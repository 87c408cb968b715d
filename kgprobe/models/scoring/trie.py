"""The continuations of one prompt as a token tree that stores a shared prefix once.

The nodes are the tokens that the model reads: the context, a chain, and every inner token of a continuation. The edges
are the requested predictions, from a node to a token that may follow it. A continuation's last token is only an edge,
and so is EOS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.tokens import TokenizedPrompt, common_prefix

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenNodes:
    """Tokens that follow one another in branches.

    Attributes:
        tokens: token ids of the nodes, shape (nodes,).
        parents: for each node the index of its parent, which is smaller; -1 for none. Shape (nodes,).
        depths: number of tokens before a node in running text, its position. Shape (nodes,).
    """

    tokens: Integers
    parents: Integers
    depths: Integers

    def leaves(self) -> Integers:
        """Return the nodes without children: the row ends if every branch is a row of its own."""
        inner = np.zeros(len(self.tokens), dtype=bool)
        inner[self.parents[self.parents >= 0]] = True
        return np.flatnonzero(~inner)

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to this one."""
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = int(self.parents[node])
        return nodes[::-1]

    def branches(self) -> list[list[int]]:
        """Return the nodes from the root to each leaf."""
        return [self.path(int(leaf)) for leaf in self.leaves()]


@dataclass(frozen=True, slots=True)
class Tree(TokenNodes):
    """Some continuations of one prompt; all nodes except the first have a parent.

    Attributes:
        prompt: number of the prompt, from 0.
        members: positions of its continuations, shape (continuations,).
        chain: number of leading nodes whose parent is the node before. All edges start at the last of them or later.
        sources: node of each edge, shape (edges,).
        targets: predicted token id of each edge, shape (edges,).
        steps: the edges of the first continuation, then those of the second, …; shape (scored tokens,).
        offsets: beginning of each continuation in ``steps``, shape (continuations,).
    """

    prompt: int
    members: Integers
    chain: int
    sources: Integers
    targets: Integers
    steps: Integers
    offsets: Integers


@dataclass(frozen=True, slots=True)
class Forest(TokenNodes):
    """Trees that are computed together after a common prefix, which is left out; shared nodes are stored once.

    Attributes:
        trees: the trees with these edges.
        sources, targets: the edges of the first tree, then those of the second, …; as in a tree, shape (edges,).
    """

    trees: tuple[Tree, ...]
    sources: Integers
    targets: Integers

    def halves(self) -> list[tuple["Forest", Integers]]:
        """Return two forests with half of the edges each, and the numbers of these edges; none for a single source."""
        sources = np.unique(self.sources)
        if len(sources) == 1:
            return []
        upper = self.sources >= sources[len(sources) // 2]
        return [self._part(np.flatnonzero(~upper)), self._part(np.flatnonzero(upper))]

    def _part(self, edges: Integers) -> tuple["Forest", Integers]:
        kept = np.zeros(len(self.tokens), dtype=bool)
        kept[self.sources[edges]] = True
        for node in range(len(kept) - 1, -1, -1):
            if kept[node] and self.parents[node] >= 0:
                kept[self.parents[node]] = True
        # One more place, so that parent -1 stays -1.
        place = np.append(np.cumsum(kept) - 1, -1)
        part = Forest(
            tokens=self.tokens[kept],
            parents=place[self.parents[kept]],
            depths=self.depths[kept],
            trees=self.trees,
            sources=place[self.sources[edges]],
            targets=self.targets[edges],
        )
        return part, edges


def merge(trees: Sequence[Tree], prefix: int) -> Forest:
    """Merge trees to one forest that stores the common prefixes of neighbours once.

    Args:
        trees: at least one, best in the order of their contexts.
        prefix: number of common leading tokens to leave out; less than the chain of each.
    """
    tokens, parents, depths, sources = [], [], [], []
    count = 0
    before: Tree | None = None
    places: Integers = np.empty(0, dtype=np.int64)
    for tree in trees:
        shared = 0 if before is None else max(0, shared_chain(before, tree) - prefix)
        fresh = len(tree.tokens) - prefix - shared
        # One more place, so that the prefix's last token, or no parent, becomes -1.
        places = np.concatenate([places[:shared], np.arange(count, count + fresh), [-1]])
        tokens.append(tree.tokens[prefix + shared :])
        parents.append(places[tree.parents[prefix + shared :] - prefix])
        depths.append(tree.depths[prefix + shared :])
        sources.append(places[tree.sources - prefix])
        count += fresh
        before = tree
    return Forest(
        tokens=np.concatenate(tokens),
        parents=np.concatenate(parents),
        depths=np.concatenate(depths),
        trees=tuple(trees),
        sources=np.concatenate(sources),
        targets=np.concatenate([tree.targets for tree in trees]),
    )


def branch_rows(forests: Sequence[Forest], shortest: int = 1) -> tuple[Integers, Integers, Integers]:
    """Return rows of tokens, one for each branch of the forests.

    Args:
        shortest: minimum length of the rows.

    Returns:
        The tokens, shape (rows, longest), with any token beyond the end of a branch; the lengths of the branches; the
        places of the forests' sources in the flattened rows.
    """
    branches = [forest.branches() for forest in forests]
    lengths = np.array(list(map(len, chain.from_iterable(branches))))
    tokens = np.full((len(lengths), max(shortest, lengths.max())), forests[0].tokens[0])
    sources = []
    row = 0
    for forest, rows in zip(forests, branches, strict=True):
        # A node is part of several rows; any of them contains its state.
        place = np.empty(len(forest.tokens), dtype=np.int64)
        for nodes in rows:
            tokens[row, : len(nodes)] = forest.tokens[nodes]
            place[nodes] = row * tokens.shape[1] + np.arange(len(nodes))
            row += 1
        sources.append(place[forest.sources])
    return tokens, lengths, np.concatenate(sources)


def shared_chain(first: Tree, second: Tree) -> int:
    """Return the number of leading tokens that two trees share before either branches."""
    length = min(first.chain, second.chain)
    different = np.flatnonzero(first.tokens[:length] != second.tokens[:length])
    return int(different[0]) if len(different) else length


def build_trees(number: int, prompt: TokenizedPrompt, max_branch_nodes: int) -> Iterator[Tree]:
    """Yield a prompt's continuations as one tree, or as several of similar size where one would be too large.

    Args:
        max_branch_nodes: approximate maximum of nodes beyond the context per tree.
    """
    # Sorted by their tokens, continuations that share a prefix fall into the same tree.
    order = sorted(range(len(prompt.tails)), key=lambda member: (prompt.starts[member], prompt.tails[member]))
    if not order:
        return
    fresh = [_fresh_nodes(prompt, before, member) for before, member in zip([None, *order], order, strict=False)]
    until = np.cumsum(fresh)
    parts = max(1, -(-int(until[-1]) // max_branch_nodes))
    part = np.maximum(until - 1, 0) * parts // max(int(until[-1]), 1)
    for members in np.split(np.array(order), np.flatnonzero(np.diff(part)) + 1):
        yield build_tree(number, prompt, members.tolist())


def _fresh_nodes(prompt: TokenizedPrompt, before: int | None, member: int) -> int:
    """Return the number of nodes that a continuation adds to a tree after the previous one in order."""
    tail = prompt.tails[member]
    if before is None or prompt.starts[before] != prompt.starts[member]:
        return len(tail) - 1
    return len(tail) - 1 - common_prefix(prompt.tails[before][:-1], tail[:-1])


def build_tree(number: int, prompt: TokenizedPrompt, members: Sequence[int]) -> Tree:
    """Return one tree of these continuations of a prompt."""
    common = min(prompt.starts[member] for member in members)
    tokens = list(prompt.context[:common])
    parents = list(range(-1, common - 1))
    children: dict[tuple[int, int], int] = {}
    edges: dict[tuple[int, int], int] = {}
    steps: list[int] = []
    offsets: list[int] = []
    for member in members:
        node = common - 1
        offsets.append(len(steps))
        unscored = prompt.context[common : prompt.starts[member]]
        sequence = (*unscored, *prompt.tails[member])
        for place, token in enumerate(sequence):
            if place >= len(unscored):
                steps.append(edges.setdefault((node, token), len(edges)))
            if place < len(sequence) - 1:
                child = children.get((node, token))
                if child is None:
                    child = children[(node, token)] = len(tokens)
                    tokens.append(token)
                    parents.append(node)
                node = child
    depths = list(range(common))
    depths += (depths[parent] + 1 for parent in parents[common:])
    pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    return Tree(
        prompt=number,
        members=np.array(members, dtype=np.int64),
        tokens=np.array(tokens, dtype=np.int64),
        parents=np.array(parents, dtype=np.int64),
        depths=np.array(depths, dtype=np.int64),
        chain=common,
        sources=pairs[:, 0],
        targets=pairs[:, 1],
        steps=np.array(steps, dtype=np.int64),
        offsets=np.array(offsets, dtype=np.int64),
    )


def growing_tree(
    number: int, context: Integers, known: TokenNodes, nodes: Integers, sources: Integers, targets: Integers
) -> Tree:
    """Return a tree of the edges that a search requests in a turn, with the ancestors of its nodes and the prompt.

    Args:
        context: the prompt's tokens, at least one.
        known: all nodes of the search; the first one represents the prompt.
        sources, targets: node and predicted token of each edge, shape (edges,).
    """
    layers = [nodes]
    while len(layers[-1]):
        layers.append(np.unique(known.parents[layers[-1]][known.parents[layers[-1]] > 0]))
    nodes = np.unique(np.concatenate(layers))
    nodes = nodes[nodes > 0]
    chain = len(context)

    def place(own: Integers) -> Integers:
        return np.where(own == 0, chain - 1, chain + np.searchsorted(nodes, own))

    return Tree(
        prompt=number,
        members=np.zeros(1, dtype=np.int64),
        tokens=np.concatenate([context, known.tokens[nodes]]),
        parents=np.concatenate([np.arange(-1, chain - 1), place(known.parents[nodes])]),
        depths=np.concatenate([np.arange(chain), chain - 1 + known.depths[nodes]]),
        chain=chain,
        sources=place(sources),
        targets=targets,
        steps=np.arange(len(sources)),
        offsets=np.zeros(1, dtype=np.int64),
    )
