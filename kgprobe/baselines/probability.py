"""Probability: how probable the object's names are as the end of the sentence.

Table 2 of the distractor paper; docs/methods.md, 1: Σ over the object's names of Pr(name | sentence), the product of
the tokens' probabilities, without the end of the text after them.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from kgprobe.baselines.asked import Asked, Values, untakable
from kgprobe.models.scoring.scorer import Scorer


def probability(scorer: Scorer, asked: Sequence[Asked]) -> Values:
    """The probability of each sentence's object.

    Range: from 0 up; above 1 only where one name begins with another, since what follows a name is not looked at.
    Higher means that the model is more certain. It tells facts of one model apart, not models.

    Cost: one scoring of the sentences with the names as continuations.
    """
    logs = log_probability(scorer, asked)
    return Values(np.exp(logs.values), logs.reasons)


def log_probability(scorer: Scorer, asked: Sequence[Asked]) -> Values:
    """The natural logarithm of :func:`probability`, also where that is too small for a number."""
    reasons = untakable(scorer, asked)
    values = np.full(len(asked), np.nan)
    rest = [number for number in range(len(asked)) if number not in reasons]
    scores = scorer.score(
        [asked[number].cloze.prompt for number in rest], [asked[number].continuations for number in rest]
    )
    for number, its in zip(rest, scores, strict=True):
        values[number] = logsumexp(its)
    return Values(values, reasons)
