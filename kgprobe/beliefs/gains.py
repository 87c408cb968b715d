"""How much the next answer about a fact would tell: of all facts' theta, or of which facts are the hardest.

docs/methods/sampling-rules.md.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kgprobe.beliefs.messages import Messages

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Points of the normal on the rarer side of a bound, each of the same probability.
_RARER = (np.arange(8) + 0.5) / 8
# Facts of which it is surer than this whether they are among the hardest are taken to be settled.
_NEGLIGIBLE = 1e-6
_BISECTIONS = 30


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


def hardest_gain(messages: Messages, facts: Positions, hardest: float) -> Floats:
    """By how much the next answer about each fact lowers the variance of whether it is a hard one, shape (facts,).

    Hard is what is above a bound in x, which is set so that ``hardest`` of the facts are expected above it. With H
    whether a fact is, its answer y lowers the variance of H by Cov(H, y)^2 / Var(y), and Cov(H, y) is P(H) times how
    much higher theta is expected above the bound than anywhere; or 1 - P(H) times how much lower below it, which is
    computed where that is the rarer case.

    Args:
        hardest: how many of ``facts`` are looked for, less than there are.

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
    some = np.flatnonzero(rarer > _NEGLIGIBLE)
    theta = messages.posterior(facts[some]).theta
    outwards = np.where(distance[some] < 0, deviation[some], -deviation[some])
    points = mean[some, None] - outwards[:, None] * special.ndtri(rarer[some, None] * _RARER)
    further = special.expit(points).mean(axis=1) - theta
    gain[some] = (rarer[some] * further) ** 2 / np.maximum(theta * (1 - theta), 1e-12)
    return gain
