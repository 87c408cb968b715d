"""Facts of which two results differ: lost and gained between two models, known in one of two directions.

docs/methods/comparison.md, docs/methods/reversed-graphs.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kgprobe.base.intervals import Points, Share
from kgprobe.base.tables import Heading, Names, ResultRow
from kgprobe.running.shared_facts import AnsweredFacts, Bools
from kgprobe.stats.proportions import share


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


def changed_facts(
    change: str, facts: Sequence[str], base: AnsweredFacts, tuned: AnsweredFacts, names: Mapping[str, str]
) -> list[ChangedFact]:
    """Return facts that only one of two models has right.

    Args:
        change: ``forgotten`` or ``gained``; of all of these facts.
        names: names of relations by id; a missing one is replaced by the id.
    """
    changed = []
    for fact, before, after in zip(facts, base.rows(facts), tuned.rows(facts), strict=True):
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


def losses_by_relation(
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


@dataclass(frozen=True, slots=True)
class OneWayFact(ResultRow):
    """A fact that is known in only one direction.

    Attributes:
        known: ``forwards`` or ``backwards``.
        subject: id of the subject in the graph that is not reversed.
        known_question, known_answer: question and right answer in the direction in which the fact is known.
        missed_question, missed_answer: those of the other direction.
        prediction: the model's answer in the other direction.
    """

    known: str
    fact: str
    subject: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    known_question: str
    known_answer: Annotated[str, Heading("known {known}")]
    missed_question: Annotated[str, Heading("asked")]
    missed_answer: Annotated[str, Heading("missed {missed}")]
    prediction: Annotated[str | None, Heading("prediction")]

    def cells(self, names: Names | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the cells of a table; the headings name the two directions."""
        missed = "backwards" if self.known == "forwards" else "forwards"
        return ResultRow.cells(self, {"known": self.known, "missed": missed})


@dataclass(frozen=True, slots=True)
class DirectionCounts(ResultRow):
    """Knowledge of a group of facts in both directions.

    Attributes:
        relation: id; None for all facts.
        forwards, backwards: shares of the facts that are known.
        both: number of facts that are known in both directions.
        forwards_alone, backwards_alone: number of facts that are known in only this direction.
        not_backwards: the share of facts known forwards that are not known backwards; None where none is known
            forwards.
        not_forwards: the same with the directions swapped.
    """

    relation: str | None
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    forwards: Annotated[Share, Heading("forwards")]
    backwards: Annotated[Share, Heading("backwards")]
    both: Annotated[int, Heading("both")]
    forwards_alone: Annotated[int, Heading("forwards alone")]
    backwards_alone: Annotated[int, Heading("backwards alone")]
    not_backwards: Annotated[Share | None, Heading("not backwards")]
    not_forwards: Annotated[Share | None, Heading("not forwards")]


def count_directions(relation: str | None, name: str, known: Bools, back: Bools) -> DirectionCounts:
    """Count the facts of a group that are known in each direction; ``known`` is forwards, ``back`` backwards."""
    total, first, second, both = len(known), int(known.sum()), int(back.sum()), int((known & back).sum())
    return DirectionCounts(
        relation,
        name,
        total,
        share(first, total),
        share(second, total),
        both,
        first - both,
        second - both,
        share(first - both, first) if first else None,
        share(second - both, second) if second else None,
    )


def one_way_facts(
    facts: list[str], known: AnsweredFacts, missed: AnsweredFacts, names: Mapping[str, str]
) -> list[OneWayFact]:
    """Return facts that are known in one direction, by name of the relation."""
    one_way = []
    for fact, row, other in zip(facts, known.rows(facts), missed.rows(facts), strict=True):
        one_way.append(
            OneWayFact(
                known.direction,
                fact,
                other["subject"] if known.reversed else row["subject"],
                row["relation"],
                names.get(row["relation"], row["relation"]),
                row["question"],
                row["right_answer"],
                other["question"],
                other["right_answer"],
                other["prediction"],
            )
        )
    return sorted(one_way, key=lambda fact: (fact.relation_name, fact.fact))
