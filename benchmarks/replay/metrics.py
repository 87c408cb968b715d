"""Metrics of replays: the error of beliefs by several readings, as a function of requests.

docs/methods/sampling-study.md; :mod:`kgprobe.running.replays` makes the replays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.draw import credible_interval
from kgprobe.running.replays import (
    SAMPLING_STRATEGIES,
    Positions,
    Reference,
    SamplingStrategy,
    Snapshot,
    replay,
    replay_metrics,
)

Floats = NDArray[np.float64]

# Number of last rounds whose facts count as recently asked.
LATELY = 10
# More than any entity has: all propagate.
UNLIMITED = 10**9


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


def replay_all(
    references: Sequence[Reference],
    seed: int,
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    hardest: int = 100,
    max_degree: int = UNLIMITED,
    on_replay: Callable[[], None] = lambda: None,
) -> dict[str, list[list[ReplayMetrics]]]:
    """Replay every strategy on each reference; return the metrics at the checkpoints by strategy and reference.

    Args:
        references: one per repetition, equal or different.
        seed: of choices and answers, together with the number of the repetition.
        checkpoints, batch, max_degree: as in :func:`kgprobe.running.replays.replay`.
        hardest: number of facts that count as the hardest.
        on_replay: called after each replay.
    """
    replays: dict[str, list[list[ReplayMetrics]]] = {strategy.name: [] for strategy in SAMPLING_STRATEGIES}
    for repetition, reference in enumerate(references):
        for strategy in SAMPLING_STRATEGIES:
            metrics = replay_one(
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


def replay_one(
    reference: Reference,
    strategy: SamplingStrategy,
    seed: Sequence[int],
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    hardest: int = 100,
    max_degree: int = UNLIMITED,
) -> list[ReplayMetrics]:
    """Replay one strategy; return the metrics at the checkpoints. Arguments as in :func:`replay_all`."""
    facts = reference.hardest(hardest)
    snapshots = replay(reference, strategy, seed, checkpoints=checkpoints, batch=batch, max_degree=max_degree)
    return [_metrics(reference.theta, facts, snapshot) for snapshot in snapshots]


def _metrics(theta: Floats, hardest: Positions, snapshot: Snapshot) -> ReplayMetrics:
    right, wrong, expected = snapshot.right, snapshot.wrong, snapshot.expected
    own = right + wrong
    examined = own > 0
    lately = examined & (snapshot.last_asked > snapshot.number - LATELY)
    low, high = credible_interval(snapshot.alpha, snapshot.beta)
    covered = (low <= theta) & (theta <= high)
    squares = (expected - theta) ** 2
    squares_own = ((1 + wrong) / (2 + own) - theta) ** 2
    easy = theta < 0.5
    seen = hardest[examined[hardest]]
    shared = replay_metrics(theta, snapshot, hardest)
    return ReplayMetrics(
        requests=int(shared.pop("requests")),
        **shared,
        mse_lately=_mean(squares[lately]),
        mse_own=_mean(squares_own[examined]),
        mse_easy=_mean(squares[examined & easy]),
        mse_hard=_mean(squares[examined & ~easy]),
        answers_easy=_mean(own[easy]),
        answers_hard=_mean(own[~easy]),
        hardest_examined=_mean(examined[hardest].astype(np.float64)),
        hardest_mse_own=_mean(squares_own[seen]),
        coverage_examined=_mean(covered[examined].astype(np.float64)),
        mean_error=_mean(expected) - _mean(theta),
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
