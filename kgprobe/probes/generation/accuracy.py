"""How often the object was named, whether others were before it, and how much text that took.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgprobe.probes.confidence_tables import ALL
from kgprobe.probes.generation.evidence import GenerationEvidence
from kgprobe.probes.generation.reading import counted_end
from kgprobe.probes.outcome import Outcome
from kgprobe.stats.proportions import share
from kgprobe.tables import Table

# Words of a text within which a name may begin.
_LENGTHS = (1, 2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class _Written:
    """One text.

    Attributes:
        words: how many stand before the object's first name; None where it is not named.
        in_line: whether it is named in the first line.
        first, behind: whether it is named before, or after, another object of the relation that is not right.
        other: whether another was named and it was not.
        former: whether what was right before was named.
    """

    relation: str
    words: int | None
    in_line: bool
    first: bool
    behind: bool
    other: bool
    former: bool


def generation_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Accuracy by relation with the share of facts where another object came first; and by the length of the text.

    Memory: some numbers a fact.

    Args:
        described: what the probe says of itself.

    Returns:
        no table where nothing was written.
    """
    written: list[_Written] = []
    fewer = 0
    wanted = described.get("examples", 0)
    for outcome in outcomes:
        evidence = outcome.evidence
        if isinstance(evidence, GenerationEvidence) and outcome.verdict.counts:
            written.append(_written(outcome.relation, evidence))
            fewer += evidence.examples < wanted
    if not written:
        return []
    note = "Another object: one that the relation has elsewhere, and that is not right for the subject."
    notes = [note]
    if fewer:
        what = f"fewer than {wanted} examples: their relation or the model's context has no more"
        notes.append(f"{fewer:,} of {len(written):,} facts have {what}.")
    return [_relations_table(written, notes), _lengths_table(written)]


def _written(relation: str, evidence: GenerationEvidence) -> _Written:
    named = evidence.named
    return _Written(
        relation=relation,
        words=min((one.words for one in named), default=None),
        in_line=bool(named) and named[0].end <= counted_end(evidence.text, "line"),
        first=evidence.is_first,
        behind=evidence.is_behind,
        other=not named and evidence.other is not None,
        former=bool(evidence.former),
    )


def _relations_table(written: Sequence[_Written], notes: Sequence[str]) -> Table:
    by_relation: dict[str, list[_Written]] = {}
    for one in written:
        by_relation.setdefault(one.relation, []).append(one)
    named: list[tuple[str, Sequence[_Written]]] = sorted(by_relation.items())
    rows = [
        {
            "relation": relation,
            "facts": len(its),
            "accuracy": share(sum(one.words is not None for one in its), len(its)),
            "named before all others": share(sum(one.first for one in its), len(its)),
            "another object before it": share(sum(one.behind for one in its), len(its)),
            "another object alone": sum(one.other for one in its) / len(its),
            "a former object": sum(one.former for one in its) / len(its),
        }
        for relation, its in [*named, *([(ALL, written)] if len(named) > 1 else [])]
    ]
    return Table("relations", "Accuracy by relation", rows, notes)


def _lengths_table(written: Sequence[_Written]) -> Table:
    total = len(written)
    rows = [
        *(
            {
                "the text as far as": f"{length} word{'s' * (length > 1)}",
                "accuracy": share(sum(one.words is not None and one.words < length for one in written), total),
            }
            for length in _LENGTHS
        ),
        {"the text as far as": "its first line", "accuracy": share(sum(one.in_line for one in written), total)},
        {"the text as far as": "it counts", "accuracy": share(sum(one.words is not None for one in written), total)},
    ]
    return Table("lengths", "Accuracy by how much of the text counts", rows, ["A name counts by its first word."])
