"""The gap between stored and expressed knowledge: facts that one probe finds known and another finds missed.

Two probes ask one model the same facts: one measures plausibilities (distractors, examples), the other reads its
answers (questions). docs/methods/comparison.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from kgprobe.answers.settings import note_of_dates
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.intervals import Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.models.spec_forms import model_name
from kgprobe.results.answers import (
    Stored,
    check_same_model,
    collect_answers,
    settings_of,
)
from kgprobe.results.rendering.plots import HeatMap
from kgprobe.results.result import SHOWN_FACTS, Listing, StoredResult
from kgprobe.results.shared_facts import Bools, SharedFacts
from kgprobe.stats.proportions import share


@dataclass(frozen=True, slots=True)
class GroupGap(ResultRow):
    """The gap over a group of facts.

    Attributes:
        relation: id; None for all facts.
        stored, said: shares of the facts that the first and the second probe find known.
        known: number of facts that the first probe finds known.
        unsaid: the share of these that the second misses, with its 95% Wilson interval; None where ``known`` is 0.
        said_alone: number of facts that only the second probe finds known.
    """

    relation: str | None
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    stored: Annotated[Share, Heading("known by {stored_by}")]
    said: Annotated[Share, Heading("known by {said_by}")]
    known: int
    unsaid: Annotated[Share | None, Heading("of the first, missed")]
    said_alone: Annotated[int, Heading("known by the second alone")]


@dataclass(frozen=True, slots=True)
class UnsaidFact(ResultRow):
    """A fact that the first probe finds known and the second misses.

    Attributes:
        question: the missed question.
        said: the model's answer to it.
    """

    fact: str
    subject: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    question: Annotated[str, Heading("question")]
    right_answer: Annotated[str, Heading("right")]
    said: Annotated[str | None, Heading("said")]


_GUESSED = (
    "{caveat} Chance level: {guessed_stored:.0%} by {stored_by} and {guessed_said:.0%} by {said_by}. Facts known by"
    " chance and then missed count, too."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KnowledgeGap(StoredResult):
    """Facts that a model knows by one probe and misses by another; one row for all facts, then one for each relation.

    Attributes:
        stored_by, said_by: the probes.
        guessed_stored, guessed_said: win rates of a guesser, by the first and by the second probe.
        overall: all facts that both probes asked.
        relations: gaps by relation, by decreasing share of unsaid facts; relations without known facts last.
        unsaid_facts: the unsaid facts, by relation and fact.
        caveat: the facts that the shares refer to.
    """

    model: str
    stored_by: str
    said_by: str
    guessed_stored: float
    guessed_said: float
    overall: GroupGap
    relations: Sequence[GroupGap]
    unsaid_facts: Annotated[Sequence[UnsaidFact], Listing("Missed by {said_by}", show=SHOWN_FACTS)]
    caveat: str

    file: ClassVar[str] = "gap"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{self.model}: known by {self.stored_by}, missed by {self.said_by}"

    @property
    def groups(self) -> Annotated[Sequence[GroupGap], Listing("{model}: known by {stored_by}", _GUESSED)]:
        """All facts (relation None), then each relation, the largest gap first."""
        return [self.overall, *self.relations]

    def summary(self) -> str:
        """Return the share of the known facts that are missed, in a sentence."""
        overall = self.overall
        if overall.unsaid is None:
            return f"By {self.stored_by}, {self.model} knows none of the {overall.facts:,} facts."
        return (
            f"{self.model} knows {overall.known:,} facts by {self.stored_by}, and misses {overall.unsaid} of them by"
            f" {self.said_by}."
        )

    @property
    def plots(self) -> list[HeatMap]:
        """A heat map of both shares by relation."""
        names = [relation.name for relation in self.relations]
        shares = [[relation.stored.value, relation.said.value] for relation in self.relations]
        probes = [self.stored_by, self.said_by]
        return [HeatMap("Known by relation, the greatest gap first", names, probes, shares, "share known")]


def gap_between(stored: Stored, said: Stored) -> KnowledgeGap:
    """Find the gap between two stored results; see :func:`kgprobe.gap`."""
    if stored.kind.name == said.kind.name:
        raise ArgumentError("said", f"is by the probe {said.kind.name}, like the first; expected another probe.")
    check_same_model("said", stored, said)
    both, names, unshared = collect_answers([stored, said])
    config = {"stored": str(stored.folder), "said": str(said.folder)}
    gap = find_knowledge_gap(both, names)
    dated = note_of_dates(map(settings_of, (stored, said)))
    return replace(gap, config=config, notes=tuple(filter(None, [dated, unshared])))


def find_knowledge_gap(shared: SharedFacts, names: Mapping[str, str]) -> KnowledgeGap:
    """Find the facts that a model knows by the first probe and misses in the second.

    Cost: a pass over the facts.

    Args:
        shared: the facts of the two probes.
        names: names of relations by id; a missing one is replaced by the id.

    Raises:
        KgprobeError: the probes share no facts.
    """
    if not shared.facts:
        raise KgprobeError(
            "No fact was asked in both ways. Measure the model on the same facts: the same list, or the same seed."
        )
    stores, says = shared.known
    relations = np.array(shared.relations)
    gaps = []
    for relation in np.unique(relations).tolist():
        chosen = relations == relation
        gaps.append(_gap(relation, names.get(relation, relation), stores[chosen], says[chosen]))
    gaps.sort(key=lambda gap: (-gap.unsaid.value if gap.unsaid else 1.0, -gap.known, str(gap.relation)))
    unsaid_facts = []
    for fact, _, row in shared.rows(stores & ~says):
        relation = row["relation"]
        name, answer = names.get(relation, relation), (row["question"], row["right_answer"], row["prediction"])
        unsaid_facts.append(UnsaidFact(fact, row["subject"], relation, name, *answer))
    stored, said = shared.models
    guessed_stored, guessed_said = (float(own.loc[list(shared.facts), "guessed"].mean()) for own in shared.answered)
    return KnowledgeGap(
        model=model_name(stored.model),
        stored_by=stored.probe,
        said_by=said.probe,
        guessed_stored=guessed_stored,
        guessed_said=guessed_said,
        overall=_gap(None, "all", stores, says),
        relations=gaps,
        unsaid_facts=sorted(unsaid_facts, key=lambda fact: (fact.relation_name, fact.fact)),
        caveat=shared.caveat,
    )


def _gap(relation: str | None, name: str, stores: Bools, says: Bools) -> GroupGap:
    total, known = len(stores), int(stores.sum())
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
