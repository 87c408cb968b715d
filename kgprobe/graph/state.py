"""The state of a graph, to detect outdated data that were derived from it."""

import msgspec

from kgprobe.graph.client import Graph


def graph_state(graph: Graph) -> str:
    """Return a JSON text that identifies the graph and the data loaded into it."""
    return msgspec.json.encode(graph.read("load/state")[0], order="sorted").decode()
