"""Sampling rules for the hierarchical model: draw the facts of a round by what the model knows.

docs/methods/sampling-rules.md. ``hardest`` draws facts with probabilities that grow with the information of their next
answers on which facts are the hardest; ``information`` with how much they lower the expected error over all facts and
that of their mean; ``thompson`` draws every fact's x and takes the highest. Each draws a share of the round uniformly
among all facts, so that every fact can be drawn. As long as few facts have two answers, ``information`` gives a fifth
of a round to facts with one answer: one answer cannot separate a fact's own effect from luck.

Estimates of the whole graph need the probability with which each fact was drawn. It is unknown for the facts that
``thompson`` takes for their high draws, and NaN for them.

In a large graph a round considers ``CANDIDATES`` facts, drawn uniformly: its cost does not grow with the graph.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kgprobe.beliefs.draw import RoundChoice, turn_of
from kgprobe.beliefs.messages import Messages
from kgprobe.beliefs.register import SAMPLING_RULES

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Quantiles of the normal on the rarer side of a bound, at equal probabilities.
_RARER = (np.arange(8) + 0.5) / 8
# Facts with a smaller probability on the rarer side count as decided.
_NEGLIGIBLE = 1e-6
_BISECTIONS = 30


def expected_gain(messages: Messages, facts: Positions) -> Floats:
    """Return the approximate reduction of the summed variance of theta by an answer on each fact, shape (facts,).

    By linear approximation an answer y about f lowers the variance of theta_g by Cov(theta_g, y)^2 / Var(y), summed
    over f itself and the facts that share a part with it.

    Cost: linear in the facts.
    """
    known = messages.posterior(facts)
    luck = known.theta * (1 - known.theta)
    # Cov(theta, x) is Var(x) times this, for an approximately normal x.
    slope = luck - known.theta_variance
    _, before = messages.before(facts)
    parts, weights, cavity = messages.cavities(facts)
    slots = messages.slots(facts)
    site = np.where(slots >= 0, messages.sites[slots, 0], 0.0) if messages.answered else np.zeros(len(facts))
    # Covariance of theta with each part, and through the part with all other facts that share it.
    shared = (slope / (1 + site * before))[:, None] * weights * cavity
    touched, places = np.unique(parts, return_inverse=True)
    places = places.reshape(parts.shape)
    squares = np.bincount(places.ravel(), (shared**2).ravel(), len(touched))[places]
    _, variance = messages.marginals_of(touched)
    around = (shared**2 / variance[places] ** 2 * (squares - shared**2)).sum(axis=1)
    gain: Floats = (known.theta_variance**2 + around) / np.maximum(luck, 1e-12)
    return gain


def hardest_gain(messages: Messages, facts: Positions, hardest: float) -> Floats:
    """Return the reduction of the variance of H by an answer on each fact, shape (facts,).

    H is 1 for a hard fact: x above a bound that ``hardest`` facts are expected to exceed. An answer y lowers Var(H) by
    Cov(H, y)^2 / Var(y). Cov(H, y) is P(H) times the excess of E[theta | H = 1] over E[theta], or 1 - P(H) times the
    deficit of E[theta | H = 0]; the rarer case is computed.

    Args:
        hardest: number of hard facts, smaller than the number of ``facts``.

    Cost: linear in the facts.
    """
    mean, variance = messages.marginals(facts)
    deviation = np.sqrt(variance)
    low, high = float((mean - 9 * deviation).min()), float((mean + 9 * deviation).max())
    for _ in range(_BISECTIONS):
        bound = (low + high) / 2
        low, high = (bound, high) if special.ndtr((mean - bound) / deviation).sum() > hardest else (low, bound)
    distance = (mean - low) / deviation
    rarer = special.ndtr(-np.abs(distance))
    gain = np.zeros(len(facts))
    undecided = np.flatnonzero(rarer > _NEGLIGIBLE)
    theta = messages.posterior(facts[undecided]).theta
    outwards = np.where(distance[undecided] < 0, deviation[undecided], -deviation[undecided])
    points = mean[undecided, None] - outwards[:, None] * special.ndtri(rarer[undecided, None] * _RARER)
    excess = special.expit(points).mean(axis=1) - theta
    gain[undecided] = (rarer[undecided] * excess) ** 2 / np.maximum(theta * (1 - theta), 1e-12)
    return gain


CANDIDATES = 100_000

# Number of facts that ``hardest`` looks for; in small graphs this share of all.
HARDEST = 100
_HARDEST_SHARE = 1 / 10
# Share of a round for facts with one answer, and the number of facts with two that suffices to learn the variance of
# the effects of single facts.
_AGAIN = 1 / 5
_ENOUGH_AGAIN = 300
# Exponent of the gain. With 1 a round is spread wider than is best for the error over all facts; with 4 the facts that
# are drawn seldom get too large weights in estimates.
_SHARPNESS = 2.0


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The facts that a round can draw, with the request.

    Attributes:
        messages: the hierarchical model's messages.
        askable: positions of the facts that can be asked, ascending.
        considered: number of facts to consider, at most.
        uniform_share: share of the round that is drawn uniformly, in (0, 1]; None for the rule's own.
    """

    messages: Messages
    askable: Positions
    size: int
    number: int
    considered: int
    uniform_share: float | None
    generator: np.random.Generator

    def candidates(self) -> tuple[Positions, float, int]:
        """Draw the facts to consider: ascending, the probability of each to be among them, the number to draw."""
        most = max(self.considered, self.size)
        if len(self.askable) <= most:
            return self.askable, 1.0, min(self.size, len(self.askable))
        drawn = self.generator.choice(len(self.askable), most, replace=False)
        return np.sort(self.askable[drawn]), most / len(self.askable), self.size


