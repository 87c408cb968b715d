"""Two directions of the same facts: what a model knows from subject to object and not from object to subject.

Facts pair by their ids: a reversed graph keeps them. docs/methods/reversed-graphs.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.analysis.side_by_side import AnsweredFacts, SideBySide
from kgprobe.stats.proportions import Share, share


@dataclass(frozen=True, slots=True)
class OneWayFact:
    """A fact that is known in one direction alone.

    Attributes:
        known: ``forwards`` or ``backwards``.
        subject: as the graph has it, whatever the direction.
        known_question, known_answer: of the direction in which it is known.
        missed_question, missed_answer: of the other one.
        prediction: what the model preferred there, or said.
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
    """Both directions over some facts.

    Attributes:
        relation: id; None for all facts.
        forwards, backwards: shares of the facts that are known.
        both: facts that are known in both directions.
        forwards_alone, backwards_alone: facts that are known in one of them.
        not_backwards: the share of what is known forwards that is not known backwards; None where nothing is.
        not_forwards: the same the other way.
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
    """Two directions of the same facts.

    Attributes:
        forwards_label, backwards_label: what the results are called.
        overall: all facts that were asked in both directions.
        relations: the same by relation, the most facts that are known forwards alone first.
        one_way: the facts that are known in one direction alone, those known forwards first, by relation.
    """

    forwards_label: str
    backwards_label: str
    overall: DirectionCounts
    relations: Sequence[DirectionCounts]
    one_way: Sequence[OneWayFact]


def compare_directions(answered: Sequence[AnsweredFacts], beside: SideBySide, names: Mapping[str, str]) -> Directions:
    """What is known in one direction and not in the other. Cost: a pass over the facts a relation.

    Args:
        answered: two, of which one is reversed, in either order.
        beside: the same side by side; they share a fact.
        names: what relations are called, by id.
    """
    ahead = 1 if answered[0].reversed else 0
    won = beside.won[[ahead, 1 - ahead]]
    forward, backward = answered[ahead], answered[1 - ahead]
    relations = np.array(beside.relations)

    def counts(relation: str | None) -> DirectionCounts:
        known, back = won if relation is None else won[:, relations == relation]
        total, first, second, both = len(known), int(known.sum()), int(back.sum()), int((known & back).sum())
        return DirectionCounts(
            relation,
            "all" if relation is None else names.get(relation, relation),
            total,
            share(first, total),
            share(second, total),
            both,
            first - both,
            second - both,
            share(first - both, first) if first else None,
            share(second - both, second) if second else None,
        )

    def one_way(known: AnsweredFacts, missed: AnsweredFacts, places: Sequence[int]) -> list[OneWayFact]:
        facts = [beside.facts[place] for place in places]
        rows = zip(
            facts, known.facts.loc[facts].to_dict("records"), missed.facts.loc[facts].to_dict("records"), strict=True
        )
        found = [
            OneWayFact(
                known.direction,
                fact,
                str(forward.facts.at[fact, "subject"]),
                its["relation"],
                names.get(its["relation"], its["relation"]),
                its["question"],
                its["right_answer"],
                other["question"],
                other["right_answer"],
                other["prediction"],
            )
            for fact, its, other in rows
        ]
        return sorted(found, key=lambda one: (one.relation_name, one.fact))

    by_relation = [counts(relation) for relation in np.unique(relations).tolist()]
    labels = [beside.sides[place].label for place in (ahead, 1 - ahead)]
    return Directions(
        labels[0],
        labels[1],
        counts(None),
        sorted(by_relation, key=lambda one: (-one.forwards_alone, str(one.relation))),
        [
            *one_way(forward, backward, np.flatnonzero(won[0] & ~won[1]).tolist()),
            *one_way(backward, forward, np.flatnonzero(won[1] & ~won[0]).tolist()),
        ],
    )
