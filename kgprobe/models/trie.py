"""The continuations of one prompt as a tree of tokens, in which a shared prefix stands once.

The nodes are the tokens that the model takes in: the context, a chain, and every inner token of a continuation. The
edges are the predictions that are asked for: from a node to a token that may follow it. A continuation's last token
is only an edge, and so is EOS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.tokens import TokenizedPrompt

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """Some continuations of one prompt.

    Attributes:
        prompt: which prompt, counted from 0.
        members: which of its continuations, shape (continuations,).
        tokens: token ids of the nodes, shape (nodes,).
        parents: for each node the index of its parent, which is smaller; -1 for the first. Shape (nodes,).
        depths: how many tokens stand before a node in running text, its position. Shape (nodes,).
        chain: how many of the leading nodes each have the one before them as parent.
        sources: for each edge its node, shape (edges,).
        targets: for each edge the id of the token that is predicted, shape (edges,).
        steps: the edges of the first continuation, then those of the second, …; shape (scored tokens,).
        offsets: where in ``steps`` each continuation begins, shape (continuations,).
    """

    prompt: int
    members: Integers
    tokens: Integers
    parents: Integers
    depths: Integers
    chain: int
    sources: Integers
    targets: Integers
    steps: Integers
    offsets: Integers

    def leaves(self) -> Integers:
        """The nodes that no other node has as parent: where a row ends if every branch is a row of its own."""
        inner = np.zeros(len(self.tokens), dtype=bool)
        inner[self.parents[1:]] = True
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
        visible = np.zeros((count, count), dtype=bool)
        visible[: self.chain, : self.chain] = np.tri(self.chain, dtype=bool)
        for node in range(self.chain, count):
            visible[node] = visible[self.parents[node]]
            visible[node, node] = True
        return visible


def build_trees(number: int, prompt: TokenizedPrompt, max_branch_nodes: int) -> Iterator[Tree]:
    """The continuations of a prompt as one tree, or as several where one would have too many nodes.

    Args:
        number: the prompt's, kept in the trees.
        prompt: its tokens.
        max_branch_nodes: how many nodes beyond the context a tree may have; one continuation alone may exceed it.
    """
    # In the order of their tokens, continuations that share a prefix come into the same tree.
    order = sorted(range(len(prompt.tails)), key=lambda member: (prompt.starts[member], prompt.tails[member]))
    begin = 0
    while begin < len(order):
        end, nodes = begin + 1, len(prompt.tails[order[begin]])
        while end < len(order) and nodes + len(prompt.tails[order[end]]) <= max_branch_nodes:
            nodes += len(prompt.tails[order[end]])
            end += 1
        yield build_tree(number, prompt, order[begin:end])
        begin = end


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
    depths = np.arange(len(tokens))
    for node in range(common, len(tokens)):
        depths[node] = depths[parents[node]] + 1
    pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    return Tree(
        prompt=number,
        members=np.array(members, dtype=np.int64),
        tokens=np.array(tokens, dtype=np.int64),
        parents=np.array(parents, dtype=np.int64),
        depths=depths,
        chain=common,
        sources=pairs[:, 0],
        targets=pairs[:, 1],
        steps=np.array(steps, dtype=np.int64),
        offsets=np.array(offsets, dtype=np.int64),
    )
