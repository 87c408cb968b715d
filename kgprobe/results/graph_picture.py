"""Picture of a part of the graph."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.errors import KgprobeError, how_to_install
from kgprobe.files import home, make_folder, replacing
from kgprobe.graph.subgraphs import Subgraph
from kgprobe.running.settings import digest_of
from kgprobe.sanitize import counted, visible

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph


# More facts cannot be drawn legibly.
MOST_FACTS = 2_000


PAGE = "picture.html"


@dataclass(frozen=True, slots=True, repr=False)
class GraphPicture:
    """Facts around an entity, coloured by the beliefs of a run; drawn in a notebook.

    Attributes:
        around: id of the entity.
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
        run = (
            "the graph has no run yet."
            if self.run is None
            else f"run {self.run} has beliefs about {believed:,} of them."
        )
        return " ".join(filter(None, [f"{contents}; {run}", self.subgraph.note]))

    def __repr__(self) -> str:
        return self.summary()

    def visualization(self) -> "VisualizationGraph":
        """Return the picture as an object of neo4j-viz, to change colours, sizes and captions.

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
