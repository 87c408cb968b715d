"""Tokens of names after a prompt, for many names at once.

As in :mod:`kgprobe.models.scoring.tokens`, prompt and name are joined as running text, and the tokens added to the
prompt's own belong to the name. Nearly every tokenizer splits at spaces, so a name has the same tokens after every
prompt. They are computed after an anchor prompt; :func:`agrees` checks another prompt.
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
    """Return the tokens of names after the anchor prompt.

    Args:
        tokenizer: the model's tokenizer; its special tokens, truncation and padding are switched off.
        names: non-empty texts.

    Returns:
        The concatenated tokens of all names; the number of tokens of each name, shape (names,); and the number of names
        whose first token reaches into the prompt, so that it depends on the prompt.
    """
    anchor = encode(tokenizer, [_ANCHOR])[0]
    encoded = encode(tokenizer, [join(_ANCHOR, SEPARATOR, text) for text in names])
    counts = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    flat = np.fromiter(chain.from_iterable(encoded), dtype=np.int32, count=int(counts.sum()))
    starts = np.cumsum(counts) - counts
    shared = np.zeros(len(counts), dtype=np.int64)
    for place, token in enumerate(anchor):
        # Texts that are shorter than the anchor are masked by counts.
        same = (shared == place) & (counts > place)
        same[same] = flat[starts[same] + place] == token
        shared += same
    within = np.arange(len(flat)) - np.repeat(starts, counts)
    return flat[within >= np.repeat(shared, counts)], counts - shared, int((shared < len(anchor)).sum())


def agrees(tokenizer: "PreTrainedTokenizerBase", prompt: str, names: Sequence[str]) -> bool:
    """Return True if names have the same tokens after this prompt as after the anchor prompt."""
    # The leading token represents BOS, so that the prompt may be empty.
    (behind,) = tokenize(tokenizer, [prompt], [names], separator=SEPARATOR, leading=(0,))
    flat, lengths, crossing = name_tokens(tokenizer, names)
    expected = np.split(flat, np.cumsum(lengths)[:-1])
    return (
        crossing == 0
        and not behind.reasons
        and all(start == len(behind.context) for start in behind.starts)
        and all(tail == tuple(own.tolist()) for tail, own in zip(behind.tails, expected, strict=True))
    )
