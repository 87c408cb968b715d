"""Accuracy of the choices by relation, by sentence and by confidence.

docs/methods/choices.md.
"""

from collections.abc import Iterable

from kgprobe.probes.choices.evidence import ChoiceEvidence
from kgprobe.probes.confidence_tables import ScoredChoice, confidence_table, relations_table
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.stats.proportions import share
from kgprobe.tables import Table


def accuracy_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """Return the accuracy by relation, by sentence if several were asked, and by confidence; no table without answers.

    Memory: a few numbers per fact.
    """
    choices: list[ScoredChoice] = []
    by_sentence: dict[int, list[bool]] = {}
    several = False
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, ChoiceEvidence) or not outcome.verdict.counts:
            continue
        choices.append(
            ScoredChoice(
                relation=outcome.relation,
                is_right=outcome.verdict is Verdict.RIGHT,
                choices=evidence.compared,
                probability=evidence.probability,
                confidence=evidence.confidence,
            )
        )
        several = several or len(evidence.sentences) > 1
        for place, sentence in enumerate(evidence.sentences):
            by_sentence.setdefault(sentence.template, []).append(evidence.best(place) == evidence.right)
    if not choices:
        return []
    tables = [relations_table(choices)]
    if several:
        rows = [
            {"sentence": place, "facts": len(right), "accuracy": share(sum(right), len(right))}
            for place, right in sorted(by_sentence.items())
        ]
        note = "Each sentence is compared by itself; the first sentence of a relation decides."
        tables.append(Table("sentences", "Accuracy by the place of the sentence", rows, [note]))
    return [*tables, confidence_table(choices)]
