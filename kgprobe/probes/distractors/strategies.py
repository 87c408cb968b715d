"""How distractors are chosen, by name: rivals for every sentence of every question.

Random, semantic and temporal-semantic distractors (:mod:`kgprobe.sampling`) need no model and are the same for all of a
fact's sentences. Optimal ones (:mod:`.optimal_distractors`) are those that the model itself finds most plausible after
a sentence, so each sentence has its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeQuestion
from kgprobe.sampling.distractors import Distractor, Retriever
from kgprobe.sampling.retrievers import RETRIEVERS
from kgprobe.search.optimal_distractors import OptimalDistractors


@dataclass(frozen=True, slots=True)
class Rivals:
    """The distractors of one sentence, best first.

    Attributes:
        certified: of optimal ones, how many of the first are proved to be the most plausible; None where nothing is.
        log_plausibilities: of each of them after the sentence, where the strategy had to find that out; else None.
        reason: why there are none, where something stood in the way, or what is to be said of those that are there:
            candidates left out, a proof that cannot be given; else None.
    """

    distractors: Sequence[Distractor]
    certified: int | None = None
    log_plausibilities: Sequence[float] | None = None
    reason: str | None = None


class Strategy(Protocol):
    """A way to choose the distractors of questions."""

    def describe(self) -> dict[str, Any]:
        """The strategy with its options: what a result has to say of it; ``strategy`` is its name."""
        ...

    def rivals(self, questions: Sequence[ClozeQuestion], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
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

    def rivals(self, questions: Sequence[ClozeQuestion], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        retrieved = self._retriever.retrieve([question.fact.key for question in questions], count, seed)
        return [
            [Rivals(distractors)] * len(question.clozes)
            for question, distractors in zip(questions, retrieved, strict=True)
        ]


class _Optimal:
    """A strategy that asks the model after each sentence."""

    def __init__(self, retriever: OptimalDistractors) -> None:
        self._retriever = retriever

    def describe(self) -> dict[str, Any]:
        return self._retriever.describe()

    def rivals(
        self,
        questions: Sequence[ClozeQuestion],
        count: int,
        seed: Sequence[int],  # noqa: ARG002 nothing here is random
    ) -> list[list[Rivals]]:
        asked = [(question.fact, cloze) for question in questions for cloze in question.clozes]
        retrieved = (
            Rivals(one.distractors, one.certified, one.log_plausibilities, one.reason)
            for one in self._retriever.retrieve(asked, count)
        )
        return [list(islice(retrieved, len(question.clozes))) for question in questions]


def _retrieved(name: str) -> Callable[[Graph, Scorer, StrategyOptions], Strategy]:
    return lambda graph, _, options: _Retrieved(RETRIEVERS[name](graph, options.as_of, options.weighting))


def _approximate(graph: Graph, scorer: Scorer, options: StrategyOptions) -> Strategy:
    return _Optimal(OptimalDistractors(graph, scorer, options.as_of, exact=False))


def _exact(graph: Graph, scorer: Scorer, options: StrategyOptions) -> Strategy:
    return _Optimal(OptimalDistractors(graph, scorer, options.as_of, exact=True, budget=options.budget))


STRATEGIES: Mapping[str, Callable[[Graph, Scorer, StrategyOptions], Strategy]] = {
    **{name: _retrieved(name) for name in RETRIEVERS},
    "approximate-optimal": _approximate,
    "exact-optimal": _exact,
}


def make_strategy(graph: Graph, scorer: Scorer, options: StrategyOptions) -> Strategy:
    """The strategy of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if options.strategy not in STRATEGIES:
        raise UnknownNameError(f"There is no strategy {options.strategy!r}; there are: {', '.join(STRATEGIES)}.")
    return STRATEGIES[options.strategy](graph, scorer, options)
