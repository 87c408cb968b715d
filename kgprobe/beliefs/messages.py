"""Expectation propagation by messages between facts and their parts.

docs/methods/learner.md; Minka 2001, and Herbrich, Minka and Graepel 2006 for messages between many small
factors. A fact's answers are a factor of x, x is a sum of parts, and each part has a normal marginal: its prior times
one message of each answered fact. To refresh a fact: divide its messages out of the marginals of its parts (the
cavities), sum the cavities to the distribution of x without its answers, multiply the answers in
(:func:`tilted`), and send the result to each part. If the facts form a tree, this is expectation propagation with one
joint normal of all parts; else it is an approximation (docs/methods/learner.md has its accuracy).

A fact fails with theta = sigma(x), x is normal before its answers, and k of n answers were wrong. The product, the
*tilted* distribution, has no closed moments. It is log-concave, so Gauss–Hermite nodes around its mode, scaled by the
curvature there, are accurate even after a thousand wrong answers out of a thousand.

Memory: 12 bytes for each fact of the graph and each part, and the state of the answered facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kgprobe.beliefs.effects import Effects

Floats = NDArray[np.float64]

_NODES = 24
_NEWTON_STEPS = 6

# Columns; facts are along the rows.
_STANDARD_NODES, _WEIGHTS = (column[:, None] for column in np.polynomial.hermite_e.hermegauss(_NODES))
_LOG_WEIGHTS = np.log(_WEIGHTS) + _STANDARD_NODES**2 / 2


@dataclass(frozen=True, slots=True)
class Tilted:
    """Moments of x and of theta = sigma(x), each of shape (facts,).

    Attributes:
        mean, variance: of x.
        theta, theta_variance: mean and variance of theta, in (0, 1) and below theta * (1 - theta).
    """

    mean: Floats
    variance: Floats
    theta: Floats
    theta_variance: Floats


def tilted(mean: Floats, variance: Floats, wrong: Floats, answers: Floats) -> Tilted:
    """Return moments of the normalised N(x; mean, variance) * sigma(x)^wrong * (1 - sigma(x))^(answers - wrong).

    >>> import numpy as np
    >>> moments = tilted(np.zeros(1), np.ones(1), np.ones(1), np.ones(1))
    >>> round(float(moments.mean[0]), 3), round(float(moments.theta[0]), 3)
    (0.413, 0.587)

    Args:
        mean, variance: of x before its answers, shape (facts,); variances above 0.
        wrong, answers: number of wrong answers and of all answers, shape (facts,); 0 gives the normal itself.

    Cost: linear in the facts, some 30 logistic functions each. Means are within 0.02 standard deviations for variances
    up to 36 (tests compare with adaptive quadrature).
    """
    centre, spread = _mode(mean, variance, wrong, answers)
    nodes = centre + spread * _STANDARD_NODES
    # log(1 + exp(x)), without overflow.
    smaller = np.exp(-np.abs(nodes))
    below = np.maximum(nodes, 0) + np.log1p(smaller)
    density = wrong * nodes - answers * below - (nodes - mean) ** 2 / (2 * variance) + _LOG_WEIGHTS
    weights = np.exp(density - density.max(axis=0))
    weights /= weights.sum(axis=0)
    mean_after = (weights * nodes).sum(axis=0)
    variance_after = (weights * (nodes - mean_after) ** 2).sum(axis=0)
    theta_at = np.where(nodes > 0, 1.0, smaller) / (1 + smaller)
    theta = (weights * theta_at).sum(axis=0)
    theta_variance = (weights * (theta_at - theta) ** 2).sum(axis=0)
    return Tilted(mean_after, variance_after, theta, theta_variance)


def _mode(mean: Floats, variance: Floats, wrong: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Return the mode and the standard deviation that corresponds to the curvature there."""
    # sigma's tails bound the mode; without bounds Newton's steps diverge for saturated answers.
    right = answers - wrong
    low = np.maximum(mean - variance * right, np.minimum(mean, 0) - np.log1p(variance * right) - 1)
    high = np.minimum(mean + variance * wrong, np.maximum(mean, 0) + np.log1p(variance * wrong) + 1)
    share = (wrong + 0.5) / (answers + 1)
    certainty = answers * share * (1 - share)
    at = np.clip((mean / variance + certainty * special.logit(share)) / (1 / variance + certainty), low, high)
    curvature = 1 / variance
    for _ in range(_NEWTON_STEPS):
        theta = special.expit(at)
        slope = wrong - answers * theta - (at - mean) / variance
        low, high = np.where(slope > 0, at, low), np.where(slope > 0, high, at)
        curvature = answers * theta * (1 - theta) + 1 / variance
        newton = at + slope / curvature
        at = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
    return at, 1 / np.sqrt(curvature)


