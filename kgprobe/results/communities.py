"""Communities of ignorance, as a result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kgprobe.base.intervals import Percent
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.graph.communities import NAMED, find_communities
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


def communities_of(graph: Graph, run: str, method: str, *, sure: bool, seed: int, limit: int) -> IgnoranceCommunities:
    """Return the communities of a run's unknown facts; see :func:`kgprobe.find_ignorance`."""
    partition = find_communities(graph, run, method, sure=sure, seed=seed, limit=limit)
    rows = []
    for number, community in enumerate(partition.communities, start=1):
        central = community.entities[:NAMED]
        relations = [relation for relation, _ in community.relations[:NAMED]]
        rows.append(
            CommunityRow(
                community=number,
                entities=len(community.entities),
                unknown=community.unknown,
                share=community.unknown / partition.facts,
                central=central,
                central_labels=[partition.labels.get(entity, entity) for entity in central],
                relations=relations,
                relation_labels=[partition.labels.get(relation, relation) for relation in relations],
            )
        )
    return IgnoranceCommunities(
        run=run,
        method=method,
        sure=sure,
        seed=seed,
        facts=partition.facts,
        entities=partition.entities,
        total=partition.total,
        communities=rows,
    )
