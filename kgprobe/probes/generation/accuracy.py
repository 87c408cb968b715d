"""Accuracy of generation by relation and by length of the text, and the share of facts with other objects named.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgprobe.probes.confidence_tables import by_relation, mean_of
from kgprobe.probes.examples.accuracy import fewer_examples_note
from kgprobe.probes.generation.evidence import GenerationEvidence
from kgprobe.probes.generation.reading import counted_end
from kgprobe.probes.outcome import Outcome
from kgprobe.stats.proportions import share
from kgprobe.tables import Table

# Lengths of the text in words, for the table of lengths.
_LENGTHS = (1, 2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class _Written:
    """Names in one text.

    Attributes:
        words: number of words before the object's first name; None if it is not named.
        in_line: True if the object is named in the first line.
        first, behind: True if the object is named before, or after, a wrong object of the relation.
        other: True if only a wrong object is named.
        former: True if a former object is named.
    """

    relation: str
    words: int | None
    in_line: bool
    first: bool
    behind: bool
    other: bool
    former: bool


def generation_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Return the accuracy by relation, with the share of facts where another object is named first, and by length.

    Memory: a few numbers per fact.

    Args:
        described: the probe's description.

    Returns:
        No table without generated texts.
    """
    written: list[_Written] = []
    fewer = 0
    examples = described.get("examples", 0)
    for outcome in outcomes:
        evidence = outcome.evidence
        if isinstance(evidence, GenerationEvidence) and outcome.verdict.counts:
            written.append(_written(outcome.relation, evidence))
            fewer += evidence.examples < examples
    if not written:
        return []
    notes = ["Another object: one that the relation has elsewhere, and that is not right for the subject."]
    if fewer:
        notes.append(fewer_examples_note(fewer, len(written), examples))
    return [_relations_table(written, notes), _lengths_table(written)]


def _written(relation: str, evidence: GenerationEvidence) -> _Written:
    names = evidence.named
    return _Written(
        relation=relation,
        words=min((name.words for name in names), default=None),
        in_line=bool(names) and names[0].end <= counted_end(evidence.text, "line"),
        first=evidence.is_first,
        behind=evidence.is_behind,
        other=not names and evidence.other is not None,
        former=bool(evidence.former),
    )


def _relations_table(written: Sequence[_Written], notes: Sequence[str]) -> Table:
    rows = [
        {
            "relation": relation,
            "facts": len(texts),
            "accuracy": share(sum(text.words is not None for text in texts), len(texts)),
            "named before all others": share(sum(text.first for text in texts), len(texts)),
            "another object before it": share(sum(text.behind for text in texts), len(texts)),
            "another object alone": mean_of(text.other for text in texts),
            "a former object": mean_of(text.former for text in texts),
        }
        for relation, texts in by_relation(written)
    ]
    return Table("relations", "Accuracy by relation", rows, notes)


def _lengths_table(written: Sequence[_Written]) -> Table:
    words = [text.words for text in written if text.words is not None]
    counts = {f"{length} word{'s' * (length > 1)}": sum(n < length for n in words) for length in _LENGTHS}
    counts |= {"its first line": sum(text.in_line for text in written), "it counts": len(words)}
    rows = [{"the text as far as": part, "accuracy": share(count, len(written))} for part, count in counts.items()]
    return Table("lengths", "Accuracy by how much of the text counts", rows, ["A name counts by its first word."])
