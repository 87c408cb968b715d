"""Rows of packed texts, against a walk through each text by itself."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.models.scoring.masks import hidden
from kgprobe.models.states.reader import block_of, pack

# Few tokens, so that texts have much in common; those of three bytes show whether more than the lowest one is compared.
TOKENS = st.sampled_from([0, 1, 2, 255, 256, 65_536, 262_143])
CASES = st.tuples(
    st.lists(TOKENS, max_size=3),
    st.lists(st.lists(TOKENS, min_size=1, max_size=7), min_size=1, max_size=12),
    st.integers(1, 20),
)


def arrays(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([token for text in texts for token in text]), np.cumsum([0, *map(len, texts)])


@given(CASES)
def test_what_a_text_sees_is_the_text(case: tuple[list[int], list[list[int]], int]) -> None:
    prefix, tails, most = case
    packed = pack(*arrays([prefix + tail for tail in tails]), len(prefix), most)
    tokens, depths, spans = block_of(packed, np.arange(len(packed.offsets) - 1))
    visible = ~hidden(spans, spans, torch.device("cpu")).numpy()
    for number, tail in enumerate(tails):
        row, column = packed.rows[number], packed.columns[number]
        seen = np.flatnonzero(visible[row, column])
        order = seen[np.argsort(depths[row, seen])]
        assert tokens[row, order].tolist() == tail
        assert depths[row, order].tolist() == list(range(len(prefix), len(prefix) + len(tail)))
        # What any of them sees is the text up to it.
        for place, node in enumerate(order):
            assert set(np.flatnonzero(visible[row, node])) == set(order[: place + 1])


@given(CASES)
def test_what_neighbours_share_stands_once(case: tuple[list[int], list[list[int]], int]) -> None:
    prefix, tails, most = case
    packed = pack(*arrays([prefix + tail for tail in tails]), len(prefix), most)
    for row, (first, last) in enumerate(zip(packed.offsets[:-1], packed.offsets[1:], strict=True)):
        mine = [tail for number, tail in enumerate(tails) if packed.rows[number] == row]
        assert last - first == len({tuple(tail[: n + 1]) for tail in mine for n in range(len(tail))})
        assert last - first <= most or len({tuple(tail) for tail in mine}) == 1


def test_rows_are_filled() -> None:
    texts = [[number, other, 9, 9] for number in range(50) for other in (1, 2)]
    packed = pack(*arrays(texts), 0, 20)
    sizes = np.diff(packed.offsets)
    assert sizes.max() <= 20
    # No row but the last had room for another text.
    assert sizes[:-1].min() > 20 - 4
