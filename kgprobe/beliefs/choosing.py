"""Which facts to ask next, by what the learner knows: those that probably fail, or those that tell most.

docs/methods/sampling-rules.md. Looking for what a model does not know and estimating how much that is are two aims:
``hardest`` draws facts with probabilities that grow with how much their next answers tell of which facts are the
hardest, ``information`` with how much they lower the expected error over all facts and that of their mean;
``thompson`` draws every fact's x and takes the highest. Each gives a share of a round to facts drawn uniformly among
all, so that no fact is out of reach; and as long as few facts have had two answers, ``information`` gives a fifth of a
round to facts that have had one, since one answer cannot tell a fact's own part from luck.

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
from kgprobe.beliefs.gains import expected_gain, hardest_gain
from kgprobe.beliefs.messages import Messages

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

CANDIDATES = 100_000

# How many facts ``hardest`` looks for; in small graphs this share of all.
HARDEST = 100
_HARDEST_SHARE = 1 / 10
# Shares of a round, and how many facts with two answers are enough to learn the variance of what they have of their
# own.
_UNIFORM = {"thompson": 1 / 8, "information": 1 / 8, "hardest": 1 / 2}
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
        smallest: the smallest inclusion probability of any fact that the round could have drawn; NaN where unknown.
    """

    positions: Positions
    probabilities: Floats
    smallest: float


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
) -> Chosen:
    """The facts that a round asks.

    Args:
        sampling: ``hardest``, ``thompson`` or ``information``; ``monte-carlo``, which draws all of the round uniformly;
            or ``iteration``, which goes round through all facts in turn.
        size: how many, or all facts where there are fewer.
        left_out: True of facts that cannot be asked, shape (facts,).
        number: of the round, from 1 on.
        candidates: how many facts are looked at, at most.
        uniform_share: share of the round that is drawn uniformly, in (0, 1]; None is the default of the sampling rule.

    Cost: linear in the candidates, and one pass over ``left_out``.
    """
    if sampling == "iteration":
        count = messages.effects.count
        positions = turn_of(count, min(size, count), number)
        positions = positions if left_out is None else positions[~left_out[positions]]
        return Chosen(positions, np.full(len(positions), np.nan), np.nan)
    looked_at, share = _candidates(messages.effects.count, left_out, max(candidates, size), generator)
    size = min(size, len(looked_at))
    if not size:
        return Chosen(np.empty(0, np.int64), np.empty(0), np.nan)
    if sampling == "monte-carlo":
        places = generator.choice(len(looked_at), size, replace=False)
        chance = share * size / len(looked_at)
        return Chosen(looked_at[places], np.full(size, chance), chance)
    uniform_share = _UNIFORM[sampling] if uniform_share is None else uniform_share
    if sampling in ("information", "hardest"):
        preferred = _informative if sampling == "information" else _probably_hardest
        floor = uniform_share / len(looked_at)
        chances = chances_of((1 - uniform_share) * preferred(messages, looked_at) + floor, size)
        places = draw_by(chances, generator)
        # A fact that this round did not look at has a probability of at least the floor.
        smallest = float(chances.min()) if share == 1 else size * floor
        return Chosen(looked_at[places], share * chances[places], share * smallest)
    uniform = generator.choice(len(looked_at), max(1, round(uniform_share * size)), replace=False)
    mean, variance = messages.marginals(looked_at)
    draws = generator.normal(mean, np.sqrt(variance))
    draws[uniform] = -np.inf
    highest = np.argsort(-draws, kind="stable")[: size - len(uniform)]
    chance = share * len(uniform) / len(looked_at)
    known = np.concatenate([np.full(len(uniform), chance), np.full(len(highest), np.nan)])
    return Chosen(looked_at[np.concatenate([uniform, highest])], known, chance)


def _candidates(
    count: int, left_out: NDArray[np.bool_] | None, most: int, generator: np.random.Generator
) -> tuple[Positions, float]:
    """The facts that a round looks at, ascending, and with which probability each was among them."""
    askable = np.arange(count) if left_out is None else np.flatnonzero(~left_out)
    if len(askable) <= most:
        return askable, 1.0
    return np.sort(askable[generator.choice(len(askable), most, replace=False)]), most / len(askable)


def _informative(messages: Messages, facts: Positions) -> Floats:
    """Return the preferred share of each fact in a round, shape (facts,): by the information of its answer on all.

    One half is for what is known of each fact. The other is for the mean of all: with predictions that say how
    probably an answer is wrong, its variance is least where facts are drawn as often as their answers are uncertain.
    """
    theta = messages.posterior(facts).theta
    of_facts, of_mean = _shares(expected_gain(messages, facts) ** _SHARPNESS), _shares(np.sqrt(theta * (1 - theta)))
    wanted = (of_facts + of_mean) / 2
    if (messages.answers > 1).sum() < _ENOUGH_AGAIN:
        slots = messages.slots(facts)
        once = (slots >= 0) & (messages.answers[slots] == 1) if messages.answered else np.zeros(len(facts), np.bool_)
        if once.any():
            wanted = (1 - _AGAIN) * wanted + _AGAIN * _shares(once.astype(np.float64))
    return wanted


def _probably_hardest(messages: Messages, facts: Positions) -> Floats:
    """Return the preferred share of each fact in a round, shape (facts,): by its information on the hardest facts."""
    # Where not all facts are looked at, so are not all of the hardest.
    looked_for = min(_HARDEST_SHARE * messages.effects.count, HARDEST) * len(facts) / messages.effects.count
    return _shares(hardest_gain(messages, facts, looked_for) ** _SHARPNESS)


def chances_of(wanted: Floats, size: int) -> Floats:
    """With which probability each fact is in a round, shape (facts,), given its share of it; they sum up to ``size``.

    >>> chances_of(np.array([0.7, 0.2, 0.1]), 2).round(3)
    array([1.   , 0.667, 0.333])

    Args:
        wanted: shares from 0, summing up to 1, shape (facts,).
        size: how many facts the round asks, at most as many as have a share.
    """
    # What would be drawn more often than always leaves its excess to the others.
    chances = np.minimum(1.0, size * wanted)
    for _ in range(len(chances)):
        short = size - chances.sum()
        free = chances < 1
        if short <= 1e-9 * size or not free.any():
            break
        chances[free] = np.minimum(1.0, chances[free] * (1 + short / chances[free].sum()))
    return chances


def _shares(values: Floats) -> Floats:
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def draw_by(chances: Floats, generator: np.random.Generator) -> Positions:
    """Places drawn with these probabilities, as many as their sum: systematically, in random order (Madow, 1949).

    Args:
        chances: shape (facts,), in [0, 1], summing up to a whole number.

    Returns:
        ascending, all different.
    """
    order = generator.permutation(len(chances))
    ends = np.cumsum(chances[order])
    # The sum is a whole number but for rounding.
    size = round(float(ends[-1]))
    ticks = (np.arange(size) + generator.random()) * (ends[-1] / size)
    return np.sort(order[np.searchsorted(ends, ticks, side="right").clip(max=len(order) - 1)])
