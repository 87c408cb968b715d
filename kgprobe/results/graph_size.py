"""Size of a graph: entities, relations, facts, degree and density.

Table 1 of the parameterized-graph paper, whose *dead edges* are the facts of inactive relations; docs/guides/graph.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading
from kgprobe.graph.client import Graph
from kgprobe.results.result import Listing, Result


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class GraphSize(Result):
    """Size of a graph; one row.

    Attributes:
        entities: number of entities, including literals and types.
        linked: number of entities with at least one fact.
        active_relations, inactive_relations: numbers of relations with facts that are asked, and that are not.
        active_facts, inactive_facts: numbers of their facts.
        mean_degree: mean number of facts of a linked entity, as subject or object; None without facts.
        density: facts per ordered pair of different linked entities; None with fewer than two.
    """

    entities: Annotated[int, Heading("entities")]
    linked: Annotated[int, Heading("with facts")]
    literals: Annotated[int, Heading("literals")]
    types: Annotated[int, Heading("types")]
    active_relations: Annotated[int, Heading("active relations")]
    inactive_relations: Annotated[int, Heading("inactive relations")]
    active_facts: Annotated[int, Heading("active facts")]
    inactive_facts: Annotated[int, Heading("inactive facts")]
    mean_degree: Annotated[float | None, Heading("mean degree")]
    density: Annotated[float | None, Heading("density", "{:.2g}".format)]

    @property
    def numbers(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Size of the graph")]:
        """The numbers, one row for each of them."""
        return [{"of": name, "number": number} for name, number in self.headed().items()]

    @property
    def facts(self) -> int:
        """Number of all facts."""
        return self.active_facts + self.inactive_facts

    def summary(self) -> str:
        """Return the numbers of facts and relations that can be asked, in a sentence."""
        relations = counted(self.active_relations, "relation")
        return f"{self.active_facts:,} of {counted(self.facts, 'fact')} are of {relations} that can be asked."


def read_graph_size(graph: Graph) -> GraphSize:
    """Return the size of a graph. Cost: one scan of the entities and of the facts."""
    counts = graph.read("explore/size")[0]
    linked, degrees = counts["linked"], counts.pop("degrees")
    facts = counts["active_facts"] + counts["inactive_facts"]
    return GraphSize(
        **counts,
        mean_degree=degrees / linked if linked else None,
        density=facts / (linked * (linked - 1)) if linked > 1 else None,
    )
