"""How often the right answer won: by relation, by sentence, and where the model is confident.

docs/methods/choices.md.
"""

from collections.abc import Iterable

from kgprobe.probes.choices.evidence import ChoiceEvidence
from kgprobe.probes.confidence_tables import Chosen, confidence_table, relations_table
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.stats.proportions import share
from kgprobe.tables import Table


def accuracy_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """Accuracy by relation, by sentence where several were asked, and by confidence; none where none was asked.

    Memory: some numbers a fact.
    """
    chosen: list[Chosen] = []
    by_sentence: dict[int, list[bool]] = {}
    several = False
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, ChoiceEvidence) or not outcome.verdict.counts:
            continue
        chosen.append(
            Chosen(
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
    if not chosen:
        return []
    tables = [relations_table(chosen)]
    if several:
        rows = [
            {"sentence": place, "facts": len(right), "accuracy": share(sum(right), len(right))}
            for place, right in sorted(by_sentence.items())
        ]
        note = "The first sentence of a relation decides; each is a comparison of its own."
        tables.append(Table("sentences", "Accuracy by the place of the sentence", rows, [note]))
    return [*tables, confidence_table(chosen)]
