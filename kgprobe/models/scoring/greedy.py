"""Log-probabilities of continuations, and whether a model would have gone on with them by itself, token by token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_trees

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MAX_BRANCH_NODES = 256


@dataclass(frozen=True, slots=True)
class ScoredGreedily:
    """What a model makes of a prompt's continuations.

    Attributes:
        values: log-probabilities, natural logarithm, in (-inf, 0]; shape (continuations,).
        greedy: whether no token was more probable than the continuation's own at any of its places; shape
            (continuations,).
    """

    values: Floats
    greedy: Bools


def score_greedily(scorer: Scorer, prompts: Sequence[TokenizedPrompt]) -> list[ScoredGreedily]:
    """The log-probability of each continuation after its prompt, and whether greedy decoding would have given it.

    Args:
        prompts: with continuations that the model can all take, see :meth:`.Scorer.tokenize`.

    Cost: that of :meth:`.Scorer.score_tokenized`; nothing is remembered.

    Raises:
        KgprobeError: the model's probabilities are no numbers, or one continuation does not fit in memory.
    """
    found = [
        ScoredGreedily(np.full(len(prompt.tails), np.nan), np.zeros(len(prompt.tails), dtype=bool))
        for prompt in prompts
    ]
    trees = [tree for number, prompt in enumerate(prompts) for tree in build_trees(number, prompt, _MAX_BRANCH_NODES)]
    for tree, values in scorer.edges_beside_best(trees):
        own, highest = values[tree.steps].T
        found[tree.prompt].values[tree.members] = np.add.reduceat(own, tree.offsets)
        found[tree.prompt].greedy[tree.members] = np.logical_and.reduceat(own >= highest, tree.offsets)
    if any(np.isnan(one.values).any() for one in found):
        raise KgprobeError("The model's probabilities are not numbers; its weights are broken.")
    return found
