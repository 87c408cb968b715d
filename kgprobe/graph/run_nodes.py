"""Read the nodes of runs."""

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph, Row

NO_RUN = "The graph has no runs yet; `kgprobe rounds run distractors --model demo` starts one."


def find_run(graph: Graph, run: str) -> Row:
    """Return the properties of a run.

    Raises:
        UnknownNameError: the graph has no such run.
    """
    rows = graph.read("beliefs/run", id=run)
    if not rows:
        known = [properties["id"] for properties in list_runs(graph)]
        raise UnknownNameError(f"Unknown run {run!r}; runs of this graph: {', '.join(known) or 'none'}.")
    properties: Row = rows[0]["run"]
    return properties


def list_runs(graph: Graph) -> list[Row]:
    """Return the properties of all runs, the latest last."""
    return [row["run"] for row in graph.read("beliefs/runs")]
