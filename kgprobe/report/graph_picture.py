"""Pictures of subgraphs (neo4j-viz): facts coloured by how probably they are known, on one scale."""

from typing import TYPE_CHECKING, Any

from kgprobe.graph.subgraphs import Subgraph
from kgprobe.records import Entity, Fact
from kgprobe.sanitize import visible

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph

# From surely unknown to surely known; distinguishable by colour-blind people.
SCALE = ("#d55e00", "#b8c4cc", "#0072b2")
# Colour of facts without a belief.
UNASKED = "#9a9a9a"
_AROUND, _OTHER = "#f0c419", "#c4ced8"

# Maximum characters of a caption, and of a value in the details that a click shows.
_CAPTION = 40
_LONGEST = 1_000


def picture_of(subgraph: Subgraph, around: str | None = None) -> "VisualizationGraph":
    """Return the facts as relationships between nodes, with names as captions.

    A relationship's colour is the probability that the model knows the fact, from 0 to 1 on the scale ``SCALE``, or
    grey without a belief. Surely known and surely unknown facts are drawn wider. A click shows the properties.

    Args:
        around: id of the highlighted entity.
    """
    from neo4j_viz import Node, Relationship, VisualizationGraph
    from neo4j_viz.colors import ColorSpace, interpolate_gradient
    from neo4j_viz.options import ContinuousLegendSection

    nodes = [
        Node(
            id=entity.id,
            caption=_caption(entity.label or entity.id),
            color=_AROUND if entity.id == around else _OTHER,
            properties=_entity_properties(entity),
        )
        for entity in subgraph.entities.values()
    ]
    relationships = [
        Relationship(
            id=f"{fact.subject} {fact.id}",
            source=fact.subject,
            target=fact.object,
            caption=_caption(subgraph.relation_labels[fact.relation] or fact.relation),
            width=_width(subgraph, fact),
            properties=_fact_properties(subgraph, fact),
        )
        for fact in subgraph.facts
    ]
    drawn = VisualizationGraph(nodes=nodes, relationships=relationships)
    shares = {1 - belief.theta for belief in subgraph.beliefs.values()}
    # One colour per value, because neo4j-viz's own gradient begins at the least value of each picture.
    drawn.color_relationships(
        property="known",
        colors={known: interpolate_gradient(list(SCALE), known) for known in shares} | {None: UNASKED},
        color_space=ColorSpace.DISCRETE,
    )
    title = "Known, grey: not asked"
    legend = ContinuousLegendSection(title=title, gradient=list(SCALE), min_value="0", max_value="1")
    drawn.set_legend(relationships=legend)
    return drawn


def _caption(name: str) -> str:
    shown = visible(name[: _LONGEST + 1])
    return shown if len(shown) <= _CAPTION else f"{shown[:_CAPTION]}…"


def _detail(text: str) -> str:
    return visible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _width(subgraph: Subgraph, fact: Fact) -> float:
    belief = subgraph.beliefs.get(fact.id)
    if belief is None:
        return 1.0
    return 4.0 if belief.believed.startswith("surely") else 2.0


def _entity_properties(entity: Entity) -> dict[str, Any]:
    details = {"id": entity.id, "name": entity.label, "description": entity.description}
    details["types"] = ", ".join(entity.types)
    return {name: _detail(value) for name, value in details.items() if value}


def _fact_properties(subgraph: Subgraph, fact: Fact) -> dict[str, Any]:
    belief = subgraph.beliefs.get(fact.id)
    texts = {"fact": fact.id, "relation": fact.relation, "start": fact.start, "end": fact.end}
    details: dict[str, Any] = {name: _detail(value) for name, value in texts.items() if value}
    if belief is not None:
        details |= {
            "known": 1 - belief.theta,
            "interval": f"{1 - belief.high:.2f} to {1 - belief.low:.2f}",
            "believed": belief.believed,
            "right : wrong": f"{belief.right} : {belief.wrong}",
        }
        if belief.question:
            details["question"] = _detail(belief.question)
    return details
