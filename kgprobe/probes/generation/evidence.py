"""Evidence of the probe `generation`: the generated text, the names in it, and the tables of many facts.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from kgprobe.base.tables import Table
from kgprobe.probes.confidence import by_relation, mean_of, share_of
from kgprobe.probes.examples.evidence import PromptEvidence, fewer_examples_note
from kgprobe.probes.outcome import Alternatives, Outcome, ProbeResults, answered, shortened
from kgprobe.verbalize.values import as_value, values_in

# Lengths of the text in words, for the table of lengths.
_LENGTHS = (1, 2, 5, 10, 20)


class NameInText(msgspec.Struct, frozen=True):
    """Occurrence of a name in a text.

    Positions are in characters; ``words`` are those before it, without an article at the start of the text.
    """

    name: str
    start: int
    end: int
    words: int


class GenerationEvidence(PromptEvidence, frozen=True, eq=True, tag="generation"):
    """A model's continuation, and the names in it.

    Attributes:
        text: the whole generated text, stripped.
        counted: number of characters of the text that count.
        named: first occurrences of the object's names in the counted part, in the order of the text.
        former: the same for objects that were right before and no longer are.
        beside: the same for further right objects.
        near: the object's dates, numbers and quantities to which a value in the counted part is near.
        other: first name of a wrong object of the relation, if any.
        refused: True if the object is not named, and the API or the text up to the first other name refuses.
    """

    text: str
    counted: int
    named: tuple[NameInText, ...] = ()
    former: tuple[NameInText, ...] = ()
    beside: tuple[NameInText, ...] = ()
    near: tuple[str, ...] = ()
    other: NameInText | None = None
    refused: bool = False

    @property
    def alternatives(self) -> Alternatives:
        """The text, and a former object if the text names that instead of the object."""
        former = self.former[0].name if self.former and not self.named else None
        return Alternatives(text=self.text, former=former)

    @property
    def is_first(self) -> bool:
        """True if the object is named before any wrong object of the relation."""
        return bool(self.named) and (self.other is None or self.named[0].start < self.other.start)

    @property
    def is_behind(self) -> bool:
        """True if the object is named after a wrong object of the relation."""
        return bool(self.named) and not self.is_first

    @property
    def prediction(self) -> str | None:
        """The wrong object that the text names, or else the start of the text; None if it names the right object."""
        if self.named:
            return None
        if self.other is not None:
            return self.other.name
        return shortened(" ".join(self.text[: self.counted].split()))

    @property
    def values(self) -> Mapping[str, float]:
        """Whether the object is named first, and whether a former object is named."""
        return {"named_first": float(self.is_first), "former_named": float(bool(self.former))}

    @property
    def counts(self) -> Mapping[str, int]:
        """The text, and whether it is unplaced."""
        names = self.named or self.former or self.beside or self.near
        placed = self.refused or self.other is not None or bool(names)
        if not placed and as_value(self.object.label) is not None:
            placed = bool(values_in(self.text[: self.counted]))
        return {"texts": 1, "unplaced": int(not placed)}

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the accuracy by relation, with the share of facts where another object is named first, and by length.

        Memory: a few numbers per fact.
        """
        rows = []
        fewer = 0
        examples = described.get("examples", 0)
        for outcome, evidence in answered(outcomes, cls):
            named = evidence.named
            row = {
                "relation": outcome.relation,
                "words": min(map(attrgetter("words"), named), default=np.inf),
                "named": bool(named),
                "in_line": bool(named) and named[0].end <= counted_end(evidence.text, "line"),
                "first": evidence.is_first,
                "behind": evidence.is_behind,
                "other": not named and evidence.other is not None,
                "former": bool(evidence.former),
                "near": not named and bool(evidence.near),
            }
            rows.append(row)
            fewer += evidence.examples < examples
        if not rows:
            return ProbeResults()
        texts = pd.DataFrame(rows)
        notes = ["Another object: one that the relation has elsewhere, and that is not right for the subject."]
        if texts["near"].any():
            notes.append("Near: the text states a value close to the object's, or its date less precisely.")
        if fewer:
            notes.append(fewer_examples_note(fewer, len(texts), examples))
        counted = {f"{length} word{'s' * (length > 1)}": texts["words"] < length for length in _LENGTHS}
        counted |= {"its first line": texts["in_line"], "it counts": texts["named"]}
        rows = [{"the text as far as": part, "accuracy": share_of(named)} for part, named in counted.items()]
        notes_on_lengths = ["A name counts by its first word."]
        lengths = Table("lengths", "Accuracy by how much of the text counts", rows, notes_on_lengths)
        return ProbeResults([_relations_table(texts, notes), lengths])


def counted_end(text: str, until: str) -> int:
    """Return the number of characters of a text that count by one of ``ENDS``, including leading white space."""
    if until == "end":
        return len(text)
    start = text.lstrip()
    return len(text) - len(start) + len(start.splitlines()[0] if start else "")


def _relations_table(texts: pd.DataFrame, notes: Sequence[str]) -> Table:
    rows = []
    for relation, group in by_relation(texts):
        row = {
            "relation": relation,
            "facts": len(group),
            "accuracy": share_of(group["named"]),
            "named before all others": share_of(group["first"]),
            "another object before it": share_of(group["behind"]),
            "another object alone": mean_of(group["other"]),
            "a former object": mean_of(group["former"]),
        }
        if texts["near"].any():
            row["near"] = mean_of(group["near"])
        rows.append(row)
    return Table("relations", "Accuracy by relation", rows, notes)
