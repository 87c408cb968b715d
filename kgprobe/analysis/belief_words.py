"""What is believed of a fact, in words that are earned: *surely* where the interval of theta says so, else *leans*.

docs/methods.md, 2.
"""

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

# As often as each end of a 90% interval is missed.
_LUCK = 0.05


class BeliefWord(Enum):
    """What is believed of a fact that was asked."""

    SURELY_KNOWN = "surely known"
    LEANS_KNOWN = "leans known"
    LEANS_UNKNOWN = "leans unknown"
    SURELY_UNKNOWN = "surely unknown"


def belief_words(
    own: ArrayLike, theta: ArrayLike, low: ArrayLike, high: ArrayLike, by_luck: ArrayLike
) -> Sequence[BeliefWord]:
    """What is believed of each of some facts.

    >>> its_own, theta, low, high = [-4, -1, 4], [0.1, 0.4, 0.8], [0, 0.1, 0.6], [0.3, 0.7, 0.95]
    >>> [word.value for word in belief_words(its_own, theta, low, high, by_luck=[0.001, 0.1, 1])]
    ['surely known', 'leans known', 'surely unknown']

    Surely unknown: the whole interval of theta is above one half. Surely known: it is below one half, and a guesser
    would hardly have as many right answers. Of a fact whose own answers say otherwise, one is not sure either way.

    Args:
        own: wrong answers to questions about the fact itself, less right ones, shape (facts,).
        theta: E[theta], the probability that the model fails on it.
        low: the lower end of theta's interval.
        high: the upper end.
        by_luck: how probably a guesser has as many right answers to these questions, or more, in [0, 1].
    """
    answers, mean, lower, upper, luck = (np.asarray(values, np.float64) for values in (own, theta, low, high, by_luck))
    # At one half, as of one right answer and one wrong, a fact is not won.
    words = list(BeliefWord)
    places = np.where(mean < 0.5, words.index(BeliefWord.LEANS_KNOWN), words.index(BeliefWord.LEANS_UNKNOWN))
    places[(answers < 0) & (upper < 0.5) & (luck < _LUCK)] = words.index(BeliefWord.SURELY_KNOWN)
    places[(answers > 0) & (lower > 0.5)] = words.index(BeliefWord.SURELY_UNKNOWN)
    return [words[place] for place in places.tolist()]
