"""What a sentence's log-probabilities come to: the scores that answers are compared by.

docs/methods/choices.md. ``sum`` and ``mean`` are lm-pub-quiz's; ``characters`` and ``bytes`` are those of
lm-evaluation-harness (``acc_norm``, ``acc_bytes``) where scores are conditional.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.sentences import Passage, ScoredPassages

Floats = NDArray[np.float64]


def reduced(scored: ScoredPassages, passages: Sequence[Passage], reduction: str, *, conditional: bool) -> Floats:
    """A score for each sentence, the higher the more probable; shape (sentences,).

    Args:
        scored: sums of log-probabilities, of sentences that the model could all take.
        passages: the sentences.
        reduction: one of ``REDUCTIONS``.
        conditional: whether what is scored begins with the answer; else it is the whole sentence.
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
