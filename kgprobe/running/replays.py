"""Replays of sampling strategies against a reference, a set of facts with known probabilities of failing.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. A reference comes from a run that
asked every fact many times, or is the one that kgprobe ships: answers of the demo model about the example graph. A
replay chooses facts as rounds do, draws each answer from theta of the reference, and updates the beliefs of a learner.
The n-th answer about a fact is the same for all strategies, so they differ in the choice of facts and not by chance.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special

from kgprobe.base.errors import KgprobeError
from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import Beliefs, credible_interval
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.beliefs.propagation import FactEnds, received
from kgprobe.beliefs.register import LEARNERS, SAMPLING_RULES
from kgprobe.graph.client import Graph
from kgprobe.running.runs import get_run

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# With fewer answers per fact, the share of wrong ones estimates theta poorly.
_ENOUGH_ANSWERS = 10

# Approximate number of points of a curve.
_POINTS = 60


@dataclass(frozen=True, slots=True)
class Reference:
    """Facts with their difficulty.

    Attributes:
        subjects, objects: numbers of entities from 0 on, shape (facts,).
        theta: probability that the model fails on each, in [0, 1], shape (facts,).
        relations: numbers of relations from 0 on, shape (facts,); None if unknown.
    """

    subjects: Positions
    objects: Positions
    theta: Floats
    relations: Positions | None = None

    def hardest(self, count: int) -> Positions:
        """Return the positions of at most ``count`` facts with the highest theta, ties by position."""
        return highest(self.theta, count)


def highest(values: Floats, count: int) -> Positions:
    """Return the positions of the highest values, highest first, ties by position."""
    return np.argsort(-values, kind="stable")[:count]


def make_reference(facts: pd.DataFrame, theta: Floats) -> Reference:
    """Return a reference of facts with the ids ``subject``, ``relation`` and ``object``."""
    _, ends = np.unique([*facts["subject"], *facts["object"]], return_inverse=True)
    _, relations = np.unique(facts["relation"].tolist(), return_inverse=True)
    return Reference(ends[: len(theta)], ends[len(theta) :], theta, relations)


@dataclass(frozen=True, slots=True)
class Truth:
    """Facts with known theta.

    Attributes:
        references: the facts of each repetition.
        settings: settings of the origin; JSON-compatible.
    """

    references: Sequence[Reference]
    origin: str
    settings: Mapping[str, Any]
    notes: Sequence[str] = ()


def run_truth(graph: Graph, name: str, repetitions: int) -> Truth:
    """Return the facts with answers in a run; theta is the share of wrong ones among a fact's own answers.

    Cost: one scan of the graph's beliefs.

    Raises:
        KgprobeError: the run has answers about fewer than two facts.
    """
    run = get_run(graph, name)
    columns = ("subject", "relation", "object", "right", "wrong")
    facts = pd.DataFrame(graph.read("beliefs/own_answers", run=name), columns=columns)
    answered = facts[facts["right"] + facts["wrong"] > 0]
    if len(answered) < 2:
        raise KgprobeError(
            f"Run {name!r} has answers about {len(answered)} facts; a reference needs at least two. Continue it by "
            f"`kgprobe rounds resume {name} --rounds N`."
        )
    wrong = answered["wrong"].to_numpy(np.float64)
    answers = wrong + answered["right"].to_numpy(np.float64)
    reference = make_reference(answered, wrong / answers)
    notes = [
        f"θ is the share of a fact's own answers in run {name} that were wrong: {answers.mean():.1f} answers a fact, "
        f"{answers.min():.0f} at least; {len(facts) - len(answered):,} facts that it could not ask are left out."
    ]
    if answers.mean() < _ENOUGH_ANSWERS:
        notes.append(
            "With so few answers θ is coarse, and facts look more extreme than they are: the paper has 20 per fact."
        )
    if not SAMPLING_RULES[run["sampling"]].asks_equally:
        notes.append(
            "That run did not ask all facts equally often (`sampling` sequential does): θ of frequently asked facts is "
            "more exact, and facts that it did not ask are missing."
        )
    settings = {"run": name, "uid": run["uid"], "round": run["round"]}
    return Truth([reference] * repetitions, f"{name}, {run['model']}", settings, notes)


def demo_truth(seed: int, repetitions: int) -> Truth:
    """Return the facts of the example graph with the difficulty that the demo model's answers suggest."""
    note = (
        "The facts of the example graph and the demo model. For each repetition, θ of each fact is drawn from its"
        " posterior given 8 or 9 answers, each to a random cloze sentence with ten random distractors."
    )
    references = [demo_reference([seed, repetition]) for repetition in range(repetitions)]
    return Truth(references, "the example graph, demo", {"reference": "demo"}, [note])


