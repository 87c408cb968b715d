"""Min@n and Avg@n: rank the right object among its distractors.

Section 3 of the distractor paper; docs/methods/distractors.md. Vectorized over facts or sentences; a prefix
of the distractors gives every smaller n.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def min_at_n(plausibility: Floats, rivals: Floats) -> Bools:
    """Return True where the object beats all of its first n distractors, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        Shape (sentences, n), non-increasing along n. A tie is a loss.
    """
    beaten: Bools = (plausibility[:, None] > rivals) | np.isnan(rivals)
    survives: Bools = np.logical_and.accumulate(beaten, axis=1)
    return survives


def avg_at_n(plausibility: Floats, rivals: Floats) -> Floats:
    """Return the share of the first n distractors that the object beats, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        Shape (sentences, n), in [0, 1]; NaN without distractors.
    """
    present = np.cumsum(~np.isnan(rivals), axis=1)
    beaten = np.cumsum(plausibility[:, None] > rivals, axis=1)
    shares: Floats = np.divide(beaten, present, out=np.full(rivals.shape, np.nan), where=present > 0)
    return shares


def chance_at_n(rivals: int, pool: int | None, count: int) -> Floats:
    """Return the probability that a random guess beats the first n rivals, for n up to ``count``; shape (count,).

    Args:
        rivals: number of rivals of the sentence.
        pool: number of entities that the rivals are the most plausible of, with the object: beating the rivals means
            beating the whole pool. None if the rivals do not depend on the model.
    """
    if pool is not None:
        return np.full(count, 1 / max(pool, rivals + 1))
    chances: Floats = 1 / (np.minimum(np.arange(1, count + 1), rivals) + 1)
    return chances
