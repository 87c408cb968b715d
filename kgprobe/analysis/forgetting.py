"""What a model has forgotten in training: how much accuracy it lost, whether that is more than one allows, and what.

docs/methods/comparison.md. Base and tuned model answered the same facts, so what counts is facts that one of them alone
has right; the loss is the net of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from kgprobe.analysis.side_by_side import AnsweredFacts, Bools, set_side_by_side
from kgprobe.errors import KgprobeError
from kgprobe.stats.paired_proportions import detectable_loss, facts_needed, loss_bounds
from kgprobe.stats.proportions import Share, share


class LossVerdict(str, Enum):
    """Whether more was lost than is allowed.

    ``LOST``: the lower bound of the loss exceeds the margin. ``KEPT``: the upper bound is within it. ``UNDECIDED``: the
    margin is between the two.
    """

    LOST = "lost"
    KEPT = "kept"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A fact that one of the two models alone has right.

    Attributes:
        forgotten: whether that was the base model; else the fact is gained.
        base_prediction, tuned_prediction: what each preferred or said; None where evidence does not tell.
    """

    fact: str
    subject: str
    relation: str
    relation_name: str
    forgotten: bool
    question: str
    right_answer: str
    base_prediction: str | None
    tuned_prediction: str | None


@dataclass(frozen=True, slots=True)
class RelationLoss:
    """A relation in which accuracy was lost.

    Attributes:
        loss: in [-1, 1].
    """

    relation: str
    name: str
    facts: int
    forgotten: int
    gained: int
    loss: float


@dataclass(frozen=True, slots=True)
class FoundForgetting:
    """What was lost from a base model to one that was made of it.

    Attributes:
        base, tuned: what the models are called.
        margin: the loss that is allowed, as a share.
        loss: accuracy of the base model less that of the other, over the facts.
        low, high: one-sided 95% bounds of the loss, by Tango's score.
        discordant: share of the facts that one alone has right.
        detectable: the smallest loss that would be found to exceed the margin with 80% power, in as many facts and with
            that share; None where none would.
        needed: about how many facts would show, with 80% power, that the margin is kept, if nothing is lost; None
            where no number would.
        needed_as_seen: about how many would decide, if the loss is as it is seen; None where no number would.
        relations: those with a loss, the greatest number of facts lost on balance first.
        forgotten, gained: right before and wrong now, and the other way around; by relation, those that lost most
            first.
        caveat: what the loss speaks of.
    """

    base: str
    tuned: str
    facts: int
    margin: float
    base_accuracy: Share
    tuned_accuracy: Share
    loss: float
    low: float
    high: float
    discordant: float
    detectable: float | None
    needed: int | None
    needed_as_seen: int | None
    relations: Sequence[RelationLoss]
    forgotten: Sequence[ChangedFact]
    gained: Sequence[ChangedFact]
    caveat: str

    @property
    def verdict(self) -> LossVerdict:
        """Whether more was lost than the margin."""
        if self.low > self.margin:
            return LossVerdict.LOST
        return LossVerdict.KEPT if self.high <= self.margin else LossVerdict.UNDECIDED


def find_forgetting(
    base: AnsweredFacts, tuned: AnsweredFacts, names: Mapping[str, str], margin: float
) -> FoundForgetting:
    """What was lost from one model to the other, over the facts that both have answered.

    Cost: a pass over the facts.

    Args:
        names: what relations are called, by id; one that is missing is called by its id.
        margin: the loss that is allowed, in [0, 1).

    Raises:
        KgprobeError: no fact was asked of both.
    """
    beside = set_side_by_side([base, tuned])
    if not beside.facts:
        raise KgprobeError(beside.caveat)
    was, now = beside.won
    total, lost, gained = len(beside.facts), int((was & ~now).sum()), int((now & ~was).sum())
    low, high = loss_bounds(lost, gained, total)
    discordant, loss = (lost + gained) / total, (lost - gained) / total
    relations = _by_relation(beside.relations, was & ~now, now & ~was, names)
    rank = {one.relation: place for place, one in enumerate(relations)}
    before, after = (one.facts.loc[list(beside.facts)].to_dict("records") for one in (base, tuned))
    changed = [
        _changed(beside.facts[at], bool(was[at]), before[at], after[at], names)
        for at in np.flatnonzero(was != now).tolist()
    ]
    changed.sort(key=lambda one: (rank[one.relation], one.fact))
    return FoundForgetting(
        beside.sides[0].label,
        beside.sides[1].label,
        total,
        margin,
        share(int(was.sum()), total),
        share(int(now.sum()), total),
        loss,
        float(low),
        float(high),
        discordant,
        detectable_loss(discordant, total, margin),
        facts_needed(0.0, discordant, margin),
        facts_needed(loss, discordant, margin),
        [one for one in relations if one.loss > 0],
        [one for one in changed if one.forgotten],
        [one for one in changed if not one.forgotten],
        beside.caveat,
    )


def _changed(
    fact: str, forgotten: bool, before: Mapping[str, Any], after: Mapping[str, Any], names: Mapping[str, str]
) -> ChangedFact:
    # What was asked may differ between the two, as in rounds; what is shown is what one of them failed on.
    failed = after if forgotten else before
    return ChangedFact(
        fact,
        before["subject"],
        before["relation"],
        names.get(before["relation"], before["relation"]),
        forgotten,
        failed["question"],
        failed["right_answer"],
        before["right_answer"] if forgotten else before["prediction"],
        after["prediction"] if forgotten else after["right_answer"],
    )


def _by_relation(relations: Sequence[str], lost: Bools, gained: Bools, names: Mapping[str, str]) -> list[RelationLoss]:
    """All relations, those that lost most facts on balance first."""
    ids, of_fact, sizes = np.unique(relations, return_inverse=True, return_counts=True)
    counts = [np.bincount(of_fact, weights=which, minlength=len(ids)).astype(int).tolist() for which in (lost, gained)]
    losses = [
        RelationLoss(id_, names.get(id_, id_), size, forgotten, found, (forgotten - found) / size)
        for id_, size, forgotten, found in zip(ids.tolist(), sizes.tolist(), *counts, strict=True)
    ]
    return sorted(losses, key=lambda one: (one.gained - one.forgotten, -one.loss, one.relation))
