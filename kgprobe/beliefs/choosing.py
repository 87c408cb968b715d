"""Which facts to ask next, by what the learner knows: those that probably fail, or those that tell most.

docs/methods.md, What to ask. Looking for what a model does not know and estimating how much that is are two aims:
``thompson`` draws every fact's x and takes the highest, ``information`` draws facts with probabilities that grow with
how much their next answers lower the expected error over all facts. Either gives a share of each round to facts drawn
uniformly among all, so that no fact is out of reach; and as long as few facts have had two answers, ``information``
gives a fifth of a round to facts that have had one, since one answer cannot tell a fact's own part from luck.

Of each fact it is told with which probability it was drawn in this round, as far as that can be said: an estimate of
the whole graph needs it. Which facts have the highest draws cannot be said; of those that ``thompson`` chose, it is
NaN.

In a graph of many facts a round looks at ``CANDIDATES`` of them, drawn uniformly: it costs the same however large the
graph is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.draw import turn_of
from kgprobe.beliefs.messages import Messages

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

CANDIDATES = 100_000

# Shares of a round, and how many facts with two answers are enough to learn the variance of what they have of their
# own.
_UNIFORM = 1 / 8
_AGAIN = 1 / 5
_ENOUGH_AGAIN = 300
# Probabilities grow with the gain to this power: 1 asks more widely than the error over all facts wants, and with 4 the
# facts that are drawn seldom weigh too much in estimates.
_SHARPNESS = 2.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """The facts of a round.

    Attributes:
        positions: all different, shape (asked,).
        probabilities: with which each was drawn, given all that was known before; in (0, 1], shape (asked,). NaN for a
            fact that was taken for its high draw: a uniform draw of the same round might have taken it as well, and
            did not.
    """

    positions: Positions
    probabilities: Floats


def choose(
    messages: Messages,
    sampling: str,
    size: int,
    generator: np.random.Generator,
    *,
    left_out: NDArray[np.bool_] | None = None,
    number: int = 1,
    candidates: int = CANDIDATES,
) -> Chosen:
    """The facts that a round asks.

    Args:
        sampling: ``thompson``, ``information``, ``monte-carlo``, which draws all of the round uniformly, or
            ``iteration``, which goes round through all facts in turn.
        size: how many, or all facts where there are fewer.
        left_out: True of facts that cannot be asked, shape (facts,).
        number: of the round, from 1 on.
        candidates: how many facts are looked at, at most.

    Cost: linear in the candidates, and one pass over ``left_out``.
    """
    if sampling == "iteration":
        count = messages.effects.count
        positions = turn_of(count, min(size, count), number)
        positions = positions if left_out is None else positions[~left_out[positions]]
        return Chosen(positions, np.full(len(positions), np.nan))
    looked_at, share = _candidates(messages.effects.count, left_out, max(candidates, size), generator)
    size = min(size, len(looked_at))
    if not size:
        return Chosen(np.empty(0, np.int64), np.empty(0))
    if sampling == "monte-carlo":
        places = generator.choice(len(looked_at), size, replace=False)
        return Chosen(looked_at[places], np.full(size, share * size / len(looked_at)))
    if sampling == "information":
        chances = _information_chances(messages, looked_at, size)
        places = _drawn(chances, generator)
        return Chosen(looked_at[places], share * chances[places])
    uniform = generator.choice(len(looked_at), max(1, round(_UNIFORM * size)), replace=False)
    mean, variance = messages.marginals(looked_at)
    draws = generator.normal(mean, np.sqrt(variance))
    draws[uniform] = -np.inf
    highest = np.argsort(-draws, kind="stable")[: size - len(uniform)]
    known = np.full(len(uniform), share * len(uniform) / len(looked_at))
    return Chosen(looked_at[np.concatenate([uniform, highest])], np.concatenate([known, np.full(len(highest), np.nan)]))


def _candidates(
    count: int, left_out: NDArray[np.bool_] | None, most: int, generator: np.random.Generator
) -> tuple[Positions, float]:
    """The facts that a round looks at, ascending, and with which probability each was among them."""
    askable = np.arange(count) if left_out is None else np.flatnonzero(~left_out)
    if len(askable) <= most:
        return askable, 1.0
    return np.sort(askable[generator.choice(len(askable), most, replace=False)]), most / len(askable)


def _information_chances(messages: Messages, facts: Positions, size: int) -> Floats:
    """With which probability each of some facts is in a round, shape (facts,); they sum up to ``size``."""
    gain = expected_gain(messages, facts)
    wanted = (1 - _UNIFORM) * _shares(gain**_SHARPNESS) + _UNIFORM / len(facts)
    if (messages.answers > 1).sum() < _ENOUGH_AGAIN:
        slots = messages.slots(facts)
        once = (slots >= 0) & (messages.answers[slots] == 1) if messages.answered else np.zeros(len(facts), np.bool_)
        if once.any():
            wanted = (1 - _AGAIN) * wanted + _AGAIN * _shares(once.astype(np.float64))
    # What would be drawn more often than always leaves its excess to the others.
    chances = np.minimum(1.0, size * wanted)
    for _ in range(len(facts)):
        short = size - chances.sum()
        free = chances < 1
        if short <= 1e-9 * size or not free.any():
            break
        chances[free] = np.minimum(1.0, chances[free] * (1 + short / chances[free].sum()))
    return chances


def _shares(values: Floats) -> Floats:
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def _drawn(chances: Floats, generator: np.random.Generator) -> Positions:
    """Places drawn with these probabilities, as many as their sum: systematically, in random order (Madow, 1949)."""
    order = generator.permutation(len(chances))
    ends = np.cumsum(chances[order])
    # The sum is a whole number but for rounding.
    size = round(float(ends[-1]))
    ticks = (np.arange(size) + generator.random()) * (ends[-1] / size)
    return np.sort(order[np.searchsorted(ends, ticks, side="right").clip(max=len(order) - 1)])


def expected_gain(messages: Messages, facts: Positions) -> Floats:
    """By how much the next answer about each fact lowers the summed variance of theta of all, about; shape (facts,).

    An answer y about f lowers the variance of theta_g by Cov(theta_g, y)^2 / Var(y), as far as theta_g depends on it
    linearly. That is summed over f itself and those of the facts that share a part with it.

    Cost: linear in the facts.
    """
    known = messages.posterior(facts)
    luck = known.theta * (1 - known.theta)
    # The covariance of theta and x is the variance of x times this, as x is about normal.
    slope = luck - known.theta_variance
    _, before = messages.before(facts)
    parts, weights, cavity = messages.cavities(facts)
    slots = messages.slots(facts)
    site = np.where(slots >= 0, messages.site_precision[slots], 0.0) if messages.answered else np.zeros(len(facts))
    # Covariance of theta with each part, and through the part with all others that have it.
    shared = (slope / (1 + site * before))[:, None] * weights * cavity
    touched, places = np.unique(parts, return_inverse=True)
    places = places.reshape(parts.shape)
    squares = np.bincount(places.ravel(), (shared**2).ravel(), len(touched))[places]
    _, variance = messages.marginals_of(touched)
    around = (shared**2 / variance[places] ** 2 * (squares - shared**2)).sum(axis=1)
    gain: Floats = (known.theta_variance**2 + around) / np.maximum(luck, 1e-12)
    return gain
