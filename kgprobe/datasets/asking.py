"""In-context estimation on the facts and choices of a data set, without a graph.

Section 2 of the latent-knowledge paper; docs/methods/data-sets.md. Prompts and verdicts are those of the probe
``examples`` (:mod:`kgprobe.probes.examples.items`); the examples are facts of ``train``.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from kgprobe.datasets.folder import TEST, TRAIN, ChoiceRow, DatasetFolder
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.items import ask_after_examples
from kgprobe.probes.examples.prompts import ExamplePrompts
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.keys import seeded_number

_BATCH = 64


def dataset_demonstrations(folder: DatasetFolder, seed: int) -> dict[str, list[Demonstration]]:
    """Return the facts of ``train`` by relation, ordered by a hash of the seed and their ids.

    Memory: the names of the facts of ``train``.

    Raises:
        KgprobeError: see :meth:`DatasetFolder.rows`.
    """
    by_relation: dict[str, list[Demonstration]] = {}
    for _, row in folder.rows(TRAIN):
        example = Demonstration(row.fact_id, row.subject_id, row.subject, row.object_id, row.object)
        by_relation.setdefault(row.relation, []).append(example)
    for examples in by_relation.values():
        examples.sort(key=lambda example: (seeded_number(seed, "example", example.fact), example.fact))
    return by_relation


def ask_dataset(
    folder: DatasetFolder,
    scorer: TextScorer,
    prompts: ExamplePrompts,
    demonstrations: Mapping[str, Sequence[Demonstration]],
    per_relation: int | None,
    places: Collection[int],
) -> Iterator[tuple[ChoiceRow, Outcome]]:
    """Yield each fact of ``test`` with its outcome, in the file's order.

    Args:
        demonstrations: few-shot examples by relation; facts of a relation without examples cannot be asked.
        per_relation: only the first facts of each relation; None is all.
        places: numbers of the facts to ask among those, see :func:`draw_places`.

    Raises:
        KgprobeError: see :meth:`DatasetFolder.rows`.
    """
    rows = (row for place, row in enumerate(limited_rows(folder, per_relation)) if place in places)
    while batch := list(islice(rows, _BATCH)):
        examples = {row.relation: demonstrations.get(row.relation, ()) for row in batch}
        outcomes = ask_after_examples(scorer, prompts, [row.item() for row in batch], examples)
        yield from zip(batch, outcomes, strict=True)


def draw_places(folder: DatasetFolder, per_relation: int | None, limit: int | None, seed: int) -> Collection[int]:
    """Draw facts from :func:`limited_rows` and return their numbers: the lowest hashes of seed and fact.

    Cost: one pass over the file, which checks every row.

    Args:
        limit: maximum number of facts; None is all.
    """
    rows = enumerate(limited_rows(folder, per_relation))
    if limit is None:
        return range(sum(1 for _ in rows))
    ranks = ((seeded_number(seed, "asked", row.fact_id), place) for place, row in rows)
    return {place for _, place in heapq.nsmallest(limit, ranks)}


def limited_rows(folder: DatasetFolder, limit: int | None) -> Iterator[ChoiceRow]:
    """Yield the facts of ``test``, at most ``limit`` per relation."""
    counts: Counter[str] = Counter()
    for _, row in folder.rows(TEST):
        counts[row.relation] += 1
        if limit is None or counts[row.relation] <= limit:
            yield row


def answer_line(row: ChoiceRow, outcome: Outcome) -> dict[str, Any]:
    """Return the line of a fact in the output.

    ``predicted`` is the object if it was more probable than every other choice, else the most probable other choice;
    ``log_probabilities`` are in the order of the row's choices, null for those beyond the model's context.
    """
    line = {"fact_id": row.fact_id, "relation": row.relation, "subject": row.subject, "object": row.object}
    evidence = outcome.evidence
    if not isinstance(evidence, ExampleEvidence):
        return line | {"right": None, "reason": outcome.reason}
    ids = [evidence.object.id, *map(attrgetter("id"), evidence.others)]
    values = dict(zip(ids, evidence.log_probabilities.tolist(), strict=True))
    predicted = row.object if evidence.prediction is None else evidence.prediction
    return line | {
        "right": evidence.is_right,
        "predicted": predicted,
        "predicted_id": row.choice_ids[row.choices.index(predicted)],
        "confidence": evidence.probability,
        "examples": evidence.examples,
        "log_probabilities": list(map(values.get, row.choice_ids)),
        "prompt": outcome.prompt,
    }
