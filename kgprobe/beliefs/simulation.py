"""Replays of sampling strategies against a reference: the error of beliefs as a function of requests.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. A replay chooses facts as
rounds do, draws each answer from theta of the reference, and updates the beliefs of a learner. The n-th answer about a
fact is the same for all strategies, so they differ in the choice of facts and not by chance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import Beliefs, credible_interval
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.beliefs.propagation import Ends, received
from kgprobe.beliefs.reference import Reference, highest

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Approximate number of points of a curve.
_POINTS = 60

# Number of last rounds whose facts count as recently asked.
LATELY = 10


@dataclass(frozen=True, slots=True)
class SamplingStrategy:
    """A sampling rule with a learner.

    Attributes:
        sampling: one of :data:`kgprobe.beliefs.register.SAMPLING_RULES`.
        learner: one of :data:`kgprobe.beliefs.register.LEARNERS`.
    """

    sampling: str
    learner: str

    @property
    def name(self) -> str:
        """Name in tables and plots."""
        return self.sampling if self.learner == "independent" else f"{self.sampling} + {self.learner}"


PAPER_STRATEGIES = (
    SamplingStrategy("thompson", "propagation"),
    SamplingStrategy("thompson", "independent"),
    SamplingStrategy("uniform", "propagation"),
    SamplingStrategy("uniform", "independent"),
    SamplingStrategy("sequential", "independent"),
)
LEARNED_STRATEGIES = (
    SamplingStrategy("information", "hierarchical"),
    SamplingStrategy("hardest", "hierarchical"),
    SamplingStrategy("thompson", "hierarchical"),
    SamplingStrategy("uniform", "hierarchical"),
)
SAMPLING_STRATEGIES = PAPER_STRATEGIES + LEARNED_STRATEGIES


@dataclass(frozen=True, slots=True)
class ReplayMetrics:
    """Metrics of a replay after some requests. Means over no fact are NaN.

    Attributes:
        requests: number of questions so far.
        examined: share of the facts with own answers.
        mse: mean squared error of E[theta] = alpha / (alpha + beta) over the examined facts.
        mse_lately: the same over the facts that were asked in the last ``LATELY`` rounds.
        mse_own: the same with alpha and beta from own answers only.
        mse_easy, mse_hard: ``mse`` over the examined facts with theta below one half, and over the others.
        answers_easy, answers_hard: mean number of own answers of the facts with theta below one half, and of others.
        hardest_examined: share of the hardest facts with own answers.
        hardest_mse, hardest_mse_own: ``mse`` and ``mse_own`` over the examined hardest facts.
        hardest_found: share of the hardest facts among as many facts with the highest E[theta], ties by position.
        mse_all: ``mse`` over all facts.
        coverage, coverage_examined: share of all facts, and of the examined ones, with theta in the central 90% of
            Beta(alpha, beta).
        mean_error: mean of E[theta] minus mean of theta, over all facts.
    """

    requests: int
    examined: float
    mse: float
    mse_lately: float
    mse_own: float
    mse_easy: float
    mse_hard: float
    answers_easy: float
    answers_hard: float
    hardest_examined: float
    hardest_mse: float
    hardest_mse_own: float
    hardest_found: float
    mse_all: float
    coverage: float
    coverage_examined: float
    mean_error: float


class Answers:
    """Simulated answers with known failure probabilities: the n-th answer about a fact is always the same."""

    def __init__(self, theta: Floats, seed: Sequence[int]) -> None:
        self._theta = theta
        self._seed = seed
        self._wrong: list[NDArray[np.bool_]] = []

    def wrong(self, positions: Positions, before: Positions) -> NDArray[np.bool_]:
        """Return True for wrong next answers, shape (asked,).

        Args:
            positions: of the facts, shape (asked,).
            before: number of earlier answers about each, shape (asked,).
        """
        while len(self._wrong) <= before.max(initial=-1):
            generator = np.random.default_rng([*self._seed, 0, 1 + len(self._wrong)])
            self._wrong.append(generator.random(len(self._theta)) < self._theta)
        places = zip(before.tolist(), positions.tolist(), strict=True)
        return np.array([self._wrong[time][position] for time, position in places], dtype=np.bool_)


class _CountReplay:
    """Beliefs of the learners that count answers."""

    def __init__(self, reference: Reference, strategy: SamplingStrategy, max_degree: int | None) -> None:
        count = len(reference.theta)
        self._ends = Ends.of(reference.subjects, reference.objects, max_degree)
        self._strategy = strategy
        self._right, self._wrong = np.zeros(count), np.zeros(count)
        self._alpha, self._beta = np.ones(count), np.ones(count)

    def choose(self, batch: int, number: int, generator: np.random.Generator) -> Positions:
        touched = np.flatnonzero(self._alpha + self._beta > 2)
        parameters = self._alpha[touched], self._beta[touched]
        beliefs = Beliefs(len(self._alpha), touched, *parameters, np.ones(len(touched), np.bool_))
        return beliefs.choose(self._strategy.sampling, batch, number, generator).positions

    def learn(self, positions: Positions, failed: NDArray[np.bool_]) -> None:
        self._wrong[positions] += failed
        self._right[positions] += ~failed
        propagation = self._strategy.learner == "propagation"
        self._alpha, self._beta = (
            1 + (received(self._ends, own) if propagation else own) for own in (self._wrong, self._right)
        )

    def parameters(self) -> tuple[Floats, Floats]:
        return self._alpha, self._beta


class _ModelReplay:
    """Beliefs of the learner ``hierarchical``."""

    def __init__(self, reference: Reference, strategy: SamplingStrategy, max_degree: int | None) -> None:
        count = len(reference.theta)
        effects = effects_of(reference.subjects, reference.objects, relations=reference.relations)
        self._model = HierarchicalModel.of(effects, count if max_degree is None else max_degree)
        self._sampling = strategy.sampling
        self._all = np.arange(count)

    def choose(self, batch: int, _number: int, generator: np.random.Generator) -> Positions:
        return choose(self._model.messages, self._sampling, batch, generator).positions

    def learn(self, positions: Positions, failed: NDArray[np.bool_]) -> None:
        self._model.learn(positions, failed)

    def parameters(self) -> tuple[Floats, Floats]:
        return beta_parameters(self._model.posterior(self._all))


def replay(
    reference: Reference,
    strategy: SamplingStrategy,
    seed: Sequence[int],
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    hardest: int = 100,
    max_degree: int | None = None,
) -> list[ReplayMetrics]:
    """Simulate rounds, and return metrics at the checkpoints.

    Args:
        seed: of choices and answers.
        checkpoints: numbers of rounds, ascending, from 1 on.
        batch: number of facts per round.
        hardest: number of facts that count as the hardest.
        max_degree: entities with more facts of the reference do not propagate.

    Cost: each round is linear in the facts.
    """
    count = len(reference.theta)
    hardest_facts = reference.hardest(hardest)
    answers = Answers(reference.theta, seed)
    right, wrong = np.zeros(count), np.zeros(count)
    last_asked = np.full(count, -LATELY, dtype=np.int64)
    beliefs = (_ModelReplay if strategy.learner == "hierarchical" else _CountReplay)(reference, strategy, max_degree)
    metrics = []
    for number in range(1, max(checkpoints, default=0) + 1):
        drawn = beliefs.choose(batch, number, np.random.default_rng([*seed, number]))
        failed = answers.wrong(drawn, (right + wrong)[drawn].astype(np.int64))
        # The facts of a round are distinct.
        wrong[drawn] += failed
        right[drawn] += ~failed
        last_asked[drawn] = number
        beliefs.learn(drawn, failed)
        if number in checkpoints:
            lately = last_asked > number - LATELY
            metrics.append(_metrics(reference.theta, hardest_facts, right, wrong, *beliefs.parameters(), lately))
    return metrics


def replay_all(
    references: Sequence[Reference],
    seed: int,
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    hardest: int = 100,
    max_degree: int | None = None,
    strategies: Sequence[SamplingStrategy] = SAMPLING_STRATEGIES,
    on_replay: Callable[[], None] = lambda: None,
) -> dict[str, list[list[ReplayMetrics]]]:
    """Replay every strategy on each reference; return the metrics at the checkpoints by strategy and reference.

    Args:
        references: one per repetition, equal or different.
        seed: of choices and answers, together with the number of the repetition.
        on_replay: called after each replay.
    """
    replays: dict[str, list[list[ReplayMetrics]]] = {strategy.name: [] for strategy in strategies}
    for repetition, reference in enumerate(references):
        for strategy in strategies:
            metrics = replay(
                reference,
                strategy,
                [seed, repetition],
                checkpoints=checkpoints,
                batch=batch,
                hardest=hardest,
                max_degree=max_degree,
            )
            replays[strategy.name].append(metrics)
            on_replay()
    return replays


def _metrics(
    theta: Floats,
    hardest: Positions,
    right: Floats,
    wrong: Floats,
    alpha: Floats,
    beta: Floats,
    lately: NDArray[np.bool_],
) -> ReplayMetrics:
    own = right + wrong
    expected = alpha / (alpha + beta)
    low, high = credible_interval(alpha, beta)
    covered = ((low <= theta) & (theta <= high)).astype(np.float64)
    examined = own > 0
    squares = (expected - theta) ** 2
    squares_own = ((1 + wrong) / (2 + own) - theta) ** 2
    easy = theta < 0.5
    seen = hardest[examined[hardest]]
    return ReplayMetrics(
        requests=int(own.sum()),
        examined=float(examined.mean()),
        mse=_mean(squares[examined]),
        mse_lately=_mean(squares[lately]),
        mse_own=_mean(squares_own[examined]),
        mse_easy=_mean(squares[examined & easy]),
        mse_hard=_mean(squares[examined & ~easy]),
        answers_easy=_mean(own[easy]),
        answers_hard=_mean(own[~easy]),
        hardest_examined=_mean(examined[hardest].astype(np.float64)),
        hardest_mse=_mean(squares[seen]),
        hardest_mse_own=_mean(squares_own[seen]),
        hardest_found=float(np.isin(hardest, highest(expected, len(hardest))).mean()),
        mse_all=_mean(squares),
        coverage=_mean(covered),
        coverage_examined=_mean(covered[examined]),
        mean_error=_mean(expected) - _mean(theta),
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def checkpoint_rounds(facts: int, requests: int, batch: int) -> list[int]:
    """Return the rounds of checkpoints: dense at the beginning, and after 1/4, 1/2, 1, 2, ... requests per fact.

    Args:
        requests: total number, rounded up to whole rounds.
    """
    last = max(1, -(-requests // min(batch, facts)))
    spaced = np.geomspace(1, last, _POINTS).round().astype(np.int64).tolist()
    return sorted({*spaced, *shown_rounds(facts, last, batch)})


def shown_rounds(facts: int, last: int, batch: int) -> list[int]:
    """Return the rounds after 1/4, 1/2, 1, 2, ... requests per fact before 90% of the last one, and the last one."""
    rounds: list[int] = []
    requests = 0.25
    while (number := max(1, round(requests * facts / min(batch, facts)))) < 0.9 * last:
        rounds.append(number)
        requests *= 2
    return [*dict.fromkeys(rounds), last]
