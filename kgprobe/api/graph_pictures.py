"""``kgprobe.draw_graph``: a part of the graph with what is believed of it, as a picture that a person can move."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.api.rounds import open_run
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError, how_to_install
from kgprobe.files import home, make_folder, replacing
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entity_ids
from kgprobe.graph.subgraphs import Subgraph, neighbourhood
from kgprobe.running.identity import digest_of
from kgprobe.sanitize import counted, visible

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph

# More than that is no picture.
MOST_FACTS = 2_000
PAGE = "picture.html"


@dataclass(frozen=True, slots=True, repr=False)
class GraphPicture:
    """Facts around an entity, coloured by what a run believes of them; shows itself in a notebook.

    Attributes:
        around: id of the entity.
        run: whose beliefs; None where the graph has no run.
        subgraph: what is drawn, with its beliefs.
    """

    around: str
    run: str | None
    subgraph: Subgraph

    def summary(self) -> str:
        """What is drawn, in a sentence or two."""
        entities, believed = len(self.subgraph.entities), len(self.subgraph.beliefs)
        name = visible(self.subgraph.entities[self.around].label or self.around)
        facts = counted(len(self.subgraph), "fact")
        told = f"{name}: {facts}, {entities:,} entit{'y' if entities == 1 else 'ies'}"
        run = "there is no run yet." if self.run is None else f"run {self.run} came near {believed:,} of them."
        return " ".join(filter(None, [f"{told}; {run}", self.subgraph.note]))

    def __repr__(self) -> str:
        return self.summary()

    def visualization(self) -> "VisualizationGraph":
        """The picture as neo4j-viz has it, to colour, size and caption otherwise.

        Raises:
            KgprobeError: neo4j-viz is not installed.
        """
        try:
            from kgprobe.report.graph_picture import picture_of

            return picture_of(self.subgraph, self.around)
        except ModuleNotFoundError as error:
            raise KgprobeError(
                f"Pictures of the graph are drawn by neo4j-viz: {how_to_install('explore')}. A report has one that"
                " needs nothing else: `kgprobe report`."
            ) from error

    def page(self, path: str | Path | None = None) -> Path:
        """Write the picture as a page, which needs nothing beside it, and give its path.

        Args:
            path: of the file; None writes below kgprobe's own folder.

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


def draw_graph(
    graph: Graph,
    entity: str | None = None,
    *,
    run: str | None = None,
    steps: int = 1,
    relations: Sequence[str] = (),
    as_of: int | str | date | None = None,
    limit: int = 200,
) -> GraphPicture:
    """Draw the facts around an entity, coloured by how probably a run's model fails on them.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=2, batch=8, distractors=3, name="drawn")
    >>> picture = kgprobe.draw_graph(graph, "France", run="drawn", relations=["P36", "P47"])
    >>> print(picture)
    France: ... facts, ... entities; run drawn came near ... of them.

    Args:
        entity: its id, or a name; None is the one at which the run is sure of most facts that they are unknown.
        run: whose beliefs; None is the run that was begun last, if there is one.
        steps, relations, as_of: which facts, as in :func:`~kgprobe.graph.subgraphs.neighbourhood`.
        limit: how many facts at most, from 1 to 2,000; those that the run asked come first.

    Raises:
        ArgumentError: an argument cannot be what it is.
        UnknownNameError: the graph has no entity, relation or run that is called so; or no entity is given, and there
            is no run that has an answer.

    Cost: that of :func:`~kgprobe.graph.subgraphs.neighbourhood`; without an entity, also of reading the run's beliefs.
    """
    if whole_number("limit", limit) > MOST_FACTS:
        raise ArgumentError("limit", f"is {limit}; a picture has {MOST_FACTS:,} facts at most.")
    if run is not None or graph.read("beliefs/runs"):
        run = open_run(graph, run).name
    around = _start(graph, run) if entity is None else entity_ids(graph, [entity])[0]
    drawn = neighbourhood(graph, around, steps=steps, relations=relations, as_of=as_of, limit=limit, run=run)
    return GraphPicture(around, run, drawn)


def _start(graph: Graph, run: str | None) -> str:
    found = graph.read("explore/least_known_entity", run=run) if run is not None else []
    if not found:
        raise UnknownNameError(
            "No run of this graph has an answer yet, so nothing says where a picture should begin; name an `entity`."
        )
    entity: str = found[0]["entity"]
    return entity
