"""Sampling strategies replayed against a reference: how soon each finds out how hard the facts are.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. A replay chooses
facts as rounds do, draws each answer from theta of the reference, and learns: by counting answers, with propagation or
without, or by the model of :mod:`.learner`. The n-th answer about a fact is the same whatever strategy asks, so that
strategies differ in what they ask and not in luck.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

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

# How many points a curve has, about.
_POINTS = 60

# A fact was asked lately if it was in one of so many last rounds.
LATELY = 10


@dataclass(frozen=True, slots=True)
class SamplingStrategy:
    """How facts are chosen, and what is made of their answers.

    Attributes:
        sampling: one of :data:`kgprobe.beliefs.register.SAMPLING_RULES`.
        learner: one of :data:`kgprobe.beliefs.register.LEARNERS`.
    """

    sampling: str
    learner: str

    @property
    def name(self) -> str:
        """As tables and plots call it."""
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
class Standing:
    """Where a replay stands after some requests. Means over no fact are NaN.

    Attributes:
        requests: questions asked so far.
        examined: share of the facts with an answer of their own.
        mse: mean squared error of E[theta] = alpha / (alpha + beta) over the examined facts.
        mse_lately: the same over the facts that were asked in the last ``LATELY`` rounds.
        mse_own: the same with alpha and beta of own answers alone.
        mse_easy, mse_hard: ``mse`` over the examined facts with theta below one half, and over the others.
        answers_easy, answers_hard: mean number of own answers of all facts with theta below one half, and of others.
        hardest_examined: share of the hardest facts with an answer of their own.
        hardest_mse, hardest_mse_own: ``mse`` and ``mse_own`` over the examined ones of the hardest facts.
        hardest_found: share of the hardest facts that are among as many with the highest E[theta], examined or not,
            equals by position.
        mse_all: ``mse`` over all facts, examined or not.
        coverage, coverage_examined: share of all facts, and of the examined ones, whose theta is in the central 90% of
            its Beta(alpha, beta).
        mean_error: the mean of E[theta] over all facts less that of theta.
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
    """What a model answers of which the failures are known: the n-th answer about a fact is always the same."""

    def __init__(self, theta: Floats, seed: Sequence[int]) -> None:
        self._theta = theta
        self._seed = seed
        self._wrong: list[NDArray[np.bool_]] = []

    def wrong(self, positions: Positions, before: Positions) -> NDArray[np.bool_]:
        """Whether the next answers about facts are wrong, shape (asked,).

        Args:
            positions: of the facts, shape (asked,).
            before: how often each has been asked already, shape (asked,).
        """
        while len(self._wrong) <= before.max(initial=-1):
            generator = np.random.default_rng([*self._seed, 0, 1 + len(self._wrong)])
            self._wrong.append(generator.random(len(self._theta)) < self._theta)
        asked = zip(before.tolist(), positions.tolist(), strict=True)
        return np.array([self._wrong[time][position] for time, position in asked], dtype=np.bool_)


class _Counted:
    """Beliefs as rounds have them: answers are counted."""

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

    def learn(self, asked: Positions, failed: NDArray[np.bool_]) -> None:
        self._wrong[asked] += failed
        self._right[asked] += ~failed
        propagation = self._strategy.learner == "propagation"
        self._alpha, self._beta = (
            1 + (received(self._ends, own) if propagation else own) for own in (self._wrong, self._right)
        )

    def parameters(self) -> tuple[Floats, Floats]:
        return self._alpha, self._beta


class _Learned:
    """Beliefs of the learner."""

    def __init__(self, reference: Reference, strategy: SamplingStrategy, max_degree: int | None) -> None:
        count = len(reference.theta)
        effects = effects_of(reference.subjects, reference.objects, relations=reference.relations)
        self._learner = HierarchicalModel.of(effects, count if max_degree is None else max_degree)
        self._sampling = strategy.sampling
        self._all = np.arange(count)

    def choose(self, batch: int, _number: int, generator: np.random.Generator) -> Positions:
        return choose(self._learner.messages, self._sampling, batch, generator).positions

    def learn(self, asked: Positions, failed: NDArray[np.bool_]) -> None:
        self._learner.learn(asked, failed)

    def parameters(self) -> tuple[Floats, Floats]:
        return beta_parameters(self._learner.posterior(self._all))


