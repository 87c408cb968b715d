"""Report of a load: counts, and skipped records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.errors import KgprobeError

# Messages about skipped records that a report keeps; whoever wants all of them is told of each.
KEPT_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did; as text, a sentence or a few.

    Attributes:
        source: what was loaded.
        entities, relations, facts: how many were written, this time: an interrupted load counts from where it went on.
        skipped: how many records were left out, by reason: ``unreadable``, ``duplicate``, ``missing`` (a fact of an
            entity that is not in the graph).
        outside: how many facts were left out because the source is a part of a whole and their object is not in it.
        resumed: whether an interrupted load went on.
        problems: the messages about the first ``KEPT_PROBLEMS`` of the skipped records.
        broken: the messages about files that broke off; what stood behind is lost, and nobody knows how much.
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
        """Whether something was loaded, and nothing lost that no message could name.

        Raises:
            KgprobeError: nothing was, or a file broke off.
        """
        if self.broken:
            raise KgprobeError(f"Only a part of {self.source} could be read. {' '.join(self.broken)}")
        if not (self.entities or self.relations or self.facts or self.resumed):
            why = f" {self.problems[0]}" if self.problems else " There is no record in it."
            left_out = sum(self.skipped.values()) + self.outside
            raise KgprobeError(f"Nothing was loaded from {self.source}; {left_out:,} records were left out.{why}")

    def __str__(self) -> str:
        """What was written, and where there is such a thing, what was not."""
        written = f"{self.entities:,} entities, {self.relations:,} relations, {self.facts:,} facts"
        lines = [f"{self.source}: {written}{' (going on with an interrupted load)' if self.resumed else ''}."]
        skipped = [f"{count:,} {reason}" for reason, count in self.skipped.items() if count]
        if skipped:
            lines.append(f"Skipped: {', '.join(skipped)}.")
        if self.outside:
            lines.append(
                f"{self.outside:,} facts have an object that is not part of what was loaded; they were left out."
            )
        return "\n".join(lines)
