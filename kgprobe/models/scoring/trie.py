"""The continuations of one prompt as a tree of tokens, in which a shared prefix stands once.

The nodes are the tokens that the model takes in: the context, a chain, and every inner token of a continuation. The
edges are the predictions that are asked for: from a node to a token that may follow it. A continuation's last token
is only an edge, and so is EOS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.tokens import TokenizedPrompt, common_prefix

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Tokens that follow one another in branches.

    Attributes:
        tokens: token ids of the nodes, shape (nodes,).
        parents: for each node the index of its parent, which is smaller; -1 for one without. Shape (nodes,).
        depths: how many tokens stand before a node in running text, its position. Shape (nodes,).
    """

    tokens: Integers
    parents: Integers
    depths: Integers

    def leaves(self) -> Integers:
        """The nodes that no other node has as parent: where a row ends if every branch is a row of its own."""
        inner = np.zeros(len(self.tokens), dtype=bool)
        inner[self.parents[self.parents >= 0]] = True
        return np.flatnonzero(~inner)

    def path(self, node: int) -> list[int]:
        """The nodes from the first to this one."""
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = int(self.parents[node])
        return nodes[::-1]

    def visible(self) -> NDArray[np.bool_]:
        """Which nodes stand before or at each node in its running text, shape (nodes, nodes)."""
        count = len(self.tokens)
        branching = np.flatnonzero(self.parents != np.arange(-1, count - 1))
        chain = int(branching[0]) if len(branching) else count
        visible = np.zeros((count, count), dtype=bool)
        visible[:chain, :chain] = np.tri(chain, dtype=bool)
        rest = chain + np.argsort(self.depths[chain:], kind="stable")
        for level in np.split(rest, np.flatnonzero(np.diff(self.depths[rest])) + 1):
            parents = self.parents[level]
            visible[level[parents >= 0]] = visible[parents[parents >= 0]]
            visible[level, level] = True
        return visible


@dataclass(frozen=True, slots=True)
class Tree(Nodes):
    """Some continuations of one prompt; all its nodes but the first have a parent.

    Attributes:
        prompt: which prompt, counted from 0.
        members: which of its continuations, shape (continuations,).
        chain: how many of the leading nodes each have the one before them as parent, and stand before all edges but
            those of the last of them.
        sources: for each edge its node, shape (edges,).
        targets: for each edge the id of the token that is predicted, shape (edges,).
        steps: the edges of the first continuation, then those of the second, …; shape (scored tokens,).
        offsets: where in ``steps`` each continuation begins, shape (continuations,).
    """

    prompt: int
    members: Integers
    chain: int
    sources: Integers
    targets: Integers
    steps: Integers
    offsets: Integers


@dataclass(frozen=True, slots=True)
class Forest(Nodes):
    """Trees that are computed together behind a common prefix, which is left out; what they share stands once.

    Attributes:
        trees: whose edges these are.
        sources, targets: the edges of the first tree, then those of the second, …; as in a tree, shape (edges,).
    """

    trees: tuple[Tree, ...]
    sources: Integers
    targets: Integers

    def halves(self) -> list[tuple["Forest", Integers]]:
        """Two forests with half of the edges each, and which these are; none if all edges have the same source."""
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
        # One more place, so that no parent stays none.
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
    """Trees as one forest, in which the beginnings that neighbours have in common stand once.

    Args:
        trees: at least one, best in the order of their contexts.
        prefix: how many leading tokens they all have in common that are left out; less than the chain of each.
    """
    tokens, parents, depths, sources = [], [], [], []
    count = 0
    before: Tree | None = None
    places: Integers = np.empty(0, dtype=np.int64)
    for tree in trees:
        shared = 0 if before is None else max(0, shared_chain(before, tree) - prefix)
        fresh = len(tree.tokens) - prefix - shared
        # One more place, so that the prefix's last token, or nothing, is no node.
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


def shared_chain(one: Tree, other: Tree) -> int:
    """How many leading tokens two trees have in common before either branches."""
    length = min(one.chain, other.chain)
    different = np.flatnonzero(one.tokens[:length] != other.tokens[:length])
    return int(different[0]) if len(different) else length


def build_trees(number: int, prompt: TokenizedPrompt, max_branch_nodes: int) -> Iterator[Tree]:
    """The continuations of a prompt as one tree, or as several of about one size where one would have too many nodes.

    Args:
        number: the prompt's, kept in the trees.
        prompt: its tokens.
        max_branch_nodes: about how many nodes beyond the context a tree may have.
    """
    # In the order of their tokens, continuations that share a prefix come into the same tree.
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
    """How many nodes a continuation adds to a tree behind the one before it in order."""
    tail = prompt.tails[member]
    if before is None or prompt.starts[before] != prompt.starts[member]:
        return len(tail) - 1
    return len(tail) - 1 - common_prefix(prompt.tails[before][:-1], tail[:-1])


def build_tree(number: int, prompt: TokenizedPrompt, members: Sequence[int]) -> Tree:
    """One tree of these continuations of a prompt."""
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
    number: int, context: Integers, known: Nodes, nodes: Integers, sources: Integers, targets: Integers
) -> Tree:
    """A tree of what a search asks in a turn: its nodes with all that stand before them, behind a prompt.

    Args:
        number: the prompt's, kept in the tree.
        context: the prompt's tokens, at least one.
        known: all nodes of the search; the first one is the prompt itself.
        nodes: those that something is asked of.
        sources, targets: for each edge its node and the token that is predicted, shape (edges,).
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
