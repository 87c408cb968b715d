"""Precision@n: is a name of the object among the n most probable next tokens?

Table 2 of the distractor paper, after Petroni et al. 2019; docs/methods.md, 1. It speaks only of objects with a name of
one token. One pass gives the rank, and with it precision@n for every n.
"""

from collections.abc import Sequence

import numpy as np

from kgprobe.baselines.asked import Asked, Floats, Values, untakable
from kgprobe.models.scoring.ranks import next_token_ranks
from kgprobe.models.scoring.scorer import Scorer

NOT_SINGLE = "no name of its object is one token alone"


def best_rank(scorer: Scorer, asked: Sequence[Asked]) -> Values:
    """The rank of the object's best name of one token within the whole vocabulary, after each sentence.

    Range: 1 … size of the vocabulary; 1 is best, and a tie counts against the model. NaN where no name is a single
    token after the sentence: the measure says nothing of such a fact.

    Cost: a forward pass over each different sentence.
    """
    reasons = untakable(scorer, asked)
    rest = [number for number in range(len(asked)) if number not in reasons]
    tokenized = scorer.tokenize(
        [asked[number].cloze.prompt for number in rest], [asked[number].continuations for number in rest]
    )
    contexts: list[tuple[int, ...]] = []
    tokens: list[list[int]] = []
    owners: list[int] = []
    for number, prompt in zip(rest, tokenized, strict=True):
        single = [(start, tail[0]) for start, tail in zip(prompt.starts, prompt.tails, strict=True) if len(tail) == 1]
        if not single:
            reasons[number] = NOT_SINGLE
        # A name that begins within the prompt's last token is predicted from what stands before that.
        for start in sorted({start for start, _ in single}):
            contexts.append(prompt.context[:start])
            tokens.append([token for its, token in single if its == start])
            owners.append(number)
    values = np.full(len(asked), np.nan)
    for number, ranks in zip(owners, next_token_ranks(scorer.model, contexts, tokens), strict=True):
        values[number] = np.fmin(values[number], ranks.min())
    return Values(values, reasons)


def precision_at_n(ranks: Floats, n: int) -> Floats:
    """Whether a name was among the n most probable next tokens: 1 or 0, NaN where there is no rank; any shape."""
    return np.where(np.isnan(ranks), np.nan, ranks <= n)
