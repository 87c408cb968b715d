"""How often the object won after examples, how sure the model was, and who had fewer examples or choices.

Section 2 and appendix D of the latent-knowledge paper; docs/methods/examples.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kgprobe.probes.confidence_tables import Chosen, confidence_table, relations_table
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.tables import Table


def example_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Accuracy by relation with the mean confidence, and accuracy@K; none where nothing was answered.

    Memory: some numbers a fact.

    Args:
        described: what the probe says of itself; a note says how many facts have fewer ``examples`` or ``choices``.
    """
    chosen: list[Chosen] = []
    fewer_examples = fewer_choices = left_out = 0
    wanted, choices = described.get("examples", 0), described.get("choices", 0)
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, ExampleEvidence):
            continue
        confidences = evidence.confidences
        chosen.append(
            Chosen(
                relation=outcome.relation,
                is_right=evidence.is_right,
                choices=len(confidences),
                probability=float(confidences[0]),
                confidence=float(confidences.max()),
            )
        )
        fewer_examples += evidence.examples < wanted
        fewer_choices += len(confidences) < choices
        left_out += len(evidence.left_out)
    if not chosen:
        return []
    notes = [
        f"{count:,} of {len(chosen):,} facts have {what}."
        for count, what in (
            (fewer_examples, f"fewer than {wanted} examples: their relation or the model's context has no more"),
            (fewer_choices, f"fewer than {choices} choices: their relation has no more objects"),
        )
        if count
    ]
    if left_out:
        notes.append(f"{left_out:,} choices were left out, since the model cannot take them.")
    return [relations_table(chosen, notes), confidence_table(chosen)]
