"""Scoring protocols, for a model on this machine (:class:`.scorer.Scorer`) or behind an API."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.scoring.tokens import TokenizedPrompt, tokenize
from kgprobe.models.scoring.trie import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoredContinuations:
    """Log-probabilities of a prompt's continuations.

    Attributes:
        values: log-probabilities, natural logarithm, in (-inf, 0]; NaN exactly where there is a reason. Shape
            (continuations,).
        reasons: why the model cannot take a continuation, as a clause, by the continuation's position.
    """

    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


class TextScorer(Protocol):
    """The model interface of probes and searches; arguments and results as of :class:`.scorer.Scorer`."""

    @property
    def name(self) -> str:
        """Spec of the model, as given by the user."""

    @property
    def tokenizer(self) -> Any:
        """Tokenizer in the sense of :mod:`.tokens`."""

    @property
    def max_tokens(self) -> int | None:
        """Maximum tokens that the model accepts before a predicted one; None if unknown."""

    @property
    def leading(self) -> tuple[int, ...]:
        """Ids of the special tokens before every prompt."""

    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the numbers, as JSON values."""

    def explain(self) -> list[tuple[str, str]]:
        """Return how numbers are computed and why so, to be shown to a person."""

    def refresh(self) -> bool:
        """Return True if the weights have changed since the last call."""

    def end_token(self) -> int:
        """Return the id of the EOS token."""

    def tokenize(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool = False, separator: str = " "
    ) -> list[TokenizedPrompt]:
        """Return prompts and continuations as this model's token ids, or why it cannot take them."""

    def score(
        self,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        eos: bool = False,
        separator: str = " ",
        beginnings: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[ScoredContinuations]:
        """Return the log-probability of each continuation after its prompt."""

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,
    ) -> list[ScoredContinuations]:
        """Return the same for token ids."""

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """Return the log-probability of every edge of token trees."""

    def growing(self) -> "EdgeScorer":
        """Return a scorer for trees that grow turn by turn, as in a search."""


class EdgeScorer(Protocol):
    """Scorer of the edges of trees that grow turn by turn, with optional upper bounds."""

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """Return the log-probability of every edge; each tree once, in any order."""

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        """Return an upper bound of the log-probability of every edge, and True if it is exact."""


class UncachedTrees:
    """Growing trees of a scorer that keeps nothing between turns."""

    def __init__(self, scorer: TextScorer) -> None:
        """Use this scorer."""
        self._scorer = scorer

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """Return the same as :meth:`EdgeScorer.edge_log_probabilities`."""
        return self._scorer.edge_log_probabilities(trees)

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        """Return the log-probabilities themselves as :meth:`EdgeScorer.edge_bounds`."""
        return ((tree, values, True) for tree, values in self._scorer.edge_log_probabilities(trees))


def report(progress: Callable[[int], None] | None, count: int) -> None:
    """Pass a number of finished items to the listener, if any."""
    if progress is not None:
        progress(count)


def tokenized_for(
    scorer: TextScorer, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool, separator: str
) -> list[TokenizedPrompt]:
    """Tokenize as :meth:`TextScorer.tokenize` does, by the scorer's tokenizer and limits."""
    return tokenize(
        scorer.tokenizer,
        prompts,
        continuations,
        separator=separator,
        leading=scorer.leading,
        end=scorer.end_token() if eos else None,
        limit=scorer.max_tokens,
    )


def end_token_of(scorer: TextScorer) -> int:
    """Return the id of the EOS token of a scorer's tokenizer; raise a KgprobeError if it has none."""
    end = scorer.tokenizer.eos_token_id
    if end is None:
        raise KgprobeError(f"Cannot score the end of continuations: {scorer.name} has no EOS token.")
    return int(end)
