"""Expected information of the next answer about a fact: on theta of all facts, or on the set of the hardest facts.

docs/methods/sampling-rules.md.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kgprobe.beliefs.messages import Messages

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
    site = np.where(slots >= 0, messages.site_precision[slots], 0.0) if messages.answered else np.zeros(len(facts))
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
