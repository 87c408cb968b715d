"""Expectation propagation by messages between facts and their parts.

docs/methods/learner.md; Minka 2001, and Herbrich, Minka and Graepel 2006 for messages between many small
factors. A fact's answers are a factor of x, x is a sum of parts, and each part has a normal marginal: its prior times
one message of each answered fact. To refresh a fact: take its messages out of the marginals of its parts (the
cavities), add them up to what x is without its answers, let :mod:`.tilted` put the answers in, and send each part what
x tells of it beyond the others. Where the facts form a tree this is expectation propagation with one joint normal of
all parts; where they do not, it is close (docs/methods/learner.md says how close).

Memory: 12 bytes for each fact of the graph and each part; the rest is of answered facts alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.effects import Effects
from kgprobe.beliefs.tilted_moments import Tilted, tilted

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

_DAMPING = 0.6

# Messages have settled when no marginal moves by more than this many of its standard deviations in a sweep.
TOLERANCE = 1e-3

_FIRST_SLOTS = 256


@dataclass(frozen=True, slots=True)
class Variances:
    """How far parts differ.

    Attributes:
        kinds: of each kind of parts, in the order of ``Effects.kinds``, shape (kinds,).
        own: of what facts have of their own.
    """

    kinds: Floats
    own: float


class Messages:
    """The state of a fit: answers, sites and messages of the answered facts, and what each part has heard of them.

    Normals are held as precision and precision times mean. An answered fact has a slot, in the order of the first
    answers; ``position``, ``wrong``, ``answers``, ``site`` (slots, 2) and ``sent`` (slots, parts of a fact, 2) are
    theirs.
    """

    def __init__(self, effects: Effects, variances: Variances, max_degree: int) -> None:
        """Nothing has been asked.

        Args:
            max_degree: a part of more answered facts does not wake them when it has moved.
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
        # Slots of the facts around each part, as long as they are few enough to be woken.
        self._around: dict[int, list[int]] = {}

    @property
    def positions(self) -> Positions:
        """Of the answered facts, by their slots."""
        return self._position[: self.answered]

    @property
    def wrong(self) -> Floats:
        """Wrong answers by slot."""
        return self._counts[: self.answered, 0]

    @property
    def answers(self) -> Floats:
        """All answers by slot."""
        return self._counts[: self.answered, 1]

    @property
    def site_precision(self) -> Floats:
        """How much its answers say of x of each fact, by slot."""
        return self._site[: self.answered, 0]

    def parts_of(self, slots: Positions) -> Positions:
        """The parts of answered facts, shape (slots, parts of a fact)."""
        return self._parts[slots]

    def slots(self, facts: Positions) -> Positions:
        """The slots of facts, -1 for those without an answer."""
        return self._slot_of[facts].astype(np.int64)

    def add(self, facts: Positions, wrong: NDArray[np.bool_]) -> Positions:
        """Count one more answer of each of some facts, all different; gives their slots."""
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

    def _grow(self, wanted: int) -> None:
        capacity = len(self._position)
        if wanted <= capacity:
            return
        more = max(capacity, wanted - capacity)
        for name in ("_position", "_counts", "_site", "_sent", "_parts", "_weights"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros((more, *column.shape[1:]), column.dtype)]))

    def around(self, parts: Positions) -> Positions:
        """The slots of the answered facts around parts, each once, ascending; without parts that wake nobody."""
        found = [slots for part in parts.tolist() if len(slots := self._around.get(part, ())) <= self._max_degree]
        return (
            np.unique(np.concatenate([np.array(slots, np.int64) for slots in found]))
            if found
            else np.empty(0, np.int64)
        )

    def marginals_of(self, parts: Positions) -> tuple[Floats, Floats]:
        """Mean and variance of parts, each of their shape."""
        heard = self.heard[parts]
        precision = 1 / self.variances.kinds[self.effects.kinds_of(parts)] + heard[..., 0]
        return heard[..., 1] / precision, 1 / precision

    def before(self, facts: Positions) -> tuple[Floats, Floats]:
        """Mean and variance of x of some facts without their own answers, each of shape (facts,)."""
        parts, weights = self.effects.of(facts)
        heard = self.heard[parts]
        slots = self._slot_of[facts]
        asked = slots >= 0
        heard[asked] -= self._sent[slots[asked]]
        return self._summed(weights, heard)

    def marginals(self, facts: Positions) -> tuple[Floats, Floats]:
        """Mean and variance of x of some facts with their own answers, as their sites have these; shape (facts,)."""
        mean, variance = self.before(facts)
        slots = self._slot_of[facts]
        site = np.where((slots >= 0)[:, None], self._site[slots], 0.0)
        after = 1 / (1 / variance + site[:, 0])
        return after * (mean / variance + site[:, 1]), after

    def posterior(self, facts: Positions) -> Tilted:
        """What is known of some facts, asked or not. Cost: linear in the facts that are looked at."""
        slots = self._slot_of[facts]
        counts = np.where((slots >= 0)[:, None], self._counts[slots], 0.0)
        return tilted(*self.before(facts), counts[:, 0], counts[:, 1])

    def refresh(self, slots: Positions, tolerance: float = TOLERANCE) -> tuple[NDArray[np.bool_], Positions]:
        """Send the messages of some answered facts anew, all at once.

        Args:
            slots: all different.
            tolerance: what has moved has done so by more of its standard deviations.

        Returns:
            which of the facts have not settled, shape (slots,), and the parts that have moved, each once.
        """
        parts, weights = self._parts[slots], self._weights[slots]
        mean, variance = self._summed(weights, self.heard[parts] - self._sent[slots])
        after = tilted(mean, variance, self._counts[slots, 0], self._counts[slots, 1])
        # The tilted distribution is narrower than the cavity; rounding may deny it.
        found = np.stack(
            [np.maximum(1 / after.variance - 1 / variance, 1e-12), after.mean / after.variance - mean / variance],
            axis=1,
        )
        moved = _DAMPING * (found - self._site[slots])
        self._site[slots] += moved
        site = self._site[slots]

        touched, places = np.unique(parts, return_inverse=True)
        places = places.reshape(parts.shape)
        mean_before, variance_before = self.marginals_of(touched)
        # All places at once would overshoot: the mean and the entities would each make up for the same surprise.
        for place in range(parts.shape[1]):
            self._send(slots, place, parts, weights, site, touched, places[:, place])
        mean_after, variance_after = self.marginals_of(touched)
        step = np.abs(mean_after - mean_before) / np.sqrt(variance_before)
        step = np.maximum(step, np.abs(np.sqrt(variance_before / variance_after) - 1))
        unsettled = np.abs(moved[:, 1]) + np.abs(moved[:, 0] * mean)
        return unsettled * np.sqrt(after.variance) > tolerance, touched[step > tolerance]

    def _send(
        self,
        slots: Positions,
        place: int,
        parts: Positions,
        weights: Floats,
        site: Floats,
        touched: Positions,
        among: Positions,
    ) -> None:
        """Tell the parts at one place of the facts, ``touched[among]``, what the sites say beyond the other parts."""
        heard = self.heard[parts] - self._sent[slots]
        precision = self._prior() + heard[..., 0]
        means, variances = heard[..., 1] / precision, 1 / precision
        weight = weights[:, place]
        others_mean = (weights * means).sum(axis=1) - weight * means[:, place]
        others_variance = (weights**2 * variances).sum(axis=1) + self.variances.own - weight**2 * variances[:, place]
        certainty = 1 + site[:, 0] * others_variance
        sent = np.stack([weight * site[:, 0], site[:, 1] - site[:, 0] * others_mean], axis=1)
        sent *= (weight / certainty)[:, None]
        more = sent - self._sent[slots, place]
        for column in range(2):
            self.heard[touched, column] += np.bincount(among, more[:, column], len(touched))
        self._sent[slots, place] = sent

    def cavities(self, facts: Positions) -> tuple[Positions, Floats, Floats]:
        """Parts and weights of facts, and the variances of these parts as known from elsewhere; each (facts, parts)."""
        parts, weights = self.effects.of(facts)
        heard = self.heard[parts][..., 0]
        slots = self._slot_of[facts]
        asked = slots >= 0
        heard[asked] -= self._sent[slots[asked]][..., 0]
        return parts, weights, 1 / (self._prior() + heard)

    def _prior(self) -> Floats:
        """The precision that parts have before any answer, by their places in a fact, shape (parts of a fact,)."""
        return 1 / self.variances.kinds[self._kinds_of_places]

    def _summed(self, weights: Floats, heard: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of x from what its parts have heard elsewhere, shape (facts, parts of a fact, 2)."""
        precision = self._prior() + heard[..., 0]
        mean = (weights * heard[..., 1] / precision).sum(axis=1)
        return mean, (weights**2 / precision).sum(axis=1) + self.variances.own


def settle(messages: Messages, slots: Positions, most_sweeps: int, tolerance: float = TOLERANCE) -> Positions:
    """Refresh answered facts, and those around whatever moved, until nothing moves.

    Returns:
        the slots that were refreshed, each once, ascending.
    """
    refreshed = [slots]
    for _ in range(most_sweeps):
        if not len(slots):
            break
        unsettled, parts = messages.refresh(slots, tolerance)
        slots = np.union1d(slots[unsettled], messages.around(parts))
        refreshed.append(slots)
    return np.unique(np.concatenate(refreshed))
