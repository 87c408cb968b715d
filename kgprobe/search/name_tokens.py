"""The tokens of names behind a prompt, for many names at once.

The rule is that of :mod:`kgprobe.models.scoring.tokens`: prompt and name are joined as running text, and what the name
adds to the prompt's tokens is its own. Nearly every tokenizer takes a space for a boundary, so that a name has the same
tokens behind every prompt; here they are found out behind one, the anchor. Whether another prompt gives the same is
checked.
"""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.tokens import encode, join, tokenize

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Integers = NDArray[np.int64]

SEPARATOR = " "
_ANCHOR = "a"


def name_tokens(tokenizer: "PreTrainedTokenizerBase", names: Sequence[str]) -> tuple[NDArray[np.int32], Integers, int]:
    """The tokens of names behind the anchor prompt.

    Args:
        tokenizer: the model's; special tokens, truncation and padding are switched off in it.
        names: non-empty texts.

    Returns:
        the tokens of all names, one after the other; how many each name has, shape (names,); and how many names have a
        first token that reaches into the prompt, so that it depends on the prompt.
    """
    anchor = encode(tokenizer, [_ANCHOR])[0]
    encoded = encode(tokenizer, [join(_ANCHOR, SEPARATOR, text) for text in names])
    counts = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    flat = np.fromiter(chain.from_iterable(encoded), dtype=np.int32, count=int(counts.sum()))
    starts = np.cumsum(counts) - counts
    shared = np.zeros(len(counts), dtype=np.int64)
    for place, token in enumerate(anchor):
        # Where a text is shorter than the anchor, the token of another is looked at, and not counted.
        same = (shared == place) & (counts > place)
        same[same] = flat[starts[same] + place] == token
        shared += same
    within = np.arange(len(flat)) - np.repeat(starts, counts)
    return flat[within >= np.repeat(shared, counts)], counts - shared, int((shared < len(anchor)).sum())


def agrees(tokenizer: "PreTrainedTokenizerBase", prompt: str, names: Sequence[str]) -> bool:
    """Whether these names have the same tokens behind this prompt as behind the anchor prompt."""
    # A token in front stands for BOS, so that an empty prompt will do.
    (behind,) = tokenize(tokenizer, [prompt], [names], separator=SEPARATOR, leading=(0,))
    flat, lengths, crossing = name_tokens(tokenizer, names)
    expected = np.split(flat, np.cumsum(lengths)[:-1])
    return (
        crossing == 0
        and not behind.reasons
        and all(start == len(behind.context) for start in behind.starts)
        and all(tail == tuple(own.tolist()) for tail, own in zip(behind.tails, expected, strict=True))
    )