def choose(
    messages: Messages,
    sampling: str,
    size: int,
    generator: np.random.Generator,
    *,
    left_out: NDArray[np.bool_] | None = None,
    number: int = 1,
    candidates: int = CANDIDATES,
    uniform_share: float | None = None,
) -> RoundChoice:
    """Draw the facts of a round.

    Args:
        sampling: one of :data:`kgprobe.beliefs.register.SAMPLING_RULES`.
        left_out: True for facts that cannot be asked, shape (facts,).
        uniform_share: share of the round that is drawn uniformly, in (0, 1]; None is the default of the sampling rule.

    Cost: linear in the candidates, and one pass over ``left_out``.
    """
    askable = np.arange(messages.effects.count) if left_out is None else np.flatnonzero(~left_out)
    if not len(askable) or not size:
        return RoundChoice(np.empty(0, np.int64), np.empty(0), np.nan)
    rule: Callable[[CandidatePool], RoundChoice] = resolve_name(SAMPLING_RULES[sampling].model or "")
    return rule(CandidatePool(messages, askable, size, number, candidates, uniform_share, generator))


def sequential(pool: CandidatePool) -> RoundChoice:
    """Take all facts in turn; their probabilities are unknown."""
    count = pool.messages.effects.count
    turn = turn_of(count, min(pool.size, count), pool.number)
    positions = turn[np.isin(turn, pool.askable)]
    return RoundChoice(positions, np.full(len(positions), np.nan), np.nan)


def uniform(pool: CandidatePool) -> RoundChoice:
    """Draw facts uniformly."""
    considered, share, size = pool.candidates()
    places = pool.generator.choice(len(considered), size, replace=False)
    chance = share * size / len(considered)
    return RoundChoice(considered[places], np.full(size, chance), chance)


def thompson(pool: CandidatePool) -> RoundChoice:
    """Draw x of every fact and take the highest, after an eighth of the round drawn uniformly."""
    considered, share, size = pool.candidates()
    uniform_share = 1 / 8 if pool.uniform_share is None else pool.uniform_share
    drawn = pool.generator.choice(len(considered), max(1, round(uniform_share * size)), replace=False)
    mean, variance = pool.messages.marginals(considered)
    draws = pool.generator.normal(mean, np.sqrt(variance))
    draws[drawn] = -np.inf
    highest = np.argsort(-draws, kind="stable")[: size - len(drawn)]
    chance = share * len(drawn) / len(considered)
    chances = np.concatenate([np.full(len(drawn), chance), np.full(len(highest), np.nan)])
    return RoundChoice(considered[np.concatenate([drawn, highest])], chances, chance)