def demo_answers() -> pd.DataFrame:
    r"""Return the demo model's answers: every fact of the example graph, with the numbers of right and wrong ones.

    ``demo_reference.parquet`` describes the run (model, weights, sentences, seed, date) in its metadata. It took 43
    minutes on one core::

        kgprobe load example
        kgprobe rounds run distractors --model demo --sampling sequential --learner independent \
            --rounds 64 --facts-per-round 320 --as-of 2026-11-23
    """
    with files("kgprobe.running").joinpath("demo_reference.parquet").open("rb") as file:
        answers: pd.DataFrame = pd.read_parquet(file)
    return answers


def demo_reference(seed: Sequence[int]) -> Reference:
    """Return a reference whose theta is drawn from its posterior given the demo model's answers.

    Eight answers leave a single theta uncertain: a fact without wrong answers may be wrong once in ten times. Theta is
    drawn from Beta(a + wrong, b + right), where a and b maximize the beta-binomial likelihood of all answers. The drawn
    values vary between facts as much as the model's do.
    """
    answers = demo_answers()
    right, wrong = answers["right"].to_numpy(np.float64), answers["wrong"].to_numpy(np.float64)
    a, b = fit_prior(right, wrong)
    return make_reference(answers, np.random.default_rng([*seed, 0]).beta(a + wrong, b + right))


def fit_prior(right: Floats, wrong: Floats) -> tuple[float, float]:
    """Return the maximum-likelihood parameters of theta's Beta distribution."""

    def cost(logs: Floats) -> float:
        a, b = np.exp(logs)
        return -float((special.betaln(a + wrong, b + right) - special.betaln(a, b)).sum())

    optimum = optimize.minimize(cost, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6})
    a, b = np.exp(optimum.x).tolist()
    return a, b


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
        return f"{self.sampling} + {self.learner}" if LEARNERS[self.learner].propagates else self.sampling


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


class SimulatedAnswers:
    """Simulated answers with known failure probabilities: the n-th answer about a fact is always the same."""

    def __init__(self, theta: Floats, seed: Sequence[int]) -> None:
        self._theta = theta
        self._seed = seed
        self._wrong: list[NDArray[np.bool_]] = []

    def wrong(self, positions: Positions, before: Positions) -> NDArray[np.bool_]:
        """Return True for wrong next answers; ``before`` counts earlier ones about each fact. All of shape (asked,)."""
        while len(self._wrong) <= before.max(initial=-1):
            generator = np.random.default_rng([*self._seed, 0, 1 + len(self._wrong)])
            self._wrong.append(generator.random(len(self._theta)) < self._theta)
        places = zip(before.tolist(), positions.tolist(), strict=True)
        return np.array([self._wrong[time][position] for time, position in places], dtype=np.bool_)


class _CountReplay:
    """Beliefs of the learners that count answers."""

    def __init__(self, reference: Reference, strategy: SamplingStrategy, max_degree: int) -> None:
        count = len(reference.theta)
        self._ends = FactEnds.of(reference.subjects, reference.objects, max_degree)
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
        if LEARNERS[self._strategy.learner].propagates:
            self._alpha, self._beta = 1 + received(self._ends, self._wrong), 1 + received(self._ends, self._right)
        else:
            self._alpha, self._beta = 1 + self._wrong, 1 + self._right

    def parameters(self) -> tuple[Floats, Floats]:
        return self._alpha, self._beta


