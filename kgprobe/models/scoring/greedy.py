"""Log-probabilities of continuations, and whether greedy decoding would produce them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.scoring.contract import Floats
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_all_trees

_MAX_BRANCH_NODES = 256


@dataclass(frozen=True, slots=True)
class ScoredGreedily:
    """Log-probabilities of a prompt's continuations, and their agreement with greedy decoding.

    Attributes:
        values: log-probabilities, natural logarithm, in (-inf, 0]; shape (continuations,).
        greedy: True if no token is more probable than the continuation's own at any of its places; shape
            (continuations,).
    """

    values: Floats
    greedy: NDArray[np.bool_]


def score_greedily(scorer: Scorer, prompts: Sequence[TokenizedPrompt]) -> list[ScoredGreedily]:
    """Return the log-probability of each continuation, and whether greedy decoding would produce it.

    Args:
        prompts: prompts whose continuations the model accepts, see :meth:`.Scorer.tokenize`.

    Cost: that of :meth:`.Scorer.score_tokenized`; results are not remembered.

    Raises:
        KgprobeError: the model's probabilities are NaN, or a continuation does not fit in memory.
    """
    scored = [
        ScoredGreedily(np.full(len(prompt.tails), np.nan), np.zeros(len(prompt.tails), dtype=bool))
        for prompt in prompts
    ]
    trees = build_all_trees(prompts, _MAX_BRANCH_NODES)
    for tree, values in scorer.edges_and_best(trees):
        own, highest = values[tree.steps].T
        scored[tree.prompt].values[tree.members] = np.add.reduceat(own, tree.offsets)
        scored[tree.prompt].greedy[tree.members] = np.logical_and.reduceat(own >= highest, tree.offsets)
    if any(np.isnan(result.values).any() for result in scored):
        raise KgprobeError("The model's probabilities are not numbers; its weights are broken.")
    return scored
