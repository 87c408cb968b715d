"""Forgetting in training: the loss of accuracy from a base model to a tuned one, compared with an allowed margin.

docs/methods/comparison.md. Both models answered the same facts. The loss is the share of facts that only the base model
has right, less the share that only the tuned model has right.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any, ClassVar

import numpy as np

from kgprobe.answers.settings import note_of_dates
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.intervals import Points, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.results.answers import (
    ON_SHARED,
    Stored,
    change_note,
    collect_answers,
    differ_in_thinking_alone,
    differing_settings,
    graph_change,
    refuse_repeated,
    settings_of,
)
from kgprobe.results.rendering.checks import Check
from kgprobe.results.result import SHOWN_FACTS, Listing, StoredResult, change_in_words, points
from kgprobe.results.shared_facts import Bools, SharedFacts
from kgprobe.stats.paired_proportions import detectable_loss, facts_needed, family_bounds, loss_bounds
from kgprobe.stats.proportions import share

# Relations in a list that people read.
_SHOWN_RELATIONS = 5
# Fewer facts are all right, or all wrong, without having been chosen for it.
_SUSPECTED = 20


class LossVerdict(str, Enum):
    """The loss compared with the margin.

    ``LOST``: the lower bound of the loss exceeds the margin. ``KEPT``: the upper bound is within it. ``UNDECIDED``: the
    margin is between the two.
    """

    LOST = "lost"
    KEPT = "kept"
    UNDECIDED = "undecided"

    @classmethod
    def of(cls, low: float, high: float, margin: float) -> "LossVerdict":
        """Return the verdict of one-sided bounds of a loss."""
        if low > margin:
            return cls.LOST
        return cls.KEPT if high <= margin else cls.UNDECIDED


_ACCURACY = (
    "{caveat} The loss is in percentage points, with its one-sided 95% bounds. Detectable loss: the smallest loss that"
    " would be found to exceed the margin with 80% power."
)


@dataclass(frozen=True, slots=True)
class ChangedFact(ResultRow):
    """A fact that only one of the two models has right.

    Attributes:
        change: ``forgotten`` if only the base model has it right, else ``gained``.
        question, right_answer: those of the model that has it wrong.
        base_prediction, tuned_prediction: the models' answers; None where the evidence has none.
    """

    change: str
    fact: str
    subject: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    question: Annotated[str, Heading("question")]
    right_answer: Annotated[str, Heading("right")]
    base_prediction: Annotated[str | None, Heading("prediction before")]
    tuned_prediction: Annotated[str | None, Heading("prediction now")]


@dataclass(frozen=True, slots=True)
class RelationLoss(ResultRow):
    """The loss of accuracy in a relation, in [-1, 1]."""

    relation: str
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    forgotten: Annotated[int, Heading("forgotten")]
    gained: Annotated[int, Heading("gained")]
    loss: Annotated[float, Heading("loss", Points)]

    def sentence(self, low: float, high: float) -> str:
        """Return the loss with its bounds in a sentence."""
        change = "lost" if self.loss >= 0 else "gained"
        return (
            f"{100 * abs(self.loss):.1f} points {change} on {self.facts:,} facts: {self.forgotten:,} forgotten,"
            f" {self.gained:,} gained (bounds of the loss {100 * low:.1f} and {100 * high:.1f} points)."
        )


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Forgetting(StoredResult):
    """Loss of accuracy from a base model to a model tuned from it; one row for each changed fact.

    Attributes:
        base, tuned: names of the models.
        margin: the allowed loss, as a share.
        forgotten, gained: number of facts that only the base model, and only the tuned model, has right.
        loss: accuracy of the base model less that of the tuned model, with one-sided 95% bounds by Tango's score.
        discordant: share of the facts that only one model has right.
        detectable_loss: the smallest loss that would be shown to exceed the margin with 80% power, with as many facts
            and this discordant share; None where there is none.
        facts_needed_if_nothing_is_lost: approximate number of facts that show with 80% power that the margin is kept,
            if the true loss is 0; None where no number does.
        facts_needed_as_seen: the same if the true loss is the observed one.
        relations: all relations, by decreasing net number of lost facts.
        changed_facts: the forgotten facts, then the gained ones; each in the order of the relations' losses.
        caveat: the facts that the loss refers to.
    """

    base: str
    tuned: str
    margin: float
    facts: Annotated[int, Heading("facts")]
    base_accuracy: Annotated[Share, Heading("{base}")]
    tuned_accuracy: Annotated[Share, Heading("{tuned}")]
    forgotten: Annotated[int, Heading("forgotten")]
    gained: Annotated[int, Heading("gained")]
    loss: Annotated[Points, Heading("loss")]
    discordant: float
    detectable_loss: Annotated[float | None, Heading("detectable loss", Points)]
    facts_needed_if_nothing_is_lost: int | None
    facts_needed_as_seen: int | None
    relations: Annotated[
        Sequence[RelationLoss],
        Listing("Where most was lost", where=lambda relation: relation.loss > 0, show=_SHOWN_RELATIONS),
    ]
    changed_facts: Annotated[
        Sequence[ChangedFact],
        Listing("Right before, wrong now", where=lambda fact: fact.change == "forgotten", show=SHOWN_FACTS, main=True),
    ]
    caveat: str

    file: ClassVar[str] = "forgetting"
    properties: ClassVar[Sequence[str]] = ("verdict",)

    @property
    def accuracy(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Accuracy before and after", _ACCURACY)]:
        """The accuracies and the loss."""
        return [self.headed()]

    @property
    def verdict(self) -> LossVerdict:
        """Verdict: lost (more than the margin), kept, or undecided."""
        return LossVerdict.of(*self.bounds, self.margin)

    @property
    def bounds(self) -> tuple[float, float]:
        """One-sided 95% bounds of the loss."""
        return self.loss.low or 0.0, self.loss.high or 0.0

    @property
    def title(self) -> str:
        """Title of the page."""
        change = change_in_words(self.forgotten, self.gained, self.facts)
        return f"{change} from {self.base} to {self.tuned}"

    def checks(self) -> list[Check]:
        """Return a check of all facts, and one for each relation; its lower bound is corrected for their number."""
        checks = [Check("all facts", self.verdict.value, self.summary())]
        counts = [(relation.forgotten, relation.gained, relation.facts) for relation in self.relations]
        lost, gained, facts = np.array(counts).T
        ends = family_bounds(lost, gained, facts, len(counts))
        for relation, low, high in zip(self.relations, *(end.tolist() for end in ends), strict=True):
            checks.append(
                Check(relation.name, LossVerdict.of(low, high, self.margin).value, relation.sentence(low, high))
            )
        return checks

    def summary(self) -> str:
        """Return the verdict with its loss, bounds and margin; if undecided, the number of facts that would decide."""
        verdict, (low, high) = self.verdict, self.bounds
        change = "lost" if self.loss.value >= 0 else "gained"
        summary = (
            f"{verdict.value.capitalize()}: {points(self.loss.value)} {change} on {self.facts:,} facts (one-sided 95%"
            f" bounds of the loss {100 * low:.1f} and {100 * high:.1f} points; the margin of {100 * self.margin:g}"
            " points)."
        )
        if verdict is not LossVerdict.UNDECIDED:
            return summary
        needed = []
        if self.facts_needed_if_nothing_is_lost is not None:
            needed.append(f"about {self.facts_needed_if_nothing_is_lost:,} if nothing is lost")
        if self.facts_needed_as_seen is not None:
            needed.append(f"about {self.facts_needed_as_seen:,} if the loss is as it is seen")
        if not needed:
            return f"{summary} Not decidable with fewer than ten million facts."
        return f"{summary} Facts needed for 80% power: {'; '.join(needed)}."


def forgetting_between(base: Stored, tuned: Stored, margin: float, *, shared: bool = False) -> Forgetting:
    """Compute the loss of accuracy from one stored result to another; see :func:`kgprobe.check`."""
    about_settings = settings_note(base, tuned, shared=shared)
    both, names, unshared = collect_answers([base, tuned])
    forgetting = find_forgetting(both, names, margin)
    config = {"base": str(base.folder), "tuned": str(tuned.folder), "margin": margin}
    notes = filter(None, [about_settings, unshared, *forgetting.notes])
    return replace(forgetting, config=config, notes=tuple(notes))


def notes_on_base(right: int, total: int, facts: str, margin: float | None = None) -> Iterator[str]:
    """Yield notes on facts that the base model has all right or all wrong, or of which it has too few right to lose.

    Facts that were chosen by the answers from which a loss is measured regress to the mean.

    Args:
        facts: name of the facts.
        margin: the allowed loss; None for facts without a verdict.
    """
    if total >= _SUSPECTED and right in (0, total):
        word, change = ("right", "lost") if right else ("wrong", "gained")
        yield (
            f"The base model has all {total:,} {facts} {word}. If they were chosen by these answers, some seem"
            f" {change} by chance: ask both models with another seed."
        )
    if margin is not None and right <= margin * total:
        yield (
            f"The base model has {right / total:.1%} of the {facts} right, so that they cannot lose more than the"
            " margin."
        )


def settings_note(base: Stored, tuned: Stored, *, shared: bool) -> str:
    """Return a note on results that differ in thinking alone, which may be the tested change, or in the date alone.

    Results without such a difference have an empty note.

    Args:
        shared: True to allow different states of the graph.

    Raises:
        ArgumentError: the results are the same one, or differ in more than the model.
    """
    refuse_repeated("tuned", [base, tuned])
    differences = differing_settings(base, tuned)
    if base.reversed != tuned.reversed:
        differences = [f"the direction is {'backwards and forwards' if base.reversed else 'forwards and backwards'}"]
    elif base.about.ask_in != tuned.about.ask_in:
        differences = [f"it was asked {tuned.about.in_language}, and the base {base.about.in_language}"]
    change = graph_change(base, tuned)
    if not differences or differ_in_thinking_alone(base, tuned):
        if not change or shared:
            thinking = [f"Both are of one model: {text}." for text in differences]
            dated = "" if differences else note_of_dates(map(settings_of, (base, tuned)))
            return " ".join(filter(None, [*thinking, dated, change_note(change)]))
        raise ArgumentError("tuned", f"differs from the base in more than the model: {change}. {ON_SHARED}")
    raise ArgumentError(
        "tuned",
        f"differs from the base in more than the model: {'; '.join([*differences, *filter(None, [change])])}. Measure"
        " both with the same settings.",
    )


def find_forgetting(shared: SharedFacts, names: Mapping[str, str], margin: float) -> Forgetting:
    """Compute the loss of accuracy from one model to the other, over the facts that both have answered.

    Cost: a pass over the facts.

    Args:
        shared: the facts of the two models, the base first.
        names: names of relations by id; a missing one is replaced by the id.
        margin: the allowed loss, in [0, 1).

    Raises:
        KgprobeError: the models share no facts.
    """
    if not shared.facts:
        raise KgprobeError(shared.caveat)
    was, now = shared.known
    is_lost, is_gained = was & ~now, now & ~was
    total, lost, gained = len(shared.facts), int(is_lost.sum()), int(is_gained.sum())
    low, high = loss_bounds(lost, gained, total)
    discordant, loss = (lost + gained) / total, (lost - gained) / total
    relations = _losses_by_relation(shared.relations, is_lost, is_gained, names)
    rank = {group.relation: place for place, group in enumerate(relations)}
    changed = changed_facts("forgotten", is_lost, shared, names) + changed_facts("gained", is_gained, shared, names)
    return Forgetting(
        base=shared.labels[0],
        tuned=shared.labels[1],
        margin=margin,
        facts=total,
        base_accuracy=share(int(was.sum()), total),
        tuned_accuracy=share(int(now.sum()), total),
        forgotten=lost,
        gained=gained,
        loss=Points(loss, float(low), float(high)),
        discordant=discordant,
        detectable_loss=detectable_loss(discordant, total, margin),
        facts_needed_if_nothing_is_lost=facts_needed(0.0, discordant, margin),
        facts_needed_as_seen=facts_needed(loss, discordant, margin),
        relations=relations,
        changed_facts=sorted(changed, key=lambda fact: (fact.change, rank[fact.relation])),
        caveat=shared.caveat,
        notes=tuple(notes_on_base(int(was.sum()), total, "facts", margin)),
    )


def changed_facts(change: str, is_changed: Bools, shared: SharedFacts, names: Mapping[str, str]) -> list[ChangedFact]:
    """Return facts that only one of two models has right.

    Args:
        change: ``forgotten`` or ``gained``; of all of these facts.
        is_changed: True for these facts, shape (facts,).
        names: names of relations by id; a missing one is replaced by the id.
    """
    changed = []
    for fact, before, after in shared.rows(is_changed):
        is_lost = change == "forgotten"
        # Rounds may ask the two models different questions; the failed question is shown.
        failed = after if is_lost else before
        relation = before["relation"]
        changed.append(
            ChangedFact(
                change,
                fact,
                before["subject"],
                relation,
                names.get(relation, relation),
                failed["question"],
                failed["right_answer"],
                before["right_answer"] if is_lost else before["prediction"],
                after["prediction"] if is_lost else after["right_answer"],
            )
        )
    return changed


def _losses_by_relation(
    relations: Sequence[str], lost: Bools, gained: Bools, names: Mapping[str, str]
) -> list[RelationLoss]:
    """Return all relations by decreasing net number of lost facts."""
    ids, of_fact, sizes = np.unique(relations, return_inverse=True, return_counts=True)
    all_lost = np.bincount(of_fact[lost], minlength=len(ids))
    all_gained = np.bincount(of_fact[gained], minlength=len(ids))
    losses = []
    for id_, *counts in zip(*(column.tolist() for column in (ids, sizes, all_lost, all_gained)), strict=True):
        size, forgotten, learned = counts
        losses.append(RelationLoss(id_, names.get(id_, id_), size, forgotten, learned, (forgotten - learned) / size))
    return sorted(losses, key=lambda group: (group.gained - group.forgotten, -group.loss, group.relation))
