"""How often the right answer won: by relation, by sentence, and where the model is confident.

docs/methods.md, Choices.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kgprobe.estimates import Share, share
from kgprobe.probes.choices.evidence import ChoiceEvidence
from kgprobe.probes.confidence import accuracy_at
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.tables import Table

# The row of all relations together.
ALL = "all"


@dataclass(slots=True)
class _Tally:
    right: list[bool] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)

    def add(self, outcome: Outcome, evidence: ChoiceEvidence) -> None:
        self.right.append(outcome.verdict is Verdict.RIGHT)
        self.confidences.append(evidence.confidence)
        self.chances.append(evidence.chance)
        self.choices.append(len(evidence.choices))

    def accuracy(self) -> Share:
        return share(sum(self.right), len(self.right))


def accuracy_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """Accuracy by relation, by sentence where several were asked, and by confidence; none where none was asked.

    Memory: four numbers a fact.
    """
    whole = _Tally()
    by_relation: dict[str, _Tally] = {}
    by_sentence: dict[int, list[bool]] = {}
    several = False
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, ChoiceEvidence) or not outcome.verdict.counts:
            continue
        whole.add(outcome, evidence)
        by_relation.setdefault(outcome.relation, _Tally()).add(outcome, evidence)
        several = several or len(evidence.sentences) > 1
        for place, sentence in enumerate(evidence.sentences):
            by_sentence.setdefault(sentence.template, []).append(evidence.best(place) == evidence.right)
    if not whole.right:
        return []
    tables = [_relations_table(whole, by_relation)]
    if several:
        rows = [
            {"sentence": place, "facts": len(right), "accuracy": share(sum(right), len(right))}
            for place, right in sorted(by_sentence.items())
        ]
        note = "The first sentence of a relation decides; each is a comparison of its own."
        tables.append(Table("sentences", "Accuracy by the place of the sentence", rows, [note]))
    sure = [
        {"confidence": f"{at.threshold:g} or more", "facts": at.facts, "accuracy": at.accuracy}
        for at in accuracy_at(whole.confidences, whole.right)
    ]
    note = "Confidence is the share that the best answer has of all answers' probability (softmax of their scores)."
    return [*tables, Table("confidence", "Accuracy where the model is confident (accuracy@K)", sure, [note])]


def _relations_table(whole: _Tally, by_relation: dict[str, _Tally]) -> Table:
    named = sorted(by_relation.items())
    rows = [
        {
            "relation": relation,
            "facts": len(tally.right),
            "answers": max(tally.choices),
            "accuracy": tally.accuracy(),
            "by guessing": sum(tally.chances) / len(tally.chances),
            "mean confidence": sum(tally.confidences) / len(tally.confidences),
        }
        for relation, tally in [*named, *([(ALL, whole)] if len(named) > 1 else [])]
    ]
    return Table("relations", "Accuracy by relation", rows)
