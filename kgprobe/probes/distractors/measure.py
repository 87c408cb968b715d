"""Min@n and Avg@n: does the right object beat its distractors?

Section 3 of the distractor paper; docs/methods/distractors.md. Everything is vectorised over facts or sentences and
prefix-wise in n: one run with 200 distractors tells the measure at every smaller n too.
"""

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


def chance_at_n(rivals: int, pool: int | None, count: int) -> Floats:
    """How probably a guess at random beats the first n rivals of a sentence, for n up to ``count``; shape (count,).

    Args:
        rivals: how many the sentence has.
        pool: how many entities these are the most plausible of, the object included: who beats them beats all. None
            where the model had no say in which they are.
    """
    if pool is not None:
        return np.full(count, 1 / max(pool, rivals + 1))
    chances: Floats = 1 / (np.minimum(np.arange(1, count + 1), rivals) + 1)
    return chances
