"""Evidence of the probe `generation`: the generated text, the names in it, and the tables of many facts.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from kgprobe.probes.confidence import by_relation, mean_of, share_of
from kgprobe.probes.examples.evidence import PromptEvidence, fewer_examples_note
from kgprobe.probes.outcome import Alternatives, Outcome, ProbeResults, answered, shortened
from kgprobe.stats.proportions import share
from kgprobe.tables import Table

# Lengths of the text in words, for the table of lengths.
_LENGTHS = (1, 2, 5, 10, 20)


class NameInText(msgspec.Struct, frozen=True):
    """Occurrence of a name in a text.

    Attributes:
        start, end: position in characters of the text.
        words: number of words before the name, without an article at the start of the text.
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
        other: first name of a wrong object of the relation, if any.
    """

    text: str
    counted: int
    named: tuple[NameInText, ...] = ()
    former: tuple[NameInText, ...] = ()
    beside: tuple[NameInText, ...] = ()
    other: NameInText | None = None

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

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the accuracy by relation, with the share of facts where another object is named first, and by length.

        Memory: a few numbers per fact.
        """
        texts: list[_NamesInText] = []
        fewer = 0
        examples = described.get("examples", 0)
        for outcome, evidence in answered(outcomes, cls):
            texts.append(_NamesInText.of(outcome.relation, evidence))
            fewer += evidence.examples < examples
        if not texts:
            return ProbeResults()
        notes = ["Another object: one that the relation has elsewhere, and that is not right for the subject."]
        if fewer:
            notes.append(fewer_examples_note(fewer, len(texts), examples))
        return ProbeResults([_relations_table(texts, notes), _lengths_table(texts)])


def counted_end(text: str, until: str) -> int:
    """Return the number of characters of a text that count, including leading white space.

    Args:
        until: one of ``ENDS``.
    """
    if until == "end":
        return len(text)
    start = text.lstrip()
    return len(text) - len(start) + len(start.splitlines()[0] if start else "")


@dataclass(frozen=True, slots=True)
class _NamesInText:
    """Names in one text.

    Attributes:
        words: number of words before the object's first name; infinite if it is not named.
        is_named: True if the object is named.
        in_line: True if the object is named in the first line.
        first, behind: True if the object is named before, or after, a wrong object of the relation.
        other: True if only a wrong object is named.
        former: True if a former object is named.
    """

    relation: str
    words: float
    is_named: bool
    in_line: bool
    first: bool
    behind: bool
    other: bool
    former: bool

    @classmethod
    def of(cls, relation: str, evidence: GenerationEvidence) -> "_NamesInText":
        names = evidence.named
        return cls(
            relation=relation,
            words=min((name.words for name in names), default=np.inf),
            is_named=bool(names),
            in_line=bool(names) and names[0].end <= counted_end(evidence.text, "line"),
            first=evidence.is_first,
            behind=evidence.is_behind,
            other=not names and evidence.other is not None,
            former=bool(evidence.former),
        )


def _relations_table(texts: Sequence[_NamesInText], notes: Sequence[str]) -> Table:
    rows = []
    for relation, group in by_relation(texts):
        row = {
            "relation": relation,
            "facts": len(group),
            "accuracy": share_of(group, "is_named"),
            "named before all others": share_of(group, "first"),
            "another object before it": share_of(group, "behind"),
            "another object alone": mean_of(group, "other"),
            "a former object": mean_of(group, "former"),
        }
        rows.append(row)
    return Table("relations", "Accuracy by relation", rows, notes)


def _lengths_table(texts: Sequence[_NamesInText]) -> Table:
    words = np.array([text.words for text in texts])
    rows = []
    for length in _LENGTHS:
        part = f"{length} word{'s' * (length > 1)}"
        rows.append({"the text as far as": part, "accuracy": share(int((words < length).sum()), len(texts))})
    rows.append({"the text as far as": "its first line", "accuracy": share_of(texts, "in_line")})
    rows.append({"the text as far as": "it counts", "accuracy": share_of(texts, "is_named")})
    return Table("lengths", "Accuracy by how much of the text counts", rows, ["A name counts by its first word."])
