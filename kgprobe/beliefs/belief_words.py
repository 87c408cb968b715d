"""Beliefs in words that are earned: *surely* where the interval of theta supports it, else *leans*.

docs/methods/findings.md. The only place that decides the word: it is stored with the belief, and read from there by
every query, page and picture.
"""

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

# As often as each end of a 90% interval is missed.
_LUCK = 0.05


class BeliefWord(Enum):
    """A belief about a fact, in words."""

    SURELY_KNOWN = "surely known"
    LEANS_KNOWN = "leans known"
    LEANS_UNKNOWN = "leans unknown"
    SURELY_UNKNOWN = "surely unknown"

    @property
    def is_sure(self) -> bool:
        """Whether the interval of theta supports it."""
        return self in (BeliefWord.SURELY_KNOWN, BeliefWord.SURELY_UNKNOWN)

    @property
    def is_known(self) -> bool:
        """Whether the fact is surely known or leans to it."""
        return self in (BeliefWord.SURELY_KNOWN, BeliefWord.LEANS_KNOWN)


def belief_words(
    right: ArrayLike, wrong: ArrayLike, theta: ArrayLike, low: ArrayLike, high: ArrayLike, by_luck: ArrayLike
) -> Sequence[BeliefWord]:
    """Return the word of each fact.

    >>> right, wrong, theta, low, high = [4, 1, 0], [0, 0, 4], [0.1, 0.4, 0.8], [0, 0.1, 0.6], [0.3, 0.7, 0.95]
    >>> [word.value for word in belief_words(right, wrong, theta, low, high, by_luck=[0.001, 0.1, 1])]
    ['surely known', 'leans known', 'surely unknown']

    An asked fact is known where its own answers are right more often than wrong, as in a win rate; else it is unknown.
    A fact with no answers of its own is known where E[theta] is below one half, and never surely.

    Surely unknown: more wrong answers than right ones, and the whole interval of theta above one half. Surely known:
    more right answers than wrong ones, the whole interval below one half, and as many right answers by luck in fewer
    than 5% of cases.

    Args:
        right: right answers to questions about the fact itself, shape (facts,).
        wrong: wrong ones.
        theta: E[theta], the probability that the model fails on it.
        low: the lower end of theta's interval.
        high: the upper end.
        by_luck: the probability that a guesser has as many right answers to these questions, or more, in [0, 1].
    """
    rights, wrongs = np.asarray(right, np.int64), np.asarray(wrong, np.int64)
    mean, lower, upper, luck = (np.asarray(values, np.float64) for values in (theta, low, high, by_luck))
    words = list(BeliefWord)
    known = np.where(rights + wrongs > 0, rights > wrongs, mean < 0.5)
    places = np.where(known, words.index(BeliefWord.LEANS_KNOWN), words.index(BeliefWord.LEANS_UNKNOWN))
    places[(rights > wrongs) & (upper < 0.5) & (luck < _LUCK)] = words.index(BeliefWord.SURELY_KNOWN)
    places[(wrongs > rights) & (lower > 0.5)] = words.index(BeliefWord.SURELY_UNKNOWN)
    return [words[place] for place in places.tolist()]
