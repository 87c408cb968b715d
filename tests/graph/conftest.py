"""A graph small enough to be seen at once, on each engine."""

from pathlib import Path

import pytest

from kgprobe.graph.client import Graph

FEW_FACTS = (Path(__file__).parent.parent / "data" / "few_facts.cypher").read_text(encoding="utf-8")


@pytest.fixture
def few_facts(graph: Graph) -> Graph:
    """Two countries, their capitals, their border, and a fact of an entity about itself."""
    graph.query(FEW_FACTS)
    return graph
