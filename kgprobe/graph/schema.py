"""Constraints and indexes, from ``cypher/schema/``."""

from kgprobe.graph.client import Graph
from kgprobe.graph.queries import query_names

# Indexes that the embedded engine refuses, or with which it does not find all nodes.
_NEO4J_ONLY = frozenset({"schema/entity_names"})


def apply_schema(graph: Graph) -> None:
    """Create the missing constraints and indexes."""
    for name in query_names():
        if name.startswith("schema/") and not (graph.is_embedded and name in _NEO4J_ONLY):
            graph.write(name)
