"""Picture of a part of the graph."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.errors import KgprobeError, how_to_install
from kgprobe.files import home, make_folder, replacing
from kgprobe.graph.subgraphs import Subgraph
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
