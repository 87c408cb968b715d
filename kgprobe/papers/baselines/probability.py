"""Probability of the object's names as the end of the sentence.

Table 2 of the distractor paper; docs/methods/baselines.md: Σ over the object's names of Pr(name | sentence), the
product of the tokens' probabilities, without an end of text after the name.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.items import BaselineItem, Values, baseline_items, reason_for_none
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.probes.clozes import ClozeItem


def probability(scorer: Scorer, items: Sequence[BaselineItem]) -> Values:
    """Return the probability of each sentence's object.

    Range: from 0 up; above 1 only where one name begins with another, since the text after a name is not scored.
    Higher means that the model is more certain. Compare facts of one model by it, not models.

    Cost: one scoring of the sentences with the names as continuations.
    """
    logs = log_probability(scorer, items)
    return Values(np.exp(logs.values), logs.reasons)


def log_probability(scorer: Scorer, items: Sequence[BaselineItem]) -> Values:
    """Return the natural logarithm of :func:`probability`, also where the probability underflows."""
    continuations = [item.continuations for item in items]
    scores = scorer.score([item.cloze.prompt for item in items], continuations)
    results: list[float | str] = []
    for scored, names in zip(scores, continuations, strict=True):
        reason = reason_for_none(names, scored.reasons)
        results.append(float(logsumexp(scored.values)) if reason is None else reason)
    return Values.of(results)


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    return probability(tools.scorer, baseline_items(facts)).by_sentence()


BASELINE = BaselineKind("probability", "probability of the object's names as the end of the sentence", _measure)
