"""The runs of a graph, as their nodes tell them; what a run is, and where its files lie, is asking's to know."""

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph, Row

NO_RUN = "There is no run in this graph yet; `kgprobe rounds run --model demo` begins one."


def find_run(graph: Graph, run: str) -> Row:
    """The properties of a run, whoever began it.

    Raises:
        UnknownNameError: the graph has no such run.
    """
    rows = graph.read("beliefs/run", id=run)
    if not rows:
        known = [properties["id"] for properties in list_runs(graph)]
        raise UnknownNameError(f"There is no run {run!r} in this graph; there are: {', '.join(known) or 'none'}.")
    properties: Row = rows[0]["run"]
    return properties


def list_runs(graph: Graph) -> list[Row]:
    """The properties of all runs, the latest last."""
    return [row["run"] for row in graph.read("beliefs/runs")]
