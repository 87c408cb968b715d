"""Effects of a fine-tune by role of the facts: gain of taught facts, and one verdict for each ring of controls.

docs/methods/comparison.md. A ring's loss, bounds and verdict are those of
:mod:`kgprobe.results.forgetting`; the confidence of the bounds is Holm's, over all rings.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.intervals import Percent, Points, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.labelling.roles import FAR, HELD_OUT, NEAR, TAUGHT, FactRole
from kgprobe.results.answers import Stored, collect_answers
from kgprobe.results.forgetting import ChangedFact, LossVerdict, changed_facts, notes_on_base, settings_note
from kgprobe.results.rendering.checks import Check
from kgprobe.results.result import SHOWN_FACTS, Listing, StoredResult, points
from kgprobe.results.shared_facts import Bools, SharedFacts
from kgprobe.stats.paired_proportions import (
    BOUND_CONFIDENCE,
    directional_levels,
    facts_needed,
    loss_bounds,
    loss_interval,
    loss_p_values,
)
from kgprobe.stats.proportions import share

RINGS = (*NEAR, FAR)

# Verdicts from the worst to the best.
_WORST_FIRST = (LossVerdict.LOST, LossVerdict.UNDECIDED, LossVerdict.KEPT)
# Facts without answers that a note names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class RingLoss(ResultRow):
    """The loss in one ring of control facts.

    Attributes:
        listed: number of its facts in the file.
        facts: number of them that both models have answered; without any, all values but these are None.
        forgotten, gained: number of facts that only the base model, and only the tuned model, has right.
        loss: accuracy of the base model less that of the tuned model, with one-sided bounds.
        confidence: confidence of each bound, by Holm's correction.
        verdict: ``lost``, ``kept`` or ``undecided``.
        needed: approximate number of facts that show with 80% power that the margin is kept, at this confidence, if
            nothing is lost; None for a ring that is decided, and where no number does.
    """

    role: Annotated[str, Heading("ring")]
    listed: Annotated[int, Heading("listed")]
    facts: Annotated[int, Heading("answered")]
    base_accuracy: Annotated[Share | None, Heading("{base}")] = None
    tuned_accuracy: Annotated[Share | None, Heading("{tuned}")] = None
    forgotten: Annotated[int | None, Heading("forgotten")] = None
    gained: Annotated[int | None, Heading("gained")] = None
    loss: Annotated[Points | None, Heading("loss")] = None
    confidence: Annotated[float | None, Heading("confidence", Percent)] = None
    verdict: Annotated[str | None, Heading("verdict", none="no facts")] = None
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class RoleGain(ResultRow):
    """The gain in the taught or in the held-out facts; attributes as in :class:`RingLoss`.

    Attributes:
        gain: accuracy of the tuned model less that of the base model, with Tango's two-sided 95% interval.
    """

    role: Annotated[str, Heading("facts")]
    listed: Annotated[int, Heading("listed")]
    facts: Annotated[int, Heading("answered")]
    base_accuracy: Annotated[Share | None, Heading("{base}")] = None
    tuned_accuracy: Annotated[Share | None, Heading("{tuned}")] = None
    forgotten: Annotated[int | None, Heading("forgotten")] = None
    gained: Annotated[int | None, Heading("gained")] = None
    gain: Annotated[Points | None, Heading("gain")] = None


@dataclass(frozen=True, slots=True)
class ChangedFactOfRole(ChangedFact):
    """A fact that only one of the two models has right, with its role."""

    role: Annotated[str, Heading("role")]


@dataclass(frozen=True, slots=True)
class UnansweredFact(ResultRow):
    """A fact of the file that a result lacks, with the reason for each model; None if its result has an answer."""

    subject: str
    fact: str
    role: str
    base: str | None
    tuned: str | None


_GAIN = "The gain is in percentage points, with its 95% interval."
_LOSS = (
    "The loss is in percentage points, with one-sided bounds. Their confidence is Holm's: with 95% confidence, no ring"
    " has a false verdict. The margin is {margin_points:g} points."
)
_FORGOTTEN = "Controls that were right before and are wrong now"


def is_lost_control(fact: ChangedFactOfRole) -> bool:
    """Return True for a control fact that the base model alone has right."""
    return fact.change == "forgotten" and fact.role in RINGS


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RoleComparison(StoredResult):
    """Effects of a fine-tune by role; one row for each ring of control facts.

    Attributes:
        margin: the allowed loss in each ring, as a share.
        rings: rings of the file, from near to far.
        changed_facts: by role, the forgotten facts before the gained ones.
    """

    base: str
    tuned: str
    margin: float
    gains: Annotated[Sequence[RoleGain], Listing("Taught and held-out facts", _GAIN)]
    rings: Annotated[Sequence[RingLoss], Listing("Control facts, by ring", _LOSS, main=True)]
    changed_facts: Annotated[Sequence[ChangedFactOfRole], Listing(_FORGOTTEN, where=is_lost_control, show=SHOWN_FACTS)]
    unanswered: Annotated[Sequence[UnansweredFact], Listing()]

    file: ClassVar[str] = "roles"
    properties: ClassVar[Sequence[str]] = ("verdict", "near", "far")

    @property
    def verdict(self) -> LossVerdict | None:
        """The worst verdict of all rings: lost before undecided before kept; None without a ring with facts."""
        return _worst(self.rings)

    @property
    def near(self) -> LossVerdict | None:
        """The worst verdict of the near rings; None if they have no facts."""
        return _worst([ring for ring in self.rings if ring.role != FAR])

    @property
    def far(self) -> LossVerdict | None:
        """The verdict of the far ring; None if it has no facts."""
        return _worst([ring for ring in self.rings if ring.role == FAR])

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"Control facts that {self.tuned} lost since {self.base}"

    @property
    def margin_points(self) -> float:
        """The margin in percentage points."""
        return 100 * self.margin

    def checks(self) -> list[Check]:
        """Return a check for each ring with answers."""
        checks = []
        for ring in self.rings:
            if ring.verdict is not None and ring.loss is not None:
                loss, low, high = (100 * (value or 0.0) for value in (ring.loss.value, ring.loss.low, ring.loss.high))
                text = f"{loss:+.1f} points lost on {ring.facts:,} facts, bounds {low:+.1f} to {high:+.1f}."
                checks.append(Check(ring.role, ring.verdict, text))
        return checks

    def summary(self) -> str:
        """Return the verdicts near and far with their losses, and the gains."""
        parts = [self._about("near", self.near), self._about("far", self.far)]
        for gain in self.gains:
            if gain.gain is not None:
                low, high = (100 * (end or 0.0) for end in (gain.gain.low, gain.gain.high))
                parts.append(
                    f"Gain of the {gain.role} facts: {100 * gain.gain.value:+.1f} points on {gain.facts:,} (95%"
                    f" interval {low:.1f} to {high:.1f})."
                )
        needed = [ring.needed for ring in self.rings if ring.needed is not None and ring.needed > ring.facts]
        if needed:
            parts.append(
                f"Facts that decide every ring with 80% power, if nothing is lost: about {max(needed):,} each."
            )
        return " ".join(parts)

    def _about(self, place: str, verdict: LossVerdict | None) -> str:
        """Return the verdict on the near rings or the far ring in a sentence."""
        if verdict is None:
            return f"No {place} facts."
        rings = []
        for ring in self.rings:
            if (ring.role == FAR) == (place == "far") and ring.verdict == verdict.value and ring.loss is not None:
                change = "lost" if ring.loss.value >= 0 else "gained"
                loss = f"{points(ring.loss.value)} {change} on {ring.facts:,}"
                rings.append(loss if place == "far" else f"{ring.role}, {loss}")
        return f"{verdict.value.capitalize()} {place} ({'; '.join(rings)})."


def roles_between(
    base: Stored, tuned: Stored, roles: Iterable[FactRole], margin: float, source: str = "", *, shared: bool = False
) -> RoleComparison:
    """Compute the effects of a fine-tune from two stored results; see :func:`kgprobe.check`."""
    about_settings = settings_note(base, tuned, shared=shared)
    both, names, _ = collect_answers([base, tuned])
    listed = list(roles)
    comparison = find_role_effects(both, listed, names, margin)
    digest = hashlib.sha256("".join(sorted(f"{role.fact}\0{role.role}\n" for role in listed)).encode()).hexdigest()
    config = {"base": str(base.folder), "tuned": str(tuned.folder), "margin": margin, "roles": source, "sha256": digest}
    return replace(comparison, config=config, notes=tuple(filter(None, [about_settings, *comparison.notes])))


def find_role_effects(
    shared: SharedFacts, roles: Iterable[FactRole], names: Mapping[str, str], margin: float
) -> RoleComparison:
    """Compute the effects of a fine-tune by role, over the facts that both models have answered.

    Cost: a pass over the facts.

    ``shared`` are the facts of the two models, the base first. ``margin`` is the allowed loss in each ring, in [0, 1).
    A missing name of a relation is replaced by its id. A fact with two roles raises ArgumentError.
    """
    role_of = _unique_roles(roles)
    of_fact = np.array([role_of[fact].role if fact in role_of else "" for fact in shared.facts])
    compared = int((of_fact != "").sum())
    if not compared:
        raise KgprobeError(
            f"Both results have answered none of the facts with a role ({len(role_of):,}), such as"
            f" {_examples(role_of.values())}. Ask these facts: kgprobe probe … --facts FILE"
        )
    was, now = shared.known
    listed = Counter(role.role for role in role_of.values())
    changed: list[ChangedFactOfRole] = []
    for role in filter(listed.__contains__, (*RINGS, TAUGHT, HELD_OUT)):
        for change, is_changed in (("forgotten", was & ~now), ("gained", now & ~was)):
            facts_of_role = changed_facts(change, is_changed & (of_fact == role), shared, names)
            changed += [ChangedFactOfRole(**asdict(fact), role=role) for fact in facts_of_role]
    unanswered = _unanswered_facts(role_of.values(), shared)
    return RoleComparison(
        base=shared.labels[0],
        tuned=shared.labels[1],
        margin=margin,
        rings=_ring_losses(listed, of_fact, was, now, margin),
        gains=[_role_gain(role, listed[role], was, now, of_fact) for role in (TAUGHT, HELD_OUT) if role in listed],
        changed_facts=changed,
        unanswered=unanswered,
        notes=(
            *_notes(len(role_of), len(shared.facts), compared, unanswered, shared.labels),
            *_notes_on_roles(of_fact, was, margin),
        ),
    )


def _unique_roles(roles: Iterable[FactRole]) -> dict[str, FactRole]:
    """Return roles by fact."""
    role_of: dict[str, FactRole] = {}
    for role in roles:
        other = role_of.setdefault(role.fact, role)
        if other.role != role.role:
            raise ArgumentError("roles", f"has the fact {role.fact} twice: as {other.role!r} and as {role.role!r}.")
    if not role_of:
        raise ArgumentError("roles", "has no facts.")
    return role_of


def _ring_losses(
    listed: Mapping[str, int], of_fact: "np.ndarray[Any, Any]", was: Bools, now: Bools, margin: float
) -> list[RingLoss]:
    """Return the rings of a file, tested as one family; those without shared facts are not tested."""
    rings = [role for role in RINGS if role in listed]
    counts = np.array([_counts(of_fact == role, was, now) for role in rings], dtype=np.int64).reshape(-1, 3)
    is_tested = counts[:, 2] > 0
    lost, gained, total = counts[is_tested].T
    levels = directional_levels(np.minimum(*loss_p_values(lost, gained, total, margin)), 1 - BOUND_CONFIDENCE)
    lows, highs = loss_bounds(lost, gained, total, 1 - levels)
    bounds = iter(zip(lows.tolist(), highs.tolist(), (1 - levels).tolist(), strict=True))
    losses = []
    for role, (forgotten, learned, size) in zip(rings, counts.tolist(), strict=True):
        if not size:
            losses.append(RingLoss(role, listed[role], 0))
            continue
        low, high, confidence = next(bounds)
        verdict = LossVerdict.of(low, high, margin)
        needed = None
        if verdict is LossVerdict.UNDECIDED:
            # Once all rings can be decided, the last step of the family tests each at its whole level.
            needed = facts_needed(0.0, (forgotten + learned) / size, margin, verdicts=int(is_tested.sum()))
        own = of_fact == role
        losses.append(
            RingLoss(
                role,
                listed[role],
                size,
                share(int(was[own].sum()), size),
                share(int(now[own].sum()), size),
                forgotten,
                learned,
                Points((forgotten - learned) / size, low, high),
                confidence,
                verdict.value,
                needed,
            )
        )
    return losses


def _counts(own: Bools, was: Bools, now: Bools) -> tuple[int, int, int]:
    """Return the numbers of forgotten facts, gained facts, and all facts of a role."""
    return int((own & was & ~now).sum()), int((own & now & ~was).sum()), int(own.sum())


def _role_gain(role: str, listed: int, was: Bools, now: Bools, of_fact: "np.ndarray[Any, Any]") -> RoleGain:
    own = of_fact == role
    lost, gained, total = _counts(own, was, now)
    if not total:
        return RoleGain(role, listed, 0)
    low, high = loss_interval(lost, gained, total)
    accuracies = share(int(was[own].sum()), total), share(int(now[own].sum()), total)
    gain = Points((gained - lost) / total, -float(high), -float(low))
    return RoleGain(role, listed, total, *accuracies, lost, gained, gain)


def _worst(rings: Sequence[RingLoss]) -> LossVerdict | None:
    verdicts = {ring.verdict for ring in rings}
    return next((verdict for verdict in _WORST_FIRST if verdict.value in verdicts), None)


def _unanswered_facts(roles: Iterable[FactRole], shared: SharedFacts) -> list[UnansweredFact]:
    """Return the facts that a result lacks, with the reasons."""
    unanswered = []
    for role in roles:
        reasons = []
        for own, unheard in zip(shared.answered, shared.unheard, strict=True):
            reasons.append(None if role.fact in own.index else unheard.get(role.fact, "not asked"))
        if reasons != [None, None]:
            unanswered.append(UnansweredFact(role.subject, role.fact, role.role, *reasons))
    return unanswered


def _notes(
    listed: int, shared: int, compared: int, unanswered: Sequence[UnansweredFact], labels: Sequence[str]
) -> Iterable[str]:
    """Yield notes on listed facts that a result lacks, and on answered facts without a role."""
    if unanswered:
        reasons = []
        for label, name in zip(labels, ("base", "tuned"), strict=True):
            counts = Counter(filter(None, (getattr(fact, name) for fact in unanswered)))
            if counts:
                listing = "; ".join(f"{reason}: {count:,}" for reason, count in counts.most_common(_NAMED))
                reasons.append(f"{label} lacks {counts.total():,} ({listing})")
        yield (
            f"{compared:,} of the {counted(listed, 'fact')} with a role are compared. {', '.join(reasons)}; among"
            f" them {_examples(unanswered)}."
        )
    if shared > compared:
        yield f"Left out: {counted(shared - compared, 'answered fact')} without a role."


def _notes_on_roles(of_fact: "np.ndarray[Any, Any]", was: Bools, margin: float) -> Iterable[str]:
    """Yield notes on the base model's answers by role."""
    for role in (*RINGS, TAUGHT, HELD_OUT):
        own = was[of_fact == role]
        if len(own):
            yield from notes_on_base(int(own.sum()), len(own), f"{role} facts", margin if role in RINGS else None)


def _examples(facts: Iterable[FactRole | UnansweredFact]) -> str:
    """Return the first facts by id and role."""
    shown = [f"{fact.fact} ({fact.role})" for _, fact in zip(range(_NAMED), facts, strict=False)]
    return ", ".join(shown)
