"""What is computed together against the trees it was made of."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgprobe.models.scoring import plan as plan_module
from kgprobe.models.scoring.forward import padded_tokens
from kgprobe.models.scoring.plan import batches, plan
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_tree, build_trees
from tests.models.scoring.test_trie import tokenized_prompts, visible

METHODS = ["packed", "branches", "steps", "copies", "rows"]
FEW = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Prefixes and full rows pay for trees of a few tokens too."""
    for name, value in {"_PASS": 2, "_SHORTEST": 1, "_ROW": 6, "LONGEST_ROW": 12}.items():
        monkeypatch.setattr(plan_module, name, value)


def trees_of(prompts, most):
    return [tree for number, prompt in enumerate(prompts) for tree in build_trees(number, prompt, most)]


def all_groups(group, before=()):
    """The groups with the tokens of their whole prefixes."""
    prefix = (*before, *group.tokens.tolist())
    assert len(prefix) == group.length
    yield group, prefix
    for inner in group.groups:
        assert len(inner.tokens)
        yield from all_groups(inner, prefix)


@FEW
@given(
    prompts=st.lists(tokenized_prompts(), max_size=8),
    most=st.integers(1, 12),
    method=st.sampled_from(METHODS),
    beginnings=st.dictionaries(st.integers(0, 8), st.integers(0, 12)),
)
def test_every_tree_is_in_one_forest_with_all_that_stands_before_its_edges(prompts, most, method, beginnings):
    trees = trees_of(prompts, most)
    seen = []
    for group, prefix in all_groups(plan(trees, method, 8, 12, beginnings)):
        for forest in group.forests:
            seen += map(id, forest.trees)
            edges = [(tree, edge) for tree in forest.trees for edge in range(len(tree.sources))]
            assert len(edges) == len(forest.sources) == len(forest.targets)
            for place, (tree, edge) in enumerate(edges):
                path = forest.path(int(forest.sources[place]))
                wanted = tree.path(int(tree.sources[edge]))
                assert (*prefix, *forest.tokens[path].tolist()) == tuple(tree.tokens[wanted].tolist())
                assert forest.depths[path].tolist() == list(range(len(prefix), len(wanted)))
                assert forest.targets[place] == tree.targets[edge]
            # All that stands before or at a node is visible to it, and nothing else.
            for node, row in enumerate(visible(forest)):
                assert np.flatnonzero(row).tolist() == sorted(forest.path(node))
    assert sorted(seen) == sorted(map(id, trees))


def test_a_beginning_in_common_is_a_prefix_behind_a_prefix():
    examples, more = tuple(range(100, 140)), tuple(range(200, 230))
    contexts = [(*examples, *more, n) for n in range(8)] + [(*examples, 50, n) for n in range(8)]
    prompts = [TokenizedPrompt(context, (len(context),), ((7, 8, 9),)) for context in contexts]
    outermost = plan(trees_of(prompts, 100), "branches", hidden_size=8, most=12)
    (first,) = outermost.groups
    assert first.tokens.tolist() == list(examples)
    assert (*examples, *more) in [prefix for _, prefix in all_groups(outermost)]
    # In the method "rows" there is nothing to put a prefix into.
    assert not plan(trees_of(prompts, 100), "rows", hidden_size=8, most=12).groups


def test_what_two_trees_begin_with_stands_once_in_a_row(monkeypatch):
    monkeypatch.setattr(plan_module, "_PASS", 100)
    context = tuple(range(10, 15))
    prompts = [TokenizedPrompt((*context, n), (6,), ((7, 8, 9),)) for n in range(2)]
    (forest,) = plan(trees_of(prompts, 100), "packed", hidden_size=1000, most=12).forests
    assert len(forest.tokens) == 5 + 2 * 3


@FEW
@given(
    prompts=st.lists(tokenized_prompts(), min_size=1, max_size=8),
    method=st.sampled_from(METHODS),
    before=st.integers(0, 40),
    limit=st.integers(1, 60),
)
def test_batches_hold_every_forest_once_and_no_more_than_fits(prompts, method, before, limit):
    forests = plan(trees_of(prompts, 5), "rows", hidden_size=8, most=12).forests
    found = list(batches(forests, [padded_tokens(forest, method, before) for forest in forests], lambda: limit))
    assert [id(forest) for batch in found for forest in batch] == list(map(id, forests))
    for batch in found:
        sizes = [padded_tokens(forest, method, before) for forest in batch]
        assert len(batch) == 1 or sum(rows for rows, _ in sizes) * max(tokens for _, tokens in sizes) <= limit


def test_no_batch_is_all_but_empty():
    prompt = TokenizedPrompt(tuple(range(8)), (8,), ((1, 2, 3),))
    forests = plan([build_tree(n, prompt, [0]) for n in range(9)], "rows", hidden_size=8, most=12).forests
    sizes = [padded_tokens(forest, "packed", 0) for forest in forests]
    assert [len(batch) for batch in batches(forests, sizes, lambda: 80)] == [5, 4]


@FEW
@given(prompts=st.lists(tokenized_prompts(), min_size=1, max_size=8), most=st.integers(1, 30))
def test_a_row_of_several_trees_is_no_longer_than_asked_for(prompts, most):
    for group, _ in all_groups(plan(trees_of(prompts, 5), "packed", hidden_size=8, most=most)):
        for forest in group.forests:
            assert len(forest.trees) == 1 or len(forest.tokens) <= most


def test_short_rows_are_filled_with_what_has_nothing_in_common():
    prompts = [TokenizedPrompt((10 * n + 1, 10 * n + 2), (2,), ((7, 8),)) for n in range(4)]
    forests = plan(trees_of(prompts, 100), "packed", hidden_size=8, most=100).forests
    assert [len(forest.tokens) for forest in forests] == [6, 6]
