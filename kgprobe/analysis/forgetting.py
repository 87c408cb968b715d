"""Forgetting in training: the loss of accuracy from a base model to a tuned one, compared with an allowed margin.

docs/methods/comparison.md. Both models answered the same facts. The loss is the share of facts that only the base model
has right, less the share that only the tuned model has right.
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
    """The loss compared with the margin.

    ``LOST``: the lower bound of the loss exceeds the margin. ``KEPT``: the upper bound is within it. ``UNDECIDED``: the
    margin is between the two.
    """

    LOST = "lost"
    KEPT = "kept"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A fact that only one of the two models has right.

    Attributes:
        forgotten: True if only the base model has it right; the fact is gained otherwise.
        base_prediction, tuned_prediction: the models' answers; None where the evidence has none.
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
    """The loss of accuracy in a relation.

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
    """The loss of accuracy from a base model to a model tuned from it.

    Attributes:
        base, tuned: names of the models.
        margin: the allowed loss, as a share.
        loss: accuracy of the base model less that of the tuned model.
        low, high: one-sided 95% bounds of the loss, by Tango's score.
        discordant: share of the facts that only one model has right.
        detectable: the smallest loss that would be shown to exceed the margin with 80% power, with as many facts and
            this discordant share; None where there is none.
        needed: approximate number of facts that show with 80% power that the margin is kept, if the true loss is 0;
            None where no number does.
        needed_as_seen: the same if the true loss is the observed one.
        relations: relations with a loss, by decreasing net number of lost facts.
        forgotten, gained: facts that only the base model, and only the tuned model, has right; in the order of the
            relations' losses.
        caveat: the facts that the loss refers to.
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
        """The loss compared with the margin."""
        if self.low > self.margin:
            return LossVerdict.LOST
        return LossVerdict.KEPT if self.high <= self.margin else LossVerdict.UNDECIDED


def find_forgetting(
    base: AnsweredFacts, tuned: AnsweredFacts, names: Mapping[str, str], margin: float
) -> FoundForgetting:
    """Compute the loss of accuracy from one model to the other, over the facts that both have answered.

    Cost: a pass over the facts.

    Args:
        names: names of relations by id; a missing one is replaced by the id.
        margin: the allowed loss, in [0, 1).

    Raises:
        KgprobeError: the models share no facts.
    """
    beside = set_side_by_side([base, tuned])
    if not beside.facts:
        raise KgprobeError(beside.caveat)
    was, now = beside.won
    is_lost, is_gained = was & ~now, now & ~was
    total, lost, gained = len(beside.facts), int(is_lost.sum()), int(is_gained.sum())
    low, high = loss_bounds(lost, gained, total)
    discordant, loss = (lost + gained) / total, (lost - gained) / total
    relations = _by_relation(beside.relations, is_lost, is_gained, names)
    before, after = (answered.facts.loc[list(beside.facts)].to_dict("records") for answered in (base, tuned))
    changed = [
        _changed(beside.facts[place], bool(was[place]), before[place], after[place], names)
        for place in np.flatnonzero(was != now).tolist()
    ]
    rank = {group.relation: place for place, group in enumerate(relations)}
    changed.sort(key=lambda fact: (rank[fact.relation], fact.fact))
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
        [group for group in relations if group.loss > 0],
        [fact for fact in changed if fact.forgotten],
        [fact for fact in changed if not fact.forgotten],
        beside.caveat,
    )


def _changed(
    fact: str, forgotten: bool, before: Mapping[str, Any], after: Mapping[str, Any], names: Mapping[str, str]
) -> ChangedFact:
    # Rounds may ask the two models different questions; the failed question is shown.
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
    """Return all relations by decreasing net number of lost facts."""
    ids, of_fact, sizes = np.unique(relations, return_inverse=True, return_counts=True)
    all_lost = np.bincount(of_fact, weights=lost, minlength=len(ids)).astype(int).tolist()
    all_gained = np.bincount(of_fact, weights=gained, minlength=len(ids)).astype(int).tolist()
    losses = [
        RelationLoss(id_, names.get(id_, id_), size, forgotten, learned, (forgotten - learned) / size)
        for id_, size, forgotten, learned in zip(ids.tolist(), sizes.tolist(), all_lost, all_gained, strict=True)
    ]
    return sorted(losses, key=lambda group: (group.gained - group.forgotten, -group.loss, group.relation))
