"""Precision@n: 1 if a name of the object is among the n most probable next tokens.

Table 2 of the distractor paper, after Petroni et al. 2019; docs/methods/baselines.md. Defined only for objects with a
name of one token; ``several_tokens`` can give the others 0, as in the paper. One pass gives the rank, and with it
precision@n for every n.
"""

from collections.abc import Sequence

import numpy as np

from kgprobe.models.scoring.ranks import next_token_ranks
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.items import BaselineItem, Floats, Values, baseline_items, reason_for_none
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.probes.clozes import ClozeItem

NOT_SINGLE = "no name of its object is a single token"


def best_rank(scorer: Scorer, items: Sequence[BaselineItem]) -> Values:
    """Return the best rank in the vocabulary, after each sentence, of the object's names of one token.

    Range: 1 … size of the vocabulary; 1 is best, and a tie counts against the model. NaN where no name is a single
    token after the sentence: the measure is undefined for such a fact.

    Cost: a forward pass over each distinct sentence.
    """
    continuations = [item.continuations for item in items]
    reasons: dict[int, str] = {}
    contexts: list[tuple[int, ...]] = []
    tokens: list[list[int]] = []
    owners: list[int] = []
    tokenized = scorer.tokenize([item.cloze.prompt for item in items], continuations)
    for number, (prompt, names) in enumerate(zip(tokenized, continuations, strict=True)):
        single: dict[int, list[int]] = {}
        for start, tail in zip(prompt.starts, prompt.tails, strict=True):
            if len(tail) == 1:
                single.setdefault(start, []).append(tail[0])
        reason = reason_for_none(names, prompt.reasons) or (None if single else NOT_SINGLE)
        if reason is not None:
            reasons[number] = reason
            continue
        # A name that begins within the prompt's last token is predicted from the tokens before that one.
        for start, firsts in sorted(single.items()):
            contexts.append(prompt.context[:start])
            tokens.append(firsts)
            owners.append(number)
    values = np.full(len(items), np.nan)
    ranks = next_token_ranks(scorer.model, contexts, tokens, scorer.batch_tokens)
    np.fmin.at(values, np.array(owners, np.int64), [each.min() for each in ranks])
    return Values(values, reasons)


def precision_at_n(ranks: Floats, n: int) -> Floats:
    """Return 1 where a name is among the n most probable next tokens, else 0; NaN where there is no rank."""
    return np.where(np.isnan(ranks), np.nan, ranks <= n)


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    ranks = best_rank(tools.scorer, baseline_items(facts))
    values, reasons = ranks.values, ranks.reasons
    if tools.several_tokens == "zero":
        values = values.copy()
        values[[number for number, reason in reasons.items() if reason == NOT_SINGLE]] = np.inf
        reasons = {number: reason for number, reason in reasons.items() if reason != NOT_SINGLE}
    columns = [precision_at_n(values, n) for n in tools.counts]
    return BySentence([{"n": n} for n in tools.counts], np.stack(columns, axis=1), reasons)


BASELINE = BaselineKind("precision@n", "1 if a name of the object is among the n most probable next tokens", _measure)
