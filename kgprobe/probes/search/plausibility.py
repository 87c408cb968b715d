"""Plausibility of entities after cloze sentences: the sum, over an entity's names, of Pr(name, then the end).

Section 3 of the distractor paper; docs/methods/distractors.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.progress import share_counter
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.verbalize.sentences import Cloze

Integers = NDArray[np.int64]

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class Candidates:
    """A cloze sentence and its candidate entities, by label and aliases; names of white space alone are ignored."""

    cloze: Cloze
    names: Sequence[Names]


def log_plausibilities(
    scorer: TextScorer, asked: Sequence[Candidates], *, ends_batch: bool = False
) -> list[ScoredContinuations]:
    """Return log Pl of every candidate after its sentence.

    An entity with a name that the model cannot encode has no value, because Pl is a sum over all names.

    Cost: one scoring of all sentences, with one continuation per name.

    Args:
        scorer: its EOS token ends each name.
        asked: sentences with their candidates.
        ends_batch: True if this call completes a batch, for the progress report.

    Returns:
        For each sentence, natural logarithms of shape (candidates,), -inf for an entity without a name; and the reason
        for each candidate without a value.
    """
    continuations: list[list[str]] = []
    owners: list[Integers] = []
    for candidates in asked:
        texts = candidates.cloze.continuations_of(candidates.names)
        continuations.append(list(chain.from_iterable(texts)))
        owners.append(np.repeat(np.arange(len(texts)), list(map(len, texts))))
    prompts = [candidates.cloze.prompt for candidates in asked]
    counter = share_counter(sum(map(len, continuations))) if ends_batch else None
    # All sentences of a graph are in one language.
    joiner = asked[0].cloze.language.joiner if asked else " "
    scores = scorer.score(prompts, continuations, eos=True, separator=joiner, progress=counter)
    sums = []
    for scored, owner, candidates in zip(scores, owners, asked, strict=True):
        names = len(candidates.names)
        sums.append(_sum_by_owner(scored, owner, names))
    return sums


def _sum_by_owner(scored: ScoredContinuations, owners: Integers, count: int) -> ScoredContinuations:
    sums = np.full(count, -np.inf)
    if len(owners):
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        # NaN for an entity with a name that the model cannot take.
        with np.errstate(invalid="ignore"):
            sums[owners[firsts]] = np.logaddexp.reduceat(scored.values, firsts)
    reasons: dict[int, str] = {}
    for name, reason in scored.reasons.items():
        reasons.setdefault(int(owners[name]), reason)
    sums[list(reasons)] = np.nan
    return ScoredContinuations(sums, reasons)
