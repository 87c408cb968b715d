"""Constraints and indexes: ``cypher/schema/``, applied as often as one likes."""

from kgprobe.graph.client import Graph
from kgprobe.graph.queries import query_names


def apply_schema(graph: Graph) -> None:
    """Make the constraints and indexes that are not there yet."""
    for name in query_names():
        if name.startswith("schema/"):
            graph.write(name)
