"""Strategies to choose distractors for every sentence of every fact.

Random, semantic and temporal-semantic distractors (:mod:`kgprobe.sampling`) need no model. They are the same for all
sentences of a fact in the same tense: by default, former objects are wrong only in the present tense. Optimal
distractors (:mod:`.optimal_distractors`) are those that the model itself finds most plausible after each sentence. A
strategy is an entry point of the group ``kgprobe.strategies``, with options of its own.
"""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, get_type_hints

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import option
from kgprobe.base.plugins import Register
from kgprobe.probes.search.rivals import Rivals, Sentences
from kgprobe.verbalize.tense import speaks_of_today

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.models.scoring.contract import TextScorer
    from kgprobe.sampling.distractors import FormerObjects, Retriever, RuledFact
    from kgprobe.sampling.keys import FactKey

T = TypeVar("T")


class Strategy(Protocol):
    """A strategy to choose the distractors of facts."""

    def describe(self) -> dict[str, Any]:
        """Return the name (``strategy``) and the options, for results."""

    def rivals(self, asked: Sequence[Sentences], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        """Return at most ``count`` distractors for each sentence of each fact."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a strategy without any."""


@dataclass(frozen=True, slots=True)
class SemanticOptions:
    """Options of semantic distractors."""

    weighting: str = option("tf-idf", "Feature weighting of semantic distractors.", choices=("tf-idf", "bm25"))


def former_order_option() -> Any:
    """Return the option of the order of former objects, which studies of measures have, too."""
    help_ = "Former objects by nearness in time to the fact, or to the reference date (code of the distractor paper)."
    return option("fact", help_, choices=("fact", "reference-date"))


@dataclass(frozen=True, slots=True)
class TemporalOptions(SemanticOptions):
    """Options of former objects, then semantic distractors."""

    former_order: str = former_order_option()


@dataclass(frozen=True, slots=True)
class ExactOptions:
    """Options of exact search."""

    max_prefixes: int = option(
        2_000,
        "Maximum name prefixes that exact search scores per sentence. Beyond it, the number of proved distractors is"
        " reported.",
        minimum=1,
    )


@dataclass(frozen=True, slots=True)
class StrategyContext:
    """What a strategy works with.

    Attributes:
        scorer: None if the strategy needs no model.
        as_of: reference date (``yyyymmdd``); objects of facts that ended before it are former.
        former: ``wrong``, ``never`` or ``right``; see :func:`kgprobe.sampling.distractors.former_objects`.
    """

    graph: "Graph"
    scorer: "TextScorer | None"
    as_of: int
    former: str = "wrong"


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """A registered strategy.

    Attributes:
        name: name on the command line and of the entry point.
        summary: short description for users.
        asks_model: True if it depends on the model.
        make: returns the strategy with its options, an object of ``options``.
        options: frozen dataclass of the strategy's own options (:mod:`kgprobe.base.options`), which become options of
            the probe. Options of the same name in several strategies must be equal.
    """

    name: str
    summary: str
    asks_model: bool
    make: Callable[[StrategyContext, Any], Strategy]
    options: type = NoOptions


STRATEGIES: Register[StrategyKind] = Register("kgprobe.strategies", "strategy")


def with_strategy_options(kind: type[T]) -> type[T]:
    """Add the options of all strategies to a frozen dataclass; a class decorator."""
    added: dict[str, tuple[str, Any, Any]] = {}
    for name in STRATEGIES.names():
        # A plug-in that cannot be imported fails when it is chosen, not when another one is.
        with suppress(ImportError, AttributeError):
            own = STRATEGIES.get(name).options
            hints = get_type_hints(own)
            for field in dataclasses.fields(own):
                described = dataclasses.field(default=field.default, metadata=field.metadata)
                added.setdefault(field.name, (field.name, hints[field.name], described))
    whole: Any = dataclasses.make_dataclass(kind.__name__, added.values(), bases=(kind,), frozen=True, slots=True)
    whole.__doc__, whole.__module__ = kind.__doc__, kind.__module__
    return cast("type[T]", whole)


def make_strategy(name: str, context: StrategyContext, given: object = None) -> Strategy:
    """Return the strategy of a name.

    Args:
        given: object with values for the strategy's own options, such as the options of a probe; missing ones have
            their default.
    """
    kind = STRATEGIES.get(name)
    if kind.asks_model and context.scorer is None:
        raise ArgumentError("model", f"is missing: {name} needs one to compute plausibilities.")
    values = {}
    for field in dataclasses.fields(kind.options):
        if hasattr(given, field.name):
            values[field.name] = getattr(given, field.name)
    return kind.make(context, kind.options(**values))


class _GraphStrategy:
    """A strategy that uses only the graph; sentences of one tense have the same distractors."""

    def __init__(self, retriever: "Retriever", context: StrategyContext) -> None:
        self._retriever = retriever
        self._former = context.former
        self._as_of = context.as_of

    def describe(self) -> dict[str, Any]:
        return self._retriever.describe()

    def rivals(self, asked: Sequence[Sentences], count: int, seed: Sequence[int]) -> list[list[Rivals]]:
        from kgprobe.sampling.distractors import former_objects

        ruled: dict[tuple[FactKey, FormerObjects], RuledFact] = {}
        keys = []
        for fact, clozes in asked:
            today = [speaks_of_today(cloze.template, cloze.language) for cloze in clozes]
            rules = [former_objects(self._former, self._as_of, is_present) for is_present in today]
            keys.append([(fact.key, rule) for rule in rules])
            ruled |= {(fact.key, rule): (fact, rule) for rule in rules}
        retrieved = self._retriever.retrieve(list(ruled.values()), count, seed)
        distractors = dict(zip(ruled, retrieved, strict=True))
        return [[Rivals(distractors[key]) for key in of_fact] for of_fact in keys]


def _random(context: StrategyContext, _: NoOptions) -> Strategy:
    from kgprobe.sampling.distractors import RandomDistractors

    return _GraphStrategy(RandomDistractors(context.graph), context)


def _semantic(context: StrategyContext, options: SemanticOptions) -> Strategy:
    from kgprobe.sampling.semantic import SemanticDistractors

    return _GraphStrategy(SemanticDistractors(context.graph, options.weighting), context)


def _temporal_semantic(context: StrategyContext, options: TemporalOptions) -> Strategy:
    from kgprobe.sampling.semantic import TemporalDistractors

    retriever = TemporalDistractors(context.graph, context.as_of, options.weighting, options.former_order)
    return _GraphStrategy(retriever, context)


def _optimal(context: StrategyContext, options: "NoOptions | ExactOptions") -> Strategy:
    from kgprobe.probes.search.optimal_distractors import OptimalDistractors

    return OptimalDistractors(
        context.graph,
        cast("TextScorer", context.scorer),
        exact=isinstance(options, ExactOptions),
        as_of=context.as_of,
        former=context.former,
        **dataclasses.asdict(options),
    )


RANDOM = StrategyKind("random", "any entities of the object's type", False, _random)
SEMANTIC = StrategyKind(
    "semantic", "most similar to the object, by shared relations and objects", False, _semantic, SemanticOptions
)
TEMPORAL_SEMANTIC = StrategyKind(
    "temporal-semantic",
    "former right answers first, nearest in time; then semantic ones",
    False,
    _temporal_semantic,
    TemporalOptions,
)
APPROXIMATE_OPTIMAL = StrategyKind(
    "approximate-optimal",
    "most plausible for the model, by a beam search over the names of the type",
    True,
    _optimal,
)
EXACT_OPTIMAL = StrategyKind(
    "exact-optimal", "the same by an exact search, with a proof for the first ones", True, _optimal, ExactOptions
)
