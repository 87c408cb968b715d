"""Selection of relations and facts for a data set, by the rules of T-REx-MC.

Section 4 and appendix A.2 of the latent-knowledge paper; docs/methods/data-sets.md. A relation qualifies by its
numbers of facts and objects. Its facts have a random order that depends only on the seed, with the facts of a subject
in sequence. A fact is used if it has enough alternatives, and no subject has facts in both splits. The graph's facts
are streamed once; then relations are processed one at a time.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.datasets import DatasetOptions
from kgprobe.datasets.folder import TEST, TRAIN, ChoiceRow, row_of, written_rows
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.rows import column_by
from kgprobe.probes.examples.items import ChoiceItem, draw_choices
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.sampling.question_negatives import Negatives
from kgprobe.verbalize.askable_relations import askable_relations

# Facts per batch when drawing alternatives.
_BATCH = 100
# Spare facts, since some lack alternatives; if they do not suffice, four times as many facts are read.
_SPARE_SHARE = 0.25
_MORE = 4


@dataclass(frozen=True, slots=True)
class RelationCounts(ResultRow):
    """A relation with its counts, and the reason if it is left out.

    Attributes:
        label: of the relation; its id if it has none.
        facts: number of facts that hold at the date and have names at both ends.
        objects: number of objects with a name, at any time.
        reason: clause that says why it is left out; None if it is in the data set.
    """

    relation: Annotated[str, Heading("id")]
    label: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    objects: Annotated[int, Heading("objects")]
    reason: Annotated[str | None, Heading("why")] = None


def build_files(
    graph: Graph,
    folder: Path,
    relations: Sequence[str],
    options: DatasetOptions,
    *,
    seed: int,
    as_of: int,
    on_progress: OnProgress,
) -> list[RelationCounts]:
    """Write the files of a data set into an existing folder; return all relations, sorted by id.

    Cost: one or a few scans of the graph's facts, streamed; a walk through the relations' objects; the draws of
    alternatives. Memory: some 200 bytes for each candidate fact, and the rows of one relation.
    """
    described = askable_relations(graph, ids=relations)
    objects = column_by("id", "objects", graph.read("sample/object_counts", ids=list(described)))
    kept = int((options.train + options.test) * (1 + _SPARE_SHARE)) + _BATCH
    pending = list(described)
    finished: list[RelationCounts] = []
    on_progress(StepProgress("Building", 0, len(described), "relations"))
    with written_rows(folder, options.format) as write:
        while pending:
            orders = {relation: _FirstFacts(kept) for relation in pending}
            row: Row
            for row in graph.stream("sample/demonstrations", relations=list(pending), as_of=as_of):
                orders[row["relation"]].offer(seed, FactKey(row["subject"], row["fact"]))
            unfinished: list[str] = []
            for relation in pending:
                order = orders.pop(relation)
                label = described[relation]["label"] or relation
                reason = _shortage(order.facts, objects[relation], options)
                rows: dict[str, list[ChoiceRow]] = {}
                if not reason:
                    rows, reason = _draw_rows(graph, label, order.keys(), options, seed, as_of)
                    if reason and order.facts > kept:
                        unfinished.append(relation)
                        continue
                for split in rows:
                    write(split, rows[split])
                finished.append(RelationCounts(relation, label, order.facts, objects[relation], reason))
                on_progress(StepProgress("Building", len(finished), len(described), "relations"))
            pending, kept = unfinished, kept * _MORE
    if all(map(attrgetter("reason"), finished)):
        least = (options.min_facts, options.min_objects)
        nearest = max(
            finished, key=lambda counts: np.minimum(1, np.divide((counts.facts, counts.objects), least)).prod()
        )
        raise KgprobeError(
            f"None of {len(finished):,} relations qualifies. The nearest, {nearest.label} ({nearest.relation}), has"
            f" {nearest.facts:,} facts and {nearest.objects:,} objects: {nearest.reason}. `min_facts` and `min_objects`"
            " are the thresholds; `train`, `test` and `alternatives` the numbers that are drawn."
        )
    return sorted(finished, key=attrgetter("relation"))


def split_by_subject(items: Sequence[ChoiceItem], train: int, test: int) -> tuple[list[ChoiceItem], list[ChoiceItem]]:
    """Return facts to show and facts to ask, without a common subject; fewer if there are not enough.

    Args:
        items: with the facts of a subject in sequence.
        train, test: number of facts to show and to ask.
    """
    shown: list[ChoiceItem] = []
    rest: list[list[ChoiceItem]] = []
    for _, of_subject in groupby(items, key=lambda item: item.fact.key.subject):
        group = list(of_subject)
        if len(shown) + len(group) <= train:
            shown += group
        else:
            rest.append(group)
    if len(shown) < train and rest:
        # Each group has more facts than the rest of the split; the excess of one group cannot be asked.
        cut = min(rest, key=len)
        rest.remove(cut)
        shown += cut[: train - len(shown)]
    return shown, list(chain.from_iterable(rest))[:test]


def _shortage(facts: int, objects: int, options: DatasetOptions) -> str | None:
    """Return a clause that says if a relation has too few facts or objects; None if it qualifies."""
    clauses = []
    if facts < options.min_facts:
        clauses.append(f"{facts:,} facts of {options.min_facts:,}")
    if objects < options.min_objects:
        clauses.append(f"{objects:,} objects of {options.min_objects:,}")
    return " and ".join(clauses) or None


def _draw_rows(
    graph: Graph, label: str, keys: Sequence[FactKey], options: DatasetOptions, seed: int, as_of: int
) -> tuple[dict[str, list[ChoiceRow]], str | None]:
    """Draw alternatives until both splits are full; return the rows by split, or the reason why there are too few."""
    negatives = Negatives(graph, as_of)
    usable: list[ChoiceItem] = []
    # Two terms of the same office are two facts, but the same question.
    triples: set[tuple[str, str]] = set()
    for start in range(0, len(keys), _BATCH):
        facts = describe_facts(graph, keys[start : start + _BATCH])
        for item in draw_choices(negatives, facts, options.alternatives, [seed]):
            fact = item.fact
            has_names = fact.subject_label.strip() and fact.object_label.strip()
            triple = (fact.key.subject, fact.object)
            if has_names and len(item.others) == options.alternatives and triple not in triples:
                triples.add(triple)
                usable.append(item)
        if len(usable) < options.train + options.test:
            continue
        train, test = split_by_subject(usable, options.train, options.test)
        if len(train) == options.train and len(test) == options.test:
            rows = [row_of(item, label, item.order([seed])) for item in (*train, *test)]
            return {TRAIN: rows[: len(train)], TEST: rows[len(train) :]}, None
    return {}, (
        f"{len(usable):,} facts have {options.alternatives:,} alternatives, too few for {options.train:,} to show and"
        f" {options.test:,} to ask of other subjects"
    )


class _FirstFacts:
    """The number of facts of a relation, and the first of them in a random order that groups subjects."""

    def __init__(self, count: int) -> None:
        self.facts = 0
        self._count = count
        # Places are negated, so the heap begins with the last fact.
        self._heap: list[tuple[int, int, FactKey]] = []

    def offer(self, seed: int, key: FactKey) -> None:
        self.facts += 1
        place = -seeded_number(seed, "subject", key.subject)
        if len(self._heap) == self._count and place < self._heap[0][0]:
            return
        heapq.heappush(self._heap, (place, -seeded_number(seed, "fact", key.fact), key))
        if len(self._heap) > self._count:
            heapq.heappop(self._heap)

    def keys(self) -> list[FactKey]:
        return [key for *_, key in sorted(self._heap, reverse=True)]
