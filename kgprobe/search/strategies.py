"""How distractors are chosen, by name: rivals for every sentence of every fact.

Random, semantic and temporal-semantic distractors (:mod:`kgprobe.sampling`) need no model and are the same for all of a
fact's sentences, but for former objects, which stand only after sentences that speak of today. Optimal ones
(:mod:`.optimal_distractors`) are those that the model itself finds most plausible after a sentence, so each sentence
has its own. A strategy is an entry point of the group ``kgprobe.strategies``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kgprobe.errors import ArgumentError
from kgprobe.plugins import Register
from kgprobe.verbalize.tense import speaks_of_today

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.models.scoring.contract import TextScorer
    from kgprobe.sampling.distractors import Distractor, Retriever
    from kgprobe.sampling.facts import AskedFact
    from kgprobe.sampling.temporal import TemporalDistractors
    from kgprobe.search.optimal_distractors import OptimalDistractors
    from kgprobe.verbalize.sentences import Cloze

# A fact with the cloze sentences it is asked in.
Sentences: TypeAlias = "tuple[AskedFact, Sequence[Cloze]]"


@dataclass(frozen=True, slots=True)
class Rivals:
    """The distractors of one sentence, best first.

    Attributes:
        certified: of optimal ones, how many of the first are proved to be the most plausible; None where nothing is.
        log_plausibilities: of each of them after the sentence, where the strategy had to find that out; else None.
        pool: of optimal ones, how many entities they are the most plausible of, the right object among them: who beats
            them beats all of these. None where the model had no say.
        reason: why there are none, where something stood in the way, or what is to be said of those that are there:
            candidates left out, a proof that cannot be given; else None.
    """

    distractors: "Sequence[Distractor]"
    certified: int | None = None
    log_plausibilities: Sequence[float] | None = None
    reason: str | None = None
    pool: int | None = None


class Strategy(Protocol):
    """A way to choose the distractors of facts."""

    def describe(self) -> dict[str, Any]:
        """The strategy with its options: what a result has to say of it; ``strategy`` is its name."""
        ...

    def rivals(self, asked: "Sequence[Sentences]", count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        """For each fact, for each of its sentences, at most ``count`` distractors."""
        ...


@dataclass(frozen=True, slots=True)
class StrategyOptions:
    """What a strategy is made with.

    Attributes:
        as_of: what ended before this date (``yyyymmdd``) is former.
        weighting: of features, for semantic distractors.
        max_prefixes: after how many prefixes exact search may ask the model for one sentence.
    """

    as_of: int
    weighting: str = "tf-idf"
    max_prefixes: int = 2_000


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """A strategy as it is registered.

    Attributes:
        name: as on the command line, the entry point's.
        summary: which distractors it gives, for people.
        asks_model: whether it depends on the model.
        make: makes it; the scorer is None where it asks no model.
    """

    name: str
    summary: str
    asks_model: bool
    make: "Callable[[Graph, TextScorer | None, StrategyOptions], Strategy]"


STRATEGIES: Register[StrategyKind] = Register("kgprobe.strategies", "strategy")


def make_strategy(name: str, graph: "Graph", scorer: "TextScorer | None", options: StrategyOptions) -> Strategy:
    """The strategy of that name.

    Raises:
        UnknownNameError: there is none.
        ArgumentError: it looks for what a model finds plausible, and there is no model.
    """
    kind = STRATEGIES.get(name)
    if kind.asks_model and scorer is None:
        raise ArgumentError("model", f"is missing: {name} looks for what a model finds plausible.")
    return kind.make(graph, scorer, options)


class _OfTheGraph:
    """A strategy that looks at the graph alone."""

    def __init__(self, retriever: "Retriever") -> None:
        self._retriever = retriever

    def describe(self) -> dict[str, Any]:
        return self._retriever.describe()

    def rivals(self, asked: "Sequence[Sentences]", count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        retrieved = self._retriever.retrieve([fact.key for fact, _ in asked], count, seed)
        return [[Rivals(distractors)] * len(clozes) for (_, clozes), distractors in zip(asked, retrieved, strict=True)]


class _OfTheTense:
    """Former objects and semantic distractors after sentences that speak of today; semantic ones after the others."""

    def __init__(self, retriever: "TemporalDistractors") -> None:
        self._retriever = retriever

    def describe(self) -> dict[str, Any]:
        return self._retriever.describe()

    def rivals(self, asked: "Sequence[Sentences]", count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        today = [[speaks_of_today(cloze.template) for cloze in clozes] for _, clozes in asked]
        now = [fact.key for (fact, _), its in zip(asked, today, strict=True) if any(its)]
        ever = [fact.key for (fact, _), its in zip(asked, today, strict=True) if not all(its)]
        after = {
            True: dict(zip(now, self._retriever.retrieve(now, count, seed), strict=True)),
            False: dict(zip(ever, self._retriever.semantic.retrieve(ever, count, seed), strict=True)),
        }
        return [[Rivals(after[one][fact.key]) for one in its] for (fact, _), its in zip(asked, today, strict=True)]


class _OfTheModel:
    """A strategy that asks the model after each sentence."""

    def __init__(self, retriever: "OptimalDistractors") -> None:
        self._retriever = retriever

    def describe(self) -> dict[str, Any]:
        return self._retriever.describe()

    def rivals(
        self,
        asked: "Sequence[Sentences]",
        count: int,
        seed: Sequence[int],  # noqa: ARG002 nothing here is random
    ) -> list[list[Rivals]]:
        flat = [(fact, cloze) for fact, clozes in asked for cloze in clozes]
        retrieved = iter(self._retriever.retrieve(flat, count))
        return [
            [
                Rivals(one.distractors, one.certified, one.log_plausibilities, one.reason, one.pool)
                for one in islice(retrieved, len(clozes))
            ]
            for _, clozes in asked
        ]


def _random(graph: "Graph", _: "TextScorer | None", _options: StrategyOptions) -> Strategy:
    from kgprobe.sampling.distractors import RandomDistractors

    return _OfTheGraph(RandomDistractors(graph))


def _semantic(graph: "Graph", _: "TextScorer | None", options: StrategyOptions) -> Strategy:
    from kgprobe.sampling.semantic import SemanticDistractors

    return _OfTheGraph(SemanticDistractors(graph, options.weighting))


def _temporal_semantic(graph: "Graph", _: "TextScorer | None", options: StrategyOptions) -> Strategy:
    from kgprobe.sampling.temporal import TemporalDistractors

    return _OfTheTense(TemporalDistractors(graph, options.as_of, options.weighting))


def _optimal(exact: bool) -> "Callable[[Graph, TextScorer | None, StrategyOptions], Strategy]":
    def make(graph: "Graph", scorer: "TextScorer | None", options: StrategyOptions) -> Strategy:
        from kgprobe.search.optimal_distractors import OptimalDistractors

        if scorer is None:
            raise ArgumentError("model", "is missing: optimal distractors are those that a model finds plausible.")
        limit = {"max_prefixes": options.max_prefixes} if exact else {}
        return _OfTheModel(OptimalDistractors(graph, scorer, exact=exact, **limit))

    return make


RANDOM = StrategyKind("random", "any entities of the object's type", False, _random)
SEMANTIC = StrategyKind("semantic", "those most like the object, by relations and objects they share", False, _semantic)
TEMPORAL_SEMANTIC = StrategyKind(
    "temporal-semantic",
    "former right answers first, nearest in time; then semantic ones",
    False,
    _temporal_semantic,
)
APPROXIMATE_OPTIMAL = StrategyKind(
    "approximate-optimal",
    "those that the model finds most plausible, by a beam search over the names of the type",
    True,
    _optimal(exact=False),
)
EXACT_OPTIMAL = StrategyKind(
    "exact-optimal",
    "the same by an exact search, with a proof of how many are in their place",
    True,
    _optimal(exact=True),
)
