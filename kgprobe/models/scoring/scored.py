"""What a model makes of a prompt's continuations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """What a model makes of a prompt's continuations.

    Attributes:
        values: log-probabilities, natural logarithm, in (-inf, 0]; NaN exactly where there is a reason. Shape
            (continuations,).
        reasons: why the model cannot take a continuation, as a clause, by the continuation's position.
    """

    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)
