"""A data set asked of a model: in-context estimation on its own facts and choices, without a graph.

Section 2 of the latent-knowledge paper; docs/methods/data-sets.md. What is put to the model and what counts as right
is as of the probe ``examples`` (:mod:`kgprobe.probes.examples.after`); the examples are facts of ``train``.
"""

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from kgprobe.datasets.folder import DatasetFolder
from kgprobe.datasets.rows import TEST, TRAIN, ChoiceRow
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.probes.examples.after import ask_after_examples
from kgprobe.probes.examples.prompts import ExamplePrompts
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.seeded_order import seeded_number

_BATCH = 64


def dataset_demonstrations(folder: DatasetFolder, seed: int) -> dict[str, list[Demonstration]]:
    """The facts of ``train`` by relation, in an order that follows from the seed and their ids alone.

    Memory: the names of the facts of ``train``.

    Raises:
        KgprobeError: see :meth:`DatasetFolder.rows`.
    """
    by_relation: dict[str, list[Demonstration]] = {}
    for _, row in folder.rows(TRAIN):
        one = Demonstration(row.fact_id, row.subject_id, row.subject, row.object_id, row.object)
        by_relation.setdefault(row.relation, []).append(one)
    return {
        relation: sorted(its, key=lambda one: (seeded_number(seed, "example", one.fact), one.fact))
        for relation, its in by_relation.items()
    }


def ask_dataset(
    folder: DatasetFolder,
    scorer: TextScorer,
    prompts: ExamplePrompts,
    demonstrations: Mapping[str, Sequence[Demonstration]],
    per_relation: int | None = None,
    places: Collection[int] | None = None,
) -> Iterator[tuple[ChoiceRow, Outcome]]:
    """Each fact of ``test`` with what came of it, in the file's order.

    Args:
        demonstrations: by relation; a fact of a relation without any cannot be asked.
        per_relation: how many facts of each relation, the first ones; None is all.
        places: of those, the facts that are asked, by number; None is all.

    Raises:
        KgprobeError: see :meth:`DatasetFolder.rows`.
    """
    rows = limited_rows(folder, per_relation)
    if places is not None:
        rows = (row for place, row in enumerate(rows) if place in places)
    while batch := list(islice(rows, _BATCH)):
        known = {row.relation: demonstrations.get(row.relation, ()) for row in batch}
        yield from zip(batch, ask_after_examples(scorer, prompts, [row.item() for row in batch], known), strict=True)


def draw_places(folder: DatasetFolder, per_relation: int | None, limit: int | None, seed: int) -> Collection[int]:
    """Return the numbers of facts drawn from those of :func:`limited_rows`: the lowest hashes of seed and fact.

    Cost: one reading of the file, by which every row of it is checked.

    Args:
        limit: the most facts; None is all.
    """
    ranks = (
        (seeded_number(seed, "asked", row.fact_id), place)
        for place, row in enumerate(limited_rows(folder, per_relation))
    )
    if limit is None:
        return range(sum(1 for _ in ranks))
    return {place for _, place in heapq.nsmallest(limit, ranks)}


def limited_rows(folder: DatasetFolder, limit: int | None) -> Iterator[ChoiceRow]:
    """The facts of ``test``, of each relation at most so many."""
    counts: dict[str, int] = {}
    for _, row in folder.rows(TEST):
        counts[row.relation] = counts.get(row.relation, 0) + 1
        if limit is None or counts[row.relation] <= limit:
            yield row