class _ModelReplay:
    """Beliefs of the learners that have the hierarchical model."""

    def __init__(self, reference: Reference, strategy: SamplingStrategy, max_degree: int) -> None:
        effects = effects_of(reference.subjects, reference.objects, relations=reference.relations)
        self._model = HierarchicalModel.of(effects, max_degree)
        self._sampling = strategy.sampling
        self._all = np.arange(len(reference.theta))

    def choose(self, batch: int, number: int, generator: np.random.Generator) -> Positions:
        return choose(self._model.messages, self._sampling, batch, generator, number=number).positions

    def learn(self, positions: Positions, failed: NDArray[np.bool_]) -> None:
        self._model.learn(positions, failed)

    def parameters(self) -> tuple[Floats, Floats]:
        return beta_parameters(self._model.posterior(self._all))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A replay after some rounds; arrays have the shape (facts,).

    Attributes:
        number: number of rounds.
        right, wrong: numbers of own answers.
        last_asked: round in which each fact was asked last; 0 for never.
        alpha, beta: parameters of the beliefs.
    """

    number: int
    right: Floats
    wrong: Floats
    last_asked: Positions
    alpha: Floats
    beta: Floats

    @property
    def expected(self) -> Floats:
        """E[theta] = alpha / (alpha + beta)."""
        return self.alpha / (self.alpha + self.beta)


def replay(
    reference: Reference,
    strategy: SamplingStrategy,
    seed: Sequence[int],
    *,
    checkpoints: Sequence[int],
    batch: int = 64,
    max_degree: int = 1_000,
) -> Iterator[Snapshot]:
    """Simulate rounds; yield a snapshot at each checkpoint.

    Args:
        checkpoints: numbers of rounds, ascending, from 1 on.
        max_degree: entities with more facts of the reference do not propagate.

    Cost: each round is linear in the facts.
    """
    count = len(reference.theta)
    answers = SimulatedAnswers(reference.theta, seed)
    right, wrong = np.zeros(count), np.zeros(count)
    last_asked = np.zeros(count, dtype=np.int64)
    has_model = LEARNERS[strategy.learner].beliefs == "model"
    beliefs = (_ModelReplay if has_model else _CountReplay)(reference, strategy, max_degree)
    for number in range(1, max(checkpoints) + 1):
        drawn = beliefs.choose(batch, number, np.random.default_rng([*seed, number]))
        failed = answers.wrong(drawn, (right + wrong)[drawn].astype(np.int64))
        # The facts of a round are distinct.
        wrong[drawn] += failed
        right[drawn] += ~failed
        last_asked[drawn] = number
        beliefs.learn(drawn, failed)
        if number in checkpoints:
            yield Snapshot(number, right.copy(), wrong.copy(), last_asked.copy(), *beliefs.parameters())


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


def replay_metrics(theta: Floats, snapshot: Snapshot, hardest: Positions) -> dict[str, float]:
    """Return metrics of a replay after some rounds.

    ``requests``: number of questions so far. ``examined``: share of the facts with own answers. ``mse``,
    ``hardest_mse`` and ``mse_all``: mean squared error of E[theta] over the examined facts, over the examined ones of
    the hardest (NaN without any), and over all. ``coverage``: share of all facts
    with theta in the central 90% of Beta(alpha, beta). ``hardest_found``: share of the hardest facts among as many with
    the highest E[theta], ties by position.
    """
    answers = snapshot.right + snapshot.wrong
    examined = answers > 0
    squares = (snapshot.expected - theta) ** 2
    low, high = credible_interval(snapshot.alpha, snapshot.beta)
    seen = hardest[examined[hardest]]
    is_found = np.isin(hardest, highest(snapshot.expected, len(hardest)))
    return {
        "requests": int(answers.sum()),
        "examined": float(examined.mean()),
        "mse": float(squares[examined].mean()),
        "hardest_mse": float(squares[seen].mean()) if len(seen) else math.nan,
        "mse_all": float(squares.mean()),
        "coverage": float(((low <= theta) & (theta <= high)).mean()),
        "hardest_found": float(is_found.mean()),
    }
