"""What scores texts: a model on this machine (:class:`.scorer.Scorer`), or one behind an API."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from kgprobe.errors import KgprobeError
from kgprobe.models.scoring.scored import Floats, Scored
from kgprobe.models.scoring.tokens import TokenizedPrompt, tokenize
from kgprobe.models.scoring.trie import Tree


class TextScorer(Protocol):
    """All that probes and searches ask of a model; arguments and results as of :class:`.scorer.Scorer`."""

    @property
    def name(self) -> str:
        """What the user calls it: its spec."""

    @property
    def tokenizer(self) -> Any:
        """What :mod:`.tokens` takes for one."""

    @property
    def max_tokens(self) -> int | None:
        """The longest text that the model takes in, and predicts a token behind; None if no limit is known."""

    @property
    def leading(self) -> tuple[int, ...]:
        """Ids of the special tokens that stand in front of every prompt."""

    def describe(self) -> dict[str, object]:
        """What one needs to know to get the same numbers again; plain values, as JSON has them."""

    def explain(self) -> list[tuple[str, str]]:
        """How numbers are got and why so, to be shown to a person."""

    def refresh(self) -> bool:
        """Whether the weights are others than before."""

    def end_token(self) -> int:
        """The id of the EOS token."""

    def tokenize(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool = False, separator: str = " "
    ) -> list[TokenizedPrompt]:
        """Prompts and continuations as this model's token ids, or why it cannot take them."""

    def score(
        self,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        eos: bool = False,
        separator: str = " ",
        beginnings: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Scored]:
        """The log-probability of each continuation after its prompt."""

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,
    ) -> list[Scored]:
        """The same of token ids."""

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """The log-probability of every edge of trees of tokens."""

    def growing(self) -> "EdgeScorer":
        """For trees that grow turn by turn, as in a search."""


class EdgeScorer(Protocol):
    """Gives log-probabilities of edges of trees that grow turn by turn, or first what they are at most."""

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """The log-probability of every edge; each tree once, in any order."""

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        """What the log-probability of every edge is at most; and whether it is that."""


class UncachedTrees:
    """Trees that grow, of a scorer that keeps nothing between turns."""

    def __init__(self, scorer: TextScorer) -> None:
        """Ask this scorer."""
        self._scorer = scorer

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """As :meth:`EdgeScorer.edge_log_probabilities`."""
        return self._scorer.edge_log_probabilities(trees)

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        """As :meth:`EdgeScorer.edge_bounds`: the log-probabilities themselves."""
        return ((tree, values, True) for tree, values in self._scorer.edge_log_probabilities(trees))


def tokenized_for(
    scorer: TextScorer, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool, separator: str
) -> list[TokenizedPrompt]:
    """What :meth:`TextScorer.tokenize` gives, by the scorer's tokenizer and limits."""
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
    """The id of the EOS token of a scorer's tokenizer.

    Raises:
        KgprobeError: it has none.
    """
    end = scorer.tokenizer.eos_token_id
    if end is None:
        raise KgprobeError(f"The end of a continuation is to be scored, but {scorer.name} has no EOS token.")
    return int(end)
