"""Beliefs in words: *surely* if the interval of theta supports it, else *leans*.

docs/methods/findings.md. The word is decided only here and stored with the belief; queries, pages and pictures read it
there.
"""

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

# Probability of missing each end of a 90% interval.
_LUCK = 0.05


class BeliefWord(Enum):
    """A belief about a fact, in words."""

    SURELY_KNOWN = "surely known"
    LEANS_KNOWN = "leans known"
    LEANS_UNKNOWN = "leans unknown"
    SURELY_UNKNOWN = "surely unknown"

    @property
    def is_sure(self) -> bool:
        """True if the interval of theta supports the word."""
        return self in (BeliefWord.SURELY_KNOWN, BeliefWord.SURELY_UNKNOWN)

    @property
    def is_known(self) -> bool:
        """True if the fact is surely known or leans to known."""
        return self in (BeliefWord.SURELY_KNOWN, BeliefWord.LEANS_KNOWN)


def belief_words(
    right: ArrayLike, wrong: ArrayLike, theta: ArrayLike, low: ArrayLike, high: ArrayLike, by_luck: ArrayLike
) -> Sequence[BeliefWord]:
    """Return the word of each fact.

    >>> right, wrong, theta, low, high = [4, 1, 0], [0, 0, 4], [0.1, 0.4, 0.8], [0, 0.1, 0.6], [0.3, 0.7, 0.95]
    >>> [word.value for word in belief_words(right, wrong, theta, low, high, by_luck=[0.001, 0.1, 1])]
    ['surely known', 'leans known', 'surely unknown']

    An asked fact is known if its own answers are more often right than wrong, as in a win rate; else it is unknown. A
    fact without own answers is known if E[theta] is below one half, but never surely.

    Surely unknown: more wrong than right answers, and the whole interval of theta above one half. Surely known: more
    right than wrong answers, the whole interval below one half, and a probability below 5% of as many right answers by
    guessing.

    Args:
        right: number of right answers to questions about the fact itself, shape (facts,).
        wrong: number of wrong answers.
        theta: E[theta], the probability that the model fails on the fact.
        low: lower end of theta's interval.
        high: upper end of theta's interval.
        by_luck: probability of at least as many right answers by guessing, in [0, 1].
    """
    rights, wrongs = np.asarray(right, np.int64), np.asarray(wrong, np.int64)
    mean, lower, upper, luck = (np.asarray(values, np.float64) for values in (theta, low, high, by_luck))
    words = list(BeliefWord)
    known = np.where(rights + wrongs > 0, rights > wrongs, mean < 0.5)
    places = np.where(known, words.index(BeliefWord.LEANS_KNOWN), words.index(BeliefWord.LEANS_UNKNOWN))
    places[(rights > wrongs) & (upper < 0.5) & (luck < _LUCK)] = words.index(BeliefWord.SURELY_KNOWN)
    places[(wrongs > rights) & (lower > 0.5)] = words.index(BeliefWord.SURELY_UNKNOWN)
    return [words[place] for place in places.tolist()]
