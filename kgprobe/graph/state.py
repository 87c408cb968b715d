"""Which graph this is, and what was loaded into it: by this, what was made from a graph is known to be stale or not."""

import msgspec

from kgprobe.graph.client import Graph


def graph_state(graph: Graph) -> str:
    """A text that changes whenever something is loaded, and is another one for another graph; JSON."""
    return msgspec.json.encode(graph.read("load/state")[0], order="sorted").decode()
