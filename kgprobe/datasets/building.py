"""Which relations of a graph make up a data set, and which of their facts: the rules of T-REx-MC.

Section 4 and appendix A.2 of the latent-knowledge paper; docs/methods/data-sets.md. A relation qualifies by how many
facts and objects it has. Its facts come in an order that follows from the seed alone, those of a subject one after
the other; one is taken if it has all its alternatives, and no subject has facts in both splits. The graph's facts are
streamed once to find them; from there on one relation is at work at a time.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from kgprobe.datasets import DatasetOptions
from kgprobe.datasets.rows import TEST, TRAIN, ChoiceRow, row_of
from kgprobe.graph.client import Graph, Row
from kgprobe.probes.examples.items import ChoiceItem, draw_choices
from kgprobe.sampling.facts import askable_relations, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives
from kgprobe.sampling.seeded_order import seeded_number

# Facts that get their alternatives together.
_BATCH = 100
# Of facts that may turn out to lack alternatives, so many more are kept than are wanted; where they do not do, four
# times as many are looked for.
_SPARE_SHARE = 0.25
_MORE = 4


@dataclass(frozen=True, slots=True)
class RelationCounts:
    """A relation, and why it is in a data set or not.

    Attributes:
        label: its id where it has none.
        facts: that hold at the date and have names at both ends.
        objects: with a name, of facts of any time.
        reason: why it is left out, as a clause; None if it is in.
    """

    relation: str
    label: str
    facts: int
    objects: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of a relation.

    Attributes:
        rows: by split; none where it is left out.
    """

    counts: RelationCounts
    rows: Mapping[str, Sequence[ChoiceRow]] = field(default_factory=dict)


def draw_relations(
    graph: Graph,
    relations: Sequence[str],
    options: DatasetOptions,
    *,
    seed: int,
    as_of: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Drawn]:
    """Each relation once: with its rows, or with why it is left out.

    Cost: a scan of the graph's facts, streamed, seldom a second; a walk through the relations' objects; then the
    drawing of alternatives for the facts that are taken. Memory: some 200 bytes for each fact that may be taken, and
    the rows of one relation.

    Args:
        relations: ids; none means all that are active.
        as_of: facts count as current at this date, ``yyyymmdd``.
        on_progress: called with how many relations are done, and how many there are.

    Raises:
        UnknownNameError: a relation that was named is not active.
        KgprobeError: none is.
    """
    described = askable_relations(graph, wanted=relations)
    objects = {row["id"]: row["objects"] for row in graph.read("sample/object_counts", ids=list(described))}
    wanted = options.train + options.test
    kept = int(wanted * (1 + _SPARE_SHARE)) + _BATCH
    pending = list(described)
    done = 0
    on_progress(done, len(described))
    while pending:
        orders = _in_order(graph, pending, kept, seed, as_of)
        unfinished: list[str] = []
        for relation in pending:
            order = orders.pop(relation)
            row = described[relation]
            counts = RelationCounts(relation, row["label"] or relation, order.facts, objects[relation])
            drawn = _drawn(graph, counts, order.keys() if _qualifies(counts, options) else [], options, seed, as_of)
            if drawn.counts.reason and _qualifies(counts, options) and order.facts > kept:
                unfinished.append(relation)
                continue
            done += 1
            yield drawn
            on_progress(done, len(described))
        pending, kept = unfinished, kept * _MORE


def split_by_subject(items: Sequence[ChoiceItem], train: int, test: int) -> tuple[list[ChoiceItem], list[ChoiceItem]]:
    """Facts to show and facts to ask, none of a subject in both; fewer of either where there are not enough.

    Args:
        items: those of a subject one after the other.
        train, test: how many are wanted.
    """
    shown: list[ChoiceItem] = []
    rest: list[list[ChoiceItem]] = []
    for _, its in groupby(items, key=lambda item: item.fact.key.subject):
        group = list(its)
        if len(shown) + len(group) <= train:
            shown += group
        else:
            rest.append(group)
    if len(shown) < train and rest:
        # Each of these has more facts than there is room for; what is over of one cannot be asked.
        cut = min(rest, key=len)
        rest.remove(cut)
        shown += cut[: train - len(shown)]
    return shown, [item for group in rest for item in group][:test]


def _qualifies(counts: RelationCounts, options: DatasetOptions) -> bool:
    return counts.facts >= options.min_facts and counts.objects >= options.min_objects


def _drawn(
    graph: Graph, counts: RelationCounts, keys: Sequence[FactKey], options: DatasetOptions, seed: int, as_of: int
) -> Drawn:
    if not _qualifies(counts, options):
        few = [
            f"{have:,} {things} of {least:,}"
            for have, things, least in (
                (counts.facts, "facts", options.min_facts),
                (counts.objects, "objects", options.min_objects),
            )
            if have < least
        ]
        return _left_out(counts, " and ".join(few))
    negatives = Negatives(graph, as_of)
    usable: list[ChoiceItem] = []
    # Two terms of one office are two facts, and one question.
    triples: set[tuple[str, str]] = set()
    for start in range(0, len(keys), _BATCH):
        facts = describe_facts(graph, keys[start : start + _BATCH])
        for item in draw_choices(negatives, facts, options.alternatives, [seed]):
            fact = item.fact
            named = fact.subject_label.strip() and fact.object_label.strip()
            triple = (fact.key.subject, fact.object)
            if named and len(item.others) == options.alternatives and triple not in triples:
                triples.add(triple)
                usable.append(item)
        if len(usable) < options.train + options.test:
            continue
        shown, asked = split_by_subject(usable, options.train, options.test)
        if len(shown) == options.train and len(asked) == options.test:
            rows = {
                split: [row_of(item, counts.label, item.order([seed])) for item in its]
                for split, its in ((TRAIN, shown), (TEST, asked))
            }
            return Drawn(counts, rows)
    return _left_out(
        counts,
        f"{len(usable):,} facts have {options.alternatives:,} alternatives, too few for {options.train:,} to show and"
        f" {options.test:,} to ask of other subjects",
    )


def _left_out(counts: RelationCounts, reason: str) -> Drawn:
    return Drawn(RelationCounts(counts.relation, counts.label, counts.facts, counts.objects, reason))


def _in_order(graph: Graph, relations: Sequence[str], count: int, seed: int, as_of: int) -> "dict[str, _FirstFacts]":
    orders = {relation: _FirstFacts(count) for relation in relations}
    row: Row
    for row in graph.stream("sample/demonstrations", relations=list(relations), as_of=as_of):
        orders[row["relation"]].offer(seed, FactKey(row["subject"], row["fact"]))
    return orders


class _FirstFacts:
    """How many facts a relation has, and the first of them in random order, those of a subject side by side."""

    def __init__(self, count: int) -> None:
        self.facts = 0
        self._count = count
        # Places are negated, so that the last of those kept stands first.
        self._heap: list[tuple[int, int, FactKey]] = []

    def offer(self, seed: int, key: FactKey) -> None:
        self.facts += 1
        place = -seeded_number(seed, "subject", key.subject)
        if len(self._heap) == self._count and place < self._heap[0][0]:
            return
        entry = (place, -seeded_number(seed, "fact", key.fact), key)
        if len(self._heap) < self._count:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def keys(self) -> list[FactKey]:
        return [key for *_, key in sorted(self._heap, reverse=True)]
