"""Scores of the answers: reductions of the log-probabilities of their sentences.

docs/methods/choices.md. ``sum`` and ``mean`` are defined as in lm-pub-quiz. With conditional scores, ``characters`` and
``bytes`` are the ``acc_norm`` and ``acc_bytes`` of lm-evaluation-harness.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.sentences import Passage, ScoredPassages

Floats = NDArray[np.float64]


def reduced(scored: ScoredPassages, passages: Sequence[Passage], reduction: str, *, conditional: bool) -> Floats:
    """Return a score for each sentence, shape (sentences,); higher is more probable.

    Args:
        scored: sums of log-probabilities; none of the sentences may be missing.
        passages: the sentences.
        reduction: one of ``REDUCTIONS``.
        conditional: score from the answer on instead of the whole sentence.
    """
    if reduction == "sum":
        return scored.values
    if reduction == "mean":
        means: Floats = scored.values / scored.tokens
        return means
    texts = [passage.text[passage.start :] if conditional else passage.text for passage in passages]
    lengths = [len(text if reduction == "characters" else text.encode()) for text in texts]
    by_length: Floats = scored.values / np.array(lengths)
    return by_length
