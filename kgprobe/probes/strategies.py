"""How distractors are chosen, by name: rivals for every sentence of every question.

Random, semantic and temporal-semantic distractors (:mod:`kgprobe.sampling`) need no model and are the same for all of a
fact's sentences. Optimal ones (:mod:`.optimal_distractors`) are those that the model itself finds most plausible after
a sentence, so each sentence has its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.scorer import Scorer
from kgprobe.probes.questions import Question
from kgprobe.sampling.distractors import Distractor, RandomDistractors, Retriever
from kgprobe.sampling.semantic import SemanticDistractors
from kgprobe.sampling.temporal import TemporalDistractors


@dataclass(frozen=True, slots=True)
class Rivals:
    """The distractors of one sentence, best first.

    Attributes:
        certified: of optimal ones, how many of the first are proved to be the most plausible; None where nothing is.
        reason: why there are none, where something stood in the way; else None.
    """

    distractors: Sequence[Distractor]
    certified: int | None = None
    reason: str | None = None


class Strategy(Protocol):
    """A way to choose the distractors of questions."""

    def describe(self) -> dict[str, Any]:
        """The strategy with its options: what a result has to say of it; ``strategy`` is its name."""
        ...

    def rivals(self, questions: Sequence[Question], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        """For each question, for each of its sentences, at most ``count`` distractors."""
        ...


@dataclass(frozen=True, slots=True)
class StrategyOptions:
    """What a user chooses of a strategy.

    Attributes:
        strategy: its name.
        as_of: what is true at this date (``yyyymmdd``) is no distractor.
        weighting: of features, for semantic distractors.
        budget: how many prefixes exact search may expand for one sentence.
    """

    strategy: str
    as_of: int
    weighting: str = "tf-idf"
    budget: int = 2_000


class _Retrieved:
    """A strategy that looks at the graph alone."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def describe(self) -> dict[str, Any]:
        return self._retriever.describe()

    def rivals(self, questions: Sequence[Question], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        retrieved = self._retriever.retrieve([question.fact.key for question in questions], count, seed)
        return [
            [Rivals(distractors)] * len(question.clozes)
            for question, distractors in zip(questions, retrieved, strict=True)
        ]


def _random(graph: Graph, _: Scorer, options: StrategyOptions) -> Strategy:
    return _Retrieved(RandomDistractors(graph, options.as_of))


def _semantic(graph: Graph, _: Scorer, options: StrategyOptions) -> Strategy:
    return _Retrieved(SemanticDistractors(graph, options.as_of, options.weighting))


def _temporal(graph: Graph, _: Scorer, options: StrategyOptions) -> Strategy:
    return _Retrieved(TemporalDistractors(graph, options.as_of, options.weighting))


STRATEGIES: Mapping[str, Callable[[Graph, Scorer, StrategyOptions], Strategy]] = {
    "random": _random,
    "semantic": _semantic,
    "temporal-semantic": _temporal,
}


def make_strategy(graph: Graph, scorer: Scorer, options: StrategyOptions) -> Strategy:
    """The strategy of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if options.strategy not in STRATEGIES:
        raise UnknownNameError(f"There is no strategy {options.strategy!r}; there are: {', '.join(STRATEGIES)}.")
    return STRATEGIES[options.strategy](graph, scorer, options)
