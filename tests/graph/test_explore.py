"""The queries people start with, on both engines, against the same expected rows."""

from kgprobe.graph.client import Graph


def test_ready(graph: Graph) -> None:
    assert graph.read("explore/ready") == [{"answer": True}]
