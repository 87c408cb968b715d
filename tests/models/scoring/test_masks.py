"""Masks from the times of a walk against the ancestors of each node."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.models.scoring.masks import Spans, empty_rows, hidden, walk

CPU = torch.device("cpu")


@st.composite
def parents(draw):
    """Trees in any order of nodes in which a parent is before its children."""
    count = draw(st.integers(1, 12))
    return np.array([draw(st.integers(-1, node - 1)) for node in range(count)])


def ancestors(above, node):
    """Return a node and all above it."""
    path = []
    while node >= 0:
        path.append(node)
        node = above[node]
    return sorted(path)


@given(first=parents(), second=parents(), padding=st.integers(0, 3))
def test_hidden_is_all_but_ancestors_also_in_padded_rows(first, second, padding):
    longest = max(len(first), len(second)) + padding
    rows = empty_rows(2, longest)
    for row, above in enumerate((first, second)):
        times = walk(above)
        rows.entries[row, : len(above)], rows.exits[row, : len(above)] = times.entries, times.exits
    masks = hidden(rows, rows, CPU)
    assert masks.dtype == torch.bool
    for row, above in enumerate((first, second)):
        for node in range(longest):
            seen = ancestors(above, node) if node < len(above) else [node]
            assert np.flatnonzero(~masks[row, node].numpy()).tolist() == seen


@given(above=parents(), data=st.data())
def test_hidden_of_other_keys_is_theirs(above, data):
    known = np.array(data.draw(st.lists(st.sampled_from(range(len(above))), unique=True)), dtype=np.int64)
    times = walk(above)
    queries = Spans(times.entries[None], times.exits[None])
    # One key of padding: it is seen by none.
    keys = Spans(np.append(times.entries[known], 0)[None], np.append(times.exits[known], 0)[None])
    masks = hidden(queries, keys, CPU)[0].numpy()
    for node in range(len(above)):
        assert sorted(known[~masks[node, :-1]].tolist()) == sorted(set(ancestors(above, node)) & set(known.tolist()))
        assert masks[node, -1]
