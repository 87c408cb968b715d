"""The gap between what a model holds and what it says: facts known by one way of asking and missed by another.

One model, asked of the same facts by two probes: one that looks at what it holds (distractors, examples), and one that
has it answer (questions). docs/methods/comparison.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.analysis.side_by_side import AnsweredFacts, set_side_by_side
from kgprobe.errors import KgprobeError
from kgprobe.stats.proportions import Share, share


@dataclass(frozen=True, slots=True)
class GroupGap:
    """The gap over some facts.

    Attributes:
        relation: id; None for all facts.
        stored, said: shares of the facts that each way of asking finds known.
        known: how many facts the first finds known.
        unsaid: the share of these that the second misses, with its 95% Wilson interval; None where there are none.
        said_alone: facts that the second alone finds known.
    """

    relation: str | None
    name: str
    facts: int
    stored: Share
    said: Share
    known: int
    unsaid: Share | None
    said_alone: int


@dataclass(frozen=True, slots=True)
class UnsaidFact:
    """A fact that the first way of asking finds known and the second misses.

    Attributes:
        question: that it missed.
        said: what the model said or preferred there.
    """

    fact: str
    subject: str
    relation: str
    relation_name: str
    question: str
    right_answer: str
    said: str | None


@dataclass(frozen=True, slots=True)
class FoundGap:
    """What a model holds and does not say.

    Attributes:
        stored_by, said_by: the probes.
        overall: all facts that were asked in both ways.
        relations: the same by relation, the greatest share of unsaid facts first; those that know nothing last.
        unsaid: by relation and fact.
        guessed: how often a guesser would be right, by the first and by the second way.
        caveat: what the shares speak of.
    """

    model: str
    stored_by: str
    said_by: str
    overall: GroupGap
    relations: Sequence[GroupGap]
    unsaid: Sequence[UnsaidFact]
    guessed: tuple[float, float]
    caveat: str


def find_knowledge_gap(stored: AnsweredFacts, said: AnsweredFacts, model: str, names: Mapping[str, str]) -> FoundGap:
    """The facts that a model holds and does not say.

    Cost: a pass over the facts.

    Args:
        model: what it is called.
        names: what relations are called, by id; one that is missing is called by its id.

    Raises:
        KgprobeError: no fact was asked in both ways.
    """
    beside = set_side_by_side([stored, said])
    if not beside.facts:
        raise KgprobeError(
            "No fact was asked in both ways. Measure the model on the same facts: the same list, or the same seed."
        )
    relations = np.array(beside.relations)

    def gap(relation: str | None) -> GroupGap:
        its = np.ones(len(relations), dtype=bool) if relation is None else relations == relation
        holds, says = beside.won[:, its]
        known, total = int(holds.sum()), int(its.sum())
        return GroupGap(
            relation,
            "all" if relation is None else names.get(relation, relation),
            total,
            share(known, total),
            share(int(says.sum()), total),
            known,
            share(int((holds & ~says).sum()), known) if known else None,
            int((says & ~holds).sum()),
        )

    by_relation = [gap(relation) for relation in np.unique(relations).tolist()]
    by_relation.sort(key=lambda one: (-one.unsaid.value if one.unsaid else 1.0, -one.known, str(one.relation)))
    missed = beside.won[0] & ~beside.won[1]
    facts = [beside.facts[at] for at in np.flatnonzero(missed).tolist()]
    unsaid = [
        UnsaidFact(
            fact,
            row["subject"],
            row["relation"],
            names.get(row["relation"], row["relation"]),
            row["question"],
            row["right_answer"],
            row["prediction"],
        )
        for fact, row in zip(facts, said.facts.loc[facts].to_dict("records"), strict=True)
    ]
    guessed = [float(one.facts.loc[list(beside.facts), "guessed"].mean()) for one in (stored, said)]
    return FoundGap(
        model,
        stored.probe,
        said.probe,
        gap(None),
        by_relation,
        sorted(unsaid, key=lambda one: (one.relation_name, one.fact)),
        (guessed[0], guessed[1]),
        beside.caveat,
    )
