"""The token tree against the sequences it was made from."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.models.scoring.masks import Spans, hidden, walk
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_tree, build_trees, merge

TOKEN = st.integers(0, 3)
TAIL = st.lists(TOKEN, min_size=1, max_size=5).map(tuple)


@st.composite
def tokenized_prompts(draw):
    context = tuple(draw(st.lists(TOKEN, min_size=1, max_size=6)))
    tails = draw(st.lists(TAIL, min_size=1, max_size=8))
    starts = [draw(st.integers(1, len(context))) for _ in tails]
    return TokenizedPrompt(context, tuple(starts), tuple(tails))


def visible(nodes):
    """True where a node of a tree or forest sees another."""
    times = walk(nodes.parents)
    row = Spans(times.entries[None], times.exits[None])
    return ~hidden(row, row, torch.device("cpu")).numpy()[0]


@given(prompt=tokenized_prompts(), most=st.integers(1, 12))
def test_every_continuation_is_a_path_of_its_tree(prompt, most):
    seen = []
    for tree in build_trees(5, prompt, most):
        assert tree.prompt == 5
        steps = np.split(tree.steps, tree.offsets[1:])
        for member, edges in zip(tree.members, steps, strict=True):
            seen.append(int(member))
            start = prompt.starts[member]
            assert tuple(tree.targets[edges]) == prompt.tails[member]
            for place, source in enumerate(tree.sources[edges]):
                path = tree.path(source)
                before = prompt.context[:start] + prompt.tails[member][:place]
                assert tuple(tree.tokens[path]) == before
                assert tree.depths[path].tolist() == list(range(len(before)))
    assert sorted(seen) == list(range(len(prompt.tails)))


@given(prompt=tokenized_prompts())
def test_nothing_stands_twice_and_nothing_in_vain(prompt):
    tree = build_tree(0, prompt, range(len(prompt.tails)))
    inputs = {
        (prompt.context[:start] + tail)[:length]
        for start, tail in zip(prompt.starts, prompt.tails, strict=True)
        for length in range(1, start + len(tail))
    }
    paths = [tuple(tree.tokens[tree.path(node)]) for node in range(len(tree.tokens))]
    assert sorted(paths) == sorted(inputs)
    assert len(set(zip(tree.sources.tolist(), tree.targets.tolist(), strict=True))) == len(tree.sources)


@given(prompt=tokenized_prompts())
def test_node_sees_its_ancestors_and_itself(prompt):
    tree = build_tree(0, prompt, range(len(prompt.tails)))
    seen = visible(tree)
    for node in range(len(tree.tokens)):
        assert np.flatnonzero(seen[node]).tolist() == sorted(tree.path(node))
    assert {tree.path(leaf)[-1] for leaf in tree.leaves()} == set(range(len(tree.tokens))) - set(tree.parents.tolist())


@given(prompts=st.lists(tokenized_prompts(), min_size=1, max_size=4))
def test_forest_in_halves_has_the_same_edges(prompts):
    forest = merge([build_tree(number, prompt, range(len(prompt.tails))) for number, prompt in enumerate(prompts)], 0)
    seen = []
    waiting = [(forest, np.arange(len(forest.sources)))]
    while waiting:
        part, edges = waiting.pop()
        for own, edge in enumerate(edges):
            wanted, found = forest.path(int(forest.sources[edge])), part.path(int(part.sources[own]))
            assert part.tokens[found].tolist() == forest.tokens[wanted].tolist()
            assert part.depths[found].tolist() == forest.depths[wanted].tolist()
            assert part.targets[own] == forest.targets[edge]
        halves = part.halves()
        waiting += ((half, edges[which]) for half, which in halves)
        if not halves:
            assert len(set(part.sources.tolist())) == 1
            # Nothing is left but what leads there.
            assert sorted(part.path(int(part.sources[0]))) == list(range(len(part.tokens)))
            seen += edges.tolist()
    assert sorted(seen) == list(range(len(forest.sources)))
