"""What is believed of a fact, in words that are earned: *surely* where the interval of theta says so, else *leans*.

docs/methods.md, 2.
"""

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike


class BeliefWord(Enum):
    """What is believed of a fact that was asked."""

    SURELY_KNOWN = "surely known"
    LEANS_KNOWN = "leans known"
    LEANS_UNKNOWN = "leans unknown"
    SURELY_UNKNOWN = "surely unknown"


def belief_words(
    own: ArrayLike, theta: ArrayLike, low: ArrayLike, high: ArrayLike, by_guessing: ArrayLike
) -> Sequence[BeliefWord]:
    """What is believed of each of some facts.

    >>> [word.value for word in belief_words([-4, -1, 4], [0.1, 0.4, 0.8], [0, 0.1, 0.6], [0.3, 0.7, 0.95], [0.1] * 3)]
    ['surely known', 'leans known', 'surely unknown']

    Surely unknown: the whole interval of theta is above one half. Surely known: it is below one half, and below how
    probably a guesser fails. Of a fact whose own answers say otherwise, one is not sure either way.

    Args:
        own: wrong answers to questions about the fact itself, less right ones, shape (facts,).
        theta: E[theta], the probability that the model fails on it.
        low: the lower end of theta's interval.
        high: the upper end.
        by_guessing: how probably a guesser is right on it, in [0, 1].
    """
    answers, mean, lower, upper, chance = (
        np.asarray(values, np.float64) for values in (own, theta, low, high, by_guessing)
    )
    # At one half, as of one right answer and one wrong, a fact is not won.
    words = list(BeliefWord)
    places = np.where(mean < 0.5, words.index(BeliefWord.LEANS_KNOWN), words.index(BeliefWord.LEANS_UNKNOWN))
    places[(answers < 0) & (upper < np.minimum(0.5, 1 - chance))] = words.index(BeliefWord.SURELY_KNOWN)
    places[(answers > 0) & (lower > 0.5)] = words.index(BeliefWord.SURELY_UNKNOWN)
    return [words[place] for place in places.tolist()]
