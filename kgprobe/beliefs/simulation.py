"""Sampling strategies replayed against a reference: how soon each finds out how hard the facts are.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods.md, 2. A replay chooses facts as rounds do, draws
each answer from theta of the reference, and learns, with propagation or without. The n-th answer about a fact is the
same whatever strategy asks, so that strategies differ in what they ask and not in luck.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.draw import Beliefs
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
    """How facts are chosen, and whether they learn from those around them."""

    sampling: str
    propagation: bool

    @property
    def name(self) -> str:
        """As tables and plots call it."""
        return f"{self.sampling} + propagation" if self.propagation else self.sampling


SAMPLING_STRATEGIES = (
    SamplingStrategy("thompson", True),
    SamplingStrategy("thompson", False),
    SamplingStrategy("monte-carlo", True),
    SamplingStrategy("monte-carlo", False),
    SamplingStrategy("iteration", False),
)


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
    ends = Ends.of(reference.subjects, reference.objects, max_degree)
    hardest_facts = reference.hardest(hardest)
    answers = Answers(reference.theta, seed)
    right, wrong = np.zeros(count), np.zeros(count)
    alpha, beta = np.ones(count), np.ones(count)
    last_asked = np.full(count, -LATELY, dtype=np.int64)
    standings = []
    for number in range(1, max(checkpoints, default=0) + 1):
        touched = np.flatnonzero(alpha + beta > 2)
        beliefs = Beliefs(count, touched, alpha[touched], beta[touched], np.ones(len(touched), np.bool_))
        asked = beliefs.choose(strategy.sampling, batch, number, np.random.default_rng([*seed, number]))
        failed = answers.wrong(asked, (right + wrong)[asked].astype(np.int64))
        # A round asks a fact once at most.
        wrong[asked] += failed
        right[asked] += ~failed
        last_asked[asked] = number
        alpha, beta = (1 + (received(ends, own) if strategy.propagation else own) for own in (wrong, right))
        if number in checkpoints:
            lately = last_asked > number - LATELY
            expected = alpha / (alpha + beta)
            standings.append(_standing(reference.theta, hardest_facts, right, wrong, expected, lately))
    return standings


def replay_all(
    references: Sequence[Reference],
    seed: int,
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    hardest: int = 100,
    max_degree: int | None = None,
    on_replay: Callable[[], None] = lambda: None,
) -> dict[str, list[list[Standing]]]:
    """Every strategy once on each reference: by its name, for each reference, where it stands at the checkpoints.

    Args:
        references: one a repetition, all of them the same or not.
        seed: with the number of the repetition it gives the seed of its choices and answers.
        on_replay: called after each replay.
    """
    replays: dict[str, list[list[Standing]]] = {strategy.name: [] for strategy in SAMPLING_STRATEGIES}
    for repetition, reference in enumerate(references):
        for strategy in SAMPLING_STRATEGIES:
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
    theta: Floats, hardest: Positions, right: Floats, wrong: Floats, expected: Floats, lately: NDArray[np.bool_]
) -> Standing:
    own = right + wrong
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
