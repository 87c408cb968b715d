"""The plausibility of entities after cloze sentences: the sum, over an entity's names, of Pr(name, then the end).

Section 3 of the distractor paper; docs/methods/distractors.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.progress import share_counter
from kgprobe.verbalize.sentences import Cloze

Integers = NDArray[np.int64]

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class Candidates:
    """A cloze sentence and the entities that may fill it.

    Attributes:
        names: of each entity its label and aliases; those of white space alone count for nothing.
    """

    cloze: Cloze
    names: Sequence[Names]


def log_plausibilities(
    scorer: TextScorer, asked: Sequence[Candidates], *, ends_batch: bool = False
) -> list[ScoredContinuations]:
    """Log Pl of every candidate after its sentence.

    Since it is a sum over all of an entity's names, there is none where the model cannot take one of them.

    Cost: one scoring of all sentences, with as many continuations as the candidates have names.

    Args:
        scorer: its EOS token ends each name.
        asked: sentences with their candidates.
        ends_batch: whether a batch is done with them, for those who hear how far it is.

    Returns:
        for each sentence shape (candidates,), natural logarithms, -inf for an entity without a name; and the reason of
        each candidate that has none.

    Raises:
        KgprobeError: the model has no EOS token.
    """
    continuations: list[list[str]] = []
    owners: list[list[int]] = []
    for candidates in asked:
        texts = [candidates.cloze.continuations(names) for names in candidates.names]
        continuations.append([text for its in texts for text in its])
        owners.append([index for index, its in enumerate(texts) for _ in its])
    prompts = [candidates.cloze.prompt for candidates in asked]
    counter = share_counter(sum(map(len, continuations))) if ends_batch else None
    scores = scorer.score(prompts, continuations, eos=True, progress=counter)
    return [
        _sum_by_owner(scored, np.asarray(its, dtype=np.int64), len(candidates.names))
        for scored, its, candidates in zip(scores, owners, asked, strict=True)
    ]


def _sum_by_owner(scored: ScoredContinuations, owners: Integers, count: int) -> ScoredContinuations:
    sums = np.full(count, -np.inf)
    if len(owners):
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(owners)], strict=True):
            sums[owners[first]] = logsumexp(scored.values[first:last])
    reasons: dict[int, str] = {}
    for name, reason in scored.reasons.items():
        reasons.setdefault(int(owners[name]), reason)
    sums[list(reasons)] = np.nan
    return ScoredContinuations(sums, reasons)
