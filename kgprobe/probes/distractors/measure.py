"""Min@n and Avg@n: does the right object beat its distractors?

Section 3 of the distractor paper; docs/methods.md, 1. Everything is vectorised over facts or sentences and prefix-wise
in n: one run with 200 distractors tells the measure at every smaller n too.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def min_at_n(plausibility: Floats, rivals: Floats) -> Bools:
    """Whether the object beats all of its first n distractors, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        shape (sentences, n), non-increasing along n. A tie is a loss.
    """
    beaten: Bools = (plausibility[:, None] > rivals) | np.isnan(rivals)
    survives: Bools = np.logical_and.accumulate(beaten, axis=1)
    return survives


def avg_at_n(plausibility: Floats, rivals: Floats) -> Floats:
    """The share of its first n distractors that the object beats, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        shape (sentences, n), in [0, 1]; NaN where there is no distractor.
    """
    present = np.cumsum(~np.isnan(rivals), axis=1)
    beaten = np.cumsum(plausibility[:, None] > rivals, axis=1)
    shares: Floats = np.divide(beaten, present, out=np.full(rivals.shape, np.nan), where=present > 0)
    return shares


def chance_level(rivals: int, sentences: int) -> float:
    """How probably a guess at random beats all rivals in more than half of the sentences, each guessed by itself."""
    once = 1 / (rivals + 1)
    return sum(
        math.comb(sentences, wins) * once**wins * (1 - once) ** (sentences - wins)
        for wins in range(sentences // 2 + 1, sentences + 1)
    )
