"""A part of the graph as neo4j-viz draws it: facts coloured by E[θ], on a scale that is the same in all pictures."""

from typing import TYPE_CHECKING, Any

from kgprobe.graph.subgraphs import Subgraph
from kgprobe.records import Entity, Fact
from kgprobe.sanitize import visible

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph

# From a model that does not fail on a fact to one that always does; told apart by colour-blind people too.
SCALE = ("#0072b2", "#b8c4cc", "#d55e00")
# Of facts of which nothing is believed.
UNASKED = "#9a9a9a"
_AROUND, _OTHER = "#f0c419", "#c4ced8"

# Characters of a caption; the whole name stands in what a click shows, as far as a person would read it.
_CAPTION = 40
_LONGEST = 1_000


def picture_of(subgraph: Subgraph, around: str | None = None) -> "VisualizationGraph":
    """The facts as relationships and their ends as nodes, with names as captions.

    A relationship's colour is that of E[θ], from 0 to 1 on the scale ``SCALE``; what the run surely knows or does not
    know is drawn wider, and what it never came near is grey. Its properties are what a click shows.

    Args:
        around: id of the entity that stands out.
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
    thetas = {belief.theta for belief in subgraph.beliefs.values()}
    # One colour a value, and not neo4j-viz's own gradient, which begins at the least value of each picture.
    drawn.color_relationships(
        property="E[θ]",
        colors={theta: interpolate_gradient(list(SCALE), theta) for theta in thetas} | {None: UNASKED},
        color_space=ColorSpace.DISCRETE,
    )
    title = "E[θ], grey: not asked"
    drawn.set_legend(
        relationships=ContinuousLegendSection(title=title, gradient=list(SCALE), min_value="0", max_value="1")
    )
    return drawn


def _caption(name: str) -> str:
    shown = visible(name[: _LONGEST + 1])
    return shown if len(shown) <= _CAPTION else f"{shown[:_CAPTION]}…"


def _told(text: str) -> str:
    return visible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _width(subgraph: Subgraph, fact: Fact) -> float:
    belief = subgraph.beliefs.get(fact.id)
    if belief is None:
        return 1.0
    return 4.0 if belief.believed.startswith("surely") else 2.0


def _entity_properties(entity: Entity) -> dict[str, Any]:
    told = {"id": entity.id, "name": entity.label, "description": entity.description, "types": ", ".join(entity.types)}
    return {name: _told(value) for name, value in told.items() if value}


def _fact_properties(subgraph: Subgraph, fact: Fact) -> dict[str, Any]:
    belief = subgraph.beliefs.get(fact.id)
    named = {"fact": fact.id, "relation": fact.relation, "start": fact.start, "end": fact.end}
    told: dict[str, Any] = {name: _told(value) for name, value in named.items() if value}
    if belief is not None:
        told |= {
            "E[θ]": belief.theta,
            "interval": f"{belief.low:.2f} to {belief.high:.2f}",
            "believed": belief.believed,
            "right : wrong": f"{belief.right} : {belief.wrong}",
        }
        if belief.question:
            told["question"] = _told(belief.question)
    return told
