"""Report of a load: counts, and skipped records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.errors import KgprobeError

# Messages about skipped records in a report; callers get each of them through ``on_problem``.
KEPT_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Result of a load; its text is one or more sentences.

    Attributes:
        source: the source.
        entities, relations, facts: numbers of records written by this call; a resumed load counts from its restart.
        skipped: numbers of skipped records, by reason: ``unreadable``, ``duplicate``, ``missing`` (a fact of an entity
            that is not in the graph).
        outside: number of facts left out because their object is not in a source that is a part of a larger one.
        resumed: True if an interrupted load was resumed.
        problems: messages about the first ``KEPT_PROBLEMS`` skipped records.
        broken: messages about truncated files; an unknown number of records after the break is lost.
    """

    source: str
    entities: int
    relations: int
    facts: int
    skipped: Mapping[str, int]
    outside: int
    resumed: bool
    problems: Sequence[str]
    broken: Sequence[str] = ()

    def check(self) -> None:
        """Raise an error unless records were loaded, and no file was truncated.

        Raises:
            KgprobeError: nothing was loaded, or a file is truncated.
        """
        if self.broken:
            raise KgprobeError(f"Only a part of {self.source} could be read. {' '.join(self.broken)}")
        if not (self.entities or self.relations or self.facts or self.resumed):
            why = f" {self.problems[0]}" if self.problems else " It has no records."
            left_out = sum(self.skipped.values()) + self.outside
            raise KgprobeError(f"Nothing was loaded from {self.source}; {left_out:,} records were left out.{why}")

    def __str__(self) -> str:
        """Return the numbers of written and skipped records."""
        written = f"{self.entities:,} entities, {self.relations:,} relations, {self.facts:,} facts"
        lines = [f"{self.source}: {written}{' (resumed)' if self.resumed else ''}."]
        skipped = [f"{count:,} {reason}" for reason, count in self.skipped.items() if count]
        if skipped:
            lines.append(f"Skipped: {', '.join(skipped)}.")
        if self.outside:
            lines.append(f"{self.outside:,} facts were left out: their objects are not in this part of the source.")
        return "\n".join(lines)
