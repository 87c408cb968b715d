"""The gap between stored and expressed knowledge: facts that one probe finds known and another finds missed.

Two probes ask one model the same facts: one measures plausibilities (distractors, examples), the other reads its
answers (questions). docs/methods/comparison.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from kgprobe.analysis.side_by_side import AnsweredFacts, Bools, set_side_by_side
from kgprobe.errors import KgprobeError
from kgprobe.stats.proportions import Share, share


@dataclass(frozen=True, slots=True)
class GroupGap:
    """The gap over a group of facts.

    Attributes:
        relation: id; None for all facts.
        stored, said: shares of the facts that the first and the second probe find known.
        known: number of facts that the first probe finds known.
        unsaid: the share of these that the second misses, with its 95% Wilson interval; None where ``known`` is 0.
        said_alone: number of facts that only the second probe finds known.
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
    """A fact that the first probe finds known and the second misses.

    Attributes:
        question: the missed question.
        said: the model's answer to it.
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
    """The gap between a model's stored and expressed knowledge.

    Attributes:
        stored_by, said_by: the probes.
        overall: all facts that both probes asked.
        relations: gaps by relation, by decreasing share of unsaid facts; relations without known facts last.
        unsaid: the unsaid facts, by relation and fact.
        guessed: win rates of a guesser, by the first and by the second probe.
        caveat: the facts that the shares refer to.
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
    """Find the facts that a model knows by the first probe and misses in the second.

    Cost: a pass over the facts.

    Args:
        names: names of relations by id; a missing one is replaced by the id.

    Raises:
        KgprobeError: the probes share no facts.
    """
    beside = set_side_by_side([stored, said])
    if not beside.facts:
        raise KgprobeError(
            "No fact was asked in both ways. Measure the model on the same facts: the same list, or the same seed."
        )
    relations = np.array(beside.relations)
    by_relation = [
        _gap(beside.won[:, relations == relation], relation, names.get(relation, relation))
        for relation in np.unique(relations).tolist()
    ]
    by_relation.sort(key=lambda gap: (-gap.unsaid.value if gap.unsaid else 1.0, -gap.known, str(gap.relation)))
    facts = list(compress(beside.facts, beside.won[0] & ~beside.won[1]))
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
    guessed = [float(answered.facts.loc[list(beside.facts), "guessed"].mean()) for answered in (stored, said)]
    return FoundGap(
        model,
        stored.probe,
        said.probe,
        _gap(beside.won, None, "all"),
        by_relation,
        sorted(unsaid, key=lambda fact: (fact.relation_name, fact.fact)),
        (guessed[0], guessed[1]),
        beside.caveat,
    )


def _gap(won: Bools, relation: str | None, name: str) -> GroupGap:
    stores, says = won
    known, total = int(stores.sum()), len(stores)
    return GroupGap(
        relation,
        name,
        total,
        share(known, total),
        share(int(says.sum()), total),
        known,
        share(int((stores & ~says).sum()), known) if known else None,
        int((says & ~stores).sum()),
    )