def hardest(pool: CandidatePool) -> RoundChoice:
    """Draw facts by their information on which facts are the hardest; half of the round uniformly."""

    def preferred(messages: Messages, facts: Positions) -> Floats:
        # A part of all facts contains a part of the hardest.
        count = messages.effects.count
        looked_for = min(_HARDEST_SHARE * count, HARDEST) * len(facts) / count
        return _shares(hardest_gain(messages, facts, looked_for) ** _SHARPNESS)

    return _draw_by_gain(pool, preferred, 1 / 2)


def information(pool: CandidatePool) -> RoundChoice:
    """Draw facts by their information on all facts and on the mean; an eighth of the round uniformly."""
    return _draw_by_gain(pool, _informative, 1 / 8)


def _draw_by_gain(
    pool: CandidatePool, preferred: Callable[[Messages, Positions], Floats], uniform_share: float
) -> RoundChoice:
    """Draw facts with probabilities of a uniform share and a preferred one."""
    considered, share, size = pool.candidates()
    if pool.uniform_share is not None:
        uniform_share = pool.uniform_share
    floor = uniform_share / len(considered)
    chances = chances_of((1 - uniform_share) * preferred(pool.messages, considered) + floor, size)
    places = draw_by(chances, pool.generator)
    # A fact outside the candidates has a probability of at least the floor.
    smallest = float(chances.min()) if share == 1 else size * floor
    return RoundChoice(considered[places], share * chances[places], share * smallest)


def _informative(messages: Messages, facts: Positions) -> Floats:
    """Return the preferred share of each fact in a round, shape (facts,): by the information of its answer on all.

    One half is for the beliefs about single facts, the other for the mean of all. With predicted probabilities of a
    wrong answer, the variance of the mean is least if facts are drawn as often as their answers are uncertain.
    """
    theta = messages.posterior(facts).theta
    of_facts, of_mean = _shares(expected_gain(messages, facts) ** _SHARPNESS), _shares(np.sqrt(theta * (1 - theta)))
    preferred = (of_facts + of_mean) / 2
    if (messages.answers > 1).sum() < _ENOUGH_AGAIN:
        slots = messages.slots(facts)
        once = (slots >= 0) & (messages.answers[slots] == 1) if messages.answered else np.zeros(len(facts), np.bool_)
        if once.any():
            preferred = (1 - _AGAIN) * preferred + _AGAIN * _shares(once.astype(np.float64))
    return preferred


def chances_of(shares: Floats, size: int) -> Floats:
    """Return the probability of each fact to be in a round, shape (facts,), summing up to ``size``.

    >>> chances_of(np.array([0.7, 0.2, 0.1]), 2).round(3)
    array([1.   , 0.667, 0.333])

    Args:
        shares: of each fact in the round, from 0, summing up to 1, shape (facts,).
        size: number of facts in the round, at most as many as have a share.
    """
    # The excess of probabilities above 1 goes to the other facts.
    chances = np.minimum(1.0, size * shares)
    for _ in range(len(chances)):
        short = size - chances.sum()
        free = chances < 1
        if short <= 1e-9 * size or not free.any():
            break
        chances[free] = np.minimum(1.0, chances[free] * (1 + short / chances[free].sum()))
    return chances


def _shares(values: Floats) -> Floats:
    """Return values divided by their sum; equal shares if they sum up to 0."""
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def draw_by(chances: Floats, generator: np.random.Generator) -> Positions:
    """Draw places with these probabilities, as many as their sum: systematically, in random order (Madow, 1949).

    Args:
        chances: shape (facts,), in [0, 1], summing up to a whole number.

    Returns:
        ascending, all different.
    """
    order = generator.permutation(len(chances))
    ends = np.cumsum(chances[order])
    # The sum is a whole number up to rounding.
    size = round(float(ends[-1]))
    ticks = (np.arange(size) + generator.random()) * (ends[-1] / size)
    return np.sort(order[np.searchsorted(ends, ticks, side="right").clip(max=len(order) - 1)])
