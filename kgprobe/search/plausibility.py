"""The plausibility of entities after cloze sentences: the sum, over an entity's names, of Pr(name, then the end).

Section 3 of the distractor paper; docs/methods.md, 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class Candidates:
    """A cloze sentence and the entities that may fill it.

    Attributes:
        names: of each entity its label and aliases; those of white space alone count for nothing.
    """

    cloze: Cloze
    names: Sequence[Names]


def log_plausibilities(scorer: Scorer, asked: Sequence[Candidates]) -> list[Floats]:
    """Log Pl of every candidate after its sentence.

    Cost: one scoring of all sentences, with as many continuations as the candidates have names.

    Args:
        scorer: its EOS token ends each name.
        asked: sentences with their candidates.

    Returns:
        for each sentence shape (candidates,), natural logarithms; -inf for an entity without a name.

    Raises:
        TextError: the model cannot take a sentence or a name; see :func:`untakable`.
        KgprobeError: the model has no EOS token.
    """
    continuations: list[list[str]] = []
    owners: list[list[int]] = []
    for candidates in asked:
        texts = [candidates.cloze.continuations(names) for names in candidates.names]
        continuations.append([text for its in texts for text in its])
        owners.append([index for index, its in enumerate(texts) for _ in its])
    scores = scorer.score([candidates.cloze.prompt for candidates in asked], continuations, eos=True)
    return [
        _sum_by_owner(values, np.asarray(its, dtype=np.int64), len(candidates.names))
        for values, its, candidates in zip(scores, owners, asked, strict=True)
    ]


def untakable(scorer: Scorer, candidates: Candidates) -> dict[int, str]:
    """Which candidates have a name that the model cannot take after the sentence, and why, by their position.

    Cost: one tokenization a candidate.
    """
    reasons = {index: _reason(scorer, candidates.cloze, names) for index, names in enumerate(candidates.names)}
    return {index: reason for index, reason in reasons.items() if reason is not None}


def _reason(scorer: Scorer, cloze: Cloze, names: Names) -> str | None:
    try:
        scorer.tokenize([cloze.prompt], [cloze.continuations(names)], eos=True)
    except TextError as error:
        return str(error)
    return None


def _sum_by_owner(log_probabilities: Floats, owners: NDArray[np.int64], count: int) -> Floats:
    sums = np.full(count, -np.inf)
    if len(owners):
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(owners)], strict=True):
            sums[owners[first]] = logsumexp(log_probabilities[first:last])
    return sums
