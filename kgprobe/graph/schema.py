"""Constraints and indexes: ``cypher/schema/``, applied as often as one likes."""

from kgprobe.graph.client import Graph
from kgprobe.graph.queries import query_names

# Indexes of a kind that the embedded engine refuses, or with which it does not find everything.
_NEO4J_ONLY = frozenset({"schema/entity_names"})


def apply_schema(graph: Graph) -> None:
    """Make the constraints and indexes that are not there yet."""
    for name in query_names():
        if name.startswith("schema/") and not (graph.is_embedded and name in _NEO4J_ONLY):
            graph.write(name)
