"""Summaries of beliefs: E[theta], its credible interval, and the belief in words.

docs/methods/findings.md. They are computed once for each fact that a round has touched, and stored with the belief in
the transaction of the round. The word is *surely* if the interval of theta supports it and the fact has two own
answers, else *leans*. It is decided only here; queries, pages and pictures read the stored one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kgprobe.beliefs.draw import credible_interval
from kgprobe.graph.client import Row
from kgprobe.graph.driver import MESSAGE_BYTES, encoded_bytes
from kgprobe.stats.proportions import at_least

# Probability of missing each end of a 90% interval.
_LUCK = 0.05
# A fact with fewer own answers is never sure, however narrow others make its interval.
_LEAST_ANSWERS = 2


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
    guessing. Both need at least two own answers.

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
    is_enough = rights + wrongs >= _LEAST_ANSWERS
    places[is_enough & (rights > wrongs) & (upper < 0.5) & (luck < _LUCK)] = words.index(BeliefWord.SURELY_KNOWN)
    places[is_enough & (wrongs > rights) & (lower > 0.5)] = words.index(BeliefWord.SURELY_UNKNOWN)
    return list(map(words.__getitem__, places.tolist()))


Floats = NDArray[np.float64]

# Bytes of one fact in addition to its id: four numbers and the word.
_BELIEF_BYTES = 80

# Bytes of a fact in the view in addition to the ids: numbers, words and keys.
_VIEW_BYTES = 160
# Belief of a fact without own answers.
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Summaries:
    """Summaries of the beliefs about some facts; each of shape (facts,).

    Attributes:
        low, high: the 90% credible interval of theta.
        words: see :func:`~kgprobe.beliefs.summary.belief_words`.
    """

    theta: Floats
    low: Floats
    high: Floats
    words: Sequence[BeliefWord]


def summarize(beliefs: Sequence[Row] | pd.DataFrame) -> Summaries:
    """Return summaries of beliefs.

    >>> known = summarize([{"alpha": 1, "beta": 6, "right": 5, "wrong": 0, "chances": [0.1] * 5}])
    >>> known.high.round(2).tolist(), known.words[0].value
    ([0.39], 'surely known')

    Args:
        beliefs: ``{alpha, beta, right, wrong, chances}`` of facts: the parameters of theta's distribution, the counts
            of the fact's own answers, and the known probabilities of guessing these questions right.

    Cost: linear in the facts, and one interval for each different pair of alpha and beta.
    """
    columns = pd.DataFrame(beliefs, columns=["alpha", "beta", "right", "wrong", "chances"])
    alpha, beta = columns[["alpha", "beta"]].to_numpy(np.float64).T
    right, wrong = columns["right"].to_numpy(np.int64), columns["wrong"].to_numpy(np.int64)
    theta = alpha / (alpha + beta)
    low, high = credible_interval(alpha, beta)
    by_luck = list(map(cache(at_least), columns["right"], map(tuple, columns["chances"])))
    return Summaries(theta, low, high, belief_words(right, wrong, theta, low, high, by_luck))


def belief_rows(
    run: str, touched: Sequence[Row], summaries: Summaries, most_bytes: int = MESSAGE_BYTES // 2
) -> Iterator[list[Row]]:
    """Yield the rows of the query ``beliefs/summarize``, in parts that fit into a message.

    Yields:
        ``{belief: 'RUN/FACT', values: [alpha, beta, low, high], believed}``, in the order of ``touched``.
    """
    ends = zip(summaries.low.tolist(), summaries.high.tolist(), strict=True)
    part: list[Row] = []
    size = 0
    for row, (low, high), word in zip(touched, ends, summaries.words, strict=True):
        belief = f"{run}/{row['fact']}"
        values = [float(row["alpha"]), float(row["beta"]), low, high]
        part.append({"belief": belief, "values": values, "believed": word.value})
        size += encoded_bytes(belief) + _BELIEF_BYTES
        if size >= most_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part


def view_rows(
    beliefs: Sequence[Row], summaries: Summaries, most_bytes: int = MESSAGE_BYTES // 2
) -> Iterator[list[Row]]:
    """Yield the rows of the query ``view/facts``, in parts that fit into a message.

    Args:
        beliefs: ``{subject, fact, alpha, beta, right, wrong, round}`` of distinct facts.
    """
    size = 0
    facts_of: dict[str, dict[str, list[Any]]] = {}
    ends = zip(summaries.low.tolist(), summaries.high.tolist(), strict=True)
    for belief, (low, high), word in zip(beliefs, ends, summaries.words, strict=True):
        right, wrong = belief["right"], belief["wrong"]
        parameters = [float(belief["alpha"]), float(belief["beta"]), low, high, right, wrong]
        shown = word.value if right + wrong else NOT_ASKED
        facts_of.setdefault(belief["subject"], {})[belief["fact"]] = [*parameters, shown, belief["round"]]
        size += encoded_bytes(belief["fact"]) + encoded_bytes(belief["subject"]) + _VIEW_BYTES
        if size >= most_bytes:
            yield _by_subject(facts_of)
            facts_of, size = {}, 0
    if facts_of:
        yield _by_subject(facts_of)


def _by_subject(facts_of: Mapping[str, dict[str, list[Any]]]) -> list[Row]:
    return [{"subject": subject, "facts": facts} for subject, facts in facts_of.items()]
