"""Picture of a part of the graph (neo4j-viz): facts coloured by how probably they are known, on one scale."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.answers.settings import digest_of
from kgprobe.base.errors import KgprobeError, how_to_install
from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.records import Entity, Fact
from kgprobe.base.sanitize import counted, visible
from kgprobe.graph.subgraphs import Subgraph

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph

# More facts cannot be drawn legibly.
MOST_FACTS = 2_000
PAGE = "picture.html"

# From surely unknown to surely known; distinguishable by colour-blind people.
_SCALE = ["#d55e00", "#b8c4cc", "#0072b2"]
# Colour of facts without a belief.
_UNASKED = "#9a9a9a"
_AROUND, _OTHER = "#f0c419", "#c4ced8"
# Maximum characters of a caption, and of a value in the details that a click shows.
_CAPTION = 40
_LONGEST = 1_000


@dataclass(frozen=True, slots=True, repr=False)
class GraphPicture:
    """Facts around an entity, coloured by the beliefs of a run; drawn in a notebook.

    Attributes:
        run: the run; None if the graph has none.
        subgraph: the drawn facts, with their beliefs.
    """

    around: str
    run: str | None
    subgraph: Subgraph

    def summary(self) -> str:
        """Return the number of facts, entities and beliefs in a sentence or two."""
        entities, believed = len(self.subgraph.entities), len(self.subgraph.beliefs)
        name = visible(self.subgraph.entities[self.around].label or self.around)
        facts = counted(len(self.subgraph), "fact")
        contents = f"{name}: {facts}, {entities:,} entit{'y' if entities == 1 else 'ies'}"
        run = "the graph has no run yet."
        if self.run is not None:
            run = f"run {self.run} has beliefs about {believed:,} of them."
        return f"{contents}; {run} {self.subgraph.note or ''}".rstrip()

    def __repr__(self) -> str:
        return self.summary()

    def visualization(self) -> "VisualizationGraph":
        """Return the picture as an object of neo4j-viz, to change colours, sizes and captions.

        A relationship's colour is the probability that the model knows the fact, from 0 to 1, or grey without a belief.
        Surely known and surely unknown facts are drawn wider. A click shows the properties.

        Raises:
            KgprobeError: neo4j-viz is not installed.
        """
        try:
            from neo4j_viz import Node, Relationship, VisualizationGraph
            from neo4j_viz.colors import ColorSpace, interpolate_gradient
            from neo4j_viz.options import ContinuousLegendSection
        except ModuleNotFoundError as error:
            raise KgprobeError(
                f"Pictures of the graph are drawn by neo4j-viz: {how_to_install('explore')}. A report has one that"
                " needs nothing else: `kgprobe report`."
            ) from error
        subgraph = self.subgraph
        nodes = [Node(**_node(entity, is_centre=entity.id == self.around)) for entity in subgraph.entities.values()]
        relationships = [Relationship(**_relationship(subgraph, fact)) for fact in subgraph.facts]
        drawn = VisualizationGraph(nodes=nodes, relationships=relationships)
        # One colour per value, because neo4j-viz's own gradient begins at the least value of each picture.
        colours: dict[float | None, Any] = {None: _UNASKED}
        for belief in subgraph.beliefs.values():
            colours[1 - belief.theta] = interpolate_gradient(_SCALE, 1 - belief.theta)
        drawn.color_relationships(property="known", colors=colours, color_space=ColorSpace.DISCRETE)
        title = "Known, grey: not asked"
        legend = ContinuousLegendSection(title=title, gradient=_SCALE, min_value="0", max_value="1")
        drawn.set_legend(relationships=legend)
        return drawn

    def page(self, path: str | Path | None = None) -> Path:
        """Write the picture as a self-contained page, and return its path.

        Args:
            path: the file; None writes below kgprobe's own folder.

        Raises:
            KgprobeError: it cannot be written, or neo4j-viz is not installed.
        """
        page = self.visualization().render(height="100vh").data
        folder = home() / "pictures" / digest_of({"run": self.run, "facts": [fact.id for fact in self.subgraph.facts]})
        target = folder / PAGE if path is None else Path(path)
        make_folder(target.parent)
        with replacing(target) as unfinished:
            unfinished.write_text(page, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        html: str = self.visualization().render()._repr_html_()
        return html


def _caption(name: str) -> str:
    shown = visible(name[: _LONGEST + 1])
    return shown if len(shown) <= _CAPTION else f"{shown[:_CAPTION]}…"


def _details(texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the texts that exist, each shortened."""
    details = {}
    for name, text in texts.items():
        if text:
            details[name] = visible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
    return details


def _node(entity: Entity, *, is_centre: bool) -> dict[str, Any]:
    details = {"id": entity.id, "name": entity.label, "description": entity.description}
    return {
        "id": entity.id,
        "caption": _caption(entity.label or entity.id),
        "color": _AROUND if is_centre else _OTHER,
        "properties": _details(details | {"types": ", ".join(entity.types)}),
    }


def _relationship(subgraph: Subgraph, fact: Fact) -> dict[str, Any]:
    details = _details({"fact": fact.id, "relation": fact.relation, "start": fact.start, "end": fact.end})
    width = 1.0
    belief = subgraph.beliefs.get(fact.id)
    if belief is not None:
        width = 4.0 if belief.believed.startswith("surely") else 2.0
        details |= {
            "known": 1 - belief.theta,
            "interval": f"{1 - belief.high:.2f} to {1 - belief.low:.2f}",
            "believed": belief.believed,
            "right : wrong": f"{belief.right} : {belief.wrong}",
            **_details({"question": belief.question}),
        }
    return {
        "id": f"{fact.subject} {fact.id}",
        "source": fact.subject,
        "target": fact.object,
        "caption": _caption(subgraph.relation_labels[fact.relation] or fact.relation),
        "width": width,
        "properties": details,
    }
