"""Probability: how probable the object's names are as the end of the sentence.

Table 2 of the distractor paper; docs/methods/baselines.md: Σ over the object's names of Pr(name | sentence), the
product of the tokens' probabilities, without the end of the text after them.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from kgprobe.baselines.asked import Asked, Values, asked_of, reason_for_none, single
from kgprobe.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeItem


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
    continuations = [one.continuations for one in asked]
    scores = scorer.score([one.cloze.prompt for one in asked], continuations)
    values = np.full(len(asked), np.nan)
    reasons: dict[int, str] = {}
    for number, (scored, names) in enumerate(zip(scores, continuations, strict=True)):
        reason = reason_for_none(names, scored.reasons)
        if reason is None:
            values[number] = logsumexp(scored.values)
        else:
            reasons[number] = reason
    return Values(values, reasons)


def _measure(tools: Tools, items: Sequence[ClozeItem]) -> BySentence:
    return single(probability(tools.scorer, asked_of(items)))


BASELINE = BaselineKind("probability", "how probable the object's names are as the end of the sentence", _measure)
