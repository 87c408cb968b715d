"""Precision@n: is a name of the object among the n most probable next tokens?

Table 2 of the distractor paper, after Petroni et al. 2019; docs/methods/baselines.md. It speaks only of objects with
a name of one token. One pass gives the rank, and with it precision@n for every n.
"""

from collections.abc import Sequence

import numpy as np

from kgprobe.baselines.asked import Asked, Floats, Values, asked_of, reason_for_none
from kgprobe.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.models.scoring.ranks import next_token_ranks
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeItem

NOT_SINGLE = "no name of its object is one token alone"


def best_rank(scorer: Scorer, asked: Sequence[Asked]) -> Values:
    """The rank of the object's best name of one token within the whole vocabulary, after each sentence.

    Range: 1 … size of the vocabulary; 1 is best, and a tie counts against the model. NaN where no name is a single
    token after the sentence: the measure says nothing of such a fact.

    Cost: a forward pass over each different sentence.
    """
    continuations = [one.continuations for one in asked]
    reasons: dict[int, str] = {}
    contexts: list[tuple[int, ...]] = []
    tokens: list[list[int]] = []
    owners: list[int] = []
    tokenized = scorer.tokenize([one.cloze.prompt for one in asked], continuations)
    for number, (prompt, names) in enumerate(zip(tokenized, continuations, strict=True)):
        single = [(start, tail[0]) for start, tail in zip(prompt.starts, prompt.tails, strict=True) if len(tail) == 1]
        reason = reason_for_none(names, prompt.reasons) or (None if single else NOT_SINGLE)
        if reason is not None:
            reasons[number] = reason
            continue
        # A name that begins within the prompt's last token is predicted from what stands before that.
        for start in sorted({start for start, _ in single}):
            contexts.append(prompt.context[:start])
            tokens.append([token for its, token in single if its == start])
            owners.append(number)
    values = np.full(len(asked), np.nan)
    for number, ranks in zip(
        owners, next_token_ranks(scorer.model, contexts, tokens, scorer.batch_tokens), strict=True
    ):
        values[number] = np.fmin(values[number], ranks.min())
    return Values(values, reasons)


def precision_at_n(ranks: Floats, n: int) -> Floats:
    """Whether a name was among the n most probable next tokens: 1 or 0, NaN where there is no rank; any shape."""
    return np.where(np.isnan(ranks), np.nan, ranks <= n)


def _measure(tools: Tools, items: Sequence[ClozeItem]) -> BySentence:
    ranks = best_rank(tools.scorer, asked_of(items))
    columns = [precision_at_n(ranks.values, n) for n in tools.counts]
    return BySentence([{"n": n} for n in tools.counts], np.stack(columns, axis=1), ranks.reasons)


BASELINE = BaselineKind("precision@n", "is a name of the object among the n most probable next tokens", _measure)