def replay(
    reference: Reference,
    strategy: SamplingStrategy,
    seed: Sequence[int],
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    hardest: int = 100,
    max_degree: int | None = None,
) -> list[Standing]:
    """Ask round after round, and say at some of them how far it has come.

    Args:
        seed: of choices and answers.
        checkpoints: after which rounds, ascending, from 1 on.
        batch: facts asked a round.
        hardest: how many facts are looked at as the hardest.
        max_degree: entities with more facts of the reference do not propagate.

    Cost: each round is linear in the facts.
    """
    count = len(reference.theta)
    hardest_facts = reference.hardest(hardest)
    answers = Answers(reference.theta, seed)
    right, wrong = np.zeros(count), np.zeros(count)
    last_asked = np.full(count, -LATELY, dtype=np.int64)
    known = (_Learned if strategy.learner == "hierarchical" else _Counted)(reference, strategy, max_degree)
    standings = []
    for number in range(1, max(checkpoints, default=0) + 1):
        asked = known.choose(batch, number, np.random.default_rng([*seed, number]))
        failed = answers.wrong(asked, (right + wrong)[asked].astype(np.int64))
        # A round asks a fact once at most.
        wrong[asked] += failed
        right[asked] += ~failed
        last_asked[asked] = number
        known.learn(asked, failed)
        if number in checkpoints:
            lately = last_asked > number - LATELY
            standings.append(_standing(reference.theta, hardest_facts, right, wrong, *known.parameters(), lately))
    return standings


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
) -> dict[str, list[list[Standing]]]:
    """Every strategy once on each reference: by its name, for each reference, where it stands at the checkpoints.

    Args:
        references: one a repetition, all of them the same or not.
        seed: with the number of the repetition it gives the seed of its choices and answers.
        strategies: which; all of them.
        on_replay: called after each replay.
    """
    replays: dict[str, list[list[Standing]]] = {strategy.name: [] for strategy in strategies}
    for repetition, reference in enumerate(references):
        for strategy in strategies:
            standings = replay(
                reference,
                strategy,
                [seed, repetition],
                checkpoints=checkpoints,
                batch=batch,
                hardest=hardest,
                max_degree=max_degree,
            )
            replays[strategy.name].append(standings)
            on_replay()
    return replays


def _standing(
    theta: Floats,
    hardest: Positions,
    right: Floats,
    wrong: Floats,
    alpha: Floats,
    beta: Floats,
    lately: NDArray[np.bool_],
) -> Standing:
    own = right + wrong
    expected = alpha / (alpha + beta)
    low, high = credible_interval(alpha, beta)
    covered = ((low <= theta) & (theta <= high)).astype(np.float64)
    examined = own > 0
    squares = (expected - theta) ** 2
    squares_own = ((1 + wrong) / (2 + own) - theta) ** 2
    easy = theta < 0.5
    seen = hardest[examined[hardest]]
    return Standing(
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
    """After which rounds to look: close together at the beginning, and after 1/4, 1/2, 1, 2, ... requests a fact.

    Args:
        requests: how many are asked in all; rounded up to whole rounds.
    """
    last = max(1, -(-requests // min(batch, facts)))
    spaced = np.geomspace(1, last, _POINTS).round().astype(np.int64).tolist()
    return sorted({*spaced, *shown_rounds(facts, last, batch)})


def shown_rounds(facts: int, last: int, batch: int) -> list[int]:
    """The rounds after 1/4, 1/2, 1, 2, ... requests a fact, unless they are near the last one, and that."""
    passes = (2.0**power for power in range(-2, 64))
    rounds = (max(1, round(each * facts / min(batch, facts))) for each in passes)
    return [*dict.fromkeys(takewhile(lambda number: number < 0.9 * last, rounds)), last]
