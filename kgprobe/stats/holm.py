"""Holm's correction for several verdicts: the level at which each p-value is tested.

Holm, Scandinavian Journal of Statistics 6 (1979). docs/methods/comparison.md.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


def holm_levels(p_values: Floats, level: float) -> Floats:
    """Return the level of each p-value: smaller ones are tested first, at stricter levels.

    With k p-values, the smallest is tested at level / k, the next at level / (k - 1), up to the first that is not
    below its level; this one and all greater ones have its level. A p-value below its level is significant.

    >>> holm_levels(np.array([0.04, 0.001, 0.2]), 0.05).round(4).tolist()
    [0.025, 0.0167, 0.025]

    Args:
        p_values: shape (hypotheses,) or (repetitions, hypotheses); each repetition is a family of its own.
        level: of the whole family, in (0, 1).

    Returns:
        the shape of ``p_values``.
    """
    count = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1, kind="stable")
    ranked = np.take_along_axis(p_values, order, axis=-1)
    steps: Floats = level / (count - np.arange(count, dtype=np.float64))
    # Number of p-values before the first that fails.
    passed = np.logical_and.accumulate(ranked < steps, axis=-1).sum(axis=-1, keepdims=True)
    places = np.minimum(np.arange(count), np.minimum(passed, count - 1))
    levels = np.empty_like(ranked)
    np.put_along_axis(levels, order, steps[places], axis=-1)
    return levels


def directional_levels(p_values: Floats, level: float) -> Floats:
    """Return Holm's levels where each p-value is the smaller of two one-sided ones for opposite verdicts.

    A right verdict by chance raises the levels of the others. At the boundary of both verdicts, two independent
    p-values then err with the probability level + level² / 4, more of them with at most level. So for several p-values
    Holm's level is reduced to 2 (√(1 + level) - 1), which makes the former equal to level.

    >>> directional_levels(np.array([0.2, 0.001]), 0.05).round(4).tolist()
    [0.0494, 0.0247]

    Args:
        p_values, level: as in :func:`holm_levels`.
    """
    if p_values.shape[-1] > 1:
        level = 2 * (math.sqrt(1 + level) - 1)
    return holm_levels(p_values, level)
