"""Both directions of the same facts: asked from subject to object, and from object to subject.

An inverse graph keeps the facts' ids, by which the directions are paired. docs/methods/reversed-graphs.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kgprobe.results.result import SHOWN_FACTS
from kgprobe.running.shared_facts import AnsweredFacts, Bools, SharedFacts
from kgprobe.stats.proportions import Share, share
from kgprobe.tables import Heading, ResultRow, Table, row_table


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


@dataclass(frozen=True, slots=True)
class Directions(ResultRow):
    """A comparison of both directions.

    Attributes:
        forwards, backwards: names of the results.
        overall: all facts that were asked in both directions.
        relations: counts by relation, those with most facts known only forwards first.
        one_way_facts: the facts that are known in only one direction: forwards, then backwards; by relation.
    """

    forwards: str
    backwards: str
    overall: DirectionCounts
    relations: Sequence[DirectionCounts]
    one_way_facts: Sequence[OneWayFact]

    def tables(self) -> list[Table]:
        """Return both directions for all facts and by relation, and the first facts known in one of them only."""
        note = (
            "A fact counts as known in a direction if it has more right answers than wrong ones. The chance level may"
            " differ between directions: see the table of results."
        )
        rows = [self.overall, *self.relations]
        tables = [row_table("directions", "Known forwards and backwards", rows, [note])]
        for known, missed in (("forwards", "backwards"), ("backwards", "forwards")):
            facts = [fact for fact in self.one_way_facts if fact.known == known]
            title = f"Known {known} and not {missed}"
            if facts:
                tables.append(row_table(f"{known}_alone", title, facts, limit=SHOWN_FACTS, known=known, missed=missed))
        return tables

    def summary(self) -> str:
        """Return the share of the facts known in one direction that are not known in the other, in sentences."""
        overall, both = self.overall, self.overall.both
        sentences = [
            f"Directions, over {overall.facts:,} facts: {overall.forwards} known forwards, {overall.backwards}"
            " backwards."
        ]
        if overall.not_backwards is not None:
            known = f"the {overall.forwards_alone + both:,} facts known forwards"
            sentences.append(f"Not known backwards: {overall.not_backwards} of {known}.")
        if overall.not_forwards is not None:
            known = f"the {overall.backwards_alone + both:,} facts known backwards"
            sentences.append(f"Not known forwards: {overall.not_forwards} of {known}.")
        return " ".join(sentences)


def compare_directions(
    answered: Sequence[AnsweredFacts], shared: SharedFacts, names: Mapping[str, str]
) -> Directions | None:
    """Compare the knowledge of the same facts in both directions; None unless two results differ in direction.

    Cost: a pass over the facts per relation.

    Args:
        answered: the results in any order.
        shared: their shared facts, at least one.
        names: names of relations by id.
    """
    if len(answered) != 2 or answered[0].reversed == answered[1].reversed:
        return None
    order = [1, 0] if answered[0].reversed else [0, 1]
    forward, backward = (answered[place] for place in order)
    known, back = shared.known[order]
    relations, facts = np.array(shared.relations), np.array(shared.facts)
    groups = []
    for relation in np.unique(relations).tolist():
        chosen = relations == relation
        groups.append(_counts(relation, names.get(relation, relation), known[chosen], back[chosen]))
    groups.sort(key=lambda counts: (-counts.forwards_alone, str(counts.relation)))
    ahead, behind = (shared.labels[place] for place in order)
    one_way = _one_way(facts[known & ~back].tolist(), forward, backward, names)
    one_way += _one_way(facts[back & ~known].tolist(), backward, forward, names)
    return Directions(ahead, behind, _counts(None, "all", known, back), groups, one_way)


def _counts(relation: str | None, name: str, known: Bools, back: Bools) -> DirectionCounts:
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


def _one_way(
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
