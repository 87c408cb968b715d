"""Accuracy and confidence of facts that were answered by comparison of choices.

Section 2 and appendix D of the latent-knowledge paper; docs/methods.md, 3.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kgprobe.estimates import share
from kgprobe.probes.confidence import accuracy_at
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.tables import Table


def example_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Accuracy by relation with the mean confidence, and accuracy@K; none where nothing was answered.

    Memory: some numbers a fact.

    Args:
        described: what the probe says of itself.
    """
    relations: dict[str, list[tuple[bool, float, float, float]]] = {}
    fewer_examples = fewer_choices = left_out = 0
    wanted = described.get("examples", 0)
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, ExampleEvidence):
            continue
        confidences = evidence.confidences
        row = (evidence.is_right, float(confidences[0]), float(confidences.max()), evidence.chance)
        relations.setdefault(outcome.relation, []).append(row)
        fewer_examples += evidence.examples < wanted
        fewer_choices += len(confidences) < described["choices"]
        left_out += len(evidence.left_out)
    if not relations:
        return []
    rows = np.array([row for its in relations.values() for row in its])
    by_relation = [
        {
            "relation": relation,
            "facts": len(its),
            "accuracy": share(int(sum(row[0] for row in its)), len(its)),
            "by chance": float(np.mean([row[3] for row in its])),
            "confidence in the right object": float(np.mean([row[1] for row in its])),
        }
        for relation, its in sorted(relations.items())
    ]
    notes = [
        f"{count:,} of {len(rows):,} facts have {what}."
        for count, what in (
            (fewer_examples, f"fewer than {wanted} examples: their relation or the model's context has no more"),
            (fewer_choices, f"fewer than {described['choices']} choices: their relation has no more objects"),
        )
        if count
    ]
    if left_out:
        notes.append(f"{left_out:,} choices were left out, since the model cannot take them.")
    return [
        Table(
            "accuracy",
            f"By relation: accuracy, and the object's probability among its choices; {_over(len(rows))}",
            by_relation,
            notes,
        ),
        Table(
            "accuracy_at",
            "Where the model is sure: accuracy over facts whose most probable choice has at least K",
            [
                {"K": at.threshold, "facts": at.facts, "accuracy": at.accuracy}
                for at in accuracy_at(rows[:, 2], rows[:, 0] > 0)
            ],
        ),
    ]


def _over(facts: int) -> str:
    return "one fact" if facts == 1 else f"{facts:,} facts"
