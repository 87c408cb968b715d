"""Both directions of the same facts: asked from subject to object, and from object to subject.

An inverse graph keeps the facts' ids, by which the directions are paired. docs/methods/reversed-graphs.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from kgprobe.analysis.side_by_side import AnsweredFacts, Bools, SideBySide
from kgprobe.stats.proportions import Share, share


@dataclass(frozen=True, slots=True)
class OneWayFact:
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
    relation_name: str
    known_question: str
    known_answer: str
    missed_question: str
    missed_answer: str
    prediction: str | None


@dataclass(frozen=True, slots=True)
class DirectionCounts:
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
    name: str
    facts: int
    forwards: Share
    backwards: Share
    both: int
    forwards_alone: int
    backwards_alone: int
    not_backwards: Share | None
    not_forwards: Share | None


@dataclass(frozen=True, slots=True)
class Directions:
    """A comparison of both directions.

    Attributes:
        forwards_label, backwards_label: names of the results.
        overall: all facts that were asked in both directions.
        relations: counts by relation, those with most facts known only forwards first.
        one_way: the facts that are known in only one direction: forwards, then backwards; by relation.
    """

    forwards_label: str
    backwards_label: str
    overall: DirectionCounts
    relations: Sequence[DirectionCounts]
    one_way: Sequence[OneWayFact]


def compare_directions(answered: Sequence[AnsweredFacts], compared: SideBySide, names: Mapping[str, str]) -> Directions:
    """Compare the knowledge of the same facts in both directions. Cost: a pass over the facts per relation.

    Args:
        answered: two results, one of them reversed, in either order.
        compared: their comparison, with at least one shared fact.
        names: names of relations by id.
    """
    ahead = 1 if answered[0].reversed else 0
    order = [ahead, 1 - ahead]
    forward, backward = (answered[place] for place in order)
    labels = [compared.sides[place].label for place in order]
    known, back = won = compared.won[order]
    relations = np.array(compared.relations)
    by_relation = []
    for relation in np.unique(relations).tolist():
        known_there, back_there = won[:, relations == relation]
        by_relation.append(_counts(relation, names.get(relation, relation), known_there, back_there))
    subjects = dict(zip(compared.facts, forward.facts.loc[list(compared.facts), "subject"], strict=True))
    only_forwards, only_backwards = compress(compared.facts, known & ~back), compress(compared.facts, back & ~known)
    return Directions(
        labels[0],
        labels[1],
        _counts(None, "all", known, back),
        sorted(by_relation, key=lambda counts: (-counts.forwards_alone, str(counts.relation))),
        [
            *_one_way(forward, backward, list(only_forwards), subjects, names),
            *_one_way(backward, forward, list(only_backwards), subjects, names),
        ],
    )


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
    known: AnsweredFacts, missed: AnsweredFacts, facts: list[str], subjects: Mapping[str, str], names: Mapping[str, str]
) -> list[OneWayFact]:
    one_way = []
    rows, other_rows = (result.facts.loc[facts].to_dict("records") for result in (known, missed))
    for fact, row, other in zip(facts, rows, other_rows, strict=True):
        relation = row["relation"]
        one_way.append(
            OneWayFact(
                known.direction,
                fact,
                str(subjects[fact]),
                relation,
                names.get(relation, relation),
                row["question"],
                row["right_answer"],
                other["question"],
                other["right_answer"],
                other["prediction"],
            )
        )
    return sorted(one_way, key=lambda fact: (fact.relation_name, fact.fact))
