"""Trees of many prompts at once against those built one by one."""

from dataclasses import fields

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_trees
from tests.models.scoring.test_trie import TAIL, TOKEN, tokenized_prompts


@st.composite
def usual_prompts(draw):
    """Prompts whose continuations begin at one place each; some have none."""
    context = tuple(draw(st.lists(TOKEN, min_size=1, max_size=6)))
    tails = draw(st.lists(TAIL, max_size=12))
    return TokenizedPrompt(context, (draw(st.integers(1, len(context))),) * len(tails), tuple(tails))


@given(prompts=st.lists(st.one_of(usual_prompts(), tokenized_prompts()), max_size=6), most=st.integers(1, 12))
def test_all_trees_equal_those_of_each_prompt(prompts, most):
    found = build_all_trees(prompts, most)
    expected = [tree for number, prompt in enumerate(prompts) for tree in build_trees(number, prompt, most)]
    assert len(found) == len(expected)
    for tree, wanted in zip(found, expected, strict=True):
        for field in fields(wanted):
            own, other = getattr(tree, field.name), getattr(wanted, field.name)
            np.testing.assert_array_equal(own, other, err_msg=field.name)
            assert getattr(own, "dtype", None) == getattr(other, "dtype", None)