Positions = NDArray[np.int64]

_DAMPING = 0.6

# Messages have converged if no marginal moves by more than this many of its standard deviations in a sweep.
TOLERANCE = 1e-3

_FIRST_SLOTS = 256


@dataclass(frozen=True, slots=True)
class Variances:
    """Variances of parts.

    Attributes:
        kinds: of each kind of parts, in the order of ``Effects.kinds``, shape (kinds,).
        own: of the own parts of facts.
    """

    kinds: Floats
    own: float


class Messages:
    """The state of a fit: answers, sites and messages of the answered facts, and their sum for each part (``heard``).

    Normals are stored as precision and precision times mean. An answered fact has a slot, in the order of the first
    answers.
    """

    def __init__(self, effects: Effects, variances: Variances, max_degree: int) -> None:
        """Start without answers.

        Args:
            max_degree: the facts of a part with more answered facts are not refreshed when the part has moved.
        """
        self.effects, self.variances = effects, variances
        self._max_degree = max_degree
        self._kinds_of_places = effects.kinds_of_places()
        width = len(self._kinds_of_places)
        self._slot_of = np.full(effects.count, -1, np.int32)
        self.answered = 0
        self._position = np.empty(_FIRST_SLOTS, np.int64)
        self._counts = np.zeros((_FIRST_SLOTS, 2))
        self._site = np.zeros((_FIRST_SLOTS, 2))
        self._sent = np.zeros((_FIRST_SLOTS, width, 2))
        self._parts = np.empty((_FIRST_SLOTS, width), np.int64)
        self._weights = np.empty((_FIRST_SLOTS, width))
        self.heard = np.zeros((effects.all_parts, 2))
        # Slots of the answered facts of each part.
        self._around: dict[int, list[int]] = {}

    @property
    def positions(self) -> Positions:
        """Positions of the answered facts by slot."""
        return self._position[: self.answered]

    @property
    def answers(self) -> Floats:
        """Number of answers by slot."""
        return self._counts[: self.answered, 1]

    @property
    def sites(self) -> Floats:
        """Precision and precision times mean that the answers contribute to x, by slot; shape (answered, 2)."""
        return self._site[: self.answered]

    def parts_of(self, slots: Positions) -> Positions:
        """Return the parts of answered facts, shape (slots, parts of a fact)."""
        return self._parts[slots]

    def slots(self, facts: Positions) -> Positions:
        """Return the slots of facts, -1 for a fact without an answer."""
        return self._slot_of[facts].astype(np.int64)

    def add(self, facts: Positions, wrong: NDArray[np.bool_]) -> Positions:
        """Add an answer to each of some distinct facts, and return their slots."""
        new = facts[self._slot_of[facts] < 0]
        if len(new):
            self._grow(self.answered + len(new))
            slots = np.arange(self.answered, self.answered + len(new))
            self._slot_of[new] = slots
            self._position[slots] = new
            self._parts[slots], self._weights[slots] = self.effects.of(new)
            self.answered += len(new)
            for slot, parts in zip(slots.tolist(), self._parts[slots].tolist(), strict=True):
                for part in dict.fromkeys(parts):
                    self._around.setdefault(part, []).append(slot)
        slots = self.slots(facts)
        self._counts[slots, 0] += wrong
        self._counts[slots, 1] += 1
        return slots

    def state(self) -> dict[str, NDArray[Any]]:
        """Return answers, sites, messages and variances as arrays."""
        used = slice(self.answered)
        return {
            "positions": self._position[used],
            "counts": self._counts[used],
            "site": self._site[used],
            "sent": self._sent[used],
            "heard": self.heard[np.unique(self._parts[used])],
            "variances": np.append(self.variances.kinds, self.variances.own),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Set a state that :meth:`state` returned for the same effects; there must be no answers yet."""
        positions = state["positions"]
        used = self.add(positions, np.zeros(len(positions), np.bool_))
        self._counts[used], self._site[used], self._sent[used] = state["counts"], state["site"], state["sent"]
        self.heard[np.unique(self._parts[used])] = state["heard"]
        self.variances = Variances(state["variances"][:-1], float(state["variances"][-1]))

    def _grow(self, size: int) -> None:
        capacity = len(self._position)
        if size <= capacity:
            return
        more = max(capacity, size - capacity)
        for name in ("_position", "_counts", "_site", "_sent", "_parts", "_weights"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros((more, *column.shape[1:]), column.dtype)]))

    def around(self, parts: Positions) -> Positions:
        """Return the distinct slots of the answered facts of parts, ascending, without parts of too many facts."""
        slots: set[int] = set()
        for part in parts.tolist():
            of_part = self._around.get(part, ())
            if len(of_part) <= self._max_degree:
                slots.update(of_part)
        return np.sort(np.fromiter(slots, np.int64, len(slots)))

    def marginals_of(self, parts: Positions) -> tuple[Floats, Floats]:
        """Return mean and variance of parts, each of the same shape."""
        heard = self.heard[parts]
        precision = 1 / self.variances.kinds[self.effects.kinds_of(parts)] + heard[..., 0]
        return heard[..., 1] / precision, 1 / precision

    def before(self, facts: Positions) -> tuple[Floats, Floats]:
        """Return mean and variance of x of some facts without their own answers, each of shape (facts,)."""
        parts, weights = self.effects.of(facts)
        heard = self.heard[parts]
        slots = self._slot_of[facts]
        has_answers = slots >= 0
        heard[has_answers] -= self._sent[slots[has_answers]]
        return self._summed(weights, heard)

    def before_own(self, slots: Positions) -> tuple[Floats, Floats]:
        """Return mean and variance of x of some answered facts without their own answers, each of shape (slots,)."""
        return self._summed(self._weights[slots], self.heard[self._parts[slots]] - self._sent[slots])

    def marginals(self, facts: Positions) -> tuple[Floats, Floats]:
        """Return mean and variance of x of some facts with their own answers (sites), each of shape (facts,)."""
        slots = self._slot_of[facts]
        return with_answers(*self.before(facts), np.where((slots >= 0)[:, None], self._site[slots], 0.0))

    def posterior(self, facts: Positions) -> Tilted:
        """Return moments of x and theta of some facts, asked or not. Cost: linear in these."""
        slots = self._slot_of[facts]
        counts = np.where((slots >= 0)[:, None], self._counts[slots], 0.0)
        return tilted(*self.before(facts), counts[:, 0], counts[:, 1])

    def refresh(self, slots: Positions, tolerance: float = TOLERANCE) -> tuple[NDArray[np.bool_], Positions]:
        """Update the messages of some answered facts in parallel.

        Args:
            slots: distinct.
            tolerance: smallest move, in standard deviations.

        Returns:
            True for the facts that have not converged, shape (slots,), and the distinct parts that have moved.
        """
        parts, weights = self._parts[slots], self._weights[slots]
        mean, variance = self.before_own(slots)
        after = tilted(mean, variance, self._counts[slots, 0], self._counts[slots, 1])
        # The tilted distribution is narrower than the cavity; rounding can contradict it.
        site = np.stack(
            [np.maximum(1 / after.variance - 1 / variance, 1e-12), after.mean / after.variance - mean / variance],
            axis=1,
        )
        moved = _DAMPING * (site - self._site[slots])
        self._site[slots] += moved
        site = self._site[slots]

        touched, places = np.unique(parts, return_inverse=True)
        places = places.reshape(parts.shape)
        mean_before, variance_before = self.marginals_of(touched)
        # Contiguous columns, of precision and of precision times mean, are faster.
        prior, (site_precision, site_shift) = self._prior(), site.T.copy()
        heard, sent = self.heard[touched].T.copy(), np.moveaxis(self._sent[slots], 2, 0).copy()
        # All places in parallel would overshoot: the mean and the entities would each explain the same error.
        for place, among in enumerate(places.T):
            precision = prior + (heard[0][places] - sent[0])
            means, variances = (heard[1][places] - sent[1]) / precision, 1 / precision
            weight = weights[:, place]
            others_mean = (weights * means).sum(axis=1) - weight * means[:, place]
            squares = weights**2 * variances
            others_variance = squares.sum(axis=1) + self.variances.own - weight**2 * variances[:, place]
            share = weight / (1 + site_precision * others_variance)
            columns = weight * site_precision * share, (site_shift - site_precision * others_mean) * share
            for column, messages in enumerate(columns):
                heard[column] += np.bincount(among, messages - sent[column, :, place], len(touched))
                sent[column, :, place] = messages
        self.heard[touched], self._sent[slots] = heard.T, np.moveaxis(sent, 0, 2)
        mean_after, variance_after = self.marginals_of(touched)
        step = np.abs(mean_after - mean_before) / np.sqrt(variance_before)
        step = np.maximum(step, np.abs(np.sqrt(variance_before / variance_after) - 1))
        unsettled = np.abs(moved[:, 1]) + np.abs(moved[:, 0] * mean)
        return unsettled * np.sqrt(after.variance) > tolerance, touched[step > tolerance]

    def cavities(self, facts: Positions) -> tuple[Positions, Floats, Floats]:
        """Return parts, weights and cavity variances of facts, each of shape (facts, parts of a fact)."""
        parts, weights = self.effects.of(facts)
        heard = self.heard[parts][..., 0]
        slots = self._slot_of[facts]
        has_answers = slots >= 0
        heard[has_answers] -= self._sent[slots[has_answers]][..., 0]
        return parts, weights, 1 / (self._prior() + heard)

    def _prior(self) -> Floats:
        """Return the prior precision of the parts of a fact, shape (parts of a fact,)."""
        return 1 / self.variances.kinds[self._kinds_of_places]

    def _summed(self, weights: Floats, heard: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of x from the cavities of its parts, shape (facts, parts of a fact, 2)."""
        precision = self._prior() + heard[..., 0]
        mean = (weights * heard[..., 1] / precision).sum(axis=1)
        return mean, (weights**2 / precision).sum(axis=1) + self.variances.own


def with_answers(mean: Floats, variance: Floats, sites: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of x with its answers, given those without them and the sites of the facts."""
    after = 1 / (1 / variance + sites[:, 0])
    return after * (mean / variance + sites[:, 1]), after


def settle(messages: Messages, slots: Positions, most_sweeps: int, tolerance: float = TOLERANCE) -> Positions:
    """Refresh answered facts, and the neighbours of changed parts, until convergence.

    Returns:
        The distinct slots that were refreshed, ascending.
    """
    refreshed = [slots]
    for _ in range(most_sweeps):
        if not len(slots):
            break
        unsettled, parts = messages.refresh(slots, tolerance)
        slots = np.union1d(slots[unsettled], messages.around(parts))
        refreshed.append(slots)
    return np.unique(np.concatenate(refreshed))
