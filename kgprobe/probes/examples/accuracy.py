"""Accuracy and confidence after examples, and the number of facts with fewer examples or choices.

Section 2 and appendix D of the latent-knowledge paper; docs/methods/examples.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kgprobe.probes.confidence_tables import ScoredChoice, confidence_table, relations_table
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.tables import Table


def example_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Return the accuracy by relation with the mean confidence, and accuracy@K; no table without answers.

    Memory: a few numbers per fact.

    Args:
        described: the probe's description; a note counts the facts with fewer ``examples`` or ``choices``.
    """
    results: list[ScoredChoice] = []
    fewer_examples = fewer_choices = left_out = 0
    examples, choices = described.get("examples", 0), described.get("choices", 0)
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, ExampleEvidence):
            continue
        confidences = evidence.confidences
        results.append(
            ScoredChoice(
                relation=outcome.relation,
                is_right=evidence.is_right,
                choices=len(confidences),
                probability=float(confidences[0]),
                confidence=float(confidences.max()),
            )
        )
        fewer_examples += evidence.examples < examples
        fewer_choices += len(confidences) < choices
        left_out += len(evidence.left_out)
    if not results:
        return []
    notes = []
    if fewer_examples:
        notes.append(fewer_examples_note(fewer_examples, len(results), examples))
    if fewer_choices:
        reason = f"fewer than {choices} choices: their relation has no more objects"
        notes.append(f"{fewer_choices:,} of {len(results):,} facts have {reason}.")
    if left_out:
        notes.append(f"{left_out:,} choices were left out, since the model cannot take them.")
    return [relations_table(results, notes), confidence_table(results)]


def fewer_examples_note(fewer: int, facts: int, examples: int) -> str:
    """Return the note on facts that have fewer examples than asked for."""
    reason = f"fewer than {examples} examples: their relation or the model's context has no more"
    return f"{fewer:,} of {facts:,} facts have {reason}."
