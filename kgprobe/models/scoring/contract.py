"""Scoring interface, for a model on this machine (:class:`.scorer.Scorer`) or behind an API."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.tokens import TokenizedPrompt, shared_lengths, tokenize
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


class EdgeScorer(Protocol):
    """Scorer of the edges of trees that grow turn by turn, with optional upper bounds."""

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """Return the log-probability of every edge; each tree once, in any order."""

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        """Return an upper bound of the log-probability of every edge, and True if it is exact."""


class TextScorer(ABC):
    """The model interface of probes and searches.

    Attributes:
        name: spec of the model, as given by the user.
        tokenizer: tokenizer in the sense of :mod:`.tokens`.
        max_tokens: maximum tokens that the model accepts before a predicted one; None if unknown.
        leading: ids of the special tokens before every prompt.
        caches_beginnings: True if beginnings of prompts are cached.
    """

    name: str
    tokenizer: Any
    max_tokens: int | None
    leading: tuple[int, ...]
    caches_beginnings = False

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the numbers, as JSON values."""

    @abstractmethod
    def explain(self) -> list[tuple[str, str]]:
        """Return how numbers are computed and why so, to be shown to a person."""

    @property
    def on_host(self) -> bool:
        """True if it computes on the processors of this process."""
        return False

    @abstractmethod
    def refresh(self) -> bool:
        """Return True if the weights have changed since the last call."""

    def end_token(self) -> int:
        """Return the id of the EOS token; raise a KgprobeError if the model has none."""
        end = self.tokenizer.eos_token_id
        if end is None:
            raise KgprobeError(f"Cannot score the end of continuations: {self.name} has no EOS token.")
        return int(end)

    def tokenize(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool = False, separator: str = " "
    ) -> list[TokenizedPrompt]:
        """Return prompts and continuations as this model's token ids, or why it cannot take them; see :meth:`score`."""
        return tokenize(
            self.tokenizer,
            prompts,
            continuations,
            separator=separator,
            leading=self.leading,
            end=self.end_token() if eos else None,
            limit=self.max_tokens,
        )

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
        """Return the log-probability of each continuation after its prompt: the sum over its tokens, natural logarithm.

        Args:
            prompts: any text; see :mod:`.tokens` for how it is joined with a continuation.
            continuations: for each prompt any number of texts, repetitions allowed.
            eos: True to count the end token after the continuation, too.
            separator: text between prompt and continuation.
            beginnings: for each prompt a beginning that prompts of later calls share, such as examples; computed once,
                and cached while there is room, by models on this machine. Empty for none.
            progress: called now and then with the number of continuations done since the last call.

        Returns:
            for each prompt one value per continuation, in their order, or the reason against it: empty, no token before
            it, too long for the model, …, see :func:`.tokens.tokenize`.

        Raises:
            KgprobeError: the model has no EOS token and ``eos`` is set, its probabilities are not numbers, or one
                continuation alone does not fit in memory; for an API, see :class:`.api.scorer.ApiScorer`.
        """
        tokenized = self.tokenize(prompts, continuations, eos=eos, separator=separator)
        shared = {}
        if beginnings is not None and self.caches_beginnings:
            shared = shared_lengths(self.tokenizer, tokenized, beginnings, self.leading)
        return self.score_tokenized(tokenized, progress, shared)

    @abstractmethod
    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,
    ) -> list[ScoredContinuations]:
        """Score token ids as :meth:`score` does texts; the leading special tokens are among them, if any.

        Args:
            tokenized: prompts with continuations of at most ``max_tokens`` + 1, see :meth:`tokenize`.
            progress: as of :meth:`score`.
            beginnings: number of leading tokens that prompts of later calls share, by the prompt's position.

        Raises:
            KgprobeError: as of :meth:`score`.
        """

    @abstractmethod
    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """Return the log-probability of every edge of token trees."""

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        """Return the log-probabilities themselves as upper bounds, see :meth:`EdgeScorer.edge_bounds`."""
        return ((tree, values, True) for tree, values in self.edge_log_probabilities(trees))

    def growing(self) -> EdgeScorer:
        """Return a scorer for trees that grow turn by turn, as in a search; by default one that keeps nothing."""
        return self


def report(progress: Callable[[int], None] | None, count: int) -> None:
    """Pass a number of finished items to the listener, if any."""
    if progress is not None:
        progress(count)
