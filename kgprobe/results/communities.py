"""Communities of ignorance, as a result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kgprobe.base.intervals import Percent
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.results.result import Listing, Result

_COLUMN = ", ".join


@dataclass(frozen=True, slots=True)
class CommunityRow(ResultRow):
    """A community: entities that are connected by facts that the model does not know.

    Attributes:
        community: its number, from 1; the first has most unknown facts.
        unknown: number of unknown facts between them.
        share: share of all unknown facts of the run.
        central: ids of the entities with most unknown facts within the community.
        relations: ids of the most frequent relations of these facts.
    """

    community: Annotated[int, Heading("community")]
    entities: Annotated[int, Heading("entities")]
    unknown: Annotated[int, Heading("unknown facts")]
    share: Annotated[float, Heading("share", Percent)]
    central: Sequence[str]
    central_labels: Annotated[Sequence[str], Heading("most central", _COLUMN)]
    relations: Sequence[str]
    relation_labels: Annotated[Sequence[str], Heading("relations", _COLUMN)]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class IgnoranceCommunities(Result):
    """Communities of the facts that the model of a run does not know, those with most facts first.

    Attributes:
        method: ``louvain``, ``labels`` or ``components``.
        sure: True for surely unknown facts only.
        facts: number of unknown facts of the run, also between communities.
        entities: number of their subjects and objects.
        total: number of communities, also those without a row.
    """

    run: str
    method: str
    sure: bool
    seed: int
    facts: int
    entities: int
    total: int
    communities: Annotated[Sequence[CommunityRow], Listing("")]

    def summary(self) -> str:
        """Return the numbers of facts, entities and communities."""
        unknown = f"{'surely ' if self.sure else ''}unknown fact"
        if not self.facts:
            return f"Run {self.run} has no {unknown}s."
        communities = f"{self.total:,} communit{'y' if self.total == 1 else 'ies'}"
        entities = f"{self.entities:,} entit{'y' if self.entities == 1 else 'ies'}"
        shown = f", {len(self.communities)} shown" if self.total > len(self.communities) else ""
        return f"Run {self.run}: {counted(self.facts, unknown)} of {entities}, {communities} ({self.method}){shown}."
